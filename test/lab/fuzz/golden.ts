import { type Address, encodeDeployData, getAddress, hashTypedData, stringToHex } from 'viem'
import {
  fundFactoryAbi,
  lendingMarketAbi,
  lendingVaultAbi,
  navOracleAbi,
  recoveryAuctionAbi,
  recoveryFundAbi,
  rfqDeskAbi,
} from '../../../sandbox/contracts/abis.ts'
import { exposureOf } from '../../../src/guard/checks/check-request.ts'
import type { PreparedWorkflow, TransactionIntent } from '../../../src/service/contract/prepared-workflow.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { LOAN, SELF, VAULT } from '../../guard/fixtures.ts'
import type { Expected, Kind } from '../../guard/kind.ts'
import { deployment, navTypedData, UNSIGNED } from '../../guard/kinds.ts'
import { type Aim, VAULT_CODE } from '../attacks/attack.ts'
import { serve, textOf } from '../attacks/play.ts'
import type { Dice } from '../judgement/dice.ts'
import { chance, pickFrom, whole } from './dice.ts'
import { BY_HAND } from './golden-by-hand.ts'
import {
  anybody,
  approve,
  asInput,
  bps,
  call,
  dollars,
  id,
  joined,
  later,
  least,
  market,
  move,
  NOW_S,
  seconds,
  symbol,
  type Valid,
  words,
} from './valid.ts'

const DEADLINE = BigInt(NOW_S + 30)
const contract = (name: string): Address =>
  deployment.contracts.find((each) => each.name === name)?.address ?? '0x'
const FUND: Address = deployment.funds[0]?.address ?? '0x'
const [DESK, AUCTION, HOUSE] = ['rfqDesk', 'recoveryAuction', 'acquisitionHouse'].map(contract)

const liquidation = (dice: Dice): Valid => {
  const [repay, least, borrower, at] = [dollars(dice), 1n + id(dice) / 2n, anybody(dice), market(dice)]
  return {
    input: {
      marketAddress: at,
      vaultAddress: VAULT,
      borrowerAddress: borrower,
      recipientAddress: SELF,
      repayAssets: String(repay),
      minCollateralAssets: String(least),
    },
    calls: [
      approve(at, repay),
      call(at, lendingMarketAbi, 'liquidate', [
        VAULT,
        borrower,
        repay,
        least,
        SELF,
        DEADLINE - BigInt(whole(dice, 30)),
      ]),
    ],
  }
}

const settlement = (dice: Dice): Valid => {
  const [claimId, at] = [id(dice), market(dice)]
  return {
    input: { marketAddress: at, claimId: String(claimId) },
    calls: [call(at, lendingMarketAbi, 'settleLiquidationClaim', [claimId])],
  }
}

const moved =
  (functionName: 'allocate' | 'deallocate') =>
  (dice: Dice): Valid => {
    const one = move(dice)
    return {
      input: { vaultAddress: VAULT, ...asInput(one) },
      calls: [call(VAULT, lendingVaultAbi, functionName, [one.market, one.assets])],
    }
  }

const batch = (dice: Dice): Valid => {
  const [withdrawals, supplies] = [1, 1].map((least) =>
    Array.from({ length: least + whole(dice, 8) }, () => move(dice)),
  )
  return {
    input: {
      vaultAddress: VAULT,
      withdrawals: withdrawals?.map(asInput) ?? [],
      supplies: supplies?.map(asInput) ?? [],
    },
    calls: [call(VAULT, lendingVaultAbi, 'reallocate', [withdrawals, supplies])],
  }
}

const acquisition = (dice: Dice): Valid => {
  const [lotId, assets] = [id(dice), dollars(dice)]
  return {
    input: {
      fundAddress: FUND,
      acquisitionAddress: HOUSE ?? '',
      lotId: String(lotId),
      bidAssets: String(assets),
    },
    calls: [call(FUND, recoveryFundAbi, 'bidAcquisition', [HOUSE, lotId, assets])],
  }
}

