import {
  type Abi,
  type AbiFunction,
  type Address,
  encodeFunctionResult,
  type Hex,
  keccak256,
  size,
  stringToHex,
  toFunctionSelector,
  zeroAddress,
} from 'viem'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { loadArtifacts } from '../../../../sandbox/contracts/artifacts.ts'
import type { Call } from '../../../../src/chain/nodes.ts'
import type { Subject } from '../../../../src/guard/policy/references.ts'
import { createReads } from '../../../../src/guard/reads/views.ts'
import {
  BID_VIEWS,
  CHANNEL_VIEWS,
  MOBILITY_VIEWS,
  TROUBLE_VIEWS,
} from '../../../../src/guard/sanity/asset-manager/views.ts'
import { BAD_DEBT_VIEWS } from '../../../../src/guard/sanity/bad-debt.ts'
import { PRICE_VIEWS } from '../../../../src/guard/sanity/price.ts'
import type { WorkflowType } from '../../../../src/service/contract/workflow-types.ts'
import type { Proposal } from '../../../../src/workflow/proposal.ts'
import { policyOf } from '../../../support/policies.ts'
import {
  COLLATERAL,
  deployment,
  judgementsOf,
  LOAN,
  MARKET,
  ORACLE,
  SELF,
  STRANGER,
  VAULT,
} from '../../fixtures.ts'

const BID = 'role.asset_manager.distressedRecoveryAcquisitionV3Bid'
const CHANNEL = 'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet'
const MOBILITY = 'role.asset_manager.vaultShareMobilityManagerAction'
const FUND: Address = `0x${'f0'.repeat(20)}`
const HOUSE: Address = `0x${'de'.repeat(20)}`
const REFERENCE: Address = `0x${'2c'.repeat(20)}`
const POSITION: Hex = `0x${'ab'.repeat(32)}`
const NOW_S = 1_800_000_000
const WAD = 10n ** 18n
const PRICE = 50_000n * WAD
const usd = (whole: number) => BigInt(whole) * 1_000_000n

const file = z
  .object({
    guard: z.object({
      sanity: z.record(z.string(), z.unknown()),
      allow: z.array(
        z.looseObject({ creation: z.object({ codeHash: z.string(), codeBytes: z.string() }).optional() }),
      ),
    }),
  })
  .parse(policyOf('asset-manager')).guard
const judgements = judgementsOf('asset-manager', file.sanity)

/** What a scripted chain says by view; null is no answer. One sBTC from 30,000 sUSD on, a rival leading with 31,800. */
const HONEST = {
  lot: {
    terms: {
      positionId: POSITION,
      lane: stringToHex('liquid', { size: 32 }),
      market: MARKET,
      borrower: STRANGER,
      asset: COLLATERAL,
      amount: 100_000_000n,
      quoteAsset: LOAN,
      reserveAssets: usd(30_000),
      closesAt: BigInt(NOW_S + 30),
    },
    seller: STRANGER,
    state: 1,
    bestBidder: STRANGER,
    bestAssets: usd(31_800),
  },
  read: [PRICE, BigInt(NOW_S), BigInt(NOW_S), 1],
  /** The answer of the second source. */
  second: [PRICE, BigInt(NOW_S), BigInt(NOW_S), 1],
  manager: SELF,
  fundReadinessApproved: true,
  quoteAssetProfileApproved: true,
  purchasesEnabled: true,
  impairment: 0,
  idleAssets: usd(500_000),
  netAssets: usd(500_000),
  concentrationAt: [usd(32_000), usd(32_000), usd(32_000)],
  channelPolicy: [true, usd(250_000), 9_500, 2_500],
  hasRole: true,
  transferProfile: 1,
  shareMobilityPaused: false,
  restoreAfter: 0n,
  mobilityEpoch: 4n,
  allocatedAssets: usd(10),
  totalBadDebt: 0n,
  totalDebt: usd(700_000),
  totalCash: usd(300_000),
} as const
type Name = keyof typeof HONEST
type Said = Partial<Record<Name, unknown>>

const LOT = HONEST.lot
const terms = (changes: object): Said => ({ lot: { ...LOT, terms: { ...LOT.terms, ...changes } } })
const lot = (changes: object): Said => ({ lot: { ...LOT, ...changes } })

