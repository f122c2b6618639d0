import type { Rule } from './tree.ts'

/** What makes a test wait or judge by the wall clock, or by luck; `stands` are files in which that is right, and why. */
type Habit = {
  readonly found: RegExp
  readonly says: string
  readonly stands: Readonly<Record<string, string>>
}

const HABITS: readonly Habit[] = [
  {
    found: /\b(sleep|setTimeout|waitForTimeout)\([^)\n]*\d/g,
    says: 'sleeps: wait for an event',
    stands: {},
  },
  {
    found: /\b(Date\.now|performance\.now)\b/g,
    says: 'reads the wall clock: inject one',
    stands: {},
  },
  {
    found: /\bvi\.(waitFor|waitUntil)\(|\bpoll\([^;]*?\btimeout:/g,
    says: 'waits by a limit of its own: use until() or expect.poll(), which have the shared one',
    stands: {},
  },
  {
    found: /\b(?:timeout: |\}, )\d[\d_]*(?=,? *[})\n])/g,
    says: 'has a limit in milliseconds of its own: vitest.config.ts has the one for all',
    stands: {},
  },
  {
    found: /toBeLessThan(?:OrEqual)?\([^)\n]*(?:_MS\b|_MS_MAX\b)/g,
    says: 'holds milliseconds against a limit: a benchmark gives a ratio',
    stands: {},
  },
  {
    found: /\bconfigureGlobal\(|\bseed: (?:Date|Math|random)/g,
    says: 'draws a seed of its own: test/support/seeds.ts pins the one for all',
    stands: {},
  },
]

/** No test waits for a time, judges by one, or draws another seed each day. */
export const testsAwaitEvents: Rule = ({ files }) =>
  files
    .filter(({ path }) => path.endsWith('.test.ts'))
    .flatMap(({ path, text }) =>
      HABITS.filter(({ stands }) => stands[path] === undefined).flatMap(({ found, says }) =>
        [...text.matchAll(found)].map(
          ({ index }) => `${path}:${text.slice(0, index).split('\n').length} ${says}`,
        ),
      ),
    )
