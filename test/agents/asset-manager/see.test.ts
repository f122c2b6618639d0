import { type Abi, decodeFunctionData, encodeFunctionResult, getAddress, zeroAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Answer, Look, Question } from '../../../agents/agent.ts'
import type { Declared } from '../../../agents/asset-manager/declared/declared.ts'
import { see } from '../../../agents/asset-manager/see.ts'
import type { ManagerSeen } from '../../../agents/asset-manager/seen.ts'
import {
  marketVaultsView,
  oracleViews,
  partnerChannelViews,
  vaultOwnerViews,
} from '../../../agents/protocol/lending-views.ts'
import {
  FUND_VIEWS,
  HOUSE_VIEWS,
  MARKET_VIEWS,
  MOBILITY_VIEWS,
  wordOf,
} from '../../../agents/protocol/recovery.ts'
import {
  BORROWER,
  BTC,
  FUND,
  fundRow,
  HOUSE,
  lotRow,
  MARKET,
  marketRow,
  moment,
  POSITION,
  policy,
  RIVAL,
  RIVAL_FUND,
  SELLER,
  SIGNER,
  USD,
  usd,
  VAULT,
  vaultRow,
} from './fixtures.ts'

const VIEWS: Abi = [
  ...[...MARKET_VIEWS, ...FUND_VIEWS, ...HOUSE_VIEWS, ...MOBILITY_VIEWS, ...oracleViews],
  ...[...vaultOwnerViews, ...marketVaultsView, ...partnerChannelViews],
]

/** What contracts answer, by view; null for a call that reverts. */
const SAID: Readonly<Record<string, unknown>> = {
  manager: SIGNER,
  idleAssets: usd(5),
  reservedAssets: usd(1),
  netAssets: usd(6),
  epochId: 3n,
  channelPolicy: [true, usd(9), 9_500, 2_500],
  usedAssets: usd(2),
  reservationAt: 4n,
  reservation: [1, HOUSE, 1n, 3n, usd(1)],
  appraise: usd(50_000),
  lot: {
    terms: {
      positionId: POSITION,
      lane: wordOf('restricted'),
      market: MARKET,
      borrower: BORROWER,
      asset: BTC,
      amount: 1n,
      quoteAsset: USD,
      reserveAssets: 1n,
      closesAt: 1n,
    },
    seller: SELLER,
    state: 1,
    bestBidder: RIVAL_FUND,
    bestAssets: usd(31_000),
  },
  read: [7n, 8n, 9n, 1],
  totalBadDebt: 3n,
  totalDebt: 70n,
  totalCash: 30n,
  hasRole: true,
  transferProfile: 1,
  shareMobilityPaused: true,
  restoreAfter: 10n,
  mobilityEpoch: 11n,
  pauseReason: 'why',
  trustedRecipients: [getAddress(RIVAL)],
  asset: USD,
  totalAssets: 9n,
  allocatedAssets: 6n,
  owner: getAddress(SIGNER),
  pendingDefaultAdmin: [zeroAddress, 0],
  listing: { approved: true, allocationEnabled: false, relativeCapBps: 7, absoluteCapAssets: 8n },
  vaults: [getAddress(VAULT)],
  feeConfig: {
    managementFeeBps: 1,
    performanceFeeBps: 2,
    borrowerManagerFeeBps: 3,
    recipient: getAddress(RIVAL),
    curatorRecipient: zeroAddress,
  },
  routing: [getAddress(MARKET)],
  liquidityBufferBps: 5,
  exitTerms: { kind: 1, noticeSeconds: 60n, intervalSeconds: 0n, maturityTimestamp: 0n },
  tighteningLocked: true,
  minDepositAssets: 3n,
  maxDepositAssets: 4n,
  vault: VAULT,
  reseller: getAddress(RIVAL),
  curator: SIGNER,
  shareClass: 'Retail',
  resellerFeeBps: 1,
  borrowerFeeBps: 2,
  capAssets: 3n,
  isBlocked: true,
}

function answer(question: Question, said: typeof SAID): Answer {
  if (question.kind !== 'call') throw new TypeError('the asset manager asks the chain alone')
  const { functionName } = decodeFunctionData({ abi: VIEWS, data: question.data })
  const result = said[functionName]
  if (result === null) return { ok: false, check: 'call_failed', message: 'It reverted.' }
  return { ok: true, text: encodeFunctionResult({ abi: VIEWS, functionName, result }), atMs: 0 }
}

