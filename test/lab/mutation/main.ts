/**
 * `npm run mutate [-- --only guard|ledger|sign] [--files GLOB] [--one-in N] [--results FILE] [--json]`: changes the code that
 * decides about money one place at a time, and asks whether a test notices. Prints the survivors and the score of each
 * part; exits 1 below 90 %. With a file for results, what was judged before, in a file that has not changed since, is
 * not asked again: to have it asked with other tests, take its line out.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { newDirectory } from '../../support/directory.ts'
import { readScript } from '../../support/script.ts'
import { equivalentIn } from './equivalent.ts'
import type { Covering, Order, Report } from './judge.ts'
import { type Mutant, mutate } from './mutants.ts'

type PartOf = {
  readonly files: readonly string[]
  readonly tests: readonly string[]
  /** Whether its modules remember what they were asked: then what survives is asked of modules that remember nothing. */
  readonly remembers?: true
}

/** What is mutated, and by which tests it is judged. */
const PARTS = {
  guard: {
    files: ['src/guard/**/*.ts'],
    tests: [
      'test/guard/**/*.test.ts',
      'test/lab/attacks/*.test.ts',
      'test/keeper/policy/watch.test.ts',
      'test/keeper/policy-tools/{file,test-on-journal}.test.ts',
      'test/keeper/stages/prove-record.test.ts',
      'test/keeper/health/limit-use.test.ts',
    ],
  },
  ledger: {
    files: [
      'src/journal/journal.ts',
      'src/journal/sqlite/{live-index,outbox,reader,recent-reservations,records,sqlite,workflow-rows}.ts',
      'src/journal/watermark/*.ts',
    ],
    tests: ['test/journal/{,sqlite/,watermark/,directory/,find/}*.test.ts', 'test/pipeline/claim.test.ts'],
  },
  sign: {
    // A worker's own module is loaded by the worker, where no mutant can be switched on.
    files: ['src/sign/!(parity-worker).ts'],
    tests: ['test/sign/*.test.ts', 'test/pipeline/attest.test.ts'],
    remembers: true,
  },
} as const satisfies Readonly<Record<string, PartOf>>
type Part = keyof typeof PARTS

const SCORE_MIN = 0.9
/** Tests that start a chain, or processes, would take a day; they could only notice more. */
const SLOW = /createScene|startSandbox|createWorld|startAnvil|shapes-scene|\bspawn/
/**
 * A judge that says nothing for so long is stuck in a loop that passes no mutant. Far longer than any test may take: on a busy
 * machine one that only waits for its turn would count as noticed.
 */
const SILENCE_MS_MAX = 300_000

const { values } = readScript(import.meta.url, {
  only: { type: 'string', default: process.env.npm_config_only ?? '' },
  /** Files of a part alone, for a quick look. */
  files: { type: 'string', default: process.env.npm_config_files ?? '' },
  /** A sample: which mutants it holds hangs on their files alone, so that it stays the same for other tests. */
  'one-in': { type: 'string', default: process.env.npm_config_one_in ?? '1' },
  /** Where each mutant's end is kept as a line, over runs. */
  results: { type: 'string', default: process.env.npm_config_results ?? '' },
  json: { type: 'boolean', default: process.env.npm_config_json === 'true' },
})
if (values.only !== '' && !Object.hasOwn(PARTS, values.only)) {
  process.stderr.write(
    `--only is ${JSON.stringify(values.only)}; there are: ${Object.keys(PARTS).join(', ')}.\n`,
  )
  process.exit(2)
}
const oneIn = Number(values['one-in'])
if (!(Number.isInteger(oneIn) && oneIn >= 1)) {
  process.stderr.write(
    `--one-in is ${JSON.stringify(values['one-in'])}; it takes a whole number from 1 on.\n`,
  )
  process.exit(2)
}
const print = (line: string) => process.stdout.write(`${line}\n`)
const say = (line: string) => process.stderr.write(`${line}\n`)

type Judged = Extract<Report, { type: 'judged' }>

