import type { Rule } from './tree.ts'

/** What makes a test wait or judge by the wall clock, or by luck; `stands` are files in which that is right, and why. */
type Habit = {
  readonly found: RegExp
  readonly says: string
  readonly stands: Readonly<Record<string, string>>
}

const HABITS: readonly Habit[] = [
  {
    found: /\bawait [^;\n]*\b(sleep|setTimeout|waitForTimeout)\(|new Promise[^;\n]*\bsetTimeout\(/g,
    says: 'sleeps: wait for an event',
    stands: {
      'test/docs.test.ts': 'asks a journal again that another process writes',
      'test/chain/canonical.test.ts': 'a chain in memory: a turn of the event loop lets all that waits run',
      'test/pipeline/transactions/chain-view.test.ts':
        'a chain in memory: a turn of the event loop lets all that waits run',
      'test/chain/nodes.test.ts': 'nothing is to be asked any more, and nothing else happens then',
      'test/lab/day/audit.test.ts': 'a server that takes its time',
      'test/end-to-end/canaries.test.ts':
        'each fault has a second in which something may leak; nothing is judged by it',
      'test/end-to-end/saved.test.ts': 'longer than one call goes on trying',
      'test/fleet/churn.test.ts': 'deeds come apart by pauses that are drawn; nothing is judged by them',
      'test/journal/disk-faults.test.ts': 'in the text of a program that is run',
      'test/keeper/base-fee.test.ts': 'blocks come apart as on a chain; nothing is judged by it',
      'test/ops/console/page.test.ts': 'nothing is to be read any more, and nothing else happens then',
      'test/config/secrets/store.test.ts': 'a clock in whose minute nothing happens',
      'test/service/events/feed-lossy.test.ts':
        'changes come apart as a service makes them; nothing is judged by it',
      'test/support/redis.test.ts': 'a server that is paused is to answer nothing',
      'test/support/tcp-proxy.test.ts': 'what is dropped or held is to arrive nowhere',
    },
  },
  {
    found: /\bperformance\.now\b|\bDate\.now\(\) *[-<>]|[-<>] *Date\.now\(\)/g,
    says: 'measures by the wall clock: a benchmark gives a ratio',
    stands: {
      'test/cli/fleet-commands.test.ts': 'the clock of a real instance',
      'test/fleet/seats.test.ts': 'the clock of a real instance, or one that jumps',
      'test/fleet/spread.test.ts': 'the clock of an instance that is wrong',
      'test/ops/orders.test.ts': 'the age of a file',
      'test/keeper/health/quiet.test.ts': 'the age of what is in a journal',
      'test/sign/kms.test.ts': 'the clock of a machine that is an hour ahead',
      'test/ops/console/page.test.ts': 'the clock of a keeper that is an hour behind',
      'test/support/tcp-proxy.test.ts': 'a delay is as long as it says, at least',
      'test/service/events/webhook-listener.test.ts': 'a body may trickle for five seconds, at least',
      'test/sandbox/service/http/http.test.ts': 'an answer is as late as it says, at least',
    },
  },
  {
    found: /\bvi\.(waitFor|waitUntil)\(|\bpoll\([^;]*?\btimeout:/g,
    says: 'waits by a limit of its own: use until() or expect.poll(), which have the shared one',
    stands: {},
  },
  {
    found: /\btransport: http\((?![^;\n]*(?:TO_CHAIN|timeout))/g,
    says: 'asks a chain with a limit of ten seconds, which a busy machine takes: use TO_CHAIN',
    stands: {},
  },
  {
    found: /\btimeout: \d|^ *\}, \d+_\d{3}\)$|\bAbortSignal\.timeout\(\d/gm,
    says: 'has a limit in milliseconds of its own: vitest.config.ts has the one for all',
    stands: {
      'test/journal/redis/claims.test.ts': 'the environment may ask for 25 times as many',
      'test/service/circuit.test.ts': 'of a caller that is to give up',
    },
  },
  {
    found: /toBeLessThan(?:OrEqual)?\([^)\n]*(?:_MS\b|_MS_MAX\b)/g,
    says: 'holds milliseconds against a limit: a benchmark gives a ratio',
    stands: {
      'test/fleet/seats.test.ts': "the time is the fleet's, which the test moves",
      'test/fleet/spread.test.ts': "the time is the fleet's, which the test moves",
    },
  },
  {
    found: /\bconfigureGlobal\(|\bseed: (?:Date|Math|random)/g,
    says: 'draws a seed of its own: test/support/seeds.ts pins the one for all',
    stands: {},
  },
]

/** No test waits for a time, judges by one, or draws another seed each day; and no exception is named that is none. */
export const testsAwaitEvents: Rule = ({ files }) =>
  files
    .filter(({ path }) => path.endsWith('.test.ts'))
    .flatMap(({ path, text }) =>
      HABITS.flatMap(({ found, says, stands }) => {
        const lines = [...text.matchAll(found)].map(({ index }) => text.slice(0, index).split('\n').length)
        if (stands[path] === undefined) return lines.map((line) => `${path}:${line} ${says}`)
        return lines.length === 0 ? [`${path} needs no exception from: ${says}`] : []
      }),
    )
