import {
  type Abi,
  type AbiFunction,
  type Address,
  encodeFunctionResult,
  type Hex,
  toFunctionSelector,
} from 'viem'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Subject } from '../../../../src/guard/policy/references.ts'
import { createReads, TOKEN_VIEWS } from '../../../../src/guard/reads/views.ts'
import { PRICE_VIEWS } from '../../../../src/guard/sanity/price.ts'
import { AUCTION_VIEWS, DESK_VIEWS, ESCROW_VIEWS } from '../../../../src/guard/sanity/rfq-bidder/views.ts'
import type { WorkflowType } from '../../../../src/service/contract/workflow-types.ts'
import type { Proposal, ProposalInput } from '../../../../src/workflow/proposal.ts'
import { policyOf } from '../../../support/policies.ts'
import {
  COLLATERAL,
  deployment,
  judgementsOf,
  LOAN,
  ORACLE,
  SELF,
  BORROWER as SELLER,
  STRANGER,
} from '../../fixtures.ts'

const PREFIX = 'role.lender.distressedRecoveryFundV3'
const DESK: Address = `0x${'de'.repeat(20)}`
const AUCTION: Address = `0x${'ac'.repeat(20)}`
const REFERENCE: Address = `0x${'2c'.repeat(20)}`
const FUND: Address = `0x${'f0'.repeat(20)}`
/** Another signer of ours. */
const COLLEAGUE: Address = `0x${'c7'.repeat(20)}`
const NOW_S = 1_800_000_000
const WAD = 10n ** 18n
const PRICE = 50_000n * WAD
const usd = (whole: number) => BigInt(whole) * 1_000_000n

const { sanity } = z
  .object({ guard: z.object({ sanity: z.record(z.string(), z.unknown()) }) })
  .parse(policyOf('rfq-bidder')).guard

/** What a scripted chain says by view; null is no answer. 0.2 sBTC for 8,000 sUSD at least, closing in 30 s. */
const HONEST = {
  rfq: {
    seller: STRANGER,
    state: 1,
    closesAt: BigInt(NOW_S + 30),
    sellerIsContract: false,
    holdingId: 0n,
    asset: COLLATERAL,
    amount: 20_000_000n,
    quoteAsset: LOAN,
    reserveAssets: usd(8_000),
    winningBidId: 0n,
  },
  bid: { bidder: SELF, state: 1, expiresAt: BigInt(NOW_S + 330), rfqId: 7n, assets: usd(8_000), turn: 1n },
  refundable: true,
  bookedBids: [
    { bidder: STRANGER, state: 1, expiresAt: BigInt(NOW_S + 330), rfqId: 7n, assets: usd(8_990), turn: 2n },
  ],
  commitments: [usd(9_000), 20_000_000n],
  lot: {
    seller: STRANGER,
    state: 1,
    closesAt: BigInt(NOW_S + 30),
    closesAtMax: BigInt(NOW_S + 90),
    sellerIsContract: false,
    holdingId: 0n,
    asset: COLLATERAL,
    amount: 20_000_000n,
    quoteAsset: LOAN,
    reserveAssets: usd(8_000),
    bestBidder: STRANGER,
    bestAssets: usd(8_800),
  },
  minIncrementBps: 100n,
  read: [PRICE, BigInt(NOW_S), BigInt(NOW_S), 1],
  /** The answer of the second source. */
  second: [PRICE, BigInt(NOW_S), BigInt(NOW_S), 1],
  balanceOf: usd(20_000),
  /** The balance of what is sold. */
  held: 0n,
} as const
type Name = keyof typeof HONEST
type Said = Partial<Record<Name, unknown>>

const views: readonly AbiFunction[] = [
  ...DESK_VIEWS,
  ...AUCTION_VIEWS,
  ...ESCROW_VIEWS,
  ...PRICE_VIEWS,
  ...TOKEN_VIEWS,
]
const encode = ({ to, data }: { readonly to: Address; readonly data: Hex }, said: Said): Hex | null => {
  const item = views.find((view) => toFunctionSelector(view) === data.slice(0, 10))
  if (item === undefined) throw new TypeError(`no view has the selector of ${data}`)
  const name =
    to === REFERENCE
      ? 'second'
      : item.name === 'balanceOf' && to === COLLATERAL
        ? 'held'
        : (item.name as Name)
  const result: unknown = { ...HONEST, ...said }[name]
  return result === null
    ? null
    : encodeFunctionResult({
        abi: [item] as Abi,
        functionName: item.name,
        result: result as readonly unknown[],
      })
}
/** An answer of the honest chain with some members changed. */
const but = <N extends 'rfq' | 'bid' | 'lot'>(
  name: N,
  changes: Partial<(typeof HONEST)[N]> | object,
): Said => ({
  [name]: { ...HONEST[name], ...changes },
})

