import { type Address, encodeFunctionData, type Hex, stringToHex } from 'viem'
import { invariant } from '../../../src/errors.ts'
import { ELIGIBILITY } from '../../../src/service/contract/assumptions.ts'
import {
  channelPolicyEntityId,
  FUND_ELIGIBILITY,
  fundLauncherEntityId,
} from '../../../src/service/contract/fund-assumptions.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { fundFactoryAbi, recoveryFundAbi } from '../../contracts/abis.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import { same } from '../same.ts'
import { intents } from './intents.ts'
import {
  blocked,
  type Expectation,
  type Family,
  type Judgement,
  type Moment,
  passed,
  preparer,
  type Reads,
  staleness,
} from './preparer.ts'

const PREFIX = 'role.asset_manager.distressedRecoveryFundV3'

/** What the manager of a recovery fund does to it, but for its bids. */
export const fund: Family = {
  preparers: [
    preparer(`${PREFIX}ChannelPolicySet`, setChannelPolicy),
    preparer(`${PREFIX}SelfLaunch`, selfLaunch),
  ],
  fields: {
    fund_channel_policy: ({ channelPolicies }, entityId, field) => {
      const policy = channelPolicies.get(entityId)
      if (policy === undefined) return undefined
      if (field === 'enabled') return policy.enabled
      const limit = LIMITS.find((name) => name === field)
      return limit === undefined ? undefined : String(policy[limit])
    },
    // A fund's address follows from how many were launched before; whose they are does not.
    fund_launcher: (snapshot, entityId, field) =>
      field === 'count' ? String(launchedBy(snapshot, entityId)) : undefined,
  },
}

/** The contract's longest epoch: a year. */
const EPOCH_SECONDS_MAX = 31_536_000n
const LIMITS = ['maxAssetsPerEpoch', 'maxPriceBps', 'maxPositionBps'] as const
type Limit = (typeof LIMITS)[number]

const word = (name: string): Hex => stringToHex(name, { size: 32 })

function setChannelPolicy(
  input: WorkflowInput<`${typeof PREFIX}ChannelPolicySet`>,
  { snapshot, freshness, principal }: Moment,
  { chainId }: Reads,
): Judgement {
  const { fundAddress, channel, enabled, maxPriceBps, maxPositionBps } = input
  const row = snapshot.funds.find(({ address }) => same(address, fundAddress))
  const entityId = channelPolicyEntityId(fundAddress, channel)
  const maxAssets = BigInt(input.maxAssetsPerEpoch)
  const wanted = { enabled, maxAssetsPerEpoch: maxAssets, maxPriceBps, maxPositionBps }
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (row === undefined) reasons.push('fund_not_found')
  else if (principal !== null && !same(row.managerAddress ?? '', principal)) {
    reasons.push('principal_not_manager')
  }
  const present = snapshot.channelPolicies.get(entityId)
  const unchanged = LIMITS.every((limit) => present?.[limit] === wanted[limit])
  if (unchanged && present?.enabled === enabled) reasons.push('policy_unchanged')
  if (reasons.length > 0) return blocked(row ?? null, reasons)
  const calldata = encodeFunctionData({
    abi: recoveryFundAbi,
    functionName: 'setChannelPolicy',
    args: [word(channel), enabled, maxAssets, maxPriceBps, maxPositionBps],
  })
  const becomes = (field: 'enabled' | Limit): Expectation => ({
    entityType: 'fund_channel_policy',
    entityId,
    field,
    expected: field === 'enabled' ? enabled : String(wanted[field]),
  })
  return passed(
    { row, present },
    intents(chainId, [{ target: fundAddress, calldata, label: `Set the fund's policy for ${channel}` }]),
    [becomes('enabled'), ...LIMITS.map(becomes)],
  )
}

function selfLaunch(
  input: WorkflowInput<`${typeof PREFIX}SelfLaunch`>,
  { snapshot, freshness, principal }: Moment,
  { chainId }: Reads,
): Judgement {
  const factory = snapshot.fundLaunches[0]?.factoryAddress
  const reasons = staleness(freshness)
  if (factory === undefined) reasons.push('factory_not_found')
  if (principal === null) reasons.push('principal_required')
  else if (factory !== undefined && !mayLaunch(snapshot, principal, factory)) {
    reasons.push('principal_not_eligible')
  }
  reasons.push(...judgeTerms(input, snapshot))
  if (reasons.length > 0) return blocked(factory ?? null, reasons)
  invariant(
    factory !== undefined && principal !== null,
    'a launch that may pass has its factory and its manager',
  )
  const terms = {
    name: input.name,
    symbol: input.symbol,
    quoteAsset: input.quoteAssetAddress,
    epochDurationSeconds: BigInt(input.epochDurationSeconds),
    minSubscriptionAssets: BigInt(input.minSubscriptionAssets),
    maxSubscriptionAssets: BigInt(input.maxSubscriptionAssets),
    carryRateBps: input.carryRateBps,
    performanceFeeBps: input.performanceFeeBps,
    preferredReturnBps: input.preferredReturnBps,
  }
  const calldata = encodeFunctionData({ abi: fundFactoryAbi, functionName: 'launch', args: [terms] })
  const entityId = fundLauncherEntityId(factory, principal)
  const count = launchedBy(snapshot, entityId) + 1
  return passed(
    { factory, count },
    intents(chainId, [{ target: factory, calldata, label: `Launch the fund ${input.symbol}` }]),
    [
      {
        entityType: 'fund_launcher',
        entityId,
        field: 'count',
        expected: { op: 'gte', value: String(count) },
      },
    ],
  )
}

function judgeTerms(
  input: WorkflowInput<`${typeof PREFIX}SelfLaunch`>,
  { assets }: Snapshot,
): readonly string[] {
  const seconds = BigInt(input.epochDurationSeconds)
  const [least, most] = [BigInt(input.minSubscriptionAssets), BigInt(input.maxSubscriptionAssets)]
  const reasons: readonly (readonly [boolean, string])[] = [
    [!assets.some(({ address }) => same(address, input.quoteAssetAddress)), 'quote_asset_not_found'],
    [seconds === 0n || seconds > EPOCH_SECONDS_MAX, 'epoch_duration_out_of_range'],
    [least === 0n, 'min_subscription_is_zero'],
    [least > most, 'min_subscription_above_max'],
  ]
  return reasons.flatMap(([holds, reason]) => (holds ? [reason] : []))
}

const mayLaunch = ({ eligibility }: Snapshot, wallet: Address, factory: Address): boolean =>
  eligibility.some(
    (row) =>
      same(row.walletAddress, wallet) &&
      same(row.scopeAddress, factory) &&
      row.actionType === FUND_ELIGIBILITY.selfLaunch &&
      row.authorizationStatus === ELIGIBILITY.authorized,
  )

const launchedBy = ({ fundLaunches }: Snapshot, entityId: string): number =>
  fundLaunches.filter(
    ({ factoryAddress, managerAddress }) => fundLauncherEntityId(factoryAddress, managerAddress) === entityId,
  ).length
