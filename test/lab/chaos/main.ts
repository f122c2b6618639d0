/**
 * `npm run chaos [-- --seeds N] [--seed S] [--crashes] [--json]`: everything goes wrong at once, and an independent
 * checker counts what came of it. `--instances 3`: the same of a fleet; `--amnesia N`: its Redis forgets so often;
 * `--queue-loss`: its BullMQ forgets once a second for a minute; `--detection [--kinds A,B]`: each fault by itself, and who names it
 * where and when. Exits 1 when anything was lost, doubled, undecided or
 * reported falsely.
 */
import { join } from 'node:path'
import { newDirectory } from '../../support/directory.ts'
import { readScript } from '../../support/script.ts'
import { runAmnesia } from './amnesia.ts'
import { runCrashes } from './crashes.ts'
import { detectionTable, isUndetected, KINDS, runDetection } from './detection.ts'
import { FAULTS } from './faults.ts'
import { PROCESS_FAULTS, REDIS_FAULTS, WAY_FAULTS } from './fleet-faults.ts'
import { type FleetSeedResult, runFleetSeed } from './fleet-seed.ts'
import { runQueueLoss, spread } from './queue-loss.ts'
import { runSeed, type SeedResult } from './seed.ts'

const { values } = readScript(import.meta.url, {
  seeds: { type: 'string', default: process.env.npm_config_seeds ?? '1' },
  seed: { type: 'string', default: process.env.npm_config_seed ?? '1' },
  instances: { type: 'string', default: process.env.npm_config_instances ?? '1' },
  /** Of a fleet, ms. */
  lease: { type: 'string', default: process.env.npm_config_lease ?? '1800' },
  amnesia: { type: 'string', default: process.env.npm_config_amnesia ?? '0' },
  'queue-loss': { type: 'boolean', default: process.env.npm_config_queue_loss === 'true' },
  detection: { type: 'boolean', default: process.env.npm_config_detection === 'true' },
  kinds: { type: 'string', default: process.env.npm_config_kinds ?? KINDS.join(',') },
  crashes: { type: 'boolean', default: process.env.npm_config_crashes === 'true' },
  json: { type: 'boolean', default: process.env.npm_config_json === 'true' },
})

/** A seed's world: about 300 workflows in under a minute on two cores. */
const WORLD = { nodes: 3, borrowers: 60, orders: 160, confirmations: 4, forMs: 35_000, quietMsMax: 60_000 }

/** A fleet's seed: about 170 workflows of four signers. */
const FLEET = { nodes: 3, borrowers: 14, orders: 140, confirmations: 4, forMs: 20_000, quietMsMax: 120_000 }
const SIGNERS = 4

const isFleet = () => Number(values.instances) > 1
const say = (text: string) => process.stderr.write(`${text}\n`)
const FLEET_KINDS = [
  ...Object.keys(REDIS_FAULTS),
  ...Object.keys(PROCESS_FAULTS),
  ...Object.keys(WAY_FAULTS),
  'redis.failed_over',
  'queue.flushed',
]
const root = newDirectory()
const startedAtMs = performance.now()
const problems = await (values.crashes
  ? crashes()
  : values.detection
    ? detection()
    : values['queue-loss']
      ? queueLoss()
      : values.amnesia === '0'
        ? seeds()
        : amnesia())
// After `--amnesia` two sockets of a proxy stay open, and would keep it waiting.
process.exit(problems === 0 ? 0 : 1)

async function crashes(): Promise<number> {
  const result = await runCrashes(join(root, 'crashes'), say)
  if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`)
  say(`${result.cells} cells, ${result.workflows} workflows, ${result.problems.length} problems`)
  for (const problem of result.problems) say(`  ${problem}`)
  return result.problems.length
}

async function detection(): Promise<number> {
  const all = await runDetection(values.kinds.split(','), root, (one) => say(JSON.stringify(one)))
  process.stdout.write(detectionTable(all))
  return all.filter(isUndetected).length
}

function fleetSize(keepIn: string) {
  const instances = Math.max(2, Number(values.instances))
  return { ...FLEET, instances, signers: SIGNERS, leaseMs: Number(values.lease), keepIn }
}

async function amnesia(): Promise<number> {
  const size = {
    ...fleetSize(join(root, 'amnesia')),
    hasReplica: true,
    replicas: 0,
    seed: Number(values.seed),
  } as const
  const result = await runAmnesia(Number(values.amnesia), { ...size, borrowers: 5 }, say)
  if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`)
  const { p50, max } = spread(result.foundMs)
  say(
    `${result.injections} injections, SAFE after ${p50} ms at the median and ${max} at most, ${result.calls} calls of the KMS in between, ${result.problems.length} problems`,
  )
  for (const problem of result.problems) say(`  ${problem}`)
  return result.problems.length
}

