/**
 * Judges mutants in a process of its own. First every test runs without one: what each passes, and how long it takes.
 * Then each mutant is switched on under the tests that pass its place, the quickest first, until one fails. Reports over
 * IPC what became of each.
 */
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { load } from './hooks.ts'
import type { Kept } from './shim.ts'

/** What a judge is given. */
export type Order = {
  readonly files: readonly string[]
  readonly tests: readonly string[]
  /** The mutants to judge. */
  readonly only: readonly number[]
  /** Whether each is on from the first line of the code: what is computed as it loads is then computed with it. */
  readonly isAnew: boolean
  /** The number of the files' first mutant. */
  readonly numbersFrom: number
  /** What a process before this one found; null where this is the first. */
  readonly covering: Covering | null
}

/** For each mutant that tests pass, the tests by their place among all, the quickest first. */
export type Covering = readonly (readonly [mutant: number, tests: readonly number[]])[]

/** What a judge reports. */
export type Report =
  | {
      readonly type: 'counted'
      readonly mutants: number
      readonly tests: number
      readonly covering: Covering
    }
  | { readonly type: 'began'; readonly id: number }
  | {
      readonly type: 'judged'
      readonly id: number
      readonly by: string | null
      readonly atLoad: boolean
      readonly tests: number
    }
  | { readonly type: 'broken'; readonly test: string; readonly why: string }
  | { readonly type: 'done' }

/** A test that takes longer under a mutant than this hangs. */
const TEST_MS_MAX = 20_000

/** Every load stays in memory: a process takes so many. */
const ANEW_MAX = 30
/** A test that takes longer without a mutant is left out: it might seem to hang with one, and a thousand mutants wait for it. */
const SLOW_MS = 10_000

const [order] = (await once(process, 'message')) as [Order]
const requireFile = createRequire(import.meta.url)
const report = (said: Report) => process.send?.(said)
process.on('uncaughtException', () => {})
process.on('unhandledRejection', () => {})

const board = load(order.files, order.numbersFrom)
const shim: typeof import('./shim.ts') = await import('./shim.ts')
await work().catch((error: unknown) => {
  // What a mutant throws late is dropped above; the judge's own failure is not.
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(4)
})
await shim.endAll()
report({ type: 'done' })
process.exit(0)

async function work(): Promise<void> {
  if (order.isAnew) return judgeAnew()
  for (const file of order.tests) {
    const why = loads(file)
    if (why !== null) report({ type: 'broken', test: file, why })
  }
  return judgeAll(order)
}

async function fails(test: Kept): Promise<string | null> {
  const { promise, resolve: late } = Promise.withResolvers<string>()
  const timer = setTimeout(() => late('it hangs'), TEST_MS_MAX)
  const ran = shim.runTest(test).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  const outcome = await Promise.race([ran, promise])
  clearTimeout(timer)
  return outcome
}

/** Load a test file; why it does not load, or null. */
function loads(file: string): string | null {
  shim.beginFile(file)
  try {
    // Which file it is, only the order says.
    requireFile(resolve(file))
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Load code and tests once more for each mutant, with it on. */
async function judgeAnew(): Promise<void> {
  const unfit = new Set<string>()
  // Without any: a test that fails or dawdles so says nothing.
  for (const file of order.tests) await failing(file, 'none', unfit, true)
  for (const id of order.only.slice(0, ANEW_MAX)) {
    report({ type: 'began', id })
    board.set(id)
    let by: string | null = null
    for (const file of order.tests) by ??= await failing(file, String(id), unfit, false)
    board.set(null)
    report({ type: 'judged', id, by, atLoad: true, tests: shim.kept.length })
  }
}

/** Load a file of tests anew and run them: the first that fails, or the file where it does not load; null where all pass. */
async function failing(
  file: string,
  load: string,
  unfit: Set<string>,
  isTrial: boolean,
): Promise<string | null> {
  shim.kept.splice(0)
  shim.beginFile(file)
  try {
    await import(`${pathToFileURL(resolve(file)).href}?anew=${load}`)
    await shim.beginAll(shim.kept)
  } catch (error) {
    if (isTrial) throw error
    return file
  }
  for (const test of shim.kept.filter((each) => !isTimed(each) && !unfit.has(each.name))) {
    const startedAtMs = performance.now()
    const why = await fails(test)
    if (isTrial && (why !== null || performance.now() - startedAtMs > SLOW_MS)) unfit.add(test.name)
    if (!isTrial && why !== null) return test.name
  }
  return null
}

/** A test of how long something takes fails by the machine's load, not by a mutant. */
function isTimed({ name }: Kept): boolean {
  return /in less than \d+ ms/.test(name)
}

async function judgeAll({ only, covering: known }: Order): Promise<void> {
  const atLoad = new Set(board.passed())
  await shim.beginAll(shim.kept)
  for (const id of board.passed()) atLoad.add(id)
  const covering = new Map(known ?? (await cover()))
  for (const id of only) {
    const tests = (covering.get(id) ?? []).flatMap((at) => shim.kept[at] ?? [])
    report({ type: 'began', id })
    let by: string | null = null
    for (const test of tests) {
      board.set(id)
      const why = await fails(test)
      board.set(null)
      if (why === null) continue
      by = test.name
      // What a mutant leaves behind must not judge the next one.
      if ((await fails(test)) !== null) {
        report({ type: 'judged', id, by, atLoad: atLoad.has(id), tests: tests.length })
        process.exit(3)
      }
      break
    }
    report({ type: 'judged', id, by, atLoad: atLoad.has(id), tests: tests.length })
  }
}

/** Run every test without a mutant. */
async function cover(): Promise<Covering> {
  const found = new Map<number, { readonly at: number; readonly ms: number }[]>()
  for (const [at, test] of shim.kept.entries()) {
    const startedAtMs = performance.now()
    const why = await fails(test)
    const ms = performance.now() - startedAtMs
    const passed = board.passed()
    if (isTimed(test) || (why === null && ms > SLOW_MS)) continue
    if (why !== null) {
      report({ type: 'broken', test: test.name, why })
      continue
    }
    for (const id of passed) found.set(id, [...(found.get(id) ?? []), { at, ms }])
  }
  const covering = [...found].map(
    ([id, tests]) => [id, tests.toSorted((one, other) => one.ms - other.ms).map(({ at }) => at)] as const,
  )
  report({ type: 'counted', mutants: board.mutants.size, tests: shim.kept.length, covering })
  return covering
}
