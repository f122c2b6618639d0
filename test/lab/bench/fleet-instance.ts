/**
 * One instance of a fleet, in a process of its own: the seats, records and queues of the keeper, and for each seat that it
 * comes to hold the same pipeline that a keeper alone has.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { systemClock } from '../../../src/clock.ts'
import { checkRunConfig, type RunConfig } from '../../../src/config/config.ts'
import { parseYaml } from '../../../src/config/yaml.ts'
import { RedisStore } from '../../../src/journal/redis/link/store.ts'
import { candidatesOf } from '../../../src/keeper/policy/candidates.ts'
import { openInFleet } from '../../../src/keeper/seats/fleet.ts'
import type { HeldSeat, Seating, Tenure } from '../../../src/keeper/seats/seating.ts'
import { createLog } from '../../../src/ops/log.ts'
import { registerDue } from '../../../src/pipeline/register.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { connectOutside, createPipeline, type Pipeline, say, signerOf } from './throughput-pipeline.ts'
import { type Go, type Job, measureJobs, type ThroughputSettings, type Went } from './throughput-world.ts'

/** What an instance is given. */
export type FleetSettings = ThroughputSettings & {
  readonly redisPort: number
  readonly replicas: number
  readonly fleet: string
  readonly instance: string
  readonly roster: readonly string[]
  readonly directory: string
  readonly leaseMs: number
}

/** What an instance is asked: to carry some jobs, to carry so many at once of each seat for ever, or to leave. */
export type Ask =
  | ({ readonly type: 'carry' } & Go)
  | { readonly type: 'count'; readonly jobs: readonly Job[] }
  | { readonly type: 'load'; readonly atOnce: number }
  | { readonly type: 'leave' }

/** What it says. Times are milliseconds of the machine's monotonic clock, which all of its processes share. */
export type Said =
  | { readonly type: 'held'; readonly keys: readonly number[] }
  | ({ readonly type: 'carried' } & Pick<Went, 'tookMs' | 'cpuMs'>)
  | { readonly type: 'counted'; readonly commands: Commands }
  | { readonly type: 'claimed'; readonly key: number; readonly atMs: number }

/** Commands to Redis, by the step of a workflow and their name. */
type Commands = Readonly<Record<string, Readonly<Record<string, number>>>>

/** What an instance asks of Redis whatever is carried: beats, looks at the fleet, and a note of each seat at a final block. */
const STANDING = new Set(['beat', 'present', 'attest', 'acquire', 'release', 'put'])

const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6

/** Terms by the number of their key. */
const pipelines = new Map<number, Pipeline & { readonly register: () => Promise<void> }>()
let atOnce = 0
let onMove = (_before: Workflow | null, _after: Workflow) => {}

process.on('disconnect', () => process.exit())
process.once('message', (settings: FleetSettings) => {
  const started = start(settings)
  process.on('message', async (ask: Ask) => answer(ask, await started))
})

const tell = (said: Said) => void process.send?.(said)

async function start(settings: FleetSettings): Promise<Seating> {
  const outside = await connectOutside(settings)
  const config = configOf(settings)
  const seating = await openInFleet(config, {
    candidates: candidatesOf(config),
    clock: systemClock,
    log: createLog({ level: 'warn', secrets: [], write: say }),
    version: 'bench',
    alarm: (error) => say(`${settings.instance}: ${error.message}`),
    emit: () => {},
    metrics: null,
    stop: new AbortController().signal,
  })
  const keys = settings.keys.map((key) => signerOf(key).address)
  await seating.hold((seat) => hold(seat, keys, settings, outside), outside.nodes)
  return seating
}

async function answer(ask: Ask, seating: Seating): Promise<void> {
  if (ask.type === 'carry') tell({ type: 'carried', ...(await measureJobs(ask, carry)) })
  if (ask.type === 'count') tell({ type: 'counted', commands: await count(ask.jobs) })
  if (ask.type === 'load') {
    atOnce = ask.atOnce
    for (const key of pipelines.keys()) load(key)
  }
  if (ask.type === 'leave') {
    atOnce = 0
    await seating.leave()
    await seating.close()
    process.exit()
  }
}

const carry = async (job: Job): Promise<void> => {
  const pipeline = pipelines.get(job.key)
  if (pipeline === undefined) throw new TypeError(`the seat of key ${job.key} is not held`)
  await pipeline.carry(job)
}

/** Carry so many at once of one key, for as long as it is held. */
function load(key: number): void {
  const pipeline = pipelines.get(key)
  for (let lane = 0; lane < atOnce; lane += 1) {
    void (async () => {
      while (pipeline !== undefined && pipelines.get(key) === pipeline && atOnce > 0) {
        await pipeline.carry({ key, id: Math.floor(Math.random() * 2 ** 52) }).catch(say)
      }
    })()
  }
}

