import {
  type Address,
  decodeFunctionData,
  encodeFunctionData,
  type Hex,
  parseUnits,
  type TypedDataDefinition,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { navOracleAbi, recoveryFundAbi } from '../../../../sandbox/contracts/abis.ts'
import type { PreparedWorkflow } from '../../../../src/service/contract/prepared-workflow.ts'
import type { WorkflowInput } from '../../../../src/service/contract/workflow-types.ts'
import { inOrder } from '../../../support/in-order.ts'
import { usd } from '../../contracts/world.ts'
import { word } from '../../fund-world.ts'
import { createWorkflowScene, type WorkflowScene } from './scene.ts'

const NAV = 'role.nav_reporter.navReportSignAndSubmit'
const POLICY = 'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet'
const LAUNCH = 'role.asset_manager.distressedRecoveryFundV3SelfLaunch'

let w: WorkflowScene
let manager: Address
let reporter: Address
let stranger: Address

beforeAll(async () => {
  w = await createWorkflowScene()
  manager = w.scene.deployment.assetManager
  reporter = w.scene.navReporter.address
  stranger = await w.scene.actor()
})
afterAll(async () => {
  await w.stop()
  expect(w.crashes).toEqual([])
})

const oracle = () => w.scene.at('fundNavOracle')
const nowS = async () => (await w.scene.client.getBlock()).timestamp

const navInput = async (
  differs: Partial<WorkflowInput<typeof NAV>> = {},
): Promise<WorkflowInput<typeof NAV>> => ({
  oracleAddress: oracle(),
  assetAddress: w.scene.at('recoveryFund'),
  reportType: 'nav',
  value: String(parseUnits('1.02', 18)),
  decimals: 18,
  valuationTimestamp: String(await nowS()),
  revision: 0,
  revisionLabel: 'daily',
  ...differs,
})

/** Sign what an intent asks for, and put the signature where it says. */
async function signed(prepared: PreparedWorkflow, account = w.scene.navReporter): Promise<PreparedWorkflow> {
  const [intent] = prepared.transactions
  if (intent?.signing === undefined) throw new TypeError('Nothing to sign.')
  expect(intent.signing).toMatchObject({ kind: 'eip712', signaturePlacement: 'argument:1' })
  const { functionName, args } = decodeFunctionData({ abi: navOracleAbi, data: intent.calldata })
  if (functionName !== 'submitReport') throw new TypeError(functionName)
  expect(args[1]).toBe(`0x${'00'.repeat(65)}`)
  const signature = await account.signTypedData(intent.signing.typedData as TypedDataDefinition)
  const calldata: Hex = encodeFunctionData({ abi: navOracleAbi, functionName, args: [args[0], signature] })
  return { ...prepared, transactions: [{ ...intent, calldata }] }
}

inOrder('a fund on one chain', () => {
  describe('a NAV report', () => {
    test('is signed as typed data, placed into the calldata, accepted on chain and indexed', async () => {
      const input = await navInput()
      const prepared = await w.prepare(NAV, reporter, input)
      expect(prepared.transactions[0]).toMatchObject({ target: oracle().toLowerCase(), value: '0' })
      const done = await w.carryOut(await signed(prepared), reporter)
      expect(done).toMatchObject({ status: 'final_success' })
      const latest = await w.scene.client.readContract({
        address: oracle(),
        abi: navOracleAbi,
        functionName: 'latest',
        args: [word('nav')],
      })
      expect(latest).toMatchObject({ value: BigInt(input.value), revision: 0, reporter })
      expect(w.canonical.snapshot().navReports[0]).toMatchObject({
        value: input.value,
        reportType: 'nav',
        revisionLabel: 'daily',
        signerAddress: reporter.toLowerCase(),
      })
      const correction = await navInput({
        valuationTimestamp: input.valuationTimestamp,
        revision: 1,
        value: String(parseUnits('1.03', 18)),
      })
      const corrected = await w.carryOut(await signed(await w.prepare(NAV, reporter, correction)), reporter)
      expect(corrected.status).toBe('final_success')
    })

    test('of another signer, or without a signature, reverts on chain', async () => {
      const { client } = w.scene
      const prepared = await w.prepare(NAV, reporter, await navInput({ reportType: 'interim' }))
      const forged = await signed(prepared, privateKeyToAccount(generatePrivateKey()))
      for (const { transactions } of [prepared, forged]) {
        const [intent] = transactions
        if (intent === undefined) throw new TypeError('No intent.')
        const call = client.call({ account: reporter, to: intent.target, data: intent.calldata })
        await expect(call).rejects.toThrow('reverted')
      }
      const [intent] = (await signed(prepared)).transactions
      await client.call({ account: stranger, to: intent?.target ?? null, data: intent?.calldata ?? '0x' })
    })

    test('is blocked for each reason that the oracle would refuse it for', async () => {
      const { snapshot } = w.canonical
      const at = BigInt((await navInput()).valuationTimestamp)
      const last = await w.scene.client.readContract({
        address: oracle(),
        abi: navOracleAbi,
        functionName: 'latest',
        args: [word('nav')],
      })
      const why = async (
        differs: Partial<WorkflowInput<typeof NAV>>,
        principal: Address | undefined = reporter,
      ) => w.reasons(NAV, principal, await navInput({ valuationTimestamp: String(at + 1n), ...differs }))
      await w.mineAt(at + 1n)
      expect(await why({})).toEqual([])
      expect(snapshot().block.timestampS).toBe(Number(at + 1n))
      expect(await why({ oracleAddress: w.scene.at('ethOracle') })).toEqual(['oracle_not_found'])
      expect(await why({}, stranger)).toEqual(['principal_not_reporter'])
      expect(await w.reasons(NAV, undefined, await navInput())).toEqual(['principal_required'])
      expect(await why({ assetAddress: stranger })).toEqual(['asset_mismatch'])
      expect(await why({ decimals: 6 })).toEqual(['decimals_mismatch'])
      expect(await why({ revisionLabel: 'é'.repeat(33) })).toEqual(['revision_label_too_long'])
      expect(await why({ reportType: 'weekly' })).toEqual(['unknown_report_type'])
      const half = last.value / 2n
      expect(await why({ value: String(last.value - half) })).toEqual([])
      expect(await why({ value: String(last.value - half - 1n) })).toEqual(['value_moved_too_far'])
      expect(await why({ value: String(10n ** 24n + 1n), reportType: 'interim' })).toEqual([
        'value_out_of_bounds',
      ])
      expect(await why({ valuationTimestamp: String(at + 2n) })).toEqual(['valuation_in_future'])
      const early = String(last.valuationTime - 1n)
      expect(await why({ valuationTimestamp: early })).toEqual(['valuation_went_backwards'])
      expect(await why({ revision: 1 })).toEqual(['revision_not_next'])
      expect(await why({ valuationTimestamp: String(last.valuationTime), revision: 1 })).toEqual([
        'revision_not_next',
      ])
      expect(await why({ valuationTimestamp: String(last.valuationTime), revision: 2 })).toEqual([])
    })
  })

  describe("a channel's policy", () => {
    const policy = (differs: Partial<WorkflowInput<typeof POLICY>> = {}): WorkflowInput<typeof POLICY> => ({
      fundAddress: w.scene.at('recoveryFund'),
      channel: 'auction',
      enabled: false,
      maxAssetsPerEpoch: String(usd('1234')),
      maxPriceBps: 9_000,
      maxPositionBps: 100,
      ...differs,
    })

    test('is set on chain as it was asked for', async () => {
      const done = await w.carryOut(await w.prepare(POLICY, manager, policy()), manager)
      expect(done.status).toBe('final_success')
      expect(done.canonicalPostconditions.map(({ field, expected }) => [field, expected])).toEqual([
        ['enabled', false],
        ['maxAssetsPerEpoch', String(usd('1234'))],
        ['maxPriceBps', '9000'],
        ['maxPositionBps', '100'],
      ])
      const set = await w.scene.client.readContract({
        address: w.scene.at('recoveryFund'),
        abi: recoveryFundAbi,
        functionName: 'channelPolicy',
        args: [word('auction')],
      })
      expect(set).toEqual([false, usd('1234'), 9_000, 100])
      expect(await w.reasons(POLICY, manager, policy())).toEqual(['policy_unchanged'])
    })

    test('is blocked for a stranger and an unknown fund', async () => {
      const other = policy({ channel: 'rfq' })
      expect(await w.reasons(POLICY, stranger, other)).toEqual(['principal_not_manager'])
      expect(await w.reasons(POLICY, undefined, other)).toEqual(['principal_required'])
      expect(await w.reasons(POLICY, manager, { ...other, fundAddress: stranger })).toEqual([
        'fund_not_found',
      ])
    })
  })

  describe('a fund that its manager launches', () => {
    const launch = (differs: Partial<WorkflowInput<typeof LAUNCH>> = {}): WorkflowInput<typeof LAUNCH> => ({
      name: 'Second Chance',
      symbol: 'SEC',
      quoteAssetAddress: w.scene.at('sUSD'),
      epochDurationSeconds: '3600',
      minSubscriptionAssets: '1',
      maxSubscriptionAssets: String(usd('1000')),
      carryRateBps: 2_000,
      performanceFeeBps: 0,
      preferredReturnBps: 800,
      ...differs,
    })

    test('is on the chain, its manager the principal, with a NAV oracle of its own', async () => {
      const done = await w.carryOut(await w.prepare(LAUNCH, manager, launch()), manager)
      expect(done.status).toBe('final_success')
      const fund = w.canonical.snapshot().funds.find(({ name }) => name === 'Second Chance')
      expect(fund).toMatchObject({
        managerAddress: manager.toLowerCase(),
        status: 'pending_approval',
        epochDurationSeconds: '3600',
        carryRateBps: 2_000,
      })
      expect([...w.canonical.snapshot().navOracles.values()]).toContain(fund?.address)
      const again = await w.prepare(LAUNCH, manager, launch())
      expect(again.canonicalPostconditions[0]?.expected).toEqual({ op: 'gte', value: '2' })
    })

    test('is blocked for each reason that the factory would refuse it for', async () => {
      expect(await w.reasons(LAUNCH, stranger, launch())).toEqual(['principal_not_eligible'])
      expect(await w.reasons(LAUNCH, undefined, launch())).toEqual(['principal_required'])
      const cases = [
        [{ quoteAssetAddress: stranger }, 'quote_asset_not_found'],
        [{ epochDurationSeconds: '0' }, 'epoch_duration_out_of_range'],
        [{ epochDurationSeconds: '31536001' }, 'epoch_duration_out_of_range'],
        [{ minSubscriptionAssets: '0' }, 'min_subscription_is_zero'],
        [{ minSubscriptionAssets: '2', maxSubscriptionAssets: '1' }, 'min_subscription_above_max'],
      ] as const
      for (const [differs, reason] of cases) {
        expect(await w.reasons(LAUNCH, manager, launch(differs))).toEqual([reason])
      }
      expect(await w.reasons(LAUNCH, manager, launch({ epochDurationSeconds: '31536000' }))).toEqual([])
    })
  })
})
