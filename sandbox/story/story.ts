import { parseGwei, parseUnits } from 'viem'
import { BORROWERS_A_MARKET } from '../cast/borrowers.ts'
import type { MarketName } from '../deploy/markets.ts'
import type { Mood } from './scenarios.ts'

type VaultName = 'prime' | 'growth'

/** How a market is from a tick on. */
export type MarketWeather = {
  readonly market: MarketName
  readonly priceWad: bigint
  readonly oracle: 'healthy' | 'stale'
  readonly paused: boolean
}

/** What one borrower does. `borrower` is an index below {@link BORROWERS}. */
export type BorrowerAct = {
  readonly market: MarketName
  readonly borrower: number
} & (
  | {
      /** Repay what is left, hold just the collateral for `debtAssets` (of the loan, in all), and borrow it. */
      readonly act: 'open'
      readonly debtAssets: bigint
      /** The debt as a share of what the collateral allows. */
      readonly limitBps: bigint
      /** Lends in equal parts. */
      readonly vaults: readonly VaultName[]
    }
  | { readonly act: 'topUp'; readonly collateralBps: bigint }
  | { readonly act: 'repay'; readonly debtBps: bigint }
  | { readonly act: 'close' }
)

/** One second of the story. */
export type Tick = {
  readonly markets: readonly MarketWeather[]
  readonly acts: readonly BorrowerAct[]
  /** What the next block asks a gas unit for; null leaves it to the chain. */
  readonly baseFeePerGasWei: bigint | null
}

/** How one market moves: round after round it falls, rests, rises, and stays on a plateau where borrowers open. */
type Climate = {
  readonly name: MarketName
  readonly base: number
  /** Where in its first round the story begins. */
  readonly start: number
  readonly fallTicks: number
  readonly restTicks: number
  readonly riseTicks: number
  readonly plateauTicks: number
  /** Least and most depth of a fall, as a logarithm; a crash goes deeper. */
  readonly depths: readonly [number, number]
  /** The liquidation threshold over the LLTV: health right after borrowing all that is allowed. */
  readonly health: number
  readonly vaults: readonly (readonly VaultName[])[]
  readonly mood: Mood
}

// At these depths and lengths a price moves by about 1 % a tick at most, and in a crash by 2 %.
const CLIMATES: readonly Omit<Climate, 'mood'>[] = [
  {
    name: 'btc',
    base: 60_000,
    start: 4,
    fallTicks: 24,
    restTicks: 4,
    riseTicks: 24,
    plateauTicks: 8,
    depths: [0.12, 0.14],
    health: 8_000 / 7_500,
    vaults: [['prime']],
  },
  {
    name: 'eth',
    base: 3_000,
    start: 56,
    fallTicks: 28,
    restTicks: 4,
    riseTicks: 26,
    plateauTicks: 8,
    depths: [0.14, 0.165],
    health: 7_800 / 7_000,
    vaults: [['prime'], ['growth'], ['prime', 'growth']],
  },
]
const CRASH_DEPTH = 0.3
/** The slow change of the level that a market comes back to, as a logarithm, over so many ticks. */
const DRIFT = 0.03
const DRIFT_TICKS = 600

/**
 * Work out what happens in a tick: how the markets are from it on, and what borrowers do. Pure, and in any order: a tick
 * depends on nothing but the mood, the seed and itself. One tick is a second.
 */
export function story(mood: Mood, seed: number, tick: number): Tick {
  const climates = CLIMATES.map((climate) => ({ ...climate, mood }))
  const crashes = climates.some((climate) => isCrashing(climate, seed, tick))
  return {
    markets: climates.map((climate) => weatherOf(climate, seed, tick)),
    acts: climates.flatMap((climate, index) =>
      Array.from({ length: BORROWERS_A_MARKET }, (_, seat) =>
        actsOf(climate, seed, tick, index, seat),
      ).flat(),
    ),
    baseFeePerGasWei:
      crashes && mood.crashBaseFeeGwei !== null ? parseGwei(`${mood.crashBaseFeeGwei}`) : null,
  }
}

