import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ENVIRONMENT } from '../../support/keeper-scene.ts'
import type { Exchange } from './delay-proxy.ts'
import type { Told } from './reaction-keeper.ts'
import { createReactionWorld, DELAYS_MS, type Proxies, type ReactionWorld } from './reaction-world.ts'
import { quantile, type Wave, wavesOf } from './waves.ts'

/** How one side did: milliseconds from the event to the node's answer to its last raw transaction. */
export type SideFigures = {
  readonly rounds: number
  readonly p50Ms: number
  readonly p95Ms: number
  /** The sequence that most rounds had, with the median of each wave's times. */
  readonly waves: readonly Wave[]
}

/** What the bench found. `ratio` is the keeper's p50 by the script's. */
export type ReactionFigures = {
  readonly type: 'reaction'
  readonly delaysMs: typeof DELAYS_MS
  readonly keeper: SideFigures
  readonly script: SideFigures
  readonly ratio: number
  /** Rounds in which a side did not act in time, by their cause. */
  readonly failures: readonly string[]
  /** One-minute load averages at the start and at the end. */
  readonly load: readonly [number, number]
}

/** The first rounds are compiled in; they are not counted. */
const WARM_UP_ROUNDS = 4
const ROUNDS = 20
const ROUND_MS_MAX = 8_000
const SETTLE_MS_MAX = 12_000
/** A round after this long is not begun: what was measured by then is reported. */
const BENCH_MS_MAX = 180_000
const POLL_MS = 5
const SETTLE_POLL_MS = 50
/** What the recovery of the price told is through the stream by then, and is not taken for its fall. */
const PASSING_MS = 100

type Side = {
  readonly name: 'keeper' | 'script'
  readonly proxies: Proxies
  readonly rounds: Round[]
}
type Round = { readonly tookMs: number; readonly waves: readonly Wave[] }

/**
 * Measure how long the keeper takes from an event to raw transactions that the node has, beside a bare script that
 * makes the same unavoidable calls, in turns. Each side is a process of its own, and so is not the one that runs the
 * servers; while the script acts the keeper is stopped, so that neither slows the other.
 */
export async function measureReaction(say: (text: string) => void): Promise<ReactionFigures> {
  const untilMs = performance.now() + BENCH_MS_MAX
  const [loadBefore = 0] = loadavg()
  say('starting the sandbox')
  const world = await createReactionWorld(2 * (WARM_UP_ROUNDS + ROUNDS))
  const keeper = await startKeeper(world)
  const script = await startScript(world)
  const sides: Readonly<Record<Side['name'], Side>> = {
    keeper: { name: 'keeper', proxies: world.keeper.proxies, rounds: [] },
    script: { name: 'script', proxies: world.script.proxies, rounds: [] },
  }
  const failures: string[] = []
  try {
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS && performance.now() < untilMs; round += 1) {
      say(`round ${round + 1} of ${WARM_UP_ROUNDS + ROUNDS}`)
      const counts = round >= WARM_UP_ROUNDS
      for (const side of Object.values(sides)) {
        await world.openNext()
        // Not before the script's victim is liquidated and the price is back: the keeper would come second to it.
        if (side.name === 'script') keeper.freeze()
        else if (!(await keeper.thaw())) failures.push(`the keeper did not settle within ${SETTLE_MS_MAX} ms`)
        await sleep(PASSING_MS)
        const result = await runRound(world, side, side.name === 'script' ? script.act : () => {})
        if (typeof result === 'string') failures.push(result)
        else if (counts) side.rounds.push(result)
      }
    }
  } finally {
    await Promise.all([keeper.stop(), script.stop()])
    await world.stop()
  }
  const figures = { keeper: figuresOf(sides.keeper.rounds), script: figuresOf(sides.script.rounds) }
  return {
    type: 'reaction',
    delaysMs: DELAYS_MS,
    ...figures,
    ratio: figures.keeper.p50Ms / figures.script.p50Ms,
    failures,
    load: [loadBefore, loadavg()[0] ?? 0],
  }
}

