import type { Address } from 'viem'
import type { Decision, Moment } from '../../../agents/agent.ts'
import { decide } from '../../../agents/allocator/decide.ts'
import { type AllocatorPolicy, allocatorPolicy } from '../../../agents/allocator/policy.ts'
import type {
  AllocationSeen,
  AllocatorSeen,
  MarketLook,
  VaultBooks,
  VaultLook,
} from '../../../agents/allocator/seen.ts'
import type { RateCurve } from '../../../agents/protocol/rate-curve.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { NOTHING_AROUND } from '../../support/around.ts'
import { policyOf } from '../../support/policies.ts'

const hex = (digit: string): Address => `0x${digit.repeat(40)}`
const SIGNER = hex('a')
export const ASSET = hex('1')
const BTC = hex('2')
const ETH = hex('3')
export const VAULT = hex('4')
export const BTC_MARKET = hex('5')
export const ETH_MARKET = hex('6')
const YEAR_S = 31_536_000n
const WAD = 10n ** 18n

const policyFile = policyOf('allocator')

/** The sandbox's policy's strategy as YAML gives it: every scalar is text. */
export const strategyText = (): Record<string, unknown> => policyFile.strategy
const shipped = allocatorPolicy.parse(strategyText())
/** Rates last the whole horizon where a test says nothing of what was seen. */
export const policy = (changes: Partial<AllocatorPolicy> = {}): AllocatorPolicy => ({
  ...shipped,
  yields: { ...shipped.yields, persistenceS: shipped.yields.horizonS },
  ...changes,
})

/** Whole sUSD in base units. */
export const usd = (whole: number): bigint => BigInt(Math.round(whole * 1e6))

const percentAYear = (percent: number) => (BigInt(Math.round(percent * 1e6)) * 10n ** 10n) / YEAR_S

/** 1 % a year when idle, 5 % at the kink of 80 %, 80 % when nothing is left to borrow. */
export const curve = (changes: Partial<RateCurve> = {}): RateCurve => ({
  baseRatePerSecondWad: percentAYear(1),
  slope1PerSecondWad: percentAYear(4),
  slope2PerSecondWad: percentAYear(75),
  kinkWad: (WAD * 8n) / 10n,
  ...changes,
})

/** Supplied 4 M, lent out 3 M, everything healthy. */
export const market = (changes: Partial<MarketLook> = {}): MarketLook => ({
  address: BTC_MARKET,
  collateralSymbol: 'sBTC',
  oracleState: 'healthy',
  marketRegimeState: 'normal',
  marketLive: true,
  paused: false,
  reserveFactorBps: 0,
  pausedOnChain: false,
  debtAssets: usd(3_000_000),
  cashAssets: usd(1_000_000),
  badDebtAssets: 0n,
  supplyRatePerSecondWad: percentAYear(3.5),
  oracle: { priceWad: 60_000n * WAD, sourceAsOfS: 1_000, state: 1 },
  curve: curve(),
  ...changes,
})

export const allocation = (changes: Partial<AllocationSeen> = {}): AllocationSeen => ({
  marketAddress: BTC_MARKET,
  listing: {
    approved: true,
    allocationEnabled: true,
    absoluteCapAssets: usd(4_000_000),
    relativeCapBps: 8_000,
  },
  listed: true,
  approved: true,
  allocationEnabled: true,
  absoluteCapAssets: usd(4_000_000),
  relativeCapBps: 8_000,
  heldAssets: usd(2_000_000),
  cashAssets: usd(500_000),
  ...changes,
})

export const books = (changes: Partial<VaultBooks> = {}): VaultBooks => ({
  asset: ASSET,
  totalAssets: usd(5_000_000),
  totalShares: 5_000_000n * 10n ** 12n,
  idleAssets: usd(1_000_000),
  queuedAssets: 0n,
  queueHead: 1n,
  queueEnd: 1n,
  bufferBps: 500,
  isAllocator: true,
  exit: { kind: 'instant', noticeS: 0, maturityS: 0 },
  requests: [],
  ...changes,
})

