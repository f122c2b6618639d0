import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { keeperAt } from '../../../src/journal/directory/presence.ts'
import type { TcpDeed, TcpProxy, TcpRule } from '../../support/tcp-proxy.ts'
import { FAULTS } from './faults.ts'
import { createFleetWorld, type FleetWorld, type Member } from './fleet-world.ts'
import { createKeeperProcess, type KeeperProcess } from './keeper-process.ts'
import { holdPrice, release, watchOver } from './seed.ts'
import { createRolls, createWeather } from './weather.ts'
import { type ChaosWorld, createChaosWorld } from './world.ts'

/** Where a fault was reported, each by how many milliseconds after it began; null where it was not. */
export type Detection = {
  readonly kind: string
  /** The facet that names its cause, and its code. */
  readonly facet: string | null
  readonly code: string | null
  readonly screenMs: number | null
  readonly readyzMs: number | null
  readonly metricMs: number | null
  readonly alarmMs: number | null
  /** Workflows that ended well meanwhile: a fault that stops nothing need not be reported. */
  readonly succeeded: number
}

/** A fault that lasts no longer may pass unreported; what is asked is a report within 30 s. */
const LASTS_MS = 32_000
const LOOK_MS = 250
/** Nothing is wrong any more, and the next fault begins. */
const WELL_MS_MAX = 300_000
/** An alarm is raised again after a minute. */
const ALARM_AGAIN_MS = 61_000
const ORDER_MS = 1_000

type Event = { readonly type: string; readonly at: string } & Readonly<Record<string, unknown>>
type Facets = Readonly<
  Record<string, { readonly state: string; readonly code: string; readonly because?: string }>
>

/** One fault: how it begins, and how it ends. */
type Fault = { readonly kind: string; readonly begin: () => unknown; readonly end: () => unknown }
/** A keeper at work, and what may be done to it. */
type Stage = {
  readonly world: Pick<ChaosWorld, 'directory'>
  readonly keeper: KeeperProcess
  readonly logFile: string
  /** Give it something to do. */
  readonly order: (assets: bigint) => unknown
  readonly faults: readonly Fault[]
  readonly stop: () => Promise<void>
}

/** Do each kind of fault by itself to a keeper at work, and see who names its cause, where and when. */
export async function runDetection(
  kinds: readonly string[],
  keepIn: string,
  say: (one: Detection) => void,
): Promise<readonly Detection[]> {
  const ofRedis = kinds.filter((kind) => kind in REDIS)
  const ofOthers = kinds.filter((kind) => !(kind in REDIS))
  const all: Detection[] = []
  for (const [some, stageOf] of [
    [ofOthers, alone],
    [ofRedis, onRedis],
  ] as const) {
    if (some.length === 0) continue
    const stage = await stageOf(some, keepIn)
    all.push(...(await tellAll(stage, say).finally(stage.stop)))
  }
  return all
}

async function tellAll(stage: Stage, say: (one: Detection) => void): Promise<readonly Detection[]> {
  const watch = watchOver(stage.keeper, {})
  let assets = 1_000_000n
  const orders = setInterval(() => stage.order(assets++), ORDER_MS)
  const all: Detection[] = []
  try {
    stage.keeper.start()
    for (const fault of stage.faults) {
      await untilWell(stage)
      const one = await tell(fault, stage)
      all.push(one)
      say(one)
    }
    return all
  } finally {
    clearInterval(orders)
    watch.stop()
    await stage.keeper.kill()
  }
}

/** One keeper on SQLite, and every fault of a seed. */
async function alone(kinds: readonly string[], keepIn: string): Promise<Stage> {
  const world = await createChaosWorld(WORLD)
  mkdirSync(world.directory, { recursive: true, mode: 0o700 })
  const logFile = join(keepIn, 'keeper.log')
  const keeper = createKeeperProcess(world.configFile, logFile)
  const prices = holdPrice(world)
  const faults = kinds.map((kind): Fault => {
    const own = PERSON[kind]
    if (own !== undefined) return { kind, ...own(world) }
    const episode = { atMs: 0, kind, forMs: 2 * LASTS_MS, seed: 1 }
    const weather = createWeather({ liar: 0, noise: 0, episodes: [episode] }, world, keeper, 1)
    return { kind, begin: weather.begin, end: weather.end }
  })
  return {
    world,
    keeper,
    logFile,
    faults,
    order: (assets) => world.order(crypto.randomUUID(), assets),
    stop: async () => {
      await prices.stop()
      await world.stop()
    },
  }
}