const views: readonly AbiFunction[] = [
  ...BID_VIEWS,
  ...PRICE_VIEWS,
  ...CHANNEL_VIEWS,
  ...MOBILITY_VIEWS,
  ...TROUBLE_VIEWS,
  ...BAD_DEBT_VIEWS,
]
function encode({ to, data }: Call, said: Said): Hex | null {
  const item = views.find((view) => toFunctionSelector(view) === data.slice(0, 10))
  if (item === undefined) throw new TypeError(`no view has the selector of ${data}`)
  const name = to === REFERENCE ? 'second' : (item.name as Name)
  const result: unknown = { ...HONEST, ...said }[name]
  if (result === null) return null
  return encodeFunctionResult({
    abi: [item] as Abi,
    functionName: item.name,
    result: result as readonly unknown[],
  })
}

type Given = {
  /** Of `guard.sanity`, where they differ from the policy's own. */
  readonly limits?: Readonly<Record<string, unknown>>
  readonly input?: Proposal['input']
  readonly before?: Said
  readonly after?: Said
  readonly proposal?: Partial<Proposal>
  readonly timestampS?: number
}

const INPUTS: Readonly<Record<string, Proposal['input']>> = {
  [BID]: { fundAddress: FUND, acquisitionAddress: HOUSE, lotId: '7', bidAssets: String(usd(32_000)) },
  [CHANNEL]: {
    fundAddress: FUND,
    channel: 'rfq',
    enabled: true,
    maxAssetsPerEpoch: String(usd(200_000)),
    maxPriceBps: 9_000,
    maxPositionBps: 2_500,
  },
  [MOBILITY]: { vaultAddress: VAULT, action: 'set_transfer_profile', transferProfile: 'frozen' },
}

const [OTHER_FUND, COLLEAGUE] = [`0x${'f9'.repeat(20)}`, `0x${'c7'.repeat(20)}`] as const

/** The first refusal's name, of the position or of the outcome; null when it may be signed. */
function judged(type: WorkflowType, given: Given): string | null {
  const {
    input = INPUTS[type] ?? {},
    before = {},
    after = {},
    proposal = {},
    timestampS = NOW_S,
    limits,
  } = given
  const proposed: Proposal = {
    workflowType: type,
    kind: type === BID ? 'bid' : 'tighten',
    subject: 'any',
    occurrence: 'any',
    input,
    exposure: { token: null, assets: 0n, usdMicros: 0n },
    lot: POSITION,
    summary: 'any',
    reason: { priceWad: String(PRICE) },
    ...proposal,
  }
  const subject: Subject = {
    input,
    self: SELF,
    ours: [SELF, COLLEAGUE],
    deadlineS: BigInt(NOW_S + 60),
    market: null,
    vault: type === MOBILITY ? { address: VAULT, codeHash: '0x' } : null,
    fund: type === MOBILITY ? null : { address: FUND, codeHash: '0x', quoteAsset: LOAN },
    deployment: {
      ...deployment,
      funds: [FUND, OTHER_FUND].map((address) => ({ address, codeHash: '0x' as const, quoteAsset: LOAN })),
      contracts: [
        { name: 'btcReferenceOracle', address: REFERENCE, codeHash: '0x' },
        { name: 'oracle', address: ORACLE, codeHash: '0x' },
      ],
    },
  }
  const [reads, then] = [createReads(), createReads()]
  const judged = (
    limits === undefined ? judgements : judgementsOf('asset-manager', { ...file.sanity, ...limits })
  )
    .get(type)
    ?.judge({ subject, proposal: proposed, calls: [], before: reads, after: then })
  if (judged === undefined) throw new TypeError(`the policy's judgements lack ${type}`)
  reads.fill(reads.calls.map((call) => encode(call, before)))
  then.fill(then.calls.map((call) => encode(call, { ...before, ...after })))
  return (
    (judged.checkState(timestampS) ?? judged.checkOutcome({ timestampS, gasWei: 1n, changeOf: () => 0n }))
      ?.check ?? null
  )
}

