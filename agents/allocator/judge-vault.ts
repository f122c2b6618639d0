import type { Moment, Stop } from '../agent.ts'
import { BPS, ceilDiv } from '../protocol/health.ts'
import { watchedSinceS } from './borrowing.ts'
import type { AllocatorPolicy } from './policy.ts'
import { REQUESTS_MAX } from './see-vault.ts'
import type { AllocatorSeen, ExitSeen, VaultBooks, VaultLook } from './seen.ts'

/** A vault that may be moved, with all its figures. */
export type OpenVault = {
  readonly look: VaultLook
  readonly books: VaultBooks
  readonly decimals: number
  readonly symbol: string
  readonly priceUsdMicros: bigint
  /** What must lie idle before anything may be supplied: buffer and queue; base units. */
  readonly neededAssets: bigint
  /** What must lie idle by duty: requests that fall due, and the buffer once it ran low; base units. */
  readonly obligedAssets: bigint
  readonly dueAssets: bigint
  /** Seconds over which a gain counts; 0 when it is being wound down. */
  readonly horizonS: number
  /** Why nothing more may be supplied; null when it may. */
  readonly supplyStop: Stop | null
}

/** The words that permit more to be supplied. Source: service API, "VaultLiquidityResource". */
const STRESS_COVERED = 'covered'

/** Judge a vault: open, or the first rule that closes it. Pure. What is not known closes it. */
export function judgeVault(
  look: VaultLook,
  moment: Moment & AllocatorSeen,
  policy: AllocatorPolicy,
): OpenVault | Stop {
  const { books, allocations } = look
  if (look.exit === null) return { check: 'vault_unknown', message: 'The service does not list this vault.' }
  if (books === null || books.requests === null) {
    return { check: 'vault_unread', message: 'The chain did not answer for the vault’s books and queue.' }
  }
  if (!books.isAllocator) {
    const message = `${moment.signer} does not hold the vault's ALLOCATOR_ROLE. Fix: have its owner grant it.`
    return { check: 'not_allocator', message }
  }
  const asset = moment.deployment.assets.find(({ address }) => address === books.asset)
  const terms = asset === undefined ? undefined : policy.assets[asset.symbol]
  if (asset === undefined || terms === undefined) {
    const message = `The policy's assets do not list ${asset?.symbol ?? books.asset}.`
    return { check: 'asset_not_allowed', message }
  }
  if (books.totalAssets === 0n || books.totalShares === 0n) {
    return { check: 'vault_empty', message: 'The vault holds nothing.' }
  }
  if (allocations.length === 0) {
    return { check: 'no_markets', message: 'The vault lists no market.' }
  }
  if (allocations.some(({ heldAssets, cashAssets }) => heldAssets === null || cashAssets === null)) {
    return { check: 'allocations_unread', message: 'The chain did not answer for every market of the vault.' }
  }
  const horizonS = horizonOf(look, moment, policy)
  const bufferAssets = ceilDiv(books.totalAssets * BigInt(books.bufferBps), BPS)
  const headroom = (assets: bigint) => ceilDiv(assets * (BPS + BigInt(policy.headroomBps)), BPS)
  const dueAssets = headroom(dueOf(books, books.requests, moment, policy))
  const free = books.idleAssets - dueAssets
  const refill = free * BPS < bufferAssets * BigInt(policy.redemptions.bufferRefillBelowBps)
  return {
    look,
    books,
    decimals: asset.decimals,
    symbol: asset.symbol,
    priceUsdMicros: terms.priceUsdMicros,
    neededAssets: headroom(bufferAssets + books.queuedAssets),
    obligedAssets: refill ? dueAssets + headroom(bufferAssets) : dueAssets,
    dueAssets,
    horizonS,
    supplyStop: horizonS === 0 ? MATURING : exitStop(look.exit, books, policy),
  }
}

const MATURING = { check: 'vault_maturing', message: 'The vault matures; everything is taken back.' }

/** Requests at the head of the queue that fall due in time, at the price of a share now; base units. */
function dueOf(
  { totalAssets, totalShares, queuedAssets, queueHead, queueEnd }: VaultBooks,
  requests: NonNullable<VaultBooks['requests']>,
  { chain }: Moment,
  { redemptions }: AllocatorPolicy,
): bigint {
  const later = requests.findIndex(({ dueAtS }) => dueAtS > chain.timestampS + redemptions.leadS)
  if (later === -1 && queueEnd - queueHead > REQUESTS_MAX) return queuedAssets
  const shares = requests
    .slice(0, later === -1 ? undefined : later)
    .reduce((sum, one) => sum + one.shares, 0n)
  return ceilDiv(shares * totalAssets, totalShares)
}

/** No gain is booked for longer than we can know: the prior, and as long again as we have watched every market of it. */
function horizonOf(
  { books, allocations }: VaultLook,
  { chain, borrowing }: Moment & AllocatorSeen,
  { yields, leaving }: AllocatorPolicy,
): number {
  const watchedS = allocations.map(
    ({ marketAddress }) => chain.timestampS - watchedSinceS(borrowing[marketAddress]),
  )
  const knownS = Math.min(yields.horizonS, yields.persistenceS + Math.max(0, Math.min(...watchedS)))
  if (books?.exit.kind !== 'maturity') return knownS
  return Math.max(0, Math.min(knownS, books.exit.maturityS - leaving.maturityLeadS - chain.timestampS))
}

/** What holders are promised must be known, the same by chain and service, and covered, before more is lent out. */
function exitStop(exit: ExitSeen, { exit: own }: VaultBooks, policy: AllocatorPolicy): Stop | null {
  if (exit.kind === null || exit.kind !== own.kind) {
    const message = `exitTermKind is ${exit.kind}; the vault says ${own.kind}.`
    return { check: 'exit_terms_unknown', message }
  }
  if (own.kind === 'notice' && exit.noticeS !== own.noticeS) {
    const message = `noticeSeconds is ${exit.noticeS}; the vault says ${own.noticeS}.`
    return { check: 'exit_terms_unknown', message }
  }
  if (own.kind === 'maturity' && exit.maturityMs !== own.maturityS * 1_000) {
    const message = `maturityTimestamp is ${exit.maturityMs} ms; the vault says ${own.maturityS} s.`
    return { check: 'exit_terms_unknown', message }
  }
  if (exit.durationCompatible !== true) {
    const message = `durationCompatible is ${exit.durationCompatible}; it must be true.`
    return { check: 'duration_incompatible', message }
  }
  if (exit.stressCoverageStatus !== STRESS_COVERED) {
    const message = `stressCoverageStatus is ${exit.stressCoverageStatus}; it must be ${STRESS_COVERED}.`
    return { check: 'stress_not_covered', message }
  }
  if (exit.unverifiedMarketCount === null || exit.unverifiedMarketCount > policy.unverifiedMarketsMax) {
    const message = `unverifiedMarketCount is ${exit.unverifiedMarketCount}; the policy allows ${policy.unverifiedMarketsMax}.`
    return { check: 'markets_unverified', message }
  }
  return exit.blockedReason === null
    ? null
    : { check: 'vault_blocked', message: `The service blocks the vault: ${exit.blockedReason}.` }
}
