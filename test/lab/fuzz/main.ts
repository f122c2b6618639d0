/**
 * `npm run fuzz [-- --count N] [--seed S] [--json]`: N mutated answers of every workflow type, a tenth as many worlds
 * whose rows say what they like, and a hundredth as many valid workflows. Nothing may be accepted beyond the policy,
 * thrown, or kept in memory, and nothing valid refused. Exits 1 when something was; each finding names the seed that
 * repeats it.
 */
import { PREPARED } from '../../guard/shipped.ts'
import { readScript } from '../../support/script.ts'
import { aimOf } from '../attacks/play.ts'
import { createDice } from '../judgement/dice.ts'
import { fuzzAnswer } from './answers.ts'
import { fuzzBidderRows } from './bidder-rows.ts'
import { golden, refusalOf } from './golden.ts'
import { fuzzWorld } from './worlds.ts'

const { values } = readScript(import.meta.url, {
  count: { type: 'string', default: process.env.npm_config_count ?? '10000' },
  seed: { type: 'string', default: process.env.npm_config_seed ?? '1' },
  json: { type: 'boolean', default: process.env.npm_config_json === 'true' },
})
const [count, first] = [Number(values.count), Number(values.seed)]
const print = (line: string) => process.stdout.write(`${line}\n`)

/** Findings that are printed of one kind. */
const FINDINGS_MAX = 20
/** What may be in use at most, whatever came by: the process begins with about a third of it. */
const HEAP_MB_MAX = 400

type Finding = { readonly checks: readonly string[]; readonly problem: string | null }

let failed = 0
let heapMbMost = 0
const targets = PREPARED.map(([, kind, ruleset]) => ({ kind, aim: aimOf(kind, ruleset) }))
const aims = targets.map(({ aim }) => aim)
await run('valid workflows', Math.floor(count / 100), async (seed) => {
  const { kind, aim } = targets[seed % targets.length] ?? targets[0] ?? nothing()
  const refused = await refusalOf(golden(aim, kind, createDice(seed)))
  return { checks: [refused ?? 'accepted'], problem: refused === null ? null : `${kind.name} ${refused}` }
})
await run('answers', count, async (seed) => {
  const { check, problem } = await fuzzAnswer(aims, createDice(seed))
  return { checks: [check], problem }
})
await run('worlds', Math.floor((count * 7) / 100), async (seed) => {
  const { kind, check, problem } = fuzzWorld(createDice(seed))
  return { checks: [`${kind} ${check}`], problem }
})
await run('bidder', Math.floor((count * 3) / 100), async (seed) => fuzzBidderRows(createDice(seed)))
if (heapMbMost > HEAP_MB_MAX) failed += 1
print(
  values.json ? JSON.stringify({ failed, heapMbMost }) : `${failed} found; at most ${heapMbMost} MB in use`,
)
process.exitCode = failed === 0 ? 0 : 1

function nothing(): never {
  throw new TypeError('the shipped policies hold a kind of workflow')
}

async function run(name: string, runs: number, one: (seed: number) => Promise<Finding>): Promise<void> {
  const checks = new Map<string, number>()
  let problems = 0
  for (let index = 0; index < runs; index += 1) {
    const seed = first + index
    const found = await one(seed).catch((error: unknown) => ({ checks: ['thrown'], problem: String(error) }))
    for (const check of found.checks) checks.set(check, (checks.get(check) ?? 0) + 1)
    if (index % 1_000 === 0) {
      heapMbMost = Math.max(heapMbMost, Math.round(process.memoryUsage().heapUsed / 1_048_576))
    }
    if (found.problem === null) continue
    problems += 1
    if (problems <= FINDINGS_MAX) print(`${name}, seed ${seed}: ${found.problem.slice(0, 500)}`)
  }
  failed += problems
  const sorted = [...checks].toSorted(([, one], [, other]) => other - one)
  const sum = { name, runs, seed: first, problems, checks: Object.fromEntries(sorted) }
  if (values.json) {
    print(JSON.stringify(sum))
    return
  }
  print(`${name}: ${runs} from seed ${first}, ${problems} problems`)
  for (const [check, times] of sorted) print(`  ${String(times).padStart(9)}  ${check}`)
}
