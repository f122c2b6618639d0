import { decodeFunctionData, erc20Abi, getAddress, maxUint256, zeroAddress } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { lendingMarketAbi } from '../../../sandbox/contracts/abis.ts'
import type { Snapshot } from '../../../sandbox/indexer/canonical.ts'
import { HOSTILITIES } from '../../../sandbox/service/faults/faults.ts'
import { type PreparedWorkflow, preparedWorkflow } from '../../../src/service/contract/prepared-workflow.ts'
import {
  BORROWER,
  baseSnapshot,
  CHAIN_ID,
  claim,
  FACILITY_ID,
  type Fixture,
  facility,
  GATED_MARKET,
  LIQUIDATOR,
  LOAN,
  liquidation,
  MARKET,
  startFixture,
  VAULT,
} from './fixture.ts'

let f: Fixture
beforeAll(async () => {
  f = await startFixture()
})
afterAll(() => f.stop())
afterEach(() => {
  f.service.setFault({})
  f.canonical.setFreshness('current')
  const { facilities, markets, oracles, eligibility, claims } = baseSnapshot
  f.canonical.push({ facilities, markets, oracles, eligibility, claims })
})

const PATH = '/v1/workflows/prepare'

async function prepare(request: object = liquidation()): Promise<PreparedWorkflow> {
  const answer = await f.post(PATH, request)
  expect(answer.status, answer.text).toBe(200)
  return preparedWorkflow.parse(answer.json)
}

const settlement = (changes: object = {}) => ({
  ...liquidation(),
  workflowType: 'role.liquidator.settleLiquidationClaim',
  input: { marketAddress: MARKET, claimId: '7', ...changes },
})

const calls = (prepared: PreparedWorkflow) => ({
  approve: decodeFunctionData({ abi: erc20Abi, data: prepared.transactions[0]?.calldata ?? '0x' }),
  liquidate: decodeFunctionData({ abi: lendingMarketAbi, data: prepared.transactions[1]?.calldata ?? '0x' }),
})

