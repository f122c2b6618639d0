/**
 * What tests import as `vitest` while mutants are judged: the same words, but a test is kept, so that it can run again
 * within milliseconds under each mutant. Expectations are Vitest's own.
 */
import { format } from 'node:util'
import { expect as vitestExpect, vi as vitestVi } from 'vitest'

type Work = (context?: unknown) => unknown
type Hooks = {
  readonly all: Work[]
  readonly each: Work[]
  readonly afterEach: Work[]
  readonly afterAll: Work[]
}

/** One group of tests: a file, or a `describe` of it. */
type Suite = {
  readonly name: string
  readonly parent: Suite | null
  readonly hooks: Hooks
  begun: boolean
}

/** A test that can run whenever it is wanted. */
export type Kept = {
  readonly file: string
  readonly name: string
  readonly suite: Suite
  readonly work: Work
}

const suiteOf = (name: string, parent: Suite | null): Suite => ({
  name,
  parent,
  begun: false,
  hooks: { all: [], each: [], afterEach: [], afterAll: [] },
})

/** Every test of the files that were loaded, in order. */
export const kept: Kept[] = []
let current = suiteOf('', null)
let file = ''
let finished: Work[] = []

/** Begin to keep the tests of a file. */
export function beginFile(path: string): void {
  file = path
  current = suiteOf(path, null)
}

const named = (name: string, args: readonly unknown[]): string =>
  format(name.replaceAll('%#', '%s'), ...args.slice(0, name.match(/%[sdijoO#]/g)?.length ?? 0))

type Declare = (name: string, ...rest: unknown[]) => void
const workOf = (rest: readonly unknown[]): Work => {
  const work = rest.find((item) => typeof item === 'function')
  if (typeof work !== 'function') throw new TypeError('a test has a function')
  return (...args) => work(...args)
}
/** `each` takes rows of arguments, or single arguments. */
const eachOf =
  (declare: Declare) =>
  (rows: readonly unknown[]) =>
  (name: string, ...rest: unknown[]) => {
    const work = workOf(rest)
    const call: (...args: unknown[]) => unknown = work
    for (const row of rows) {
      const args: unknown[] = Array.isArray(row) ? row : [row]
      declare(named(name, args), () => call(...args))
    }
  }

const declareTest: Declare = (name, ...rest) => {
  const path: string[] = [name]
  for (let suite: Suite | null = current; suite?.parent !== null && suite !== null; suite = suite.parent)
    path.unshift(suite.name)
  kept.push({ file, name: path.join(' > '), suite: current, work: workOf(rest) })
}
const declareSuite: Declare = (name, ...rest) => {
  const outer = current
  current = suiteOf(name, outer)
  workOf(rest)()
  current = outer
}
const skip = () => {}

export const it = Object.assign(declareTest, {
  each: eachOf(declareTest),
  skip,
  skipIf: (is: boolean) => (is ? skip : declareTest),
})
export const describe = Object.assign(declareSuite, {
  each: eachOf(declareSuite),
  skip,
  skipIf: (is: boolean) => (is ? skip : declareSuite),
})
export const beforeAll = (work: Work) => void current.hooks.all.push(work)
export const beforeEach = (work: Work) => void current.hooks.each.push(work)
export const afterEach = (work: Work) => void current.hooks.afterEach.unshift(work)
export const afterAll = (work: Work) => void current.hooks.afterAll.unshift(work)
export const onTestFinished = (work: Work) => void finished.unshift(work)
export const expect = vitestExpect
/** The environment before it was stubbed: Vitest's own stubs need its worker. */
const stubbed = new Map<string, string | undefined>()
export const vi: typeof vitestVi = Object.assign(Object.create(vitestVi), {
  stubEnv: (name: string, value: string) => {
    if (!stubbed.has(name)) stubbed.set(name, process.env[name])
    process.env[name] = value
  },
  unstubAllEnvs: () => {
    for (const [name, value] of stubbed) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    stubbed.clear()
  },
})

const outwards = (suite: Suite): readonly Suite[] =>
  suite.parent === null ? [suite] : [...outwards(suite.parent), suite]

/** What a group needs before its first test; it stays until the process ends. */
async function begin(suite: Suite): Promise<void> {
  for (const each of outwards(suite)) {
    if (each.begun) continue
    each.begun = true
    for (const work of each.hooks.all) await work()
  }
}

/** Begin what each of these tests needs, before any mutant is switched on. */
export async function beginAll(tests: readonly Kept[]): Promise<void> {
  for (const { suite } of tests) await begin(suite)
}

/** End what the groups began. */
export async function endAll(): Promise<void> {
  for (const suite of new Set(kept.flatMap(({ suite: each }) => outwards(each)))) {
    if (suite.begun) for (const work of suite.hooks.afterAll) await Promise.resolve(work()).catch(() => {})
  }
}

/** Run a test once more. Throws what it throws. */
export async function runTest({ suite, work }: Kept): Promise<void> {
  const suites = outwards(suite)
  finished = []
  const ended = finished
  try {
    for (const each of suites) for (const hook of each.hooks.each) await hook()
    await work({ onTestFinished, expect })
  } finally {
    for (const hook of ended) await hook()
    for (const each of suites.toReversed()) for (const hook of each.hooks.afterEach) await hook()
  }
}
