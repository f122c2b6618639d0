import type { Passing } from '../../support/fault-proxy.ts'
import type { HttpDeed } from '../../support/http-deeds.ts'
import type { NodeFault } from '../../support/node-proxy.ts'
import type { View } from '../../support/node-view.ts'
import { FAULTS, INCIDENTS, type Means } from './faults.ts'
import type { KeeperProcess } from './keeper-process.ts'
import type { ChaosWorld } from './world.ts'

/** One fault on the way: when it begins, and for how long it lasts. */
type Episode = {
  readonly atMs: number
  readonly kind: string
  readonly forMs: number
  readonly seed: number
}

/** What goes wrong in one seed: the same for the same seed. */
export type Plan = {
  readonly liar: number
  /** The share of all HTTP requests that something is done to, between episodes too. */
  readonly noise: number
  readonly episodes: readonly Episode[]
}

/** Numbers that look random, the same for the same seed. Source: the mixing step of splitmix32. */
export function createRolls(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    mixed ^= mixed >>> 15
    return (mixed >>> 0) / 2 ** 32
  }
}

/** Each seed deals the whole deck anew, so that every kind has its turn in few seeds. */
export function shuffled(kinds: readonly string[], roll: () => number): string[] {
  const deck = [...kinds]
  for (let index = deck.length - 1; index > 0; index -= 1) {
    const other = Math.floor(roll() * (index + 1))
    const [one = '', two = ''] = [deck[index], deck[other]]
    deck[index] = two
    deck[other] = one
  }
  return deck
}

const PAUSE_MS = 700
const PAUSE_MS_MORE = 900
const LASTS_MS = 600
const LASTS_MS_MORE = 2_400
const KILL_EVERY_MS = 8_000
/** Every so-and-so-many-th seed has its journal restored from a backup. */
const RESTORED_EVERY = 3
const REORG_EVERY_MS = 5_000

/** Plan what goes wrong in a seed for so long. Pure. */
export function planOf(seed: number, forMs: number, nodes: number): Plan {
  const roll = createRolls(seed)
  const liar = Math.floor(roll() * nodes)
  const deck = shuffled(Object.keys(FAULTS), roll)
  const episodes: Episode[] = []
  for (let atMs = 1_000; atMs < forMs; atMs += PAUSE_MS + roll() * PAUSE_MS_MORE) {
    const kind = deck[episodes.length % deck.length] ?? ''
    episodes.push({
      atMs,
      kind,
      forMs: LASTS_MS + roll() * LASTS_MS_MORE,
      seed: Math.floor(roll() * 2 ** 31),
    })
  }
  const often = (kind: string, everyMs: number) => {
    for (let atMs = everyMs * (0.5 + roll()); atMs < forMs; atMs += everyMs * (0.5 + roll()))
      episodes.push({ atMs, kind, forMs: 0, seed: Math.floor(roll() * 2 ** 31) })
  }
  if (seed % RESTORED_EVERY === 0)
    for (const [kind, at] of [
      ['disk.saved', 0.3],
      ['disk.restored', 0.65],
    ] as const)
      episodes.push({ atMs: forMs * at, kind, forMs: 0, seed: 0 })
  often('process.killed', KILL_EVERY_MS)
  often('chain.reorg', REORG_EVERY_MS)
  return { liar, noise: 0.1, episodes: episodes.toSorted((a, b) => a.atMs - b.atMs) }
}

/** What is done to a request for no reason. */
const NOISE: readonly HttpDeed[] = [
  { kind: 'drop_before' },
  { kind: 'drop_after' },
  { kind: 'delay', ms: 400 },
  { kind: 'status', status: 500 },
  { kind: 'status', status: 429, retryAfterS: 1 },
  { kind: 'garbage' },
  { kind: 'half_body' },
]

/** Does what a plan says to a world. */
export type Weather = {
  readonly begin: () => void
  /** How often each kind met a call, or happened. */
  readonly hits: () => Readonly<Record<string, number>>
  /** End every fault; nothing is wrong any more when it resolves. */
  readonly end: () => Promise<void>
}