describe('a bid', () => {
  const leading = { lot: { ...LOT, bestBidder: FUND, bestAssets: usd(32_000) }, idleAssets: usd(468_000) }
  const bid = (given: Given = {}) => judged(BID, { after: leading, ...given })
  /** A bid of so much, on a lot that starts there. */
  const bidding = (assets: bigint, lane = 'liquid') => ({
    input: { ...INPUTS[BID], bidAssets: String(assets) },
    before: terms({ reserveAssets: assets, lane: stringToHex(lane, { size: 32 }) }),
    after: { lot: { ...LOT, bestBidder: FUND, bestAssets: assets } },
  })

  it('that is as it says may be signed', () => expect(bid()).toBeNull())

  it.each<[string, Given]>([
    ['read_failed', { before: { lot: null } }],
    ['read_failed', { before: { manager: null } }],
    ['read_failed', { before: { purchasesEnabled: null } }],
    ['read_failed', { before: { read: null } }],
    ['read_failed', { before: { netAssets: null } }],
    ['not_manager', { before: { manager: STRANGER } }],
    ['fund_closed', { before: { fundReadinessApproved: false } }],
    ['fund_closed', { before: { quoteAssetProfileApproved: false } }],
    ['fund_closed', { before: { purchasesEnabled: false } }],
    ['fund_impaired', { before: { impairment: 1 } }],
    ['lot_closed', { before: lot({ state: 2 }) }],
    ['lot_closed', { timestampS: NOW_S + 29 }],
    ['position_differs', { proposal: { lot: `0x${'cd'.repeat(32)}` } }],
    ['quote_asset_differs', { before: terms({ quoteAsset: COLLATERAL }) }],
    ['own_lot', { before: lot({ bestBidder: FUND }) }],
    ['own_lot', { before: lot({ seller: SELF }) }],
    ['own_lot', { before: lot({ seller: FUND }) }],
    // Another fund of ours, and another signer: whatever the service says of who manages it.
    ['own_lot', { before: lot({ bestBidder: OTHER_FUND }) }],
    ['own_lot', { before: lot({ seller: OTHER_FUND }) }],
    ['own_lot', { before: lot({ seller: COLLEAGUE }) }],
    ['outbid', { before: lot({ bestAssets: usd(32_000) }) }],
    ['outbid', { before: terms({ reserveAssets: usd(32_000) + 1n }) }],
    ['market_not_pinned', { before: terms({ market: STRANGER }) }],
    ['market_not_pinned', { before: terms({ asset: LOAN }) }],
    ['oracle_not_healthy', { before: { read: [PRICE, BigInt(NOW_S), BigInt(NOW_S), 2] } }],
    ['price_stale', { before: { read: [PRICE, BigInt(NOW_S - 121), BigInt(NOW_S), 1] } }],
    ['price_in_future', { before: { read: [PRICE, BigInt(NOW_S + 1), BigInt(NOW_S), 1] } }],
    // Oracle, service and fund say the same; the second source does not.
    ['prices_apart', { before: { second: [(PRICE * 100n) / 101n - 1n, BigInt(NOW_S), BigInt(NOW_S), 1] } }],
    ['prices_apart', { before: { second: [(PRICE * 100n) / 99n + 1n, BigInt(NOW_S), BigInt(NOW_S), 1] } }],
    ['oracle_not_healthy', { before: { second: [PRICE, BigInt(NOW_S), BigInt(NOW_S), 2] } }],
    ['price_stale', { before: { second: [PRICE, BigInt(NOW_S - 121), BigInt(NOW_S), 1] } }],
    ['read_failed', { before: { second: null } }],
    ['no_second_price', { limits: { assets: { sETH: { referenceContract: 'btcReferenceOracle' } } } }],
    ['no_second_price', { limits: { assets: { sBTC: { referenceContract: 'unheard' } } } }],
    // The oracle itself, under another name.
    ['no_second_price', { limits: { assets: { sBTC: { referenceContract: 'oracle' } } } }],
    ['price_not_stated', { proposal: { reason: {} } }],
    ['price_moved', { proposal: { reason: { priceWad: String((PRICE * 99n) / 100n - 1n) } } }],
    ['bid_above_worth', bidding(usd(47_500) + 1n)],
    // What the service shows as liquid.
    ['bid_above_worth', bidding(usd(42_000) + 1n, 'restricted')],
    ['lane_not_listed', bidding(usd(42_000), 'unheard')],
    // A rival, or a reserve, that the house does not know: half a per cent of 50,000 and a unit above the best is enough.
    ['bid_above_rivals', { before: lot({ bestAssets: usd(31_750) - 2n }) }],
    ['bid_above_rivals', { before: lot({ bestBidder: zeroAddress, bestAssets: 0n }) }],
    // Nobody leads, and there is no reserve: anything is enough.
    [
      'bid_above_rivals',
      {
        input: { ...INPUTS[BID], bidAssets: String(usd(200)) },
        before: {
          lot: {
            ...LOT,
            bestBidder: zeroAddress,
            bestAssets: 0n,
            terms: { ...LOT.terms, reserveAssets: 0n },
          },
        },
      },
    ],
    ['position_too_large', { before: { netAssets: usd(127_999) } }],
    ['read_failed', { after: { lot: null } }],
    ['not_leading', { after: { lot: LOT } }],
    ['not_leading', { after: lot({ bestBidder: FUND, bestAssets: usd(31_999) }) }],
    // What the service does not list among the fund's holdings counts all the same.
    ['lane_concentrated', { after: { ...leading, concentrationAt: [usd(350_000) + 1n, 0n, 0n] } }],
    ['market_concentrated', { after: { ...leading, concentrationAt: [0n, usd(400_000) + 1n, 0n] } }],
    ['borrower_concentrated', { after: { ...leading, concentrationAt: [0n, 0n, usd(250_000) + 1n] } }],
    ['read_failed', { after: { ...leading, concentrationAt: null } }],
    ['fund_overspent', { after: { ...leading, idleAssets: usd(468_000) - 1n } }],
  ])('is refused: %s', (check, given) => expect(bid(given)).toBe(check))

  it('may be signed at each limit', () => {
    expect(bid({ timestampS: NOW_S + 28 })).toBeNull()
    expect(bid(bidding(usd(47_500)))).toBeNull()
    expect(bid({ before: { netAssets: usd(128_000) } })).toBeNull()
    expect(bid({ before: lot({ bestAssets: usd(31_750) - 1n }) })).toBeNull()
    expect(bid(bidding(usd(42_000), 'restricted'))).toBeNull()
    for (const second of [(PRICE * 100n) / 101n + 1n, (PRICE * 100n) / 99n])
      expect(bid({ before: { second: [second, BigInt(NOW_S), BigInt(NOW_S), 1] } })).toBeNull()
    const concentrationAt = [usd(350_000), usd(400_000), usd(250_000)]
    expect(bid({ after: { ...leading, concentrationAt } })).toBeNull()
    const none = {
      bestBidder: zeroAddress,
      bestAssets: 0n,
      terms: { ...LOT.terms, reserveAssets: usd(32_000) },
    }
    expect(bid({ before: lot(none) })).toBeNull()
  })

  it('that a person orders states neither position nor price, and is held to the rest', () => {
    const order = { kind: 'order', lot: 'none', reason: {} }
    expect(bid({ proposal: order })).toBeNull()
    expect(bid({ proposal: order, before: lot({ bestAssets: usd(31_000) }) })).toBeNull()
    expect(bid({ ...bidding(usd(47_500) + 1n), proposal: order })).toBe('bid_above_worth')
  })
})