/** How a mutant ended that is noticed only, if at all, as the code loads: that is asked in the second part. */
const AT_LOAD = '?'
const known = new Map<string, string>()
if (values.results !== '' && existsSync(values.results)) {
  for (const line of readFileSync(values.results, 'utf8').split('\n')) {
    const [key, by] = line.split('\t')
    if (key !== undefined && by !== undefined) known.set(key, by)
  }
}
/** A mutant's name for as long as its file stays what it is. */
const keys = new Map<number, string>()

let missed = 0
for (const part of Object.keys(PARTS) as Part[]) {
  if (values.only !== '' && values.only !== part) continue
  if ((await judgePart(part)) < SCORE_MIN) missed += 1
}
process.exitCode = missed === 0 ? 0 : 1

async function judgePart(part: Part): Promise<number> {
  const files = globSync([...PARTS[part].files]).toSorted()
  const tests = globSync([...PARTS[part].tests])
    .filter((test) => !SLOW.test(readFileSync(test, 'utf8')))
    .toSorted()
  const mutants = mutantsOf(files)
  const wanted = globSync(values.files)
  const only = mutants
    .filter(({ file, id }) => (wanted.length === 0 || wanted.includes(file)) && isInSample(id))
    .map(({ id }) => id)
  const judged = new Map<number, Judged>()
  for (const id of only) {
    const by = known.get(keys.get(id) ?? '')
    if (by === undefined) continue
    const atLoad = by === AT_LOAD
    judged.set(id, { type: 'judged', id, by: atLoad || by === '' ? null : by, atLoad, tests: 0 })
  }
  const alone = (file: string, left: readonly number[], isAnew: boolean): Order => {
    const own = mutants.filter((mutant) => mutant.file === file).map(({ id }) => id)
    const place = { files: [file], tests: nearest(tests, file), numbersFrom: own[0] ?? 0, covering: null }
    return { ...place, only: left.filter((id) => own.includes(id)), isAnew }
  }
  // Most are noticed by the tests of their file, which are few; what is left is asked of all.
  const left = only.filter((id) => !judged.has(id))
  for (const file of files) await judgeTogether(alone(file, left, false), judged, true)
  for (const id of left) if (judged.get(id)?.by === null) judged.delete(id)
  await judgeTogether({ files, tests, only, isAnew: false, numbersFrom: 0, covering: null }, judged)
  // What is computed as the code loads was computed before a mutant was on.
  const again = [...judged.values()].filter(
    ({ by, atLoad }) => by === null && (atLoad || 'remembers' in PARTS[part]),
  )
  if (again.length > 0) {
    say(`${part}: ${again.length} mutants of what is computed as the code loads; without them:`)
    report(part, mutants, new Map([...judged].filter(([, { by, atLoad }]) => by !== null || !atLoad)))
  }
  for (const { id } of again) judged.delete(id)
  const ids = again.map(({ id }) => id)
  for (const file of files) await judgeTogether(alone(file, ids, true), judged)
  return report(part, mutants, judged)
}

/** Drawn by the mutant's name. */
function isInSample(id: number): boolean {
  const digest = createHash('sha256')
    .update(keys.get(id) ?? '')
    .digest()
  return digest.readUInt32BE() % oneIn === 0
}

/**
 * What judges a mutant that is on as the code loads: the tests of its file, or those beside where they would be, and
 * that the shipped policies still allow what they are for. The others could only notice more.
 */
function nearest(tests: readonly string[], file: string): readonly string[] {
  const place = file.replace('src/', 'test/').replace(/\.ts$/, '')
  const own = tests.filter((test) => test.startsWith(`${place}.`))
  const beside = tests.filter((test) => dirname(test) === dirname(place))
  const shipped = tests.filter((test) => test.endsWith('shipped.test.ts'))
  return [...new Set([...(own.length === 0 ? beside : own), ...shipped])]
}

function mutantsOf(files: readonly string[]): readonly Mutant[] {
  const all: Mutant[] = []
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    const { mutants } = mutate(file, text, all.length)
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
    for (const [index, { id }] of mutants.entries()) keys.set(id, `${file} ${digest} ${index}`)
    all.push(...mutants)
  }
  return all
}