const channelPolicy = (dice: Dice): Valid => {
  const channel = pickFrom(dice, ['auction', 'rfq'])
  const [enabled, most, price, position] = [chance(dice, 0.5), id(dice), bps(dice), bps(dice)]
  return {
    input: {
      fundAddress: FUND,
      channel,
      enabled,
      maxAssetsPerEpoch: String(most),
      maxPriceBps: price,
      maxPositionBps: position,
    },
    calls: [
      call(FUND, recoveryFundAbi, 'setChannelPolicy', [
        stringToHex(channel, { size: 32 }),
        ...[enabled, most, price, position],
      ]),
    ],
  }
}

const launch = (dice: Dice): Valid => {
  const texts = { name: words(dice), symbol: symbol(dice) }
  const rates = { carryRateBps: bps(dice), performanceFeeBps: bps(dice), preferredReturnBps: bps(dice) }
  const [epoch, least, most] = [seconds(dice), id(dice), id(dice)]
  return {
    input: {
      ...texts,
      ...rates,
      quoteAssetAddress: LOAN,
      epochDurationSeconds: String(epoch),
      minSubscriptionAssets: String(least),
      maxSubscriptionAssets: String(most),
    },
    calls: [
      call(contract('fundFactory'), fundFactoryAbi, 'launch', [
        {
          ...texts,
          ...rates,
          quoteAsset: LOAN,
          epochDurationSeconds: epoch,
          minSubscriptionAssets: least,
          maxSubscriptionAssets: most,
        },
      ]),
    ],
  }
}

const KINDS_OF_EXIT = ['instant', 'notice', 'interval', 'maturity'] as const
const vault = (dice: Dice): Valid => {
  const texts = { name: words(dice), symbol: symbol(dice) }
  const [owner, allocator, buffer, kind] = [anybody(dice), anybody(dice), bps(dice), whole(dice, 4)]
  const [notice, interval, maturity] = [seconds(dice), seconds(dice), seconds(dice)]
  const exitTerms = { kind, noticeSeconds: notice, intervalSeconds: interval, maturityTimestamp: maturity }
  return {
    input: {
      ...texts,
      liquidityBufferBps: buffer,
      exitTermKind: KINDS_OF_EXIT[kind] ?? '',
      noticeSeconds: String(notice),
      intervalSeconds: String(interval),
      maturityTimestamp: String(maturity),
      baseAssetAddress: LOAN,
      ownerAddress: owner,
      allocatorAddress: allocator,
      managerAddress: SELF,
    },
    calls: [
      {
        target: null,
        calldata: encodeDeployData({
          abi: lendingVaultAbi,
          bytecode: VAULT_CODE,
          args: [
            {
              ...texts,
              asset: LOAN,
              directory: contract('registry'),
              owner,
              allocator,
              manager: SELF,
              liquidityBufferBps: buffer,
              exitTerms,
            },
          ],
        }),
      },
    ],
  }
}

const PROFILES = ['open', 'trusted_recipients', 'frozen'] as const
const mobility = (dice: Dice): Valid => {
  const [until, reason, who, trusted, profile] = [
    later(dice),
    words(dice),
    anybody(dice),
    chance(dice, 0.5),
    whole(dice, 3),
  ]
  const actions = {
    pause: [{ restoreAfterTimestamp: String(until), reason }, 'pauseShareMobility', [until, reason, '']],
    restore: [{}, 'restoreShareMobility', []],
    set_transfer_profile: [{ transferProfile: PROFILES[profile] ?? '' }, 'setTransferProfile', [profile]],
    set_trusted_recipient: [{ recipientAddress: who, trusted }, 'setTrustedRecipient', [who, trusted]],
  } as const
  const action = pickFrom(dice, [
    'pause',
    'restore',
    'set_transfer_profile',
    'set_trusted_recipient',
  ] as const)
  const [more, functionName, args] = actions[action]
  return {
    input: { vaultAddress: VAULT, action, ...more },
    calls: [call(VAULT, lendingVaultAbi, functionName, args)],
  }
}