it.each(['', 'a b', 'a'.repeat(33), 'lïquid'])('a lane cannot be called %j', (name) => {
  const lanes = file.sanity.lanes as Readonly<Record<string, unknown>>
  const limits = { ...file.sanity, lanes: { ...lanes, [name]: lanes.liquid } }
  expect(() => judgementsOf('asset-manager', limits)).toThrow()
  expect(() => judgementsOf('asset-manager', file.sanity)).not.toThrow()
})

describe('a channel policy', () => {
  const then = { channelPolicy: [true, usd(200_000), 9_000, 2_500] }
  const set = (given: Given = {}) => judged(CHANNEL, { after: then, ...given })
  const strict = { before: { channelPolicy: [false, usd(200_000), 9_000, 2_500] } }

  it('that is stricter may be signed', () => expect(set()).toBeNull())

  it.each<[string, Given]>([
    ['read_failed', { before: { channelPolicy: null } }],
    ['not_manager', { before: { manager: STRANGER } }],
    ['not_stricter', strict],
    ['not_stricter', { before: { channelPolicy: [true, usd(199_999), 9_500, 2_500] } }],
    ['not_stricter', { before: { channelPolicy: [true, usd(200_000), 8_999, 2_500] } }],
    ['not_stricter', { before: { channelPolicy: [true, usd(200_000), 9_000, 2_499] } }],
    ['loosening_not_stated', { ...strict, proposal: { kind: 'loosen' } }],
    ['policy_not_set', { after: HONEST }],
    ['read_failed', { after: { channelPolicy: null } }],
  ])('is refused: %s', (check, given) => expect(set(given)).toBe(check))

  it('that is looser may be signed where it says so, or a person orders it', () => {
    expect(set({ ...strict, proposal: { kind: 'loosen', loosens: true } })).toBeNull()
    expect(set({ ...strict, proposal: { kind: 'order' } })).toBeNull()
  })
})