/** 5 M: 2 M in each market, 1 M idle of which 250,000 are the buffer. */
export const vault = (changes: Partial<VaultLook> = {}): VaultLook => ({
  address: VAULT,
  exit: {
    kind: 'instant',
    noticeS: null,
    maturityMs: null,
    durationCompatible: true,
    stressCoverageStatus: 'covered',
    unverifiedMarketCount: 0,
    blockedReason: null,
  },
  books: books(),
  allocations: [allocation(), allocation({ marketAddress: ETH_MARKET })],
  ...changes,
})

export const ethMarket = (changes: Partial<MarketLook> = {}): MarketLook =>
  market({ address: ETH_MARKET, collateralSymbol: 'sETH', ...changes })

export const observation = (changes: Partial<Moment & AllocatorSeen> = {}): Moment & AllocatorSeen => ({
  nowMs: 1_001_000,
  signer: SIGNER,
  chainId: 31_337,
  chain: {
    blockNumber: 10n,
    timestampS: 1_001,
    baseFeePerGasWei: 1_000_000_000n,
    priorityFeePerGasWei: 1_000_000_000n,
  },
  freshness: { ok: true, ageMs: 1_000, message: '1 s old' },
  nativeBalanceWei: WAD,
  balances: {},
  deployment: {
    assets: [
      { address: ASSET, symbol: 'sUSD', decimals: 6 },
      { address: BTC, symbol: 'sBTC', decimals: 8 },
      { address: ETH, symbol: 'sETH', decimals: 18 },
    ],
    markets: [
      { address: BTC_MARKET, loanAsset: ASSET, collateralAsset: BTC, oracle: hex('7') },
      { address: ETH_MARKET, loanAsset: ASSET, collateralAsset: ETH, oracle: hex('8') },
    ],
    vaults: [{ address: VAULT }],
    funds: [],
    contracts: [],
  },
  ours: [SIGNER],
  ...NOTHING_AROUND,
  vaults: [vault()],
  markets: [market(), ethMarket()],
  intelligence: [],
  borrowing: {},
  proved: {},
  ...changes,
})

type Move = { readonly marketAddress: string; readonly assets: string }

/** What a proposal moves, base units: negative out of the market. Throws where an input is not as it should be. */
export function movesIn({ workflowType, input }: Proposal): readonly { market: string; assets: bigint }[] {
  const as = (sign: bigint) => (move: Move) => ({
    market: move.marketAddress,
    assets: sign * BigInt(move.assets),
  })
  const one = input as unknown as Move
  if (workflowType === 'role.allocator.vaultAllocate') return [as(1n)(one)]
  if (workflowType === 'role.allocator.vaultDeallocate') return [as(-1n)(one)]
  const batch = input as unknown as { withdrawals: readonly Move[]; supplies: readonly Move[] }
  return [...batch.withdrawals.map(as(-1n)), ...batch.supplies.map(as(1n))]
}

/** The world after a proposal was carried out, with no time passing. */
export function carriedOut(seen: Moment & AllocatorSeen, proposal: Proposal): Moment & AllocatorSeen {
  const moves = movesIn(proposal)
  const change = (address: string, at: string = proposal.subject) =>
    at !== proposal.subject
      ? 0n
      : moves.filter((one) => one.market === address).reduce((sum, one) => sum + one.assets, 0n)
  const total = moves.reduce((sum, { assets }) => sum + assets, 0n)
  return {
    ...seen,
    vaults: seen.vaults.map((one) =>
      one.address !== proposal.subject || one.books === null
        ? one
        : {
            ...one,
            books: { ...one.books, idleAssets: one.books.idleAssets - total },
            allocations: one.allocations.map((each) => ({
              ...each,
              heldAssets: (each.heldAssets ?? 0n) + change(each.marketAddress),
              cashAssets: (each.cashAssets ?? 0n) + change(each.marketAddress),
            })),
          },
    ),
    markets: seen.markets.map((one) => ({
      ...one,
      cashAssets: (one.cashAssets ?? 0n) + change(one.address),
    })),
  }
}

export const decideOn = (changes: Partial<Moment & AllocatorSeen> = {}, by = policy()): Decision =>
  decide(observation(changes), by)
