import type { Address } from 'viem'
import type { Ended, Moment } from '../../../agents/agent.ts'
import { type Borrowings, remember } from '../../../agents/allocator/borrowing.ts'
import { decide } from '../../../agents/allocator/decide.ts'
import { type Lane, supplyRate } from '../../../agents/allocator/lane.ts'
import type { AllocatorPolicy } from '../../../agents/allocator/policy.ts'
import type { AllocatorSeen } from '../../../agents/allocator/seen.ts'
import {
  ASSET,
  allocation,
  books,
  market,
  movesIn,
  observation,
  VAULT,
  vault,
} from '../../agents/allocator/fixtures.ts'
import type { Dice } from './dice.ts'
import type { ScenarioName } from './judgement.ts'

/** One step is two hours, a play is a week. */
export const STEP_S = 7_200
export const STEPS = 84
const YEAR_S = 31_536_000
const WAD = 10n ** 18n
const BUFFER_BPS = 500
const CAP_SHARE = 0.5

/** A market of the play; amounts in whole tokens. What others supply is not ours; what is ours is lent out alike. */
export type Place = {
  readonly address: Address
  readonly curve: {
    readonly base: number
    readonly slope1: number
    readonly slope2: number
    readonly kink: number
  }
  /** What borrowers would owe at an ordinary rate; it wanders. */
  demand: number
  debt: number
  others: number
  held: number
  healthy: boolean
}

/** A vault in its markets; changed in place, step by step. */
export type World = {
  step: number
  idle: number
  /** Redemptions that wait, and what was paid so far. */
  queued: number
  paid: number
  /** Gas so far, tokens; and how many times the usual it costs now. */
  spent: number
  congestion: number
  stalled: boolean
  /** Steps at whose end a redemption that was due had to wait. */
  late: number
  readonly places: readonly Place[]
}

/** What an allocator does with a vault in one step: amounts that its places are brought to, in order. */
export type Mover = (world: World) => readonly number[] | null

/** Begin a play: 4 to 7 markets of different sizes and curves, a vault of about a third of them, idle at first. */
export function beginWorld(dice: Dice): World {
  const places = Array.from({ length: 4 + Math.floor(4 * dice.unit()) }, (_, index): Place => {
    const supplied = 1e6 * (0.5 + 3 * dice.unit())
    const demand = supplied * (0.35 + 0.5 * dice.unit())
    return {
      address: `0x${String(index + 1).repeat(40)}`,
      curve: {
        base: (0.005 + 0.01 * dice.unit()) / YEAR_S,
        slope1: (0.03 + 0.05 * dice.unit()) / YEAR_S,
        slope2: (0.4 + 0.8 * dice.unit()) / YEAR_S,
        kink: 0.75 + 0.15 * dice.unit(),
      },
      demand,
      debt: demand,
      others: supplied,
      held: 0,
      healthy: true,
    }
  })
  const idle = places.reduce((sum, { others }) => sum + others, 0) / 3
  const ours = { step: 0, idle, queued: 0, paid: 0, spent: 0, congestion: 1, stalled: false, late: 0 }
  return { ...ours, places }
}

/** Let a vault be moved and two hours pass; the same dice give two movers the same weather. */
export function playStep(world: World, mover: Mover, scenario: ScenarioName, dice: Dice): void {
  weather(world, scenario, dice)
  const targets = mover(world)
  if (targets !== null) move(world, targets)
  const payable = Math.min(world.queued, world.idle)
  world.idle -= payable
  world.paid += payable
  world.queued -= payable
  if (world.queued > 1e-6 * totalOf(world)) world.late += 1
  for (const place of world.places) {
    const lane = laneOf(place, world)
    const interest = supplyRate(lane, place.held) * STEP_S
    place.debt += (place.others + place.held) * interest
    place.others *= 1 + interest
    place.held *= 1 + interest
    borrow(place)
  }
  world.step += 1
}

/** What the vault is worth, with what was paid out and less what its moves cost. Pure. */
export const totalOf = ({ idle, places, paid, spent }: World): number =>
  idle + paid - spent + places.reduce((sum, { held }) => sum + held, 0)

/** What of ours a market could give back now. Pure. */
export const cashOf = ({ held, others, debt }: Place): number =>
  (held * (others + held - debt)) / (others + held)

/** Most that a vault may have in one market, by its caps. Pure. */
export const capOf = (world: World): number => totalOf(world) * CAP_SHARE * 0.998

/** What must lie idle before anything is supplied. Pure. */
export const neededOf = (world: World): number =>
  (totalOf(world) * BUFFER_BPS * 1.002) / 10_000 + world.queued

const GAS = { transaction: 0.45, market: 0.55 }

function move(world: World, targets: readonly number[]): void {
  for (const [index, place] of world.places.entries()) {
    const target = targets[index] ?? place.held
    if (target === place.held) continue
    world.idle += place.held - target
    place.held = target
    world.spent += GAS.market * world.congestion
  }
  world.spent += GAS.transaction * world.congestion
}

function weather(world: World, scenario: ScenarioName, dice: Dice): void {
  const wild = scenario === 'calm' ? 0.004 : scenario === 'volatile' ? 0.05 : 0.012
  for (const place of world.places) {
    const pull = 0.02 * Math.log((0.65 * place.others) / place.demand)
    place.demand *= Math.exp(pull + wild * dice.normal())
  }
  const [first, second] = world.places
  const [chance, size] = [dice.unit(), dice.unit()]
  world.stalled = scenario === 'indexer-stall' && world.step % 12 < 5
  if (scenario === 'redemption-run' && world.step > 6 && chance < 0.25) {
    world.queued += (0.02 + 0.06 * size) * (totalOf(world) - world.paid)
  }
  if (scenario === 'rate-spike' && second !== undefined) {
    if (world.step === 20) second.demand *= 1.6
    if (world.step === 50) second.demand /= 1.6
  }
  if (scenario === 'crash-with-congestion' && first !== undefined) {
    world.congestion = world.step >= 30 && world.step < 42 ? 40 : 1
    first.healthy = world.step < 30 || world.step >= 45
    // What is bad is written off once the price is known: those still there bear it.
    if (world.step === 33) loseDebt(first, 0.1 + 0.1 * size)
  }
}

