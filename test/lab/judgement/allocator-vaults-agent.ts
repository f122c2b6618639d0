import type { Ended, Moment } from '../../../agents/agent.ts'
import { type Borrowings, remember } from '../../../agents/allocator/borrowing.ts'
import type { AllocatorSeen } from '../../../agents/allocator/seen.ts'
import { type Case, type Experience, withCases } from '../../../agents/protocol/experience.ts'
import { actualOf } from '../../../src/accounts/earned.ts'
import type { ExpectedGain, Proposal } from '../../../src/workflow/proposal.ts'
import {
  ASSET,
  allocation,
  books,
  market,
  movesIn,
  observation,
  vault,
} from '../../agents/allocator/fixtures.ts'
import {
  assetsOf,
  bring,
  cashOf,
  HOUR_S,
  type Holder,
  type KeeperWorld,
  lendRate,
  rules,
  sum,
  suppliedIn,
  waitingIn,
} from './allocator-vaults-world.ts'

type Seen = Moment & AllocatorSeen
/** What an allocator decides on one look at all vaults of its keeper. */
export type Decide = (seen: Seen) => readonly Proposal[]

const WAD = 10n ** 18n
/** A share has as many base units for a base unit of the asset. */
const SHARE = 10n ** 6n
const START_S = 1_000_000
const units = (tokens: number) => BigInt(Math.floor(tokens * 1e6))
const wad = (rate: number) => BigInt(Math.round(rate * 1e18))

/** A move that waits for its time to pass: what it supplied and withdrew, by place, and what a token had become there. */
type Measured = {
  readonly said: ExpectedGain & Required<Pick<ExpectedGain, 'earns'>>
  readonly atH: number
  readonly moved: readonly number[]
  readonly grown: readonly number[]
}

/** A keeper that looks once an hour, remembers what its role remembers, and learns what its moves earned as its accounts have it. */
export class Keeper {
  readonly #decide: Decide
  readonly #recent: Ended[] = []
  #borrowing: Borrowings = {}
  #experience: readonly Experience[] = []
  #measured: readonly Measured[] = []
  constructor(decide: Decide) {
    this.#decide = decide
  }

  /** Look, and remember: nothing is decided. */
  watch(world: KeeperWorld): Seen {
    const looked = observed(world, this.#recent)
    this.#borrowing = remember(this.#borrowing, looked.markets, looked.chain.timestampS)
    this.#learn(world)
    return { ...looked, borrowing: this.#borrowing, experience: this.#experience }
  }

  #learn({ hour, places }: KeeperWorld): void {
    const isOver = ({ said, atH }: Measured) => (hour - atH) * HOUR_S >= said.earns.forS
    const cases = this.#measured.filter(isOver).map(({ said, atH, moved, grown }): Case => {
      const rates = places.map((place, index) => place.grown / (grown[index] ?? 1) - 1)
      const came = sum(moved.map((amount, index) => amount * (rates[index] ?? 0)))
      return { of: said.of, came: actualOf(said, units(came), (hour - atH) * HOUR_S), netUsd: came }
    })
    this.#measured = this.#measured.filter((each) => !isOver(each))
    this.#experience = withCases(this.#experience, cases)
  }

  /** Look, decide, and carry out. @param before each move is told before it is made, with its vault. */
  act(world: KeeperWorld, before: (proposal: Proposal, holder: Holder) => void = () => undefined): number {
    const seen = this.watch(world)
    const proposals = this.#decide(seen)
    for (const proposal of proposals) {
      const holder = world.holders.find(({ address }) => address === proposal.subject)
      if (holder === undefined) throw new RangeError(`no vault ${proposal.subject}`)
      before(proposal, holder)
      const held = [...holder.held]
      carryOut(world, holder, proposal)
      const { said } = proposal
      const { earns } = said ?? {}
      const moved = holder.held.map((amount, index) => amount - (held[index] ?? 0))
      const grown = world.places.map((place) => place.grown)
      if (said !== undefined && earns !== undefined)
        this.#measured = [...this.#measured, { said: { ...said, earns }, atH: world.hour, moved, grown }]
      const { workflowType, kind, subject, occurrence, input, exposure } = proposal
      this.#recent.unshift({
        workflowType,
        kind,
        subject,
        occurrence,
        input,
        exposure,
        workflowId: occurrence,
        state: 'succeeded',
        begunAtMs: seen.nowMs,
        endedAtMs: seen.nowMs,
        check: null,
      })
    }
    return proposals.length
  }
}