/** A bid of somebody else in the book of the RFQ. */
const rival = (assets: bigint, changes: object = {}) => ({ ...HONEST.bookedBids[0], assets, ...changes })

const INPUTS: Readonly<Record<string, ProposalInput>> = {
  RfqPlaceBid: {
    rfqAddress: DESK,
    rfqId: '7',
    bidAssets: String(usd(9_000)),
    expiresTimestamp: String(NOW_S + 330),
  },
  RfqReplaceBid: {
    rfqAddress: DESK,
    rfqId: '7',
    bidId: '1',
    bidAssets: String(usd(9_000)),
    expiresTimestamp: String(NOW_S + 330),
  },
  RfqCancelBid: { rfqAddress: DESK, rfqId: '7', bidId: '1' },
  RfqClaimRefund: { rfqAddress: DESK, rfqId: '7', bidId: '1' },
  RfqFinalize: { rfqAddress: DESK, rfqId: '7' },
  AuctionBid: { auctionAddress: AUCTION, lotId: '7', bidAssets: String(usd(9_000)) },
}
/** How our balances of quote and sold asset change, where everything is honest. */
const CHANGES: Readonly<Record<string, readonly [quote: bigint, asset: bigint]>> = {
  RfqPlaceBid: [-usd(9_000), 0n],
  RfqReplaceBid: [-usd(1_000), 0n],
  RfqCancelBid: [usd(8_000), 0n],
  RfqClaimRefund: [usd(8_000), 0n],
  RfqFinalize: [0n, 20_000_000n],
  AuctionBid: [-usd(9_000), 0n],
}
const closed = but('rfq', { closesAt: BigInt(NOW_S) })

type Given = {
  readonly says?: Said
  /** Of `guard.sanity`, where they differ from the policy's own; `undefined` leaves one out. */
  readonly limits?: Readonly<Record<string, unknown>>
  readonly kind?: string
  readonly input?: ProposalInput
  readonly reason?: Proposal['reason']
  readonly changes?: readonly [quote: bigint, asset: bigint]
  readonly timestampS?: number
}

/** The first refusal's name, of the position or of the outcome; null when it may be signed. */
function judged(name: string, given: Given = {}) {
  const { checkState, checkOutcome } = judgementOf(name, given)
  return (checkState() ?? checkOutcome())?.check ?? null
}

function judgementOf(name: string, given: Given = {}) {
  const { says = {}, limits = {}, kind = 'any', input = {}, reason, changes, timestampS = NOW_S } = given
  const judgements = judgementsOf('rfq-bidder', { ...sanity, ...limits })
  const type = `${PREFIX}${name}` as WorkflowType
  const isBid = name.endsWith('Bid') && name !== 'RfqCancelBid'
  const proposal: Proposal = {
    workflowType: type,
    kind,
    subject: 'any',
    occurrence: 'any',
    input: { ...INPUTS[name], ...input },
    exposure: isBid
      ? { token: LOAN, assets: usd(9_000), usdMicros: usd(9_000) }
      : { token: null, assets: 0n, usdMicros: 0n },
    summary: 'any',
    reason: reason ?? (isBid ? { priceWad: String(PRICE) } : { wins: 'true' }),
  }
  const subject: Subject = {
    input: proposal.input,
    self: SELF,
    ours: [COLLEAGUE],
    deadlineS: BigInt(NOW_S + 60),
    market: null,
    vault: null,
    fund: null,
    deployment: {
      ...deployment,
      funds: [{ address: FUND, codeHash: '0x', quoteAsset: LOAN }],
      contracts: [
        { name: 'rfqDesk', address: DESK, codeHash: '0x' },
        { name: 'recoveryAuction', address: AUCTION, codeHash: '0x' },
        { name: 'btcReferenceOracle', address: REFERENCE, codeHash: '0x' },
        { name: 'oracle', address: ORACLE, codeHash: '0x' },
      ],
    },
  }
  const [before, after] = [createReads(), createReads()]
  const judged = judgements.get(type)?.judge({ subject, proposal, calls: [], before, after })
  if (judged === undefined) throw new TypeError(`the policy's judgements lack ${type}`)
  const said = name === 'RfqFinalize' ? { ...closed, ...says } : says
  for (const reads of [before, after]) reads.fill(reads.calls.map((call) => encode(call, said)))
  const [quote, asset] = changes ?? CHANGES[name] ?? [0n, 0n]
  const changeOf = (token: Address) => (token === LOAN ? quote : token === COLLATERAL ? asset : 0n)
  return {
    checkState: () => judged.checkState(timestampS),
    checkOutcome: () => judged.checkOutcome({ timestampS, gasWei: 1n, changeOf }),
    holdings: () => judged.holdings?.() ?? [],
  }
}

