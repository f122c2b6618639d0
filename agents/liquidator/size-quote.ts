import { type BestSet, bestSet } from './best-set.ts'
import type { Funds } from './funds.ts'
import { positionKey } from './judge.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { Option, Room } from './pricing.ts'
import { type Bound, tightest, usdMicros } from './size-search.ts'
import { assetsFor, floorOf, heldOf, optionOf, roomOf, type SizedCandidate } from './sized-candidate.ts'

/** The best set: its members with their sizes, and how far above it any other set can be at most. */
type Sizes = { readonly sizes: ReadonlyMap<SizedCandidate, Bound>; readonly gapBps: number }

const DOLLAR_MICROS = 1e6
/** A size this close to what we would like best is that. */
const WHOLE = 1 - 1e-9
/** What the search leaves open when it has found the best set. */
const FOUND = 1e-6

/**
 * Find the best set of repayments of those that each pay, and their sizes. Pure. One loan asset after the other, the
 * one that could bring most first: they share inventory and the hour's limit, and the gap counts what that may cost.
 */
export function sizesOf(wanted: readonly SizedCandidate[], funds: Funds, policy: LiquidatorPolicy): Sizes {
  const left = leftOf(wanted, funds)
  const alone = [...new Set(wanted.map(loanOf))]
    .map((loanAsset) =>
      search(
        wanted.filter((one) => loanOf(one) === loanAsset),
        left,
        policy,
      ),
    )
    .toSorted((one, other) => other.found.value - one.found.value)
  const sizes = new Map<SizedCandidate, Bound>()
  let value = 0
  for (const [turn, first] of alone.entries()) {
    const { mine, options, found } = turn === 0 ? first : search(first.mine, left, policy)
    value += found.value
    for (const [index, one] of mine.entries()) {
      const option = options[index] as Option
      const dollars = found.sizes[index] as number
      if (dollars === 0) continue
      sizes.set(one, boundOf(one, option, dollars, found))
      left.hour -= dollars
      left.count -= 1
      left.held.set(collateralOf(one), (left.held.get(collateralOf(one)) ?? 0) + dollars * option.seizes)
    }
  }
  const bound = alone.reduce((sum, { found }) => sum + found.bound, 0)
  return { sizes, gapBps: value === 0 ? 0 : Math.ceil(Math.max(0, bound / value - 1 - FOUND) * 10_000) }
}

/** What is left as sets are found: dollars, places in the set, and base units that are held by then, by collateral. */
type RemainingRoom = {
  hour: number
  count: number
  readonly cash: ReadonlyMap<string, number>
  readonly held: Map<string, number>
}

const loanOf = ({ candidate }: SizedCandidate) => candidate.market.loanAsset
const collateralOf = ({ candidate }: SizedCandidate) => candidate.market.collateralAsset

function leftOf(wanted: readonly SizedCandidate[], funds: Funds): RemainingRoom {
  const { reserveWei } = funds.liquidation
  const byGas = reserveWei === 0n ? funds.reverts : funds.nativeWei / reserveWei
  const cash = wanted.map(({ candidate: { market }, terms }): [string, number] => {
    const assets = funds.tokens.get(market.loanAsset) ?? market.loanBalance
    return [market.loanAsset, Number(usdMicros(assets, terms)) / DOLLAR_MICROS]
  })
  const held = wanted.map((one): [string, number] => [
    collateralOf(one),
    Number(heldOf(one.candidate, funds)),
  ])
  return {
    hour: Number(funds.hourUsdMicros) / DOLLAR_MICROS,
    count: Number(byGas < funds.reverts ? byGas : funds.reverts),
    cash: new Map(cash),
    held: new Map(held),
  }
}

/** Search the best set among those of one loan asset. */
function search(mine: readonly SizedCandidate[], left: RemainingRoom, policy: LiquidatorPolicy) {
  const collaterals = [...new Set(mine.map(collateralOf))]
  const first = new Map(mine.toReversed().map((one) => [collateralOf(one), one]))
  const rooms = collaterals.map((each) => roomOf(first.get(each) as SizedCandidate, left.held.get(each) ?? 0))
  const positions = mine.map(({ candidate: { facility } }) =>
    positionKey(facility.marketAddress, facility.borrower),
  )
  const groups = new Map(positions.map((position, index) => [position, index]))
  const floor = floorOf(policy)
  const options = mine.map((one, index) => {
    const room = collaterals.indexOf(collateralOf(one))
    return optionOf(one, groups.get(positions[index] as string) as number, room, rooms[room] as Room, floor)
  })
  const cash = Math.min(left.hour, ...mine.slice(0, 1).map((one) => left.cash.get(loanOf(one)) ?? 0))
  const found = bestSet(options, {
    cash: Math.max(0, cash),
    rooms,
    floor,
    countMax: Math.max(0, left.count),
  })
  return { mine, options, found }
}

/** A size in base units, and what limits it: the dearer of what others of the set want too. */
function boundOf(
  one: SizedCandidate,
  { most, room, seizes }: Option,
  dollars: number,
  found: BestSet,
): Bound {
  if (dollars >= most * WHOLE) return one.bound
  const byRoom = (found.roomPrices[room] as number) * seizes > found.cashPrice
  // Rounded up: the last one fills the limit itself to the base unit.
  const shareUsdMicros = BigInt(Math.ceil(dollars * DOLLAR_MICROS))
  return tightest(one.bound, {
    limitedBy: byRoom ? 'collateral_shared' : 'funds_shared',
    repayAssets: assetsFor(shareUsdMicros, one.terms),
  })
}
