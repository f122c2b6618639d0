import type { Address } from 'viem'
import type { Moment, Stop } from '../agent.ts'
import { dataFeesWei } from '../protocol/data-fee.ts'
import { beyondStop, type Expectation } from '../protocol/experience.ts'
import { BPS, ceilDiv, tokenUnit } from '../protocol/health.ts'
import { type Borrowing, persistenceS } from './borrowing.ts'
import { expectSupply, MEASURED_S } from './experience.ts'
import { capAssets, impairment, intelligenceLimit, supplyStop } from './judge-market.ts'
import type { OpenVault } from './judge-vault.ts'
import { type Lane, meanRate } from './lane.ts'
import type { AllocatorPolicy } from './policy.ts'
import type { AllocationSeen, AllocatorSeen, MarketLook } from './seen.ts'

/** A market of a vault: what is there, what may be there, and how it earns. Base units. */
export type VaultMarket = {
  readonly marketAddress: Address
  readonly name: string
  readonly heldAssets: bigint
  /** What could be withdrawn if it had to be, whatever that does to the market's utilisation. */
  readonly cashAssets: bigint
  /** Bounds for yield: within bands, caps and what the service leaves. */
  readonly leastAssets: bigint
  readonly mostAssets: bigint
  readonly supplyLeastAssets: bigint
  /** Its earnings; the bounds are those for yield, in whole tokens. */
  readonly lane: Lane
  /** For which part of the time that a move is measured what is owed is expected to stay as it is. */
  readonly lastsMeasured: number
  /** What experience says of supplying there. */
  readonly expected: Expectation
  /** Why it is to be left; null when it is not. */
  readonly impaired: Stop | null
  /** Why no more may be supplied; null when more may. */
  readonly closed: Stop | null
}

const SECONDS_A_YEAR = 31_536_000
const WAD = 1e18

/** Lay out the markets of a vault for a decision. Pure. */
export function vaultMarketsOf(
  vault: OpenVault,
  seen: Moment & AllocatorSeen,
  policy: AllocatorPolicy,
): readonly VaultMarket[] {
  const touchCost = gasTokens(policy.costs.marketGas, vault, seen, policy)
  return vault.look.allocations.map((allocation) => {
    const market = seen.markets.find(({ address }) => address === allocation.marketAddress)
    return vaultMarketOf(allocation, market, vault, seen, policy, touchCost)
  })
}

/** Price gas at the head's base fee and the policy's headroom, in whole tokens of the vault's asset. Pure. */
export function gasTokens(
  gas: bigint,
  { priceUsdMicros }: OpenVault,
  { chain }: Moment,
  { costs }: AllocatorPolicy,
  transactions = 0n,
): number {
  const gasWei =
    gas *
    (ceilDiv(chain.baseFeePerGasWei * (BPS + BigInt(costs.baseFeeHeadroomBps)), BPS) +
      chain.priorityFeePerGasWei)
  const wei = gasWei + dataFeesWei({ chain }, transactions)
  return (Number(wei) / WAD) * (Number(costs.nativePriceUsdMicros) / Number(priceUsdMicros))
}

/** Whole tokens as a float: for sums that are checked again in base units. Pure. */
export const toTokens = (assets: bigint, decimals: number): number =>
  Number(assets) / Number(tokenUnit(decimals))