/** One instance of a fleet, and what may be wrong with its Redis. */
async function onRedis(kinds: readonly string[], keepIn: string): Promise<Stage> {
  const size = { ...WORLD, instances: 1, signers: 1, leaseMs: 1_800, hasReplica: false, replicas: 0 } as const
  const fleet = await createFleetWorld({ ...size, keepIn })
  const [member] = fleet.members
  if (member === undefined) throw new TypeError('a fleet without an instance')
  const { world, keeper, name } = member
  return {
    world,
    keeper,
    logFile: join(keepIn, `${name}.log`),
    order: (assets) => fleet.people.order(crypto.randomUUID(), assets),
    faults: kinds.flatMap((kind) => {
      const fault = REDIS[kind]
      return fault === undefined ? [] : [{ kind, ...fault(fleet, member) }]
    }),
    stop: fleet.stop,
  }
}

const WORLD = { nodes: 3, borrowers: 0, confirmations: 4 }

/** What a person has to see to before work goes on. */
const PERSON: Readonly<Record<string, (world: ChaosWorld) => Omit<Fault, 'kind'>>> = {
  'nonce.taken': (world) => ({
    begin: async () => {
      const address = world.scene.signer
      const count = Number(await world.rpc('eth_getTransactionCount', address, 'latest'))
      await world.rpc('anvil_setNonce', address, `0x${(count + 1).toString(16)}`)
    },
    end: () => release(world),
  }),
}

/** What may be wrong with the Redis of a fleet, for as long as it lasts. */
const REDIS: Readonly<Record<string, (fleet: FleetWorld, member: Member) => Omit<Fault, 'kind'>>> = {
  'redis.killed': ({ redis }) => ({ begin: () => redis.master().kill(), end: redis.restart }),
  'redis.stopped': ({ redis }) => ({
    begin: () => redis.master().pause(),
    end: () => redis.master().resume(),
  }),
  'redis.slow': (_, { redis }) => ways(redis, ['toClient'], { kind: 'delay', ms: 230 }),
  'redis.held_from_one': (_, { redis }) => ways(redis, ['toServer', 'toClient'], { kind: 'hold' }),
  'redis.lost_to_one': (_, { redis }) => ways(redis, ['toServer', 'toClient'], { kind: 'drop' }),
  'redis.replies_lost': (_, { redis }) =>
    ways(redis, ['toClient'], sometimes({ kind: 'cut', afterBytes: 0 })),
  'redis.requests_cut': (_, { redis }) =>
    ways(redis, ['toServer'], sometimes({ kind: 'cut', afterBytes: 10 })),
}
type Way = Parameters<TcpProxy['setRule']>[0]

const sometimes = (deed: TcpDeed): TcpRule => {
  const roll = createRolls(1)
  return () => (roll() < 0.15 ? deed : null)
}

const ways = (redis: TcpProxy, which: readonly Way[], rule: TcpRule): Omit<Fault, 'kind'> => ({
  begin: () => {
    for (const way of which) redis.setRule(way, rule)
  },
  end: () => {
    for (const way of which) redis.setRule(way, null)
  },
})

async function tell({ kind, begin, end }: Fault, { world, logFile }: Stage): Promise<Detection> {
  const before = readFileSync(logFile, 'utf8').length
  const beganMs = Date.now()
  const [onReadyz, onMetrics] = [new Map<string, number>(), new Map<string, number>()]
  let root: readonly [string, { readonly code: string }] | undefined
  await begin()
  while (Date.now() - beganMs < LASTS_MS) {
    await sleep(LOOK_MS)
    root = rootsOf(await facetsOf(world)).find(([key]) => isCause(kind, key)) ?? root
    const ms = Date.now() - beganMs
    if (root !== undefined && !onReadyz.has(root[0])) onReadyz.set(root[0], ms)
    for (const key of notWellOn((await page(world, '/metrics')) ?? ''))
      if (!onMetrics.has(key)) onMetrics.set(key, ms)
  }
  await end()
  const [facet, code] = [root?.[0] ?? null, root?.[1].code ?? null]
  const events = eventsIn(readFileSync(logFile, 'utf8').slice(before))
  const after = (is: (event: Event) => boolean) => {
    const found = events.find((event) => is(event) && Date.parse(event.at) >= beganMs)
    return found === undefined ? null : Date.parse(found.at) - beganMs
  }
  const isIt = (event: Event) => `${event.facet}${event.about === '' ? '' : `/${event.about}`}` === facet
  return {
    kind,
    facet,
    code,
    readyzMs: onReadyz.get(facet ?? '') ?? null,
    metricMs: onMetrics.get(facet ?? '') ?? null,
    screenMs: after((event) => event.type === 'facet' && event.state !== 'ok' && isIt(event)),
    alarmMs: after((event) => event.type === 'alarm' && (event.facet === facet || event.code === code)),
    succeeded: events.filter(({ type, state }) => type === 'workflow' && state === 'succeeded').length,
  }
}