function carryOut(world: KeeperWorld, holder: Holder, proposal: Proposal): void {
  const moves = movesIn(proposal)
  const targets = world.places.map(({ address }, index) =>
    sum([
      holder.held[index] ?? 0,
      ...moves.filter((one) => one.market === address).map((one) => Number(one.assets) / 1e6),
    ]),
  )
  bring(world, holder, targets)
}

function observed(world: KeeperWorld, recent: readonly Ended[]): Seen {
  const timestampS = START_S + world.hour * HOUR_S
  const blank = observation()
  const pins = world.places.map(({ address }) => ({
    address,
    loanAsset: ASSET,
    collateralAsset: ASSET,
    oracle: address,
  }))
  const { chain } = blank
  return {
    ...blank,
    nowMs: timestampS * 1_000,
    recent,
    chain: { ...chain, timestampS, baseFeePerGasWei: BigInt(world.baseFeeGwei) * 10n ** 9n },
    deployment: {
      ...blank.deployment,
      markets: pins,
      vaults: world.holders.map(({ address }) => ({ address })),
    },
    vaults: world.holders.map((holder) => vaultSeen(world, holder)),
    markets: world.places.map((_, index) => marketSeen(world, index, timestampS)),
  }
}

function vaultSeen(world: KeeperWorld, holder: Holder): Seen['vaults'][number] {
  const total = units(assetsOf(holder))
  const waiting = waitingIn(holder, world.hour)
  const terms = { approved: true, allocationEnabled: true, absoluteCapAssets: 2n ** 100n }
  return vault({
    address: holder.address,
    books: books({
      totalAssets: total,
      totalShares: total * SHARE,
      idleAssets: units(holder.idle),
      queuedAssets: waiting.reduce((assets, request) => assets + units(request.assets), 0n),
      queueEnd: 1n + BigInt(waiting.length),
      bufferBps: rules.bufferBps,
      requests: waiting.map(({ dueS, assets }) => ({
        dueAtS: START_S + dueS,
        shares: units(assets) * SHARE,
      })),
    }),
    allocations: world.places.map(({ address }, index) =>
      allocation({
        marketAddress: address,
        listing: { ...terms, relativeCapBps: rules.capBps },
        absoluteCapAssets: 2n ** 100n,
        relativeCapBps: rules.capBps,
        heldAssets: units(holder.held[index] ?? 0),
        cashAssets: units(cashOf(world, holder, index)),
      }),
    ),
  })
}

function marketSeen(world: KeeperWorld, index: number, timestampS: number): Seen['markets'][number] {
  const place = world.places[index]
  if (place === undefined) throw new RangeError(`no place ${index}`)
  const supplied = suppliedIn(world, index)
  const { base, slope1, slope2, kink } = place.curve
  return market({
    address: place.address,
    debtAssets: units(place.debt),
    cashAssets: units(supplied - place.debt),
    supplyRatePerSecondWad: wad(lendRate(place, supplied)),
    oracle: { priceWad: WAD, sourceAsOfS: timestampS, state: 1 },
    curve: {
      baseRatePerSecondWad: wad(base),
      slope1PerSecondWad: wad(slope1),
      slope2PerSecondWad: wad(slope2),
      kinkWad: wad(kink),
    },
  })
}