describe('what is as it says', () => {
  it.each(Object.keys(INPUTS))('%s may be signed', (name) => {
    expect(judged(name)).toBeNull()
  })
})

it.each(Object.keys(INPUTS))(
  '%s is refused by what it leaves, too, where what it is about cannot be read',
  (name) => {
    const unknown = ({ checkOutcome }: ReturnType<typeof judgementOf>) => checkOutcome()?.check
    expect(unknown(judgementOf(name, { says: { rfq: null, lot: null } }))).toBe('read_failed')
    const { holdings } = judgementOf(name, { says: { rfq: null, lot: null, bid: null } })
    expect(holdings()).toEqual([])
    const isOfBid = ['RfqReplaceBid', 'RfqCancelBid', 'RfqClaimRefund'].includes(name)
    if (isOfBid) expect(unknown(judgementOf(name, { says: { bid: null } }))).toBe('read_failed')
  },
)

const BIDS = ['RfqPlaceBid', 'RfqReplaceBid', 'AuctionBid']
const listed = (referenceContract: string) => ({
  referenceContract,
  escrowMax: { sUSD: '500,000 sUSD' },
  inventoryMax: '50 sBTC',
})
const onLot = (changes: object): Said => ({ ...but('rfq', changes), ...but('lot', changes) })