/** The term of a seat. */
function hold(
  { records, gate, createQueue }: HeldSeat,
  keys: readonly string[],
  settings: ThroughputSettings,
  outside: Awaited<ReturnType<typeof connectOutside>>,
): Tenure {
  const { journal, signers, addresses, resumed } = records
  const key = keys.indexOf(addresses[0] ?? '')
  const moved = (before: Workflow | null, after: Workflow) => {
    onMove(before, after)
    if (before?.state === 'cleared' && after.state === 'in_flight' && atOnce > 0)
      tell({ type: 'claimed', key, atMs: monotonicMs() })
  }
  const held = () => tell({ type: 'held', keys: [...pipelines.keys()] })
  let pipeline: Pipeline | undefined
  return {
    begin: async () => {
      pipeline = await createPipeline({
        ...outside,
        settings,
        journal,
        gate,
        createQueue,
        resumed,
        onMove: moved,
        signers: [signerOf(settings.keys[key] ?? '0x')],
        safe: signers.safe,
      })
      const { nowMs } = systemClock
      const register = async () => {
        while ((await journal.due(nowMs(), 1)).length > 0)
          await registerDue({ nowMs, journal, post: async () => {}, onRefused: () => {} })
      }
      pipelines.set(key, { ...pipeline, register })
      held()
      load(key)
    },
    end: async () => {
      pipelines.delete(key)
      held()
      await pipeline?.close()
    },
  }
}

/** Carry jobs one after another to their end, and count what each step asks of Redis. */
async function count(jobs: readonly Job[]): Promise<Commands> {
  const counts: Record<string, Record<string, number>> = {}
  let step = 'open'
  const note = (name: string) => {
    const ofStep = counts[step] ?? {}
    counts[step] = { ...ofStep, [name]: (ofStep[name] ?? 0) + 1 }
  }
  for (const { register } of pipelines.values()) await register()
  const restore = countCalls(note)
  for (const job of jobs) {
    step = 'open'
    let opened = ''
    const ended = Promise.withResolvers<void>()
    // What is asked after a state was reached belongs to the way out of it.
    onMove = (before, { id, state }) => {
      if (before === null) opened = id
      if (id !== opened) return
      step = state
      if (state === 'succeeded') ended.resolve()
    }
    await carry(job)
    await ended.promise
    await pipelines.get(job.key)?.register()
  }
  restore()
  return counts
}

/** Have each command of the journal named that is sent. @returns how to end that. */
function countCalls(note: (name: string) => void): () => void {
  const { run, read, fence } = RedisStore.prototype
  RedisStore.prototype.run = function (name, ...more) {
    if (!STANDING.has(name)) note(name)
    return run.call(this, name, ...more)
  }
  RedisStore.prototype.read = function (command, ...more) {
    note(command)
    return read.call(this, command, ...more)
  }
  RedisStore.prototype.fence = function (...given) {
    note('fence')
    return fence.apply(this, given)
  }
  return () => Object.assign(RedisStore.prototype, { run, read, fence })
}

/** A run configuration of one liquidator a key: who holds its seat runs the bench's pipeline instead. */
function configOf({ desk, ...settings }: FleetSettings): RunConfig {
  const example = new URL('../../../config/example.yaml', import.meta.url)
  const { deployment, ...shipped } = parse(
    readFileSync(example, 'utf8').replace('USDC', 'sUSD').replace('cbBTC', 'sBTC'),
    { schema: 'failsafe' },
  )
  const value = {
    ...shipped,
    environment: 'sandbox',
    deployment: {
      ...deployment,
      contracts: [
        ...deployment.contracts.filter(({ name }: { name: string }) => name !== 'ethReferenceOracle'),
        { ...desk, name: 'ethReferenceOracle' },
      ],
    },
    directory: settings.directory,
    chain: {
      id: String(settings.chainId),
      finality: 'finalized',
      nodes: { read: [settings.rpcUrl], send: [settings.rpcUrl] },
    },
    service: { url: settings.serviceUrl, secretKey: 'env:SECRET_KEY' },
    journal: {
      redis: { url: `redis://127.0.0.1:${settings.redisPort}/0`, replicas: String(settings.replicas) },
    },
    queue: 'bullmq',
    fleet: {
      name: settings.fleet,
      instance: settings.instance,
      roster: settings.roster,
      leaseMs: String(settings.leaseMs),
    },
    agents: settings.keys.map((key) => ({
      ...shipped.agents[0],
      signer: { kms: { ...shipped.agents[0].signer.kms, address: signerOf(key).address } },
    })),
  }
  const file = join(settings.directory, 'run.yaml')
  const text = stringify(value, { defaultStringType: 'QUOTE_DOUBLE' })
  return checkRunConfig(parseYaml(file, text), new URL('../../../config', import.meta.url).pathname, {
    env: { SECRET_KEY: 'sk_bench_0123456789' },
    isWellKnown: () => false,
  })
}