type Rule = Parameters<Means['serviceRule']>[0]
type Active = {
  readonly nodeFaults: { readonly node: number; readonly fault: NodeFault }[]
  readonly views: { readonly node: number; readonly view: View }[]
  readonly service: Rule[]
  readonly kms: Rule[]
  readonly undo: (() => unknown)[]
}

/** Create the weather of a plan. */
export function createWeather(plan: Plan, world: ChaosWorld, keeper: KeeperProcess, seed: number): Weather {
  const hits: Record<string, number> = {}
  const hit = (name: string) => {
    hits[name] = (hits[name] ?? 0) + 1
  }
  const active = new Set<Active>()
  const timers: NodeJS.Timeout[] = []
  const ending = new Set<Promise<void>>()
  const roll = createRolls(seed ^ 0x5bd1e995)
  let over = false

  const noise = (where: string) => (): HttpDeed | null => {
    if (roll() >= plan.noise) return null
    const deed = NOISE[Math.floor(roll() * NOISE.length)] ?? null
    if (deed !== null) hit(`noise.${where}.${deed.kind}${deed.kind === 'status' ? `_${deed.status}` : ''}`)
    return deed
  }
  const serviceNoise = noise('service')
  const kmsNoise = noise('kms')

  const apply = () => {
    const all = [...active]
    for (const [index, node] of world.nodes.entries()) {
      node.setFaults(
        ...all.flatMap(({ nodeFaults }) =>
          nodeFaults.filter(({ node: at }) => at === index).map(({ fault }) => fault),
        ),
      )
      node.setView(
        all.flatMap(({ views }) => views).findLast(({ node: at }) => at === index)?.view ?? {
          kind: 'honest',
        },
      )
      node.setNoise(over ? null : noise(`node`))
    }
    const joined = (rules: readonly Rule[], otherwise: () => HttpDeed | null) => (passing: Passing) => {
      for (const rule of rules) {
        const deed = rule(passing)
        if (deed !== null) return deed
      }
      return over ? null : otherwise()
    }
    world.service.setRule(
      joined(
        all.flatMap(({ service }) => service),
        serviceNoise,
      ),
    )
    world.kms.setRule(
      joined(
        all.flatMap(({ kms }) => kms),
        kmsNoise,
      ),
    )
  }

  const end = async (one: Active) => {
    if (!active.delete(one)) return
    apply()
    for (const work of one.undo.toReversed()) await work()
  }

  const start = async ({ kind, forMs, seed: own }: Episode) => {
    const one: Active = { nodeFaults: [], views: [], service: [], kms: [], undo: [] }
    active.add(one)
    await (FAULTS[kind] ?? INCIDENTS[kind])?.({
      world,
      keeper,
      liar: plan.liar,
      hit: () => hit(kind),
      roll: createRolls(own),
      nodeFault: (node, fault) => void one.nodeFaults.push({ node, fault }),
      nodeView: (node, view) => void one.views.push({ node, view }),
      serviceRule: (rule) => void one.service.push(rule),
      kmsRule: (rule) => void one.kms.push(rule),
      undo: (work) => void one.undo.push(work),
    })
    apply()
    timers.push(setTimeout(() => void track(end(one)), forMs))
  }

  const track = (work: Promise<void>) => {
    const done = work
      .catch((error: unknown) => console.error('weather', error))
      .finally(() => ending.delete(done))
    ending.add(done)
    return done
  }

  return {
    begin: () => {
      apply()
      for (const episode of plan.episodes)
        timers.push(setTimeout(() => void (over || track(start(episode))), episode.atMs))
    },
    hits: () => hits,
    end: async () => {
      over = true
      for (const timer of timers) clearTimeout(timer)
      await Promise.all(ending)
      for (const one of active) await end(one)
      apply()
    },
  }
}