const place = (dice: Dice): Valid => {
  const [rfqId, assets, expires] = [id(dice), dollars(dice), later(dice)]
  return {
    input: {
      rfqAddress: DESK ?? '',
      rfqId: String(rfqId),
      bidAssets: String(assets),
      expiresTimestamp: String(expires),
    },
    calls: [approve(DESK, assets), call(DESK, rfqDeskAbi, 'placeBid', [rfqId, assets, expires])],
  }
}

const onBid = (dice: Dice) => {
  const [rfqId, bidId] = [id(dice), id(dice)]
  return { bidId, input: { rfqAddress: DESK ?? '', rfqId: String(rfqId), bidId: String(bidId) } }
}
const replace = (dice: Dice): Valid => {
  const { bidId, input } = onBid(dice)
  const [assets, expires] = [dollars(dice), later(dice)]
  const raises = chance(dice, 0.5) ? [approve(DESK, 1n + (assets * BigInt(whole(dice, 1_000))) / 1_001n)] : []
  return {
    input: { ...input, bidAssets: String(assets), expiresTimestamp: String(expires) },
    calls: [...raises, call(DESK, rfqDeskAbi, 'replaceBid', [bidId, assets, expires])],
  }
}
const bidAct =
  (functionName: 'cancelBid' | 'claimRefund') =>
  (dice: Dice): Valid => {
    const { bidId, input } = onBid(dice)
    return { input, calls: [call(DESK, rfqDeskAbi, functionName, [bidId])] }
  }
const finalize = (dice: Dice): Valid => {
  const rfqId = id(dice)
  return {
    input: { rfqAddress: DESK ?? '', rfqId: String(rfqId) },
    calls: [call(DESK, rfqDeskAbi, 'finalize', [rfqId])],
  }
}
const raise = (dice: Dice): Valid => {
  const [lotId, assets] = [id(dice), dollars(dice)]
  return {
    input: { auctionAddress: AUCTION ?? '', lotId: String(lotId), bidAssets: String(assets) },
    calls: [approve(AUCTION, assets), call(AUCTION, recoveryAuctionAbi, 'bid', [lotId, assets])],
  }
}

const manager = 'role.asset_manager.'
const lender = 'role.lender.distressedRecoveryFundV3'
/** Valid workflows of every type that agents decide, but the report, which has a signature inside: see `report`. */
const VALID: Readonly<Record<string, (dice: Dice) => Valid>> = {
  'role.liquidator.liquidate': liquidation,
  'role.liquidator.settleLiquidationClaim': settlement,
  'role.allocator.vaultAllocate': moved('allocate'),
  'role.allocator.vaultDeallocate': moved('deallocate'),
  'role.allocator.vaultReallocationBatch': batch,
  [`${manager}distressedRecoveryAcquisitionV3Bid`]: acquisition,
  [`${manager}distressedRecoveryFundV3ChannelPolicySet`]: channelPolicy,
  [`${manager}distressedRecoveryFundV3SelfLaunch`]: launch,
  [`${manager}vaultDeploy`]: vault,
  [`${manager}vaultShareMobilityManagerAction`]: mobility,
  [`${lender}RfqPlaceBid`]: place,
  [`${lender}RfqReplaceBid`]: replace,
  [`${lender}RfqCancelBid`]: bidAct('cancelBid'),
  [`${lender}RfqClaimRefund`]: bidAct('claimRefund'),
  [`${lender}RfqFinalize`]: finalize,
  [`${lender}AuctionBid`]: raise,
}

/** A report of any value and moment, with its words to sign. */
function report(dice: Dice, { drafts, proposal }: Kind): Valid {
  const [honest] = drafts
  const terms = {
    asset: FUND,
    reportType: stringToHex('nav', { size: 32 }),
    decimals: 18,
    value: 1n + id(dice) / 2n,
    valuationTime: BigInt(NOW_S - whole(dice, 300)),
    revision: whole(dice, 2),
    revisionLabel: words(dice),
    deadline: DEADLINE - BigInt(whole(dice, 30)),
  }
  const text = (value: unknown) => (typeof value === 'bigint' ? String(value) : value)
  const message = Object.fromEntries(Object.entries(terms).map(([key, value]) => [key, text(value)]))
  return {
    input: {
      ...proposal.input,
      value: String(terms.value),
      valuationTimestamp: String(terms.valuationTime),
      revision: terms.revision,
      revisionLabel: terms.revisionLabel,
    },
    calls: [call(honest?.target ?? undefined, navOracleAbi, 'submitReport', [terms, UNSIGNED])],
    signed: {
      signing: {
        kind: 'eip712',
        typedData: { ...navTypedData, message },
        signaturePlacement: 'argument:1',
      },
      digest: hashTypedData({ ...navTypedData, primaryType: 'NavReport', message: terms }),
    },
  }
}