describe.each(BIDS)('%s is refused', (name) => {
  it.each<[string, Given]>([
    ['lot_closed', { timestampS: NOW_S + 30 }],
    ['lot_not_open', { says: onLot({ state: 2 }) }],
    ['seller_is_ours', { says: onLot({ seller: SELF }) }],
    ['seller_is_ours', { says: onLot({ seller: FUND }) }],
    ['other_quote_asset', { says: onLot({ quoteAsset: STRANGER }) }],
    ['below_reserve', { says: onLot({ reserveAssets: usd(9_000) + 1n }) }],
    ['asset_not_priced', { says: onLot({ asset: STRANGER }) }],
    ['oracle_not_healthy', { says: { read: [PRICE, BigInt(NOW_S), BigInt(NOW_S), 2] } }],
    ['oracle_not_healthy', { says: { read: [0n, BigInt(NOW_S), BigInt(NOW_S), 1] } }],
    ['price_stale', { says: { read: [PRICE, BigInt(NOW_S - 121), BigInt(NOW_S), 1] } }],
    ['price_in_future', { says: { read: [PRICE, BigInt(NOW_S + 1), BigInt(NOW_S), 1] } }],
    // Oracle and service say the same; the second source does not.
    ['prices_apart', { says: { second: [(PRICE * 100n) / 101n - 1n, BigInt(NOW_S), BigInt(NOW_S), 1] } }],
    ['prices_apart', { says: { second: [(PRICE * 100n) / 99n + 1n, BigInt(NOW_S), BigInt(NOW_S), 1] } }],
    ['oracle_not_healthy', { says: { second: [PRICE, BigInt(NOW_S), BigInt(NOW_S), 2] } }],
    ['read_failed', { says: { second: null } }],
    ['price_not_stated', { reason: {} }],
    ['price_moved', { reason: { priceWad: String((PRICE * 99n) / 100n - 1n) } }],
    ['bid_above_value', { says: onLot({ amount: 18_090_452n }) }],
    ['insufficient_balance', { says: { balanceOf: 1n } }],
    ['read_failed', { says: { rfq: null, lot: null } }],
    ['read_failed', { says: { read: null } }],
    ['read_failed', { says: { balanceOf: null } }],
    ['read_failed', { says: { commitments: null } }],
    ['read_failed', { says: { held: null } }],
    // Two venues are counted, of which each says so.
    ['escrow_above_limit', { says: { commitments: [usd(400_001), 0n] } }],
    ['asset_escrow_above_limit', { says: { commitments: [usd(250_001), 0n] } }],
    ['inventory_above_limit', { says: { held: 4_960_000_001n } }],
    ['inventory_above_limit', { says: { commitments: [usd(9_000), 2_500_000_001n] } }],
    ['venue_not_counted', { limits: { venues: ['somewhereElse'] } }],
    ['venue_not_counted', { limits: { venues: ['rfqDesk', 'recoveryAuction', 'somewhereElse'] } }],
    [
      'no_second_price',
      { limits: { assets: { sETH: { ...listed('btcReferenceOracle'), inventoryMax: '50 sETH' } } } },
    ],
    ['no_second_price', { limits: { assets: { sBTC: listed('unheard') } } }],
    // The oracle itself, under another name.
    ['no_second_price', { limits: { assets: { sBTC: listed('oracle') } } }],
    ['asset_not_listed', { limits: { escrowMax: { sETH: '1 sETH' } } }],
    ['change_unexpected', { changes: [(CHANGES[name]?.[0] ?? 0n) - 1n, 0n] }],
    ['change_unexpected', { changes: [(CHANGES[name]?.[0] ?? 0n) + 1n, 0n] }],
    ['change_unexpected', { changes: [CHANGES[name]?.[0] ?? 0n, -1n] }],
  ])('%s', (check, given) => {
    expect(judged(name, given)).toBe(check)
  })

  it('one past each limit alone', () => {
    expect(judged(name, { timestampS: NOW_S + 29 })).toBeNull()
    expect(judged(name, { says: onLot({ reserveAssets: usd(9_000) }) })).toBeNull()
    // 99.5 % of 10,000 sUSD.
    const most = usd(9_950)
    const change = most - (name === 'RfqReplaceBid' ? usd(8_000) : 0n)
    // Rivals drive it so far.
    const says = { ...but('lot', { bestAssets: usd(9_800) }), bookedBids: [rival(usd(9_950))] }
    expect(judged(name, { says, input: { bidAssets: String(most) }, changes: [-change, 0n] })).toBeNull()
    expect(judged(name, { says, input: { bidAssets: String(most + 1n) } })).toBe('bid_above_value')
    expect(judged(name, { says: { read: [PRICE, BigInt(NOW_S - 120), BigInt(NOW_S), 1] } })).toBeNull()
  })
})