function vaultMarketOf(
  allocation: AllocationSeen,
  market: MarketLook | undefined,
  vault: OpenVault,
  seen: Moment & AllocatorSeen,
  policy: AllocatorPolicy,
  touchCost: number,
): VaultMarket {
  const { marketAddress } = allocation
  const expected = expectSupply(vault.look.address, marketAddress, seen, policy)
  const heldAssets = allocation.heldAssets ?? 0n
  const name = `${market?.collateralSymbol ?? marketAddress}/${vault.symbol}`
  const known = market === undefined ? null : figuresOf(market, heldAssets)
  if (market === undefined || known === null) {
    const closed =
      market === undefined
        ? { check: 'market_not_pinned', message: `${marketAddress} is not in deployment.markets.` }
        : { check: 'market_unread', message: 'The chain did not answer for its supply, debt and rate.' }
    const still = { leastAssets: heldAssets, mostAssets: heldAssets, supplyLeastAssets: 0n }
    const figures = { borrowedAssets: 0n, othersAssets: 0n, rate: 0 }
    const alone = { usual: [], lasts: 1, ours: 0 }
    const lane = laneOf(
      figures,
      heldAssets,
      still,
      { lenderShare: 0, lossRate: 0, touchCost, ...alone },
      vault.decimals,
    )
    const known = { marketAddress, name, heldAssets, cashAssets: 0n, lastsMeasured: 1, expected }
    return { ...known, ...still, lane, impaired: null, closed }
  }
  const cashAssets = allocation.cashAssets ?? 0n
  const impaired = vault.horizonS === 0 ? vault.supplyStop : impairment(market, allocation, policy, seen)
  const closed =
    impaired ??
    vault.supplyStop ??
    supplyStop(market, allocation, policy) ??
    (expected.isBeyond ? beyondStop(expected, policy.yields.experienceBpsMax, 'allocator') : null)
  const items = seen.intelligence.filter(
    (item) => item.vaultAddress === vault.look.address && item.marketAddress === marketAddress,
  )
  const borrowing = seen.borrowing[marketAddress]
  const usual = usualOf(known, heldAssets, borrowing)
  const bounds = boundsOf(allocation, known, vault, policy, {
    terms: policy.collaterals[market.collateralSymbol ?? ''],
    closed: closed !== null,
    limitAssets: intelligenceLimit(items, policy, seen.nowMs),
  })
  const lastsFor = (seconds: number) => lastingPart(borrowing, known.borrowedAssets, seconds, policy)
  const lossBps = policy.collaterals[market.collateralSymbol ?? '']?.lossBpsPerYear ?? 0
  const economics = {
    lenderShare: 1 - (market.reserveFactorBps ?? 10_000) / 10_000,
    lossRate: lossBps / 10_000 / SECONDS_A_YEAR,
    touchCost,
    usual: usual.map(({ assets, part }) => ({ owed: assets / Number(tokenUnit(vault.decimals)), part })),
    lasts: lastsFor(vault.horizonS),
    ours: toTokens(oursElsewhere(marketAddress, vault, seen), vault.decimals),
  }
  const unlearned = laneOf(known, heldAssets, bounds, economics, vault.decimals)
  const lane = { ...unlearned, learnedRate: Math.min(0, expected.mean) * meanRate(unlearned, unlearned.held) }
  const lastsMeasured = lastsFor(Math.min(MEASURED_S, vault.horizonS))
  const figures = { marketAddress, name, heldAssets, cashAssets, ...bounds, lane, lastsMeasured, expected }
  return { ...figures, impaired, closed }
}

type Figures = Pick<Lane, 'rate'> & { readonly borrowedAssets: bigint; readonly othersAssets: bigint }

/** What borrowers owe, what others have supplied, and how it pays; null when that is not known. */
function figuresOf(market: MarketLook, heldAssets: bigint): Figures | null {
  const { debtAssets, cashAssets, supplyRatePerSecondWad, curve } = market
  if (debtAssets === null || cashAssets === null || supplyRatePerSecondWad === null) return null
  const supplied = debtAssets + cashAssets
  // Shares of the debt are rounded down each: together they may miss the whole by base units.
  const othersAssets = supplied > heldAssets ? supplied - heldAssets : 0n
  const rate =
    'unknown' in curve
      ? Number(supplyRatePerSecondWad) / WAD
      : {
          base: Number(curve.baseRatePerSecondWad) / WAD,
          slope1: Number(curve.slope1PerSecondWad) / WAD,
          slope2: Number(curve.slope2PerSecondWad) / WAD,
          kink: Number(curve.kinkWad) / WAD,
        }
  return { borrowedAssets: debtAssets, othersAssets, rate }
}

/** What is usually owed there, as far as what is supplied now could be lent. */
function usualOf(
  { othersAssets }: Figures,
  heldAssets: bigint,
  borrowing: Borrowing | undefined,
): Borrowing['levels'] {
  const supplied = Number(othersAssets + heldAssets)
  return (borrowing?.levels ?? []).map(({ assets, part }) => ({ assets: Math.min(supplied, assets), part }))
}