function loseDebt(place: Place, part: number): void {
  const lost = place.debt * part
  const left = 1 - lost / (place.others + place.held)
  place.debt -= lost
  place.demand -= lost
  place.others *= left
  place.held *= left
}

/** Borrowers come for a low rate and go from a high one, a part of them in each step. */
function borrow(place: Place): void {
  const supplied = place.others + place.held
  const used = Math.min(1, place.debt / supplied)
  const { base, slope1, slope2, kink } = place.curve
  const rate =
    base + (slope1 * Math.min(used, kink)) / kink + (slope2 * Math.max(0, used - kink)) / (1 - kink)
  const wanted = place.demand * Math.exp(-2.5 * (rate * YEAR_S - 0.05))
  place.debt = Math.min(supplied * 0.99, place.debt + 0.25 * (wanted - place.debt))
}

/** A place as an optimisation sees it; its bounds are not set. Pure. */
function laneOf(place: Place, { congestion }: World): Lane {
  return {
    rate: place.curve,
    lenderShare: 1,
    borrowed: place.debt,
    others: place.others,
    held: place.held,
    least: 0,
    most: Number.POSITIVE_INFINITY,
    supplyLeast: 0,
    lossRate: 0,
    touchCost: GAS.market * congestion,
    usual: [],
    lasts: 1,
    ours: 0,
    lentWorth: 0,
    learnedRate: 0,
  }
}

/** The agent itself, with its own decide on an observation of the world, as a mover. */
export function agentMover(policy: AllocatorPolicy): Mover {
  const recent: Ended[] = []
  let borrowing: Borrowings = {}
  return (world) => {
    const looked = observed(world, recent)
    borrowing = remember(borrowing, looked.markets, looked.chain.timestampS)
    const seen = { ...looked, borrowing }
    const [proposal] = decide(seen, policy).proposals
    if (proposal === undefined) return null
    const { kind, workflowType, subject, occurrence, input, exposure } = proposal
    const request = { workflowType, subject, occurrence, input, exposure }
    recent.unshift({
      ...request,
      workflowId: String(world.step),
      kind,
      state: 'succeeded',
      begunAtMs: seen.nowMs,
      endedAtMs: seen.nowMs,
      check: null,
    })
    const moves = movesIn(proposal)
    return world.places.map((place) =>
      moves
        .filter((one) => one.market === place.address)
        .reduce((held, one) => held + Number(one.assets) / 1e6, place.held),
    )
  }
}

const units = (tokens: number) => BigInt(Math.floor(tokens * 1e6))
const wad = (rate: number) => BigInt(Math.round(rate * 1e18))

function observed(world: World, recent: readonly Ended[]): Moment & AllocatorSeen {
  const timestampS = 1_000_000 + world.step * STEP_S
  const total = totalOf(world) - world.paid
  const blank = observation()
  const chain = { ...blank.chain, timestampS, baseFeePerGasWei: BigInt(Math.round(1e9 * world.congestion)) }
  const pins = world.places.map(({ address }) => ({
    address,
    loanAsset: ASSET,
    collateralAsset: ASSET,
    oracle: address,
  }))
  const freshness = { ok: !world.stalled, ageMs: 1_000, message: 'the indexer stands still' }
  return {
    ...blank,
    nowMs: timestampS * 1_000,
    chain,
    freshness,
    recent,
    deployment: { ...blank.deployment, markets: pins },
    vaults: [
      vault({
        address: VAULT,
        books: books({
          totalAssets: units(total),
          totalShares: units(total) * 10n ** 6n,
          idleAssets: units(world.idle),
          queuedAssets: units(world.queued),
          queueEnd: world.queued > 0 ? 2n : 1n,
          bufferBps: BUFFER_BPS,
          requests: world.queued > 0 ? [{ dueAtS: 0, shares: units(world.queued) * 10n ** 6n }] : [],
        }),
        allocations: world.places.map((place) =>
          allocation({
            marketAddress: place.address,
            listing: {
              approved: true,
              allocationEnabled: true,
              absoluteCapAssets: 2n ** 100n,
              relativeCapBps: CAP_SHARE * 10_000,
            },
            absoluteCapAssets: 2n ** 100n,
            relativeCapBps: CAP_SHARE * 10_000,
            heldAssets: units(place.held),
            cashAssets: units(cashOf(place)),
          }),
        ),
      }),
    ],
    markets: world.places.map((place) =>
      market({
        address: place.address,
        debtAssets: units(place.debt),
        cashAssets: units(place.others + place.held - place.debt),
        supplyRatePerSecondWad: wad(supplyRate(laneOf(place, world), place.held)),
        oracle: { priceWad: WAD, sourceAsOfS: timestampS, state: place.healthy ? 1 : 2 },
        curve: {
          baseRatePerSecondWad: wad(place.curve.base),
          slope1PerSecondWad: wad(place.curve.slope1),
          slope2PerSecondWad: wad(place.curve.slope2),
          kinkWad: wad(place.curve.kink),
        },
      }),
    ),
  }
}