describe('an action on mobility', () => {
  const act = (given: Given) => judged(MOBILITY, given)
  const profile = { after: { transferProfile: 2, mobilityEpoch: 5n } }
  const pause = {
    input: { vaultAddress: VAULT, action: 'pause', restoreAfterTimestamp: String(NOW_S + 60), reason: 'x' },
    proposal: { kind: 'pause' },
    before: { totalBadDebt: usd(50_000) + 1n },
    after: { shareMobilityPaused: true, mobilityEpoch: 5n },
  }
  const restore = {
    input: { vaultAddress: VAULT, action: 'restore' },
    proposal: { kind: 'restore' },
    before: { shareMobilityPaused: true, restoreAfter: BigInt(NOW_S) },
    after: { shareMobilityPaused: false, mobilityEpoch: 5n },
  }
  const trust = (trusted: boolean) => ({
    input: { vaultAddress: VAULT, action: 'set_trusted_recipient', recipientAddress: STRANGER, trusted },
    after: { mobilityEpoch: 5n },
  })
  const until = (seconds: number) => ({
    ...pause,
    input: { ...pause.input, restoreAfterTimestamp: String(NOW_S + seconds) },
  })

  it.each<[string, Given]>([
    ['a stricter profile', profile],
    [
      'the profile that is there',
      {
        ...profile,
        input: { ...INPUTS[MOBILITY], transferProfile: 'trusted_recipients' },
        after: { mobilityEpoch: 5n },
      },
    ],
    [
      'the loosest profile, where that is said to loosen',
      {
        input: { ...INPUTS[MOBILITY], transferProfile: 'open' },
        proposal: { kind: 'loosen', loosens: true },
        after: { transferProfile: 0, mobilityEpoch: 5n },
      },
    ],
    ['a pause', pause],
    ['the longest pause', until(3_600)],
    ['a pause for an oracle', { ...pause, before: { read: [PRICE, 0n, 0n, 2] } }],
    ['a pause that a person orders', { ...pause, before: {}, proposal: { kind: 'order' } }],
    ['the end of a pause that has lasted', restore],
    ['the end of one by anyone', { ...restore, before: { ...restore.before, hasRole: false } }],
    ['trust taken away', trust(false)],
    ['trust that is said to loosen', { ...trust(true), proposal: { kind: 'loosen', loosens: true } }],
  ])('may be signed: %s', (_name, given) => expect(act(given)).toBeNull())

  it.each<[string, Given]>([
    ['read_failed', { ...profile, before: { transferProfile: null } }],
    ['read_failed', { ...profile, before: { hasRole: null } }],
    ['read_failed', { ...profile, before: { shareMobilityPaused: null } }],
    ['read_failed', { ...profile, before: { restoreAfter: null } }],
    ['not_manager', { ...profile, before: { hasRole: false } }],
    ['not_stricter', { ...profile, input: { ...INPUTS[MOBILITY], transferProfile: 'open' } }],
    // A bad debt that the service invents.
    ['no_trouble', { ...pause, before: { totalBadDebt: usd(50_000) } }],
    ['no_trouble', { ...pause, before: { ...pause.before, allocatedAssets: 0n } }],
    ['read_failed', { ...pause, before: { totalBadDebt: null } }],
    ['read_failed', { ...pause, before: { read: null } }],
    ['trouble_stands', { ...restore, before: { ...restore.before, ...pause.before } }],
    ['already_paused', { ...pause, before: { shareMobilityPaused: true } }],
    ['pause_out_of_range', until(3_601)],
    ['pause_out_of_range', until(0)],
    ['not_paused', { ...restore, before: {} }],
    ['loosening_not_stated', { ...restore, timestampS: NOW_S - 1 }],
    ['not_stricter', trust(true)],
    ['loosening_not_stated', { ...trust(true), proposal: { kind: 'loosen' } }],
    ['mobility_not_set', { ...profile, after: { transferProfile: 2 } }],
    ['mobility_not_set', { ...profile, after: { mobilityEpoch: 5n } }],
    ['mobility_not_set', { ...pause, after: { mobilityEpoch: 5n } }],
    ['mobility_not_set', { ...restore, after: { shareMobilityPaused: true, mobilityEpoch: 5n } }],
    ['read_failed', { ...profile, after: { mobilityEpoch: null } }],
  ])('is refused: %s', (check, given) => expect(act(given)).toBe(check))
})

describe('the vault and the channel that may be deployed', () => {
  it('are those of the contracts here', () => {
    const { LendingVault, PartnerChannel } = loadArtifacts()
    const creations = file.allow.flatMap(({ creation }) => (creation === undefined ? [] : [creation]))
    expect(creations).toEqual(
      [LendingVault, PartnerChannel].map(({ bytecode }) => ({
        codeHash: keccak256(bytecode),
        codeBytes: String(size(bytecode)),
      })),
    )
  })
})