describe.each(['RfqPlaceBid', 'RfqReplaceBid'])('%s', (name) => {
  const bids = (assets: bigint, bookedBids: readonly unknown[], given: Given = {}) => {
    const change = assets - (name === 'RfqReplaceBid' ? usd(8_000) : 0n)
    const input = { bidAssets: String(assets) }
    return judged(name, { input, changes: [-change, 0n], ...given, says: { bookedBids } })
  }

  it('is no higher than the rivals on chain are a reason for: the service may have invented its own', () => {
    expect(bids(usd(8_000), [])).toBeNull()
    expect(bids(usd(8_000) + 1n, [])).toBe('bid_above_rivals')
    // 0.2 % above the best.
    expect(bids(8_817_600_000n, [rival(usd(8_100)), rival(usd(8_800))])).toBeNull()
    expect(bids(8_817_600_001n, [rival(usd(8_100)), rival(usd(8_800))])).toBe('bid_above_rivals')
    expect(bids(8_817_600_000n, [rival(usd(8_800)), rival(usd(8_100))])).toBeNull()
    for (const gone of [{ state: 2 }, { expiresAt: BigInt(NOW_S) }]) {
      expect(bids(usd(8_801), [rival(usd(8_800), gone)])).toBe('bid_above_rivals')
    }
    expect(bids(usd(8_801), [], { kind: 'order' })).toBeNull()
    // Who orders by hand decides on no price.
    expect(bids(usd(8_801), [], { kind: 'order', reason: {} })).toBeNull()
    expect(bids(usd(8_801), [rival(usd(8_800), { bidder: COLLEAGUE })])).toBe('bidder_is_ours')
    expect(bids(usd(8_801), [], { limits: { book: undefined } })).toBeNull()
  })

  it('goes part of the way to its worth in the last call, the further the more rivals there are', () => {
    const [one, two] = [rival(usd(8_150)), rival(usd(8_150), { bidder: SELLER })]
    const timestampS = NOW_S + 18
    // Its worth is 9,950: half of 1,800 is left, and two thirds.
    expect(bids(usd(9_050), [one], { timestampS })).toBeNull()
    expect(bids(usd(9_050) + 1n, [one], { timestampS })).toBe('bid_above_rivals')
    expect(bids(usd(9_350), [one, two], { timestampS })).toBeNull()
    expect(bids(usd(9_350) + 1n, [one, two, two], { timestampS })).toBe('bid_above_rivals')
    expect(bids(usd(9_050), [one], { timestampS: timestampS - 1 })).toBe('bid_above_rivals')
  })

  it('is refused where the book cannot be read', () => {
    expect(judged(name, { says: { bookedBids: null } })).toBe('read_failed')
  })

  it('binds past the close, and not for long', () => {
    const until = (expiresS: number) => judged(name, { input: { expiresTimestamp: String(expiresS) } })
    expect(until(NOW_S + 30)).toBe('expiry_out_of_range')
    expect(until(NOW_S + 31)).toBeNull()
    expect(until(NOW_S + 630)).toBeNull()
    expect(until(NOW_S + 631)).toBe('expiry_out_of_range')
  })
})

describe.each(['RfqReplaceBid', 'RfqCancelBid'])('%s', (name) => {
  it.each<[string, Given]>([
    ['bid_not_ours', { says: but('bid', { bidder: STRANGER }) }],
    ['bid_not_ours', { says: but('bid', { rfqId: 8n }) }],
    ['bid_not_booked', { says: but('bid', { state: 3 }) }],
    ['lot_closed', { timestampS: NOW_S + 30 }],
    ['read_failed', { says: { bid: null } }],
    ['read_failed', { says: { rfq: null } }],
  ])('is refused: %s', (check, given) => {
    expect(judged(name, given)).toBe(check)
  })
})

it('is one bid an RFQ: where the book holds ours, it may be changed, and no other placed', () => {
  const says = { bookedBids: [rival(usd(8_990)), rival(usd(8_000), { bidder: SELF })] }
  expect(judged('RfqPlaceBid', { says })).toBe('bid_stands')
  expect(judged('RfqPlaceBid', { says, kind: 'order' })).toBeNull()
  expect(judged('RfqReplaceBid', { says })).toBeNull()
})

it('may be lowered while too much is in escrow', () => {
  const says = { ...but('bid', { assets: usd(9_000) }), commitments: [usd(1_000_000), 0n] }
  const bidding = (assets: bigint): Given => ({
    input: { bidAssets: String(assets) },
    changes: [usd(9_000) - assets, 0n],
    // Rivals that drive it so far.
    says: { ...says, bookedBids: [rival(usd(9_300))] },
  })
  expect(judged('RfqReplaceBid', bidding(usd(8_000)))).toBeNull()
  // So may its expiry be put off.
  expect(judged('RfqReplaceBid', bidding(usd(9_000)))).toBeNull()
  expect(judged('RfqReplaceBid', bidding(usd(9_000) + 1n))).toBe('escrow_above_limit')
  const sums = (assets: bigint) => judgementOf('RfqReplaceBid', bidding(assets)).holdings().length
  expect([usd(8_000), usd(9_000), usd(9_000) + 1n].map(sums)).toEqual([0, 0, 3])
})

it('goes no further than the reserve where nobody bids, though that be nothing', () => {
  const says = { ...but('rfq', { reserveAssets: 0n }), bookedBids: [] }
  expect(judged('RfqPlaceBid', { says, input: { bidAssets: '1' }, changes: [-1n, 0n] })).toBe(
    'bid_above_rivals',
  )
})

