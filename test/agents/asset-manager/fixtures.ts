import type { Moment } from '../../../agents/agent.ts'
import { type ManagerPolicy, managerPolicy } from '../../../agents/asset-manager/policy.ts'
import type {
  ChannelPolicy,
  FundFigures,
  FundSeen,
  LotSeen,
  ManagerSeen,
  MobilityFigures,
  PricedMarket,
  VaultSeen,
} from '../../../agents/asset-manager/seen.ts'
import { type FundResource, fundResource } from '../../../src/service/contract/fund-resources.ts'
import { type MarketResource, marketResource } from '../../../src/service/contract/resources.ts'
import {
  type AcquisitionResource,
  acquisitionResource,
} from '../../../src/service/contract/trade-resources.ts'
import { type VaultResource, vaultResource } from '../../../src/service/contract/vault-resources.ts'
import { NOTHING_AROUND } from '../../support/around.ts'
import { policyOf } from '../../support/policies.ts'
import { TOKENS } from '../../support/tokens.ts'

const hex = (digit: string) => `0x${digit.repeat(40)}` as const
export const SIGNER = hex('a')
export const RIVAL = hex('b')
export const USD = hex('1')
export const BTC = hex('2')
export const MARKET = hex('3')
export const VAULT = hex('4')
export const BORROWER = hex('5')
export const FUND = hex('6')
export const RIVAL_FUND = hex('7')
export const HOUSE = hex('8')
export const SELLER = hex('9')
const ORACLE = hex('c')
const REFERENCE = hex('e')
export const POSITION = `0x${'d'.repeat(64)}` as const

/** Unix seconds of every fixture's head. */
export const NOW_S = 1_800_000_000
export const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()
/** Whole sUSD in base units. */
export const usd = (whole: number) => BigInt(Math.round(whole * 1_000_000))

const file = policyOf('asset-manager')
/** The sandbox's policy's strategy as YAML gives it: every scalar is text. */
export const strategyText = (): Record<string, unknown> => structuredClone(file.strategy)

const shipped = managerPolicy(TOKENS).parse(strategyText())
/** The sandbox's policy, with nothing declared. */
export const policy = (
  bidding: Partial<ManagerPolicy['bidding']> = {},
  declared: Partial<ManagerPolicy['declared']> = {},
): ManagerPolicy => ({
  bidding: { ...shipped.bidding, ...bidding },
  declared: { vaults: [], funds: [], channelPolicies: [], mobility: [], vaultSettings: [], ...declared },
})

/** One epoch that took 500,000 sUSD and is closed; everything is approved. */
export const fundRow = (changes: Partial<FundResource> = {}): FundResource => {
  const epoch = {
    id: `${FUND}:1`,
    fundAddress: FUND,
    epochId: '1',
    status: 'funding',
    openedAt: String(NOW_S - 100),
    scheduledCloseAt: String(NOW_S - 50),
    closedAt: String(NOW_S - 50),
    postCloseFundingDeadline: String(NOW_S + 1_000),
    depositedQuoteAmount: String(usd(600_000)),
    withdrawnQuoteAmount: String(usd(100_000)),
    activeScaleRay: String(10n ** 27n),
    activeReservationId: null,
  }
  return fundResource.parse({
    id: FUND,
    chainId: 31_337,
    address: FUND,
    name: 'Fund',
    status: 'active',
    quoteAssetAddress: USD,
    quoteAssetDecimals: 6,
    managerAddress: SIGNER,
    fundReadinessApproved: true,
    quoteAssetProfileApproved: true,
    impairmentStatus: 'none',
    purchasesEnabled: true,
    currentEpoch: epoch,
    epochs: [epoch],
    holdings: [],
    ...changes,
  })
}

export const channel = (changes: Partial<ChannelPolicy> = {}): ChannelPolicy => ({
  enabled: true,
  maxAssetsPerEpoch: usd(250_000),
  maxPriceBps: 9_500,
  maxPositionBps: 2_500,
  ...changes,
})

export const figures = (changes: Partial<FundFigures> = {}): FundFigures => ({
  manager: SIGNER,
  idleAssets: usd(500_000),
  reservedAssets: 0n,
  netAssets: usd(500_000),
  epochId: 1n,
  usedAssets: 0n,
  channels: { acquisition: channel(), auction: channel(), rfq: channel() },
  ...changes,
})

export const fund = (changes: Partial<FundSeen> = {}): FundSeen => ({
  row: fundRow(),
  figures: figures(),
  ...changes,
})

/** One sBTC, worth 50,000 sUSD at its market, offered from 30,000 on; nobody bid yet. */
export const lotRow = (changes: Partial<AcquisitionResource> = {}): AcquisitionResource =>
  acquisitionResource.parse({
    id: `${HOUSE}:1`,
    chainId: 31_337,
    sellerAddress: SELLER,
    assetAddress: BTC,
    assetAmount: '100000000',
    quoteAssetAddress: USD,
    reserveAssets: String(usd(30_000)),
    openedAt: iso(NOW_S - 10),
    closesAt: iso(NOW_S + 10),
    winnerAddress: null,
    proceedsAssets: null,
    acquisitionAddress: HOUSE,
    lotId: '1',
    positionId: POSITION,
    lane: 'liquid',
    marketAddress: MARKET,
    borrowerAddress: BORROWER,
    status: 'open',
    bestFundAddress: null,
    bestBidAssets: null,
    bids: [],
    ...changes,
  })