/** Have a process judge until all are judged; one that got stuck, or was left in disorder, is followed by the next. */
async function judgeTogether(order: Order, judged: Map<number, Judged>, isFirst = false): Promise<void> {
  let covering: Covering | null = null
  const found = (by: Covering) => {
    covering = by
  }
  const keep = (said: Judged) => {
    judged.set(said.id, said)
    // Of what the nearest tests do not notice, all others are asked.
    if (values.results === '' || (isFirst && said.by === null)) return
    const by = said.by ?? (said.atLoad && !order.isAnew ? AT_LOAD : '')
    appendFileSync(values.results, `${keys.get(said.id)}\t${by.replaceAll(/\s+/g, ' ')}\n`)
    if (judged.size % 200 === 0) say(`${judged.size} judged`)
  }
  for (;;) {
    const only = order.only.filter((id) => !judged.has(id))
    if (only.length === 0) return
    const stuck = await judge({ ...order, only, covering }, { keep, found })
    if (stuck === null) continue
    keep({ type: 'judged', id: stuck, by: 'it never ends', atLoad: order.isAnew, tests: 0 })
  }
}

/** The mutant that the process was stuck at; null where it ended by itself. */
function judge(
  order: Order,
  on: { readonly keep: (said: Judged) => void; readonly found: (covering: Covering) => void },
): Promise<number | null> {
  const file = new URL('judge.ts', import.meta.url)
  // What its tests write goes with it.
  const folder = newDirectory()
  const env = { ...process.env, TMPDIR: folder }
  const child: ChildProcess = fork(file, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  child.send(order)
  let current: number | null = null
  let hasStarted = false
  const { promise, resolve } = Promise.withResolvers<number | null>()
  let timer = setTimeout(() => {}, 0)
  const restart = () => {
    clearTimeout(timer)
    timer = setTimeout(() => child.kill('SIGKILL'), hasStarted ? SILENCE_MS_MAX : 10 * SILENCE_MS_MAX)
  }
  restart()
  child.on('message', (said: Report) => {
    if (said.type === 'began') {
      current = said.id
      hasStarted = true
    }
    if (said.type === 'judged') {
      on.keep(said)
      current = null
    }
    if (said.type === 'counted') {
      hasStarted = true
      on.found(said.covering)
      say(`${said.mutants} mutants, ${said.tests} tests`)
    }
    if (said.type === 'broken') say(`without a mutant fails: ${said.test}: ${said.why}`)
    restart()
  })
  child.on('exit', () => {
    clearTimeout(timer)
    rmSync(folder, { recursive: true, force: true })
    if (!hasStarted) throw new TypeError('the judge did not get to its first mutant')
    resolve(current)
  })
  return promise
}

function report(part: Part, mutants: readonly Mutant[], judged: ReadonlyMap<number, Judged>): number {
  const equivalent = new Set(
    [...new Set(mutants.map(({ file }) => file))].flatMap((file) => {
      const own = mutants.filter((mutant) => mutant.file === file)
      return [...equivalentIn(file, readFileSync(file, 'utf8'), own).values()].flat()
    }),
  )
  const live = mutants.filter(({ id }) => judged.has(id) && judged.get(id)?.by === null)
  const survivors = live.filter((mutant) => !equivalent.has(mutant))
  const count = judged.size - (live.length - survivors.length)
  for (const { file, line, kind, was, is, id } of survivors) {
    const text = (code: string) => code.replaceAll(/\s+/g, ' ').slice(0, 100)
    const tests = judged.get(id)?.tests ?? 0
    if (values.json) print(JSON.stringify({ part, file, line, kind, was, is, tests }))
    else print(`${file}:${line}  ${kind}  ${text(was)}  ->  ${text(is)}  (${tests} tests pass it)`)
  }
  const score = 1 - survivors.length / Math.max(1, count)
  const sum = {
    part,
    mutants: count,
    equivalent: judged.size - count,
    survived: survivors.length,
    score: Math.round(score * 10_000) / 100,
  }
  print(
    values.json
      ? JSON.stringify(sum)
      : `${part}: ${sum.mutants} mutants, ${sum.survived} survived: ${sum.score} %; ${sum.equivalent} more are equivalent`,
  )
  return score
}