/** For which part of the horizon what is owed is expected to stay as it is, on average. */
function lastingPart(
  borrowing: Borrowing | undefined,
  borrowedAssets: bigint,
  horizonS: number,
  { yields }: AllocatorPolicy,
): number {
  if (borrowing === undefined || horizonS === 0) return 1
  const lastsS = persistenceS(borrowing, Number(borrowedAssets), yields.persistenceS)
  return (lastsS / horizonS) * (1 - Math.exp(-horizonS / lastsS))
}

/** What the other vaults of this keeper have in a market, base units. */
const oursElsewhere = (marketAddress: Address, { look }: OpenVault, { vaults }: AllocatorSeen): bigint =>
  vaults
    .filter(({ address, books }) => address !== look.address && books?.isAllocator === true)
    .flatMap(({ allocations }) => allocations)
    .filter((allocation) => allocation.marketAddress === marketAddress)
    .reduce((sum, { heldAssets }) => sum + (heldAssets ?? 0n), 0n)

type Bounds = Pick<VaultMarket, 'leastAssets' | 'mostAssets' | 'supplyLeastAssets'>

function boundsOf(
  allocation: AllocationSeen,
  { borrowedAssets, othersAssets, rate }: Figures,
  vault: OpenVault,
  policy: AllocatorPolicy,
  how: {
    readonly terms: AllocatorPolicy['collaterals'][string] | undefined
    readonly closed: boolean
    readonly limitAssets: bigint | null
  },
): Bounds {
  const heldAssets = allocation.heldAssets ?? 0n
  const cashAssets = allocation.cashAssets ?? 0n
  const { terms, closed, limitAssets } = how
  /** What of ours makes the utilisation exactly that. */
  const amountAt = (utilizationBps: number) =>
    positive(ceilDiv(borrowedAssets * BPS, BigInt(utilizationBps)) - othersAssets)
  const scarce = terms === undefined ? 0n : amountAt(terms.utilizationBpsMax)
  // A market beyond its kink asks for more, and borrowers do not stay at a rate that our leaving drove up.
  const kept = terms === undefined ? 0n : amountAt(Math.min(terms.utilizationBpsMax, kinkBpsOf(rate)))
  const stuck = positive(heldAssets - (cashAssets * (BPS - BigInt(policy.headroomBps))) / BPS)
  const leastAssets = least(heldAssets, greatest(stuck, kept))
  if (closed || terms === undefined) {
    return { leastAssets, mostAssets: heldAssets, supplyLeastAssets: scarce }
  }
  const cap = capAssets(allocation, vault.books, terms.shareBpsMax, policy.headroomBps)
  const diluted = terms.utilizationBpsMin === 0 ? cap : amountAt(terms.utilizationBpsMin)
  const advised = limitAssets === null ? cap : heldAssets + limitAssets
  const mostAssets = greatest(heldAssets, least(cap, least(diluted, advised)))
  return { leastAssets, mostAssets, supplyLeastAssets: scarce }
}

/** The utilisation at which the rate begins to rise steeply; without a known curve, full utilisation. */
const kinkBpsOf = (rate: Figures['rate']) =>
  typeof rate === 'number' ? 10_000 : Math.max(1, Math.floor(rate.kink * 10_000))

const positive = (value: bigint) => (value > 0n ? value : 0n)
const least = (one: bigint, other: bigint) => (one < other ? one : other)
const greatest = (one: bigint, other: bigint) => (one > other ? one : other)

function laneOf(
  { borrowedAssets, othersAssets, rate }: Figures,
  heldAssets: bigint,
  bounds: Bounds,
  economics: Pick<Lane, 'lenderShare' | 'lossRate' | 'touchCost' | 'usual' | 'lasts' | 'ours'>,
  decimals: number,
): Lane {
  return {
    rate,
    borrowed: toTokens(borrowedAssets, decimals),
    others: toTokens(othersAssets, decimals),
    held: toTokens(heldAssets, decimals),
    least: toTokens(bounds.leastAssets, decimals),
    most: toTokens(bounds.mostAssets, decimals),
    supplyLeast: toTokens(bounds.supplyLeastAssets, decimals),
    lentWorth: 0,
    learnedRate: 0,
    ...economics,
  }
}
