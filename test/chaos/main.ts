/**
 * `npm run chaos [-- --seeds N] [--seed S] [--crashes] [--json]`: everything goes wrong at once, and an independent
 * checker counts what came of it. Exits 1 when anything was lost, doubled, undecided or reported falsely.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runCrashes } from './crashes.ts'
import { FAULTS } from './faults.ts'
import { runSeed, type SeedResult } from './seed.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: process.env.npm_config_seeds ?? '1' },
    seed: { type: 'string', default: process.env.npm_config_seed ?? '1' },
    crashes: { type: 'boolean', default: process.env.npm_config_crashes === 'true' },
    json: { type: 'boolean', default: process.env.npm_config_json === 'true' },
  },
})

/** A seed's world: about 300 workflows in under a minute on two cores. */
const WORLD = { nodes: 3, borrowers: 60, orders: 160, confirmations: 4, forMs: 35_000, quietMsMax: 60_000 }

const say = (text: string) => process.stderr.write(`${text}\n`)
const root = mkdtempSync(join(tmpdir(), 'rolekeeper-chaos-'))
const startedAtMs = performance.now()
const problems = values.crashes ? await crashes() : await seeds()
process.exitCode = problems === 0 ? 0 : 1

async function crashes(): Promise<number> {
  const result = await runCrashes(join(root, 'crashes'), say)
  if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`)
  say(`${result.cells} cells, ${result.workflows} workflows, ${result.problems.length} problems`)
  for (const problem of result.problems) say(`  ${problem}`)
  return result.problems.length
}

async function seeds(): Promise<number> {
  const first = Number(values.seed)
  const results: SeedResult[] = []
  for (let seed = first; seed < first + Number(values.seeds); seed += 1) {
    const keepIn = join(root, String(seed))
    const result = await runSeed({ ...WORLD, seed, keepIn })
    results.push(result)
    if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`)
    else say(describe(result))
    if (result.problems.length > 0)
      say(`  its journal and log: ${keepIn}; again: npm run chaos -- --seed ${seed}`)
  }
  const total = totals(results)
  if (values.json) process.stdout.write(`${JSON.stringify(total)}\n`)
  say(
    `${total.workflows} workflows over ${total.seeds} seeds in ${total.minutes.toFixed(1)} min; ${total.kinds} kinds of fault, ${total.hits} times; ${total.problems} problems`,
  )
  if (total.unseen.length > 0 && results.length >= 10) say(`  never happened: ${total.unseen.join(', ')}`)
  return total.problems
}

function totals(results: readonly SeedResult[]) {
  const sum = (of: (result: SeedResult) => number) => results.reduce((all, result) => all + of(result), 0)
  const states = new Map<string, number>()
  for (const [state, count] of results.flatMap(({ states }) => Object.entries(states)))
    states.set(state, (states.get(state) ?? 0) + count)
  const kinds = new Set(results.flatMap(({ hits }) => Object.keys(hits)))
  return {
    type: 'totals',
    seeds: results.length,
    workflows: sum(({ workflows }) => workflows),
    /** By kind and end: what was refused claimed no nonce. */
    states: Object.fromEntries(states),
    transactions: sum(({ transactions }) => transactions),
    starts: sum(({ starts }) => starts),
    kinds: kinds.size,
    hits: sum(({ hits }) => Object.values(hits).reduce((all, times) => all + times, 0)),
    unseen: Object.keys(FAULTS).filter((kind) => !kinds.has(kind)),
    problems: sum(({ problems }) => problems.length),
    minutes: (performance.now() - startedAtMs) / 60_000,
  }
}

function describe(result: SeedResult): string {
  const { seed, workflows, transactions, starts, quietMs, hits, problems } = result
  const ends = Object.entries(result.ends).map(([how, times]) => `${how} ${times} times`)
  return [
    `seed ${seed}: ${workflows} workflows, ${transactions} transactions, ${starts} starts${ends.length === 0 ? '' : ` (${ends.join(', ')})`}, ${Object.keys(hits).length} kinds of fault, quiet after ${(quietMs / 1_000).toFixed(0)} s, ${problems.length} problems`,
    ...problems.slice(0, 20).map((problem) => `  ${problem}`),
  ].join('\n')
}