async function runRound(world: ReactionWorld, side: Side, begin: () => void): Promise<Round | string> {
  const proxies = Object.values(side.proxies)
  for (const proxy of proxies) proxy.forget()
  begin()
  await world.crash()
  const untilMs = performance.now() + ROUND_MS_MAX
  while (performance.now() < untilMs) {
    const eventMs = side.proxies.service.heardMs()
    const sent = side.proxies.node.exchanges().find(isSend)
    if (eventMs !== null && sent?.endMs != null) {
      const { endMs } = sent
      const since = proxies
        .flatMap((proxy) => proxy.exchanges())
        .filter((one) => one.startMs >= eventMs && one.endMs !== null && one.endMs <= endMs && !isWatch(one))
      return { tookMs: endMs - eventMs, waves: wavesOf(eventMs, since) }
    }
    await sleep(POLL_MS)
  }
  return `the ${side.name} did not act within ${ROUND_MS_MAX} ms`
}

/** Both raw transactions go out in one batch. */
const isSend = ({ name }: Exchange) => name.includes('eth_sendRawTransaction')
/** What the keeper asks whether or not there is an event: the head, and at a new one its count and receipts. */
const isWatch = ({ name }: Exchange) =>
  name
    .split(' + ')
    .every((method) => /^eth_(getBlockByNumber|getTransactionCount|getTransactionReceipt)/.test(method))

function figuresOf(rounds: readonly Round[]): SideFigures {
  const times = rounds.map(({ tookMs }) => tookMs)
  const byShape = Map.groupBy(rounds, ({ waves }) => waves.length)
  const common = [...byShape.values()].toSorted((a, b) => b.length - a.length)[0] ?? []
  const waves = (common[0]?.waves ?? []).map((wave, index): Wave => {
    const same = common.flatMap((round) => round.waves[index] ?? [])
    return {
      calls: wave.calls,
      ownMs: quantile(
        same.map(({ ownMs }) => ownMs),
        0.5,
      ),
      tookMs: quantile(
        same.map(({ tookMs }) => tookMs),
        0.5,
      ),
    }
  })
  return { rounds: rounds.length, p50Ms: quantile(times, 0.5), p95Ms: quantile(times, 0.95), waves }
}

const start = (file: string, args: readonly string[] = []): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), args, { env: { ...process.env, ...ENVIRONMENT } })

async function startKeeper(world: ReactionWorld) {
  const child = start('reaction-keeper.ts', [world.keeper.configFile])
  const live = new Set<string>()
  child.on('message', (told: Told) => {
    if (told === 'ready') return
    for (const { id, state } of told) {
      if (TERMINAL.has(state)) live.delete(id)
      else live.add(id)
    }
  })
  await untilReady(child)
  return {
    freeze: () => child.kill('SIGSTOP'),
    /** Go on until no workflow is under way and every claim is settled; false when that takes too long. */
    thaw: async () => {
      child.kill('SIGCONT')
      const untilMs = performance.now() + SETTLE_MS_MAX
      while (live.size > 0 || (await world.openClaims(world.keeper.signer)) > 0) {
        if (performance.now() > untilMs) return false
        await sleep(SETTLE_POLL_MS)
      }
      return true
    },
    stop: () => end(child),
  }
}

const TERMINAL = new Set([
  'succeeded',
  'refused',
  'expired',
  'reverted',
  'superseded',
  'partial',
  'cancelled',
  'unconfirmed',
  'quarantined',
  'shadowed',
])

async function startScript(world: ReactionWorld) {
  const child = start('reaction-script.ts')
  child.send(world.script.settings)
  await untilReady(child)
  return { act: () => child.send('act'), stop: () => end(child) }
}

async function untilReady(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit').then(() => {
    throw new TypeError('a process of the bench ended early')
  })
  gone.catch(() => undefined)
  await Promise.race([once(child, 'message'), gone])
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGCONT')
  child.disconnect()
  await exited
}