/** What is seen in the end, and how many questions each wave asked. */
function look(
  said: typeof SAID = SAID,
  rows = {},
  assets = policy().bidding.assets,
  contracts = moment().deployment.contracts,
  vaultSettings: Declared['vaultSettings'] = [],
  markets = moment().deployment.markets,
): { seen: ManagerSeen; waves: readonly number[] } {
  const all = {
    funds: [fundRow(), fundRow({ address: RIVAL_FUND, managerAddress: RIVAL })],
    acquisitions: [lotRow(), SOLD],
    markets: [marketRow()],
    vaults: [vaultRow(), vaultRow({ address: RIVAL })],
    ...rows,
  }
  const at = { ...moment(), deployment: { ...moment().deployment, contracts, markets } }
  let step: Look<ManagerSeen> = see(all, at, policy({ assets }, { vaultSettings }), null)
  const waves: number[] = []
  while ('ask' in step) {
    waves.push(step.ask.length)
    step = step.next(
      step.ask.map((question) => answer(question, said)),
      {},
    )
  }
  return { seen: step.seen, waves }
}

const SOLD = lotRow({ lotId: '2', status: 'awarded' })

describe('a look', () => {
  const { seen, waves } = look()

  it('asks two waves: of our fund, the open lot, the market and the pinned vault', () => {
    expect(waves).toEqual([23, 2])
  })

  it('joins rows with what the contracts say', () => {
    const policy = { enabled: true, maxAssetsPerEpoch: usd(9), maxPriceBps: 9_500, maxPositionBps: 2_500 }
    expect(seen.funds[0]?.figures).toEqual({
      manager: SIGNER,
      idleAssets: usd(5),
      reservedAssets: usd(1),
      netAssets: usd(6),
      epochId: 3n,
      usedAssets: usd(2),
      channels: { acquisition: policy, auction: policy, rfq: policy },
    })
    expect(seen.sold).toEqual([SOLD])
    expect(seen.lots).toEqual([
      {
        row: lotRow(),
        house: { open: true, lane: 'restricted', bestFundAddress: RIVAL_FUND, bestAssets: usd(31_000) },
        funds: [
          {
            fundAddress: FUND,
            appraisedAssets: usd(50_000),
            reservation: { assets: usd(1), epochId: 3n },
          },
        ],
      },
    ])
    expect(seen.markets[0]?.oracle).toEqual({ priceWad: 7n, sourceAsOfS: 8, state: 1 })
    expect(seen.markets[0]?.reference).toEqual({ priceWad: 7n, sourceAsOfS: 8, state: 1 })
    expect(seen.markets[0]?.books).toEqual({ badDebtAssets: 3n, suppliedAssets: 100n })
    expect(seen.vaults[0]?.mobility).toEqual({
      isManager: true,
      transferProfile: 1,
      paused: true,
      restoreAfterS: 10,
      pauseReason: 'why',
      mobilityEpoch: 11n,
      trustedRecipients: [RIVAL],
    })
  })

  it('reads what the owner of a vault sets, as far as it is declared, and the lists of its channels', () => {
    const { deployment } = moment()
    const markets = deployment.markets.map((market) => ({ ...market, name: 'market' }))
    const contracts = [...deployment.contracts, { name: 'partner', address: RIVAL_FUND }]
    const account = { address: RIVAL, granted: true } as const
    const declared: Declared['vaultSettings'][number] = {
      vault: 'Vault',
      baseAsset: 'sUSD',
      allowLoosening: true,
      managers: [],
      allocators: [account],
      curators: [{ ...account, address: 'self' }],
      markets: [{ market: 'market', absoluteCapAssets: 1n, relativeCapBps: 1, allocationEnabled: true }],
      channels: [
        {
          channel: 'partner',
          name: 'P',
          symbol: 'p',
          reseller: RIVAL,
          curator: 'self',
          capAssets: 3n,
          shareClass: 'Retail',
          resellerFeeBps: 1,
          borrowerFeeBps: 2,
          blocked: [{ address: 'everyone', blocked: true }],
        },
      ],
    }
    const assets = policy().bidding.assets
    const of = (said: typeof SAID) => look(said, {}, assets, contracts, [declared], markets).seen
    const found = of(SAID)
    expect(found.vaults[0]?.settings).toEqual({
      asset: USD,
      totalAssets: 9n,
      owner: SIGNER,
      pendingOwner: null,
      tighteningLocked: true,
      routing: [MARKET],
      listings: new Map([[MARKET, { ...Object(SAID.listing), heldAssets: 6n, admitted: true }]]),
      roles: new Map([
        [`allocator:${RIVAL}`, true],
        [`curator:${SIGNER}`, true],
        [`manager:${SIGNER}`, true],
      ]),
      fees: { ...Object(SAID.feeConfig), recipient: RIVAL },
      terms: {
        liquidityBufferBps: 5,
        exitTermKind: 1,
        noticeSeconds: 60,
        intervalSeconds: 0,
        maturityTimestamp: 0,
        minDepositAssets: 3n,
        maxDepositAssets: 4n,
      },
    })
    expect(found.channels).toEqual([
      {
        name: 'partner',
        address: RIVAL_FUND,
        figures: {
          vault: VAULT,
          reseller: RIVAL,
          curator: SIGNER,
          shareClass: 'Retail',
          resellerFeeBps: 1,
          borrowerFeeBps: 2,
          capAssets: 3n,
          blocked: new Map([[RIVAL_FUND, true]]),
        },
      },
    ])
    for (const view of [
      'owner',
      'totalAssets',
      'listing',
      'allocatedAssets',
      'vaults',
      'feeConfig',
      'exitTerms',
      'maxDepositAssets',
    ]) {
      expect(of({ ...SAID, [view]: null }).vaults[0]?.settings).toBeNull()
    }
    const shut = of({ ...SAID, vaults: [RIVAL] }).vaults[0]?.settings?.listings.get(MARKET)
    expect(shut).toMatchObject({ admitted: false })
    expect(of({ ...SAID, isBlocked: null }).channels[0]?.figures).toBeNull()
    expect(look().seen.vaults[0]?.settings).toBeNull()
  })

  it('asks nothing of funds that are not ours and vaults that are not pinned', () => {
    expect(seen.funds[1]?.figures).toBeNull()
    expect(seen.vaults[1]?.mobility).toBeNull()
  })

  it('does not know what reverts, and a reservation that was released is none', () => {
    for (const view of ['manager', 'idleAssets', 'epochId', 'channelPolicy', 'usedAssets']) {
      expect(look({ ...SAID, [view]: null }).seen.funds[0]?.figures).toBeNull()
    }
    expect(look({ ...SAID, lot: null }).seen.lots[0]?.house).toBeNull()
    expect(look({ ...SAID, appraise: null }).seen.lots[0]?.funds[0]?.appraisedAssets).toBeNull()
    expect(look({ ...SAID, read: null }).seen.markets[0]?.oracle).toBeNull()
    expect(look({ ...SAID, totalCash: null }).seen.markets[0]?.books).toBeNull()
    expect(look({ ...SAID, pauseReason: null }).seen.vaults[0]?.mobility).toBeNull()
    const released = { ...SAID, reservation: [2, HOUSE, 1n, 3n, usd(1)] }
    expect(look(released).seen.lots[0]?.funds[0]?.reservation).toBeNull()
    expect(look({ ...SAID, reservationAt: 0n }).seen.lots[0]?.funds[0]?.reservation).toBeNull()
  })

  it('has no second source where none is pinned, or where it is the oracle itself', () => {
    const named = (referenceContract: string) =>
      look(SAID, {}, { sBTC: { referenceContract } }).seen.markets[0]
    expect(named('unheard')).toMatchObject({ reference: null, oracle: { priceWad: 7n } })
    expect(named('acquisitionHouse')).toMatchObject({ reference: { priceWad: 7n } })
    const { deployment } = moment()
    const [pinned] = deployment.markets
    const contracts = [{ name: 'btcReferenceOracle', address: pinned?.oracle ?? FUND }]
    expect(look(SAID, {}, undefined, contracts).seen.markets[0]).toMatchObject({ reference: null })
  })

  it('sees nothing where there is nothing', () => {
    const none = { funds: [], acquisitions: [], markets: [], vaults: [] }
    expect(look(SAID, none)).toEqual({
      seen: {
        funds: [],
        lots: [],
        sold: [],
        markets: [],
        vaults: [],
        channels: [],
        wrappers: null,
        unopened: new Map(),
      },
      waves: [0, 0],
    })
  })
})