/** A number from 0 up to 1 that follows from the seed and a name: FNV-1a over both, then mixed so that every bit counts. */
export function roll(seed: number, ...name: readonly (string | number)[]): number {
  let hash = 0x811c9dc5
  for (const letter of `${seed}:${name.join(':')}`) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

type Kind = 'ordinary' | 'crash' | 'stale'
type Round = { readonly number: number; readonly kind: Kind; readonly depth: number }

const lengthOf = (climate: Climate) =>
  climate.fallTicks + climate.restTicks + climate.riseTicks + climate.plateauTicks

function roundOf(climate: Climate, seed: number, number: number): Round {
  const kind = kindOf(climate, seed, number)
  const [least, most] = climate.depths
  const depth =
    kind === 'crash'
      ? CRASH_DEPTH
      : climate.mood.depthFactor * (least + (most - least) * roll(seed, climate.name, number, 'depth'))
  return { number, kind, depth }
}

function kindOf({ name, mood }: Climate, seed: number, number: number): Kind {
  if (number < mood.calmRounds) return 'ordinary'
  const isOne = (kind: Kind, every: number | null) =>
    every !== null && roll(seed, name, number, kind) < 1 / every
  if (isOne('crash', mood.crashEvery)) return 'crash'
  return isOne('stale', mood.staleEvery) ? 'stale' : 'ordinary'
}

/** Whether the price falls or is at its bottom in a crash. */
function isCrashing(climate: Climate, seed: number, tick: number): boolean {
  const { at, round } = momentOf(climate, seed, tick)
  return round.kind === 'crash' && at < climate.fallTicks + climate.restTicks
}

/** Where in which round a tick is. */
function momentOf(climate: Climate, seed: number, tick: number) {
  const length = lengthOf(climate)
  const round = roundOf(climate, seed, Math.floor((tick + climate.start) / length))
  return { at: (tick + climate.start) % length, round }
}

function weatherOf(climate: Climate, seed: number, tick: number): MarketWeather {
  const { at, round } = momentOf(climate, seed, tick)
  const falling = at / climate.fallTicks
  return {
    market: climate.name,
    priceWad: priceOf(climate, seed, tick, round, at),
    // Mid-fall, for a few ticks: positions cross meanwhile, and nobody may act.
    oracle: round.kind === 'stale' && falling >= 0.6 && falling < 0.8 ? 'stale' : 'healthy',
    // Liquidators come too late for some: what is left does not cover its debt.
    paused: round.kind === 'crash' && falling >= 0.4 && falling < 0.95,
  }
}

function priceOf(climate: Climate, seed: number, tick: number, round: Round, at: number): bigint {
  const { base, name, fallTicks, restTicks, riseTicks } = climate
  const bottom = fallTicks + restTicks
  const down =
    at < fallTicks ? ease(at / fallTicks) : at < bottom ? 1 : 1 - ease(Math.min(1, (at - bottom) / riseTicks))
  const era = Math.floor(tick / DRIFT_TICKS)
  const level = (number: number) => (number === 0 ? 0 : (2 * roll(seed, name, number, 'level') - 1) * DRIFT)
  const drift = level(era) + (level(era + 1) - level(era)) * ease((tick % DRIFT_TICKS) / DRIFT_TICKS)
  const tremble = (2 * roll(seed, name, tick, 'tremble') - 1) * climate.mood.tremble
  const price = base * Math.exp(drift + tremble - round.depth * down)
  return parseUnits(price.toFixed(4), 18)
}

/** From 0 to 1, slow at both ends. */
const ease = (share: number) => (1 - Math.cos(Math.PI * share)) / 2

/** What the borrower on a seat of a market does in a tick, through one round: open before it, then one more thing. */
function actsOf(climate: Climate, seed: number, tick: number, index: number, seat: number): BorrowerAct[] {
  const length = lengthOf(climate)
  // Its round is the one that it last opened for: seats open one tick apart, on the plateau before.
  const lead = seat + 2
  const number = Math.floor((tick + climate.start + lead) / length)
  const at = tick + climate.start - number * length
  const late = tick === 0 && at > 0
  if (late && at > climate.fallTicks / 4) return []
  const who = { market: climate.name, borrower: index * BORROWERS_A_MARKET + seat }
  const round = roundOf(climate, seed, number)
  const chance = (what: string) => roll(seed, climate.name, number, seat, what)
  const character = characterOf(chance('character'), seat)
  if (late || at === -lead) {
    const options = climate.vaults
    return [
      {
        ...who,
        act: 'open',
        // $1,000 to $20,000, small ones more often.
        debtAssets: BigInt(Math.round(1_000 * 20 ** chance('size'))) * 10n ** 6n,
        // A little further from the edge from seat to seat, so that they cross one after another.
        limitBps:
          character === 'careful'
            ? carefulLimitBps(climate, round)
            : BigInt(9_950 - 25 * seat - Math.floor(20 * chance('limit'))),
        vaults: options[Math.floor(chance('vault') * options.length)] ?? ['prime'],
      },
    ]
  }
  const crossesAt = Math.round(climate.fallTicks * 0.55)
  if (character === 'saver' && at === crossesAt - 4) return [{ ...who, act: 'repay', debtBps: 1_500n }]
  if (character === 'topper' && at === crossesAt + 4) return [{ ...who, act: 'topUp', collateralBps: 1_500n }]
  if (character === 'leaver' && at === climate.fallTicks + climate.restTicks)
    return [{ ...who, act: 'close' }]
  return []
}

type Character = 'edge' | 'careful' | 'saver' | 'topper' | 'leaver'

/** The first two seats of a market always go to the edge, so that every round has work. */
function characterOf(chance: number, seat: number): Character {
  if (seat < 2 || chance < 0.45) return 'edge'
  if (chance < 0.6) return 'careful'
  if (chance < 0.7) return 'saver'
  return chance < 0.85 ? 'topper' : 'leaver'
}

/** A debt whose health at the bottom is 1.015: close, and never under water. */
function carefulLimitBps({ health }: Climate, { depth }: Round): bigint {
  return BigInt(Math.floor(Math.min(0.985, (health * Math.exp(-depth)) / 1.015) * 10_000))
}