describe('a liquidation', () => {
  it('is an exact approval and the call, with its expiry as deadline and value 0', async () => {
    const prepared = await prepare()
    expect(prepared).toMatchObject({
      ok: true,
      workflowType: 'role.liquidator.liquidate',
      status: 'prepared',
      executionMode: 'onchain_transaction',
      custodyBoundary: 'external_wallet_required',
      preflight: { status: 'passed', blockedReasons: [] },
    })
    const expiresMs = f.clock.nowMs() + 30_000
    expect(Date.parse(prepared.expiresAt)).toBe(expiresMs)
    expect(
      prepared.transactions.map(({ order, target, value, chainId, simulationRequired }) => ({
        order,
        target,
        value,
        chainId,
        simulationRequired,
      })),
    ).toEqual([
      { order: 0, target: LOAN, value: '0', chainId: CHAIN_ID, simulationRequired: true },
      { order: 1, target: MARKET, value: '0', chainId: CHAIN_ID, simulationRequired: true },
    ])
    const { approve, liquidate } = calls(prepared)
    expect(approve).toEqual({ functionName: 'approve', args: [getAddress(MARKET), 500_000_000n] })
    const deadlineS = BigInt(expiresMs / 1_000)
    expect(liquidate).toEqual({
      functionName: 'liquidate',
      args: [
        getAddress(VAULT),
        getAddress(BORROWER),
        500_000_000n,
        875_000n,
        getAddress(LIQUIDATOR),
        deadlineS,
      ],
    })
  })

  it('expects at most the debt shares that are left when interest has made a share dearer by a basis point', async () => {
    const { canonicalPostconditions } = await prepare()
    expect(canonicalPostconditions).toEqual([
      {
        entityType: 'credit_facility',
        entityId: FACILITY_ID,
        field: 'debtShares',
        expected: { op: 'lte', value: (900_000_000n - (450_000_000n * 9_999n) / 10_000n).toString() },
      },
    ])
  })

  it('hashes the block and the rows it was judged by', async () => {
    const [a, b] = [await prepare(), await prepare()]
    expect(a.snapshotHash).toBe(b.snapshotHash)
    expect(a.requestId).not.toBe(b.requestId)
    f.canonical.push()
    expect((await prepare()).snapshotHash).not.toBe(a.snapshotHash)
  })

  const [market, gated] = baseSnapshot.markets
  const [oracle] = baseSnapshot.oracles
  if (market === undefined || gated === undefined || oracle === undefined) throw new TypeError('fixture')
  const gatedRow = { ...market, collateralGateEnabled: true }
  const right = {
    chainId: CHAIN_ID,
    walletAddress: LIQUIDATOR,
    actionType: 'liquidate',
    scopeAddress: MARKET,
    authorizationStatus: 'authorized',
  }
  it.each<[string, string[], Partial<Snapshot>, object]>([
    [
      'a position above water',
      ['position_not_liquidatable'],
      { facilities: [facility(BORROWER, { liquidatable: false })] },
      {},
    ],
    ['a position that is not there', ['position_not_found'], { facilities: [] }, {}],
    ['a market that is not there', ['market_not_found'], { markets: [gated] }, {}],
    ['a paused market', ['market_paused'], { markets: [{ ...market, paused: true }] }, {}],
    [
      'an oracle that is stale on chain',
      ['oracle_not_healthy'],
      { oracles: [{ ...oracle, state: 'stale' }] },
      {},
    ],
    [
      'an oracle that the market calls stale',
      ['oracle_not_healthy'],
      { markets: [{ ...market, oracleState: 'stale' }] },
      {},
    ],
    ['a repayment at the close factor', [], {}, { repayAssets: '500000000' }],
    ['a repayment one past it', ['repay_above_close_factor'], {}, { repayAssets: '500000001' }],
    ['a repayment of nothing', ['repay_is_zero'], {}, { repayAssets: '0', minCollateralAssets: '0' }],
    ['all that can be seized', [], {}, { minCollateralAssets: '875000' }],
    ['one more than can be seized', ['min_collateral_above_seizable'], {}, { minCollateralAssets: '875001' }],
    [
      'all the collateral there is',
      [],
      { facilities: [facility(BORROWER, { collateralAssets: 5n })] },
      { minCollateralAssets: '5' },
    ],
    [
      'one more than there is',
      ['min_collateral_above_seizable'],
      { facilities: [facility(BORROWER, { collateralAssets: 5n })] },
      { minCollateralAssets: '6' },
    ],
    [
      'a debt of one share, whole',
      [],
      { facilities: [facility(BORROWER, { debtShares: 1n, debtAssets: 3n })] },
      { repayAssets: '3', minCollateralAssets: '0' },
    ],
    [
      'a debt of one share, and one more',
      ['repay_above_close_factor'],
      { facilities: [facility(BORROWER, { debtShares: 1n, debtAssets: 3n })] },
      { repayAssets: '4', minCollateralAssets: '0' },
    ],
    ['no recipient', ['recipient_is_zero'], {}, { recipientAddress: zeroAddress }],
    [
      'a repayment of the whole balance',
      [],
      { facilities: [facility(BORROWER, { debtAssets: 1_200_000_000n })] },
      { repayAssets: '600000000' },
    ],
    [
      'a repayment one past the balance',
      ['principal_balance_too_small'],
      { facilities: [facility(BORROWER, { debtAssets: 1_200_000_002n })] },
      { repayAssets: '600000001' },
    ],
    ['a gated market', ['principal_not_eligible'], { markets: [gatedRow] }, {}],
    ['a gated market with the right', [], { markets: [gatedRow], eligibility: [right] }, {}],
    [
      'a gated market with a revoked right',
      ['principal_not_eligible'],
      { markets: [gatedRow], eligibility: [{ ...right, authorizationStatus: 'revoked' }] },
      {},
    ],
    [
      'a gated market with another’s right',
      ['principal_not_eligible'],
      { markets: [gatedRow], eligibility: [{ ...right, walletAddress: BORROWER }] },
      {},
    ],
    [
      'a gated market with a right elsewhere',
      ['principal_not_eligible'],
      { markets: [gatedRow], eligibility: [{ ...right, scopeAddress: GATED_MARKET }] },
      {},
    ],
  ])('of %s is judged %j', async (_what, reasons, changes, input) => {
    f.canonical.push(changes)
    const prepared = await prepare(liquidation({ minCollateralAssets: '1', ...input }))
    expect(prepared.preflight.blockedReasons).toEqual(reasons)
    expect(prepared.preflight.status).toBe(reasons.length === 0 ? 'passed' : 'blocked')
    expect(prepared.transactions).toHaveLength(reasons.length === 0 ? 2 : 0)
  })

  it.each([
    ['current', true],
    ['healthy', true],
    ['stale', false],
    ['missing', false],
    ['blocked', false],
  ])('on an indexer that is %s passes: %s', async (status, passes) => {
    f.canonical.setFreshness(status)
    const { preflight } = await prepare()
    expect(preflight.blockedReasons).toEqual(passes ? [] : [`indexer_${status}`])
    expect(preflight.freshness.status).toBe(status)
  })

  it('needs a principal', async () => {
    const { principalAddress: _, ...request } = liquidation()
    expect((await prepare(request)).preflight.blockedReasons).toEqual(['principal_required'])
  })
})