/** The facets that a page of metrics says are not well. Pure. */
const notWellOn = (metrics: string): readonly string[] =>
  [...metrics.matchAll(/^rolekeeper_facet_state\{facet="(.*?)",about="(.*?)"\} [12]$/gm)].map(
    ([, facet = '', about = '']) => (about === '' ? facet : `${facet}/${about}`),
  )

/** What no other facet is the cause of; what waits for a person is no fault. */
const rootsOf = (facets: Facets) =>
  Object.entries(facets).filter(
    ([key, { state, because }]) => state !== 'ok' && because === undefined && key !== 'approvals',
  )

async function page({ directory }: Stage['world'], path: string): Promise<string | null> {
  const there = keeperAt(directory)
  if (there.state !== 'running' || there.now === null) return null
  const answer = await fetch(`${there.now.opsUrl}${path}`).catch(() => null)
  return (await answer?.text().catch(() => null)) ?? null
}

async function facetsOf(world: Stage['world']): Promise<Facets> {
  const text = await page(world, '/readyz')
  return text === null ? {} : JSON.parse(text).facets
}

/** Wait until all is well, and until an alarm of the next fault is none that was raised within the minute. */
async function untilWell({ world, logFile }: Stage): Promise<void> {
  const untilMs = Date.now() + WELL_MS_MAX
  for (;;) {
    const facets = await facetsOf(world)
    const isWell = Object.keys(facets).length > 0 && rootsOf(facets).length === 0
    if (isWell && Date.now() - lastAlarmMs(logFile) > ALARM_AGAIN_MS) return
    if (Date.now() > untilMs) throw new TypeError(`Not well again: ${JSON.stringify(rootsOf(facets))}`)
    await sleep(LOOK_MS * 4)
  }
}

const lastAlarmMs = (logFile: string): number =>
  Date.parse(
    eventsIn(readFileSync(logFile, 'utf8')).findLast(({ type }) => type === 'alarm')?.at ?? '1970-01-01',
  )

const eventsIn = (text: string): readonly Event[] =>
  text.split('\n').flatMap((line) => {
    try {
      const event: Event = JSON.parse(line)
      return typeof event.type === 'string' ? [event] : []
    } catch {
      return []
    }
  })

/** Which facet is the cause of the faults of a kind: what else is not well at the time is not counted as telling of it. */
const CAUSES: Readonly<Record<string, RegExp>> = {
  node: /^node\/read-1$/,
  nodes: /^(chain|nonces\/.*|node\/.*)$/,
  nonce: /^signer\//,
  // What it prepares against the policy is found where it is refused.
  service: /^(service|duty\/.*)$/,
  kms: /^key\//,
  chain: /^chain$/,
  redis: /^(journal|seats)$/,
  disk: /^(journal|disk)$/,
  // Who is not there says nothing: `up`, and `rolekeeper status`, which exits with 5.
  process: /^never$/,
}
const isCause = (kind: string, facet: string) => CAUSES[kind.split('.')[0] ?? '']?.test(facet) === true

const DETECTED_MS_MAX = 30_000

const isAway = ({ kind }: Detection) => kind.startsWith('process.')
const isNamed = ({ facet }: Detection) => facet !== null

/** Whether somebody who looks at one of the four places does not hear of a fault that stopped work within 30 s. Pure. */
export const isUndetected = (one: Detection): boolean =>
  !isAway(one) &&
  one.succeeded === 0 &&
  [one.screenMs, one.readyzMs, one.metricMs, one.alarmMs].some((ms) => ms === null || ms > DETECTED_MS_MAX)

/** Write what was found as the docs have it. Pure. */
export function detectionTable(all: readonly Detection[]): string {
  const at = (ms: number | null) => (ms === null ? '-' : `${(ms / 1_000).toFixed(1)} s`)
  const head = ['fault', 'facet', 'code', 'screen', '`/readyz`', 'metric', 'alarm', 'ended well meanwhile']
  const rows = all
    .filter(isNamed)
    .map(({ kind, facet, code, screenMs, readyzMs, metricMs, alarmMs, succeeded }) => [
      ...[`\`${kind}\``, `\`${facet}\``, `\`${code}\``],
      ...[at(screenMs), at(readyzMs), at(metricMs), at(alarmMs), String(succeeded)],
    ])
  const list = (some: readonly Detection[]) =>
    some.map(({ kind, succeeded }) => `\`${kind}\` (${succeeded})`).join(', ')
  const unnamed = all.filter((one) => !isNamed(one))
  return [
    ...[head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`),
    '',
    `No facet, and what ended well meanwhile: ${list(unnamed.filter((one) => !isAway(one)))}.`,
    `The keeper itself is away or begins anew: ${list(unnamed.filter(isAway))}.`,
    '',
  ].join('\n')
}

/** Every kind that may be done by itself. */
export const KINDS = [...Object.keys(FAULTS), ...Object.keys(REDIS), ...Object.keys(PERSON)]