/** What the house itself says: open, liquid, and nobody bid yet. */
export const house = (changes: Partial<NonNullable<LotSeen['house']>> = {}) => ({
  open: true,
  lane: 'liquid',
  bestFundAddress: null,
  bestAssets: 0n,
  ...changes,
})

export const lot = (row: Partial<AcquisitionResource> = {}, changes: Partial<LotSeen> = {}): LotSeen => ({
  row: lotRow(row),
  house: house({ lane: row.lane ?? 'liquid' }),
  funds: [{ fundAddress: FUND, appraisedAssets: usd(50_000), reservation: null }],
  ...changes,
})

/** A rival fund leads with so many base units. */
export const outbid = (assets: bigint): LotSeen =>
  lot(
    {
      bestFundAddress: RIVAL_FUND,
      bestBidAssets: String(assets),
      bids: [
        {
          id: `${HOUSE}:1:1`,
          fundAddress: RIVAL_FUND,
          assets: String(assets),
          placedAt: iso(NOW_S - 5),
          status: 'leading',
        },
      ],
    },
    { house: house({ bestFundAddress: RIVAL_FUND, bestAssets: assets }) },
  )

const PRICE_WAD = 50_000n * 10n ** 18n
export const marketRow = (changes: Partial<MarketResource> = {}): MarketResource =>
  marketResource.parse({
    id: MARKET,
    chainId: 31_337,
    address: MARKET,
    loanAssetAddress: USD,
    collateralAssetAddress: BTC,
    oracleAddress: ORACLE,
    oracleState: 'healthy',
    oracle: { priceWad: String(PRICE_WAD), state: 'healthy' },
    ...changes,
  })

export const market = (
  row: Partial<MarketResource> = {},
  oracle: PricedMarket['oracle'] = { priceWad: PRICE_WAD, sourceAsOfS: NOW_S - 1, state: 1 },
  badDebtAssets: bigint | null = 0n,
  reference: PricedMarket['reference'] = { priceWad: PRICE_WAD, sourceAsOfS: NOW_S - 1, state: 1 },
): PricedMarket => ({
  row: marketRow(row),
  oracle,
  reference,
  books: badDebtAssets === null ? null : { badDebtAssets, suppliedAssets: usd(1_000_000) },
})

export const vaultRow = (changes: Partial<VaultResource> = {}): VaultResource =>
  vaultResource.parse({
    id: VAULT,
    chainId: 31_337,
    address: VAULT,
    name: 'Vault',
    symbol: 'vVLT',
    baseAssetAddress: USD,
    assetManager: { id: SIGNER, address: SIGNER, name: null },
    allocations: [
      { vaultId: VAULT, vaultAddress: VAULT, marketId: MARKET, marketAddress: MARKET, allocatedAssets: '5' },
    ],
    portfolioLiquidity: {
      vaultId: VAULT,
      vaultAddress: VAULT,
      liquidityBufferBps: 500,
      exitTermKind: 'instant',
      noticeSeconds: null,
      intervalSeconds: null,
      maturityTimestamp: null,
    },
    ...changes,
  })

export const mobility = (changes: Partial<MobilityFigures> = {}): MobilityFigures => ({
  isManager: true,
  transferProfile: 0,
  paused: false,
  restoreAfterS: 0,
  pauseReason: '',
  mobilityEpoch: 0n,
  trustedRecipients: [],
  ...changes,
})

export const vault = (changes: Partial<VaultSeen> = {}): VaultSeen => ({
  row: vaultRow(),
  mobility: mobility(),
  settings: null,
  ...changes,
})

export const moment = (changes: Partial<Moment & ManagerSeen> = {}): Moment & ManagerSeen => ({
  nowMs: NOW_S * 1_000,
  signer: SIGNER,
  chainId: 31_337,
  chain: {
    blockNumber: 10n,
    timestampS: NOW_S,
    baseFeePerGasWei: 1_000_000_000n,
    priorityFeePerGasWei: 0n,
  },
  freshness: { ok: true, ageMs: 1_000, message: '1 s old' },
  nativeBalanceWei: 10n ** 18n,
  balances: {},
  deployment: {
    assets: [
      { address: USD, symbol: 'sUSD', decimals: 6 },
      { address: BTC, symbol: 'sBTC', decimals: 8 },
    ],
    markets: [{ address: MARKET, loanAsset: USD, collateralAsset: BTC, oracle: ORACLE }],
    vaults: [{ name: 'Vault', address: VAULT }],
    funds: [{ name: 'Fund', address: FUND, quoteAsset: USD }],
    contracts: [
      { name: 'acquisitionHouse', address: HOUSE },
      { name: 'btcReferenceOracle', address: REFERENCE },
    ],
  },
  ours: [SIGNER],
  ...NOTHING_AROUND,
  funds: [fund()],
  lots: [lot()],
  sold: [],
  markets: [market()],
  vaults: [vault()],
  channels: [],
  wrappers: [],
  unopened: new Map(),
  ...changes,
})