describe('a settlement', () => {
  it('is one call, and expects the claim to be settled', async () => {
    const prepared = await prepare(settlement())
    expect(prepared.preflight).toMatchObject({
      status: 'passed',
      revalidateAtExecution: ['claim_settleable', 'intent_not_expired'],
    })
    const data = prepared.transactions[0]?.calldata ?? '0x'
    expect(decodeFunctionData({ abi: lendingMarketAbi, data })).toEqual({
      functionName: 'settleLiquidationClaim',
      args: [7n],
    })
    expect(prepared.canonicalPostconditions).toEqual([
      { entityType: 'liquidation_claim', entityId: `${MARKET}:7`, field: 'settled', expected: true },
    ])
  })

  it.each<[string, string[], Snapshot['claims']]>([
    ['not there', ['claim_not_found'], []],
    ['another’s', ['claim_not_yours'], [claim({ liquidator: BORROWER })]],
    ['settled', ['claim_already_settled'], [claim({ settled: true })]],
  ])('of a claim that is %s is blocked: %j', async (_what, reasons, claims) => {
    f.canonical.push({ claims })
    const prepared = await prepare(settlement())
    expect(prepared.preflight.blockedReasons).toEqual(reasons)
    expect(prepared.transactions).toEqual([])
  })

  it('passes at the second from which a claim is settleable, and not one before', async () => {
    const block = { ...f.canonical.snapshot().block, timestampS: 500 }
    f.canonical.push({ block, claims: [claim({ settleableAtS: 500 })] })
    expect((await prepare(settlement())).preflight.blockedReasons).toEqual([])
    f.canonical.push({ block, claims: [claim({ settleableAtS: 501 })] })
    expect((await prepare(settlement())).preflight.blockedReasons).toEqual(['claim_not_settleable_yet'])
  })
})

describe('the request', () => {
  it.each<[string, object]>([
    ['unknown_workflow_type', { workflowType: 'role.nobody.nothing' }],
    ['unknown_chain', { chainId: CHAIN_ID + 1 }],
    ['unknown_namespace', { deploymentNamespace: 'production' }],
    ['invalid_request', { principalAddress: '0x12' }],
    ['invalid_request', { surprise: true }],
    ['invalid_request', { input: { ...liquidation().input, surprise: '1' } }],
    ['invalid_request', { input: { ...liquidation().input, repayAssets: 5 } }],
    ['invalid_request', { input: { ...liquidation().input, repayAssets: '-1' } }],
  ])('is refused with %s for %j', async (code, changes) => {
    const answer = await f.post(PATH, { ...liquidation(), ...changes })
    expect([answer.status, answer.json.code]).toEqual([400, code])
  })
})

describe('a hostile service', () => {
  it('points the action at a foreign target', async () => {
    f.service.setFault({ hostile: 'foreign_target' })
    expect((await prepare()).transactions.map(({ target }) => target)).toEqual([
      LOAN,
      expect.not.stringMatching(MARKET),
    ])
    expect((await prepare(settlement())).transactions[0]?.target).not.toBe(MARKET)
  })

  it('approves more than is repaid', async () => {
    f.service.setFault({ hostile: 'larger_approval' })
    const { approve, liquidate } = calls(await prepare())
    expect([approve.args?.[1], liquidate.args?.[2]]).toEqual([maxUint256, 500_000_000n])
  })

  it.each(HOSTILITIES)('named %s prepares what nobody asked for, where it can', async (hostile) => {
    const honest = (await prepare()).transactions
    f.service.setFault({ hostile })
    const tampered = (await prepare()).transactions
    const shown = (transactions: typeof honest) =>
      transactions.map(({ calldata, ...rest }) => ({
        ...rest,
        // The deadline is the moment's.
        words: calldata
          .slice(2)
          .match(/.{1,64}/g)
          ?.slice(0, -1),
        bytes: calldata.length,
      }))
    // A liquidation asks for no typed data.
    if (hostile === 'foreign_domain') expect(shown(tampered)).toEqual(shown(honest))
    else expect(shown(tampered)).not.toEqual(shown(honest))
  })

  it('sends the collateral elsewhere', async () => {
    f.service.setFault({ hostile: 'changed_recipient' })
    const recipient = calls(await prepare()).liquidate.args?.[4]
    expect(recipient).toMatch(/^0x/)
    expect(recipient).not.toBe(getAddress(LIQUIDATOR))
  })
})