const dateOf = (timestamp: unknown): string => new Date(Number(timestamp) * 1_000).toISOString()
const allocations = (vaultId: unknown, markets: readonly unknown[], field: string): readonly Expected[] =>
  markets.map((each): Expected => ['vault_allocation', joined(vaultId, each), [field, least(9)]])

/** What the service expects to see of a workflow, by what it asks for. */
function expectedOf(workflowType: string, input: Readonly<Record<string, unknown>>): readonly Expected[] {
  const of = input
  const marketsOf = (moves: unknown) =>
    Array.isArray(moves) ? moves.map((each: unknown) => Object(each).marketAddress) : []
  const bid = joined(of.rfqAddress, of.bidId)
  const mobilityOf = (...fields: Expected[2][]): readonly Expected[] => [
    ['vault_share_mobility', joined(of.vaultAddress), ['mobilityEpoch', least(4)], ...fields],
  ]
  switch (workflowType.split('.').at(-1)) {
    case 'liquidate': {
      const facility = joined(of.marketAddress, of.vaultAddress, of.borrowerAddress)
      return [['credit_facility', facility, ['debtShares', { op: 'lte', value: '7' }]]]
    }
    case 'settleLiquidationClaim':
      return [['liquidation_claim', joined(of.marketAddress, of.claimId), ['settled', true]]]
    case 'vaultAllocate':
      return allocations(of.vaultAddress, [of.marketAddress], 'suppliedAssetsTotal')
    case 'vaultDeallocate':
      return allocations(of.vaultAddress, [of.marketAddress], 'recalledAssetsTotal')
    case 'vaultReallocationBatch':
      return [
        ...allocations(of.vaultAddress, marketsOf(of.withdrawals), 'recalledAssetsTotal'),
        ...allocations(of.vaultAddress, marketsOf(of.supplies), 'suppliedAssetsTotal'),
      ]
    case 'navReportSignAndSubmit': {
      const reported = joined(of.oracleAddress, of.reportType, of.valuationTimestamp, of.revision)
      return [['nav_report', reported, ['value', of.value]]]
    }
    case 'distressedRecoveryAcquisitionV3Bid': {
      const bidder = joined(of.acquisitionAddress, of.lotId, of.fundAddress)
      return [['acquisition_bid', bidder, ['assets', least(of.bidAssets)]]]
    }
    case 'distressedRecoveryFundV3ChannelPolicySet':
      return [
        [
          ...(['fund_channel_policy', joined(of.fundAddress, of.channel)] as const),
          ...(['enabled', 'maxAssetsPerEpoch', 'maxPriceBps', 'maxPositionBps'] as const).map(
            (field) => [field, field === 'enabled' ? of[field] : String(of[field])] as const,
          ),
        ],
      ]
    case 'distressedRecoveryFundV3SelfLaunch':
      return [['fund_launcher', joined(contract('fundFactory'), SELF), ['count', least(1)]]]
    case 'vaultDeploy':
      return [['vault_deployment', joined(of.ownerAddress, of.symbol), ['count', least(1)]]]
    case 'vaultShareMobilityManagerAction': {
      if (of.action === 'set_trusted_recipient') {
        const trusted = joined(of.vaultAddress, of.recipientAddress)
        return [...mobilityOf(), ['trusted_recipient', trusted, ['trusted', of.trusted]]]
      }
      if (of.action === 'set_transfer_profile') return mobilityOf(['transferProfile', of.transferProfile])
      return mobilityOf(['shareMobilityPaused', of.action === 'pause'])
    }
    case 'distressedRecoveryFundV3RfqPlaceBid':
      return [['rfq_bidder', joined(of.rfqAddress, of.rfqId, SELF), ['bidCount', least(1)]]]
    case 'distressedRecoveryFundV3RfqReplaceBid':
      return [['rfq_bid', bid, ['assets', of.bidAssets], ['expiresAt', dateOf(of.expiresTimestamp)]]]
    case 'distressedRecoveryFundV3RfqCancelBid':
      return [['rfq_bid', bid, ['status', 'cancelled']]]
    case 'distressedRecoveryFundV3RfqClaimRefund':
      return [['rfq_bid', bid, ['status', 'refunded']]]
    case 'distressedRecoveryFundV3RfqFinalize':
      return [['rfq', joined(of.rfqAddress, of.rfqId), ['finalized', true]]]
    default:
      return [['auction_bid', joined(of.auctionAddress, of.lotId, SELF), ['assets', least(of.bidAssets)]]]
  }
}

