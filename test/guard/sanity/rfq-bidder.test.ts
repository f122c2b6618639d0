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
import { loadYaml } from '../../../src/config/yaml.ts'
import type { Subject } from '../../../src/guard/policy/conditions.ts'
import { PRICE_VIEWS } from '../../../src/guard/sanity/price.ts'
import { AUCTION_VIEWS, DESK_VIEWS } from '../../../src/guard/sanity/rfq-bidder-views.ts'
import { createReads, TOKEN_VIEWS } from '../../../src/guard/views.ts'
import type { WorkflowType } from '../../../src/service/contract/workflow-types.ts'
import type { Proposal, ProposalInput } from '../../../src/workflow/proposal.ts'
import { COLLATERAL, deployment, judgementsOf, LOAN, SELF, STRANGER } from '../fixtures.ts'

const PREFIX = 'role.lender.distressedRecoveryFundV3'
const DESK: Address = `0x${'de'.repeat(20)}`
const FUND: Address = `0x${'f0'.repeat(20)}`
const NOW_S = 1_800_000_000
const WAD = 10n ** 18n
const PRICE = 50_000n * WAD
const usd = (whole: number) => BigInt(whole) * 1_000_000n

const { sanity } = z
  .object({ guard: z.object({ sanity: z.record(z.string(), z.unknown()) }) })
  .parse(loadYaml('policies/rfq-bidder.yaml').value).guard
const judgements = judgementsOf('rfq-bidder', sanity)

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
    bestAssets: usd(8_500),
  },
  minIncrementBps: 100n,
  read: [PRICE, BigInt(NOW_S), BigInt(NOW_S), 1],
  balanceOf: usd(20_000),
} as const
type Name = keyof typeof HONEST
type Said = Partial<Record<Name, unknown>>

const views: readonly AbiFunction[] = [...DESK_VIEWS, ...AUCTION_VIEWS, ...PRICE_VIEWS, ...TOKEN_VIEWS]
const encode = (data: Hex, said: Said): Hex | null => {
  const item = views.find((view) => toFunctionSelector(view) === data.slice(0, 10))
  if (item === undefined) throw new TypeError(`no view has the selector of ${data}`)
  const result: unknown = { ...HONEST, ...said }[item.name as Name]
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
  AuctionBid: { auctionAddress: DESK, lotId: '7', bidAssets: String(usd(9_000)) },
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
  readonly input?: ProposalInput
  readonly reason?: Proposal['reason']
  readonly changes?: readonly [quote: bigint, asset: bigint]
  readonly timestampS?: number
}

/** The first refusal's name, of the position or of the outcome; null when it may be signed. */
function judged(name: string, { says = {}, input = {}, reason, changes, timestampS = NOW_S }: Given = {}) {
  const type = `${PREFIX}${name}` as WorkflowType
  const isBid = name.endsWith('Bid') && name !== 'RfqCancelBid'
  const proposal: Proposal = {
    workflowType: type,
    kind: 'any',
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
    deadlineS: BigInt(NOW_S + 60),
    market: null,
    vault: null,
    fund: null,
    deployment: { ...deployment, funds: [{ address: FUND, codeHash: '0x', quoteAsset: LOAN }] },
  }
  const before = createReads()
  const judged = judgements.get(type)?.judge({ subject, proposal, calls: [], before, after: createReads() })
  if (judged === undefined) throw new TypeError(`the policy's judgements lack ${type}`)
  const said = name === 'RfqFinalize' ? { ...closed, ...says } : says
  before.fill(before.calls.map(({ data }) => encode(data, said)))
  const [quote, asset] = changes ?? CHANGES[name] ?? [0n, 0n]
  const changeOf = (token: Address) => (token === LOAN ? quote : token === COLLATERAL ? asset : 0n)
  return (judged.checkState(timestampS) ?? judged.checkOutcome({ gasWei: 1n, changeOf }))?.check ?? null
}

describe('what is as it says', () => {
  it.each(Object.keys(INPUTS))('%s may be signed', (name) => {
    expect(judged(name)).toBeNull()
  })
})

const BIDS = ['RfqPlaceBid', 'RfqReplaceBid', 'AuctionBid']
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
    ['price_not_stated', { reason: {} }],
    ['price_moved', { reason: { priceWad: String((PRICE * 99n) / 100n - 1n) } }],
    ['bid_above_value', { says: onLot({ amount: 18_090_452n }) }],
    ['insufficient_balance', { says: { balanceOf: 1n } }],
    ['read_failed', { says: { rfq: null, lot: null } }],
    ['read_failed', { says: { read: null } }],
    ['read_failed', { says: { balanceOf: null } }],
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
    expect(judged(name, { input: { bidAssets: String(most) }, changes: [-change, 0n] })).toBeNull()
    expect(judged(name, { input: { bidAssets: String(most + 1n) } })).toBe('bid_above_value')
    expect(judged(name, { says: { read: [PRICE, BigInt(NOW_S - 120), BigInt(NOW_S), 1] } })).toBeNull()
  })
})

describe.each(['RfqPlaceBid', 'RfqReplaceBid'])('%s', (name) => {
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
    ['below_increment', { says: but('lot', { bestAssets: usd(9_000) }) }],
    // A hundredth of it, rounded up, is just too much.
    ['below_increment', { says: but('lot', { bestAssets: 8_910_891_090n }) }],
    ['read_failed', { says: { minIncrementBps: null } }],
  ])('is refused: %s', (check, given) => {
    expect(judged('AuctionBid', given)).toBe(check)
  })

  it('takes an increment where there is a bid, and the reserve where there is none', () => {
    expect(judged('AuctionBid', { says: but('lot', { bestAssets: 8_910_891_089n }) })).toBeNull()
    const none = but('lot', { bestBidder: `0x${'0'.repeat(40)}`, bestAssets: 0n, reserveAssets: usd(9_000) })
    expect(judged('AuctionBid', { says: none })).toBeNull()
  })
})