async function queueLoss(): Promise<number> {
  let problems = 0
  for (const flushEveryMs of [null, 1_000]) {
    const size = {
      ...fleetSize(join(root, `queue-${flushEveryMs}`)),
      hasReplica: false,
      replicas: 0,
    } as const
    const result = await runQueueLoss({ ...size, borrowers: 5, forMs: 60_000, flushEveryMs })
    if (values.json) process.stdout.write(`${JSON.stringify({ flushEveryMs, ...result })}\n`)
    const told = ({ p50, p99, max }: typeof result.takenMs) => `${p50} ms p50, ${p99} p99, ${max} at most`
    say(
      `${result.workflows} workflows, keys deleted ${result.flushed} times: taken after ${told(result.takenMs)}; signed after ${told(result.signedMs)}; ${result.problems.length} problems`,
    )
    for (const problem of result.problems) say(`  ${problem}`)
    problems += result.problems.length
  }
  return problems
}

async function seeds(): Promise<number> {
  const first = Number(values.seed)
  const results: (SeedResult & Partial<FleetSeedResult>)[] = []
  for (let seed = first; seed < first + Number(values.seeds); seed += 1) {
    const keepIn = join(root, String(seed))
    const result = await (isFleet()
      ? runFleetSeed({ ...fleetSize(keepIn), seed })
      : runSeed({ ...WORLD, seed, keepIn }))
    results.push(result)
    if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`)
    else say(describe(result))
    if (result.problems.length > 0)
      say(
        `  its journal and log: ${keepIn}; again: npm run chaos -- --seed ${seed}${isFleet() ? ` --instances ${values.instances}` : ''}`,
      )
  }
  const total = totals(results)
  if (values.json) process.stdout.write(`${JSON.stringify(total)}\n`)
  say(
    `${total.workflows} workflows over ${total.seeds} seeds in ${total.minutes.toFixed(1)} min; ${total.kinds} kinds of fault, ${total.hits} times; ${total.problems} problems`,
  )
  if (isFleet()) for (const line of describeTakeovers(results)) say(line)
  if (total.unseen.length > 0 && results.length >= 10) say(`  never happened: ${total.unseen.join(', ')}`)
  return total.problems
}

function totals(results: readonly (SeedResult & Partial<FleetSeedResult>)[]) {
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
    unseen: (isFleet() ? [...FLEET_KINDS] : Object.keys(FAULTS)).filter((kind) => !kinds.has(kind)),
    takeovers: results.flatMap(({ takeovers = [] }) => takeovers),
    problems: sum(({ problems }) => problems.length),
    minutes: (performance.now() - startedAtMs) / 60_000,
  }
}

function describeTakeovers(results: readonly Partial<FleetSeedResult>[]): readonly string[] {
  const all = results.flatMap(({ takeovers = [] }) => takeovers)
  return (['killed', 'stopped'] as const).map((how) => {
    const ofHow = all.filter((each) => each.how === how)
    const taken = spread(ofHow.map(({ takenMs }) => takenMs))
    const signed = spread(ofHow.flatMap(({ signedMs }) => signedMs ?? []))
    return `  ${ofHow.length} seats of ${how} instances taken by another after ${taken.p50} ms at the median, ${taken.max} at most; it asked the KMS after ${signed.p50}, ${signed.max} at most`
  })
}

function describe(result: SeedResult): string {
  const { seed, workflows, transactions, starts, quietMs, hits, problems } = result
  const ends = Object.entries(result.ends).map(([how, times]) => `${how} ${times} times`)
  return [
    `seed ${seed}: ${workflows} workflows, ${transactions} transactions, ${starts} starts${ends.length === 0 ? '' : ` (${ends.join(', ')})`}, ${Object.keys(hits).length} kinds of fault, quiet after ${(quietMs / 1_000).toFixed(0)} s, ${problems.length} problems`,
    ...problems.slice(0, 20).map((problem) => `  ${problem}`),
  ].join('\n')
}