it('pays back the difference where the new bid is lower, and takes the difference alone where it is higher', () => {
  const lower = { input: { bidAssets: String(usd(8_200)) }, says: but('bid', { assets: usd(9_000) }) }
  expect(judged('RfqReplaceBid', { ...lower, changes: [usd(800), 0n] })).toBeNull()
  expect(judged('RfqReplaceBid', { ...lower, changes: [0n, 0n] })).toBe('change_unexpected')
  expect(judged('RfqReplaceBid', { says: { balanceOf: usd(1_000) } })).toBeNull()
  expect(judged('RfqReplaceBid', { says: { balanceOf: usd(1_000) - 1n } })).toBe('insufficient_balance')
})

describe.each(['RfqCancelBid', 'RfqClaimRefund'])('%s', (name) => {
  it('pays the whole bid back', () => {
    expect(judged(name, { changes: [usd(8_000) - 1n, 0n] })).toBe('change_unexpected')
  })
})

describe('RfqClaimRefund', () => {
  it.each<[string, Given]>([
    ['bid_not_ours', { says: but('bid', { bidder: STRANGER }) }],
    ['bid_not_refundable', { says: { refundable: false } }],
    ['read_failed', { says: { refundable: null } }],
  ])('is refused: %s', (check, given) => {
    expect(judged('RfqClaimRefund', given)).toBe(check)
  })
})

describe('RfqFinalize', () => {
  it.each<[string, Given]>([
    ['rfq_finalized', { says: but('rfq', { state: 2, closesAt: BigInt(NOW_S) }) }],
    ['rfq_not_closed', { says: but('rfq', { closesAt: BigInt(NOW_S + 1) }) }],
    ['read_failed', { says: { rfq: null } }],
    ['win_not_paid', { changes: [0n, 0n] }],
    ['win_not_paid', { changes: [0n, 19_999_999n], reason: { wins: 'null' } }],
  ])('is refused: %s', (check, given) => {
    expect(judged('RfqFinalize', given)).toBe(check)
  })

  it('may bring nothing where somebody else won, or nobody can tell', () => {
    for (const wins of ['false', 'null']) {
      expect(judged('RfqFinalize', { changes: [0n, 0n], reason: { wins } })).toBeNull()
    }
  })
})

describe('AuctionBid', () => {
  it.each<[string, Given]>([
    ['leads_already', { says: but('lot', { bestBidder: SELF }) }],
    ['bidder_is_ours', { says: but('lot', { bestBidder: COLLEAGUE }) }],
    ['below_increment', { says: but('lot', { bestAssets: usd(9_000) }) }],
    // A hundredth of it, rounded up, is just too much.
    ['below_increment', { says: but('lot', { bestAssets: 8_910_891_090n }) }],
    ['read_failed', { says: { minIncrementBps: null } }],
  ])('is refused: %s', (check, given) => {
    expect(judged('AuctionBid', given)).toBe(check)
  })

  it('takes an increment where there is a bid, and the reserve where there is none', () => {
    expect(judged('AuctionBid', { says: but('lot', { bestAssets: 8_910_891_089n }) })).toBeNull()
    // A hundredth without a rest is just that.
    const exact = { input: { bidAssets: '8999100000' }, changes: [-8_999_100_000n, 0n] } as const
    expect(judged('AuctionBid', { ...exact, says: but('lot', { bestAssets: usd(8_910) }) })).toBeNull()
    // 5 % above the least is as far as it goes.
    const least = { says: but('lot', { bestAssets: 8_486_562_942n }) }
    expect(judged('AuctionBid', least)).toBeNull()
    expect(judged('AuctionBid', { says: but('lot', { bestAssets: 8_486_562_000n }) })).toBe(
      'bid_above_rivals',
    )
    expect(judged('AuctionBid', { says: but('lot', { bestAssets: usd(8_000) }), kind: 'order' })).toBeNull()
    const none = but('lot', { bestBidder: `0x${'0'.repeat(40)}`, bestAssets: 0n, reserveAssets: usd(9_000) })
    expect(judged('AuctionBid', { says: none })).toBeNull()
  })
})