/** A valid workflow of a kind with the answer that an honest service gives to it, in any form that it may have. */
export function golden(aim: Aim, kind: Kind, dice: Dice): Aim {
  const { workflowType } = kind.proposal
  const valid = BY_HAND[kind.name]?.(dice) ?? VALID[workflowType]?.(dice) ?? report(dice, kind)
  const { signed } = valid
  const counted = exposureOf({ workflowType, input: valid.input }, SELF, aim.ruleset)
  if (!counted.ok) throw new TypeError(`${workflowType} is not counted: ${counted.check}`)
  const proposal: Proposal = { ...kind.proposal, input: valid.input, exposure: counted.exposure }
  const spelled = (address: Address): Address => (chance(dice, 0.5) ? getAddress(address) : address)
  const transactions = valid.calls.map(
    ({ target, calldata }, order): TransactionIntent => ({
      order,
      chainId: aim.answer.transactions[0]?.chainId ?? 1,
      calldata,
      value: '0',
      transactionKind: target === null ? 'contract_deployment' : 'contract_call',
      target: target === null || target === undefined ? null : spelled(target),
      label: words(dice),
      simulationRequired: chance(dice, 0.5),
      ...(signed === undefined ? {} : { signing: signed.signing }),
    }),
  )
  const wanted = valid.expected ?? expectedOf(workflowType, valid.input)
  const canonicalPostconditions = wanted.flatMap(([entityType, entityId, ...fields]) =>
    fields.map(([field, expected]) => ({ entityType, entityId, field, expected })),
  )
  const answer = spoken({ ...aim.answer, transactions, canonicalPostconditions }, dice)
  return { ...aim, proposal, answer, ...(signed === undefined ? {} : { digest: signed.digest }) }
}

/** The same in other words: what an honest service may say of age, end, checks and order. */
function spoken(answer: PreparedWorkflow, dice: Dice): PreparedWorkflow {
  const { preflight } = answer
  const freshness = {
    ...preflight.freshness,
    status: pickFrom(dice, ['current', 'healthy']),
    lagSeconds: whole(dice, 21),
  }
  return {
    ...answer,
    requestId: pickFrom(dice, ['wf-1', 'wf_0b9c7b3a-3f5e-4c2e-9a55-5f1f2d0c9a11', 'A.1_b-2']),
    expiresAt: pickFrom(dice, [answer.expiresAt, '2099-01-01T00:00:00.000Z', '2099-01-01T00:00:00+02:00']),
    preflight: {
      ...preflight,
      freshness,
      revalidateAtExecution: chance(dice, 0.5) ? ['intent_not_expired'] : [],
    },
    transactions: chance(dice, 0.5) ? answer.transactions.toReversed() : answer.transactions,
  }
}

/** Serve the answer to a valid workflow; what refused it, or null. */
export async function refusalOf(aim: Aim): Promise<string | null> {
  const { state, check } = await serve(aim, textOf(aim.answer)).catch((error: Error) => ({
    state: error.message,
    check: '',
  }))
  // A report goes on to look at the chain before its key is asked.
  return state === 'attested' || state === 'no hostile answer comes so far' ? null : `${state}: ${check}`
}
