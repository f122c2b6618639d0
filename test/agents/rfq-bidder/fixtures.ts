import type { InFlight } from '../../../agents/agent.ts'
import { type RfqBidderPolicy, rfqBidderPolicy } from '../../../agents/rfq-bidder/policy.ts'
import type {
  AuctionSeen,
  Observed,
  PriceSeen,
  RfqBidSeen,
  RfqSeen,
} from '../../../agents/rfq-bidder/seen.ts'
import { RFQ_TERMS } from '../../../src/service/contract/assumptions.ts'
import type { PinnedDeployment } from '../../../src/service/contract/deployment.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { NOTHING_AROUND } from '../../support/around.ts'
import { policyOf } from '../../support/policies.ts'
import { TOKENS } from '../../support/tokens.ts'

const hex = (digit: string) => `0x${digit.repeat(40)}` as const
export const SELF = hex('a')
export const RIVAL = hex('b')
export const SELLER = hex('c')
export const COLLEAGUE = hex('d')
export const USD = hex('1')
export const BTC = hex('2')
export const MARKET = hex('3')
export const FUND = hex('4')
export const DESK = hex('5')
export const AUCTION = hex('6')
const ORACLE = hex('7')
export const REFERENCE = hex('8')
export const NOW_S = 1_000_000
const WAD = 10n ** 18n

const file = policyOf('rfq-bidder')

/** The sandbox's policy's strategy as YAML gives it: every scalar is text. */
export const strategyText = (): Record<string, unknown> => structuredClone(file.strategy)
const parsed = rfqBidderPolicy(TOKENS).parse(file.strategy)
/** The last call begins when the fixture's RFQ has as long to go. */
const committed = { ...parsed, rfq: { ...parsed.rfq, lastCallS: 30 } }

export const policy = (changes: Partial<RfqBidderPolicy> = {}): RfqBidderPolicy => ({
  ...committed,
  ...changes,
})

/** What everything is pinned to: sUSD of 6 decimals, sBTC of 8. */
const deployment: PinnedDeployment = {
  assets: [
    { address: USD, symbol: 'sUSD', decimals: 6 },
    { address: BTC, symbol: 'sBTC', decimals: 8 },
  ],
  markets: [{ address: MARKET, loanAsset: USD, collateralAsset: BTC, oracle: ORACLE }],
  vaults: [],
  funds: [{ address: FUND, quoteAsset: USD }],
  contracts: [
    { name: 'rfqDesk', address: DESK },
    { name: 'recoveryAuction', address: AUCTION },
    { name: 'btcReferenceOracle', address: REFERENCE },
  ],
}

/** 1 sBTC is 50,000 sUSD, everybody agrees. */
export const price = (changes: Partial<PriceSeen> = {}): PriceSeen => ({
  market: MARKET,
  asset: BTC,
  quoteAsset: USD,
  oracle: { priceWad: 50_000n * WAD, sourceAsOfS: NOW_S, state: 1 },
  reference: { priceWad: 50_010n * WAD, sourceAsOfS: NOW_S, state: 1 },
  paused: false,
  servicePriceWad: 50_000n * WAD,
  serviceOracleState: 'healthy',
  ...changes,
})

export const bid = (changes: Partial<RfqBidSeen> = {}): RfqBidSeen => ({
  bidId: '1',
  bidder: SELF,
  assets: 8_000_000_000n,
  expiresAtS: NOW_S + 330,
  status: 'live',
  refundable: false,
  ...changes,
})

/** 0.2 sBTC, worth 10,000 sUSD, for 8,000 at least; closes in 30 s. */
export const rfq = (changes: Partial<RfqSeen> = {}): RfqSeen => ({
  id: `${DESK}:7`,
  lot: `${DESK}:7`,
  venue: DESK,
  number: '7',
  seller: SELLER,
  asset: BTC,
  amount: 20_000_000n,
  quoteAsset: USD,
  reserveAssets: 8_000_000_000n,
  closesAtS: NOW_S + 30,
  status: 'open',
  terms: RFQ_TERMS,
  bids: [],
  ...changes,
})

/** The same lot at an auction, closing in 15 s; the next bid is the reserve. */
export const auction = (changes: Partial<AuctionSeen> = {}): AuctionSeen => ({
  id: `${AUCTION}:3`,
  lot: `${AUCTION}:3`,
  venue: AUCTION,
  number: '3',
  seller: SELLER,
  asset: BTC,
  amount: 20_000_000n,
  quoteAsset: USD,
  reserveAssets: 8_000_000_000n,
  closesAtS: NOW_S + 15,
  status: 'open',
  bestBidder: null,
  bestAssets: null,
  nextAssets: 8_000_000_000n,
  bids: [],
  owedAssets: 0n,
  ...changes,
})

export const observed = (changes: Partial<Observed> = {}): Observed => ({
  nowMs: NOW_S * 1_000,
  signer: SELF,
  chainId: 31_337,
  chain: {
    blockNumber: 10n,
    timestampS: NOW_S,
    baseFeePerGasWei: 1_000_000_000n,
    priorityFeePerGasWei: 1_000_000_000n,
  },
  freshness: { ok: true, ageMs: 1_000, message: '1 s old' },
  nativeBalanceWei: 10n ** 18n,
  balances: { [USD]: 1_000_000_000_000n, [BTC]: 0n },
  deployment,
  ours: [SELF, COLLEAGUE],
  ...NOTHING_AROUND,
  rfqs: [],
  auctions: [],
  prices: [price()],
  ...changes,
})

/** A proposal of ours that is under way. */
export const underWay = ({
  workflowType,
  kind,
  subject,
  occurrence,
  input,
  exposure,
}: Pick<Proposal, 'workflowType' | 'kind' | 'subject' | 'occurrence' | 'input' | 'exposure'>): InFlight => ({
  workflowId: 'w1',
  workflowType,
  kind,
  subject,
  occurrence,
  input,
  exposure,
})
