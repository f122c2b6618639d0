import {
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  decodeFunctionData,
  getContractAddress,
  zeroAddress,
} from 'viem'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { lendingMarketAbi, lendingVaultAbi } from '../../../../sandbox/contracts/abis.ts'
import { judgeMoves } from '../../../../sandbox/service/workflows/allocation-judge.ts'
import { inOrder } from '../../../support/in-order.ts'
import { createDice } from '../../dice.ts'
import { usd } from '../../indexer/scene.ts'
import { createWorkflowScene, type WorkflowScene } from './scene.ts'

let world: WorkflowScene
let prime: Address
let btc: Address
let eth: Address
let admin: Address
let allocator: Address
let manager: Address

beforeAll(async () => {
  world = await createWorkflowScene()
  const { at, client, deployment } = world.scene
  ;[prime, btc, eth] = [at('primeVault'), at('btcMarket'), at('ethMarket')]
  ;({ admin, allocator, assetManager: manager } = deployment)
  for (const address of [allocator, manager]) await client.impersonateAccount({ address })
})
afterAll(() => world.stop())
afterEach(() => expect(world.crashes).toEqual([]))

const NOBODY: Address = `0x${'99'.repeat(20)}`
const ofPrime = () => ({ address: prime, abi: lendingVaultAbi, gas: 1_000_000n }) as const
const allocatedTo = (market: Address) =>
  world.scene.client.readContract({
    address: market,
    abi: lendingMarketAbi,
    functionName: 'allocatedAssets',
    args: [prime],
  })
const list = async (market: Address, changes: object) => {
  const open = {
    approved: true,
    allocationEnabled: true,
    relativeCapBps: 10_000,
    absoluteCapAssets: 2n ** 100n,
  }
  await world.scene.client.writeContractSync({
    ...ofPrime(),
    account: admin,
    functionName: 'setListing',
    args: [market, { ...open, ...changes }],
  })
}
const move = (marketAddress: Address, assets: bigint) => ({ marketAddress, assets: String(assets) })

inOrder('one chain of vaults', () => {
  test('an allocator moves assets in, out and between markets, each to final success', async () => {
    const { carryOut, prepare } = world
    const into = { vaultAddress: prime, ...move(btc, usd('500000')) }
    const done = await carryOut(await prepare('role.allocator.vaultAllocate', allocator, into), allocator)
    expect(done).toMatchObject({ status: 'final_success', canonicalPostconditions: [{ satisfied: true }] })
    expect(await allocatedTo(btc)).toBe(usd('3500000'))
    const back = { vaultAddress: prime, ...move(btc, usd('1500000')) }
    expect(
      (await carryOut(await prepare('role.allocator.vaultDeallocate', allocator, back), allocator)).status,
    ).toBe('final_success')
    const batch = {
      vaultAddress: prime,
      withdrawals: [move(btc, usd('400000')), move(btc, usd('100000'))],
      supplies: [move(eth, usd('1000000'))],
    }
    const prepared = await prepare('role.allocator.vaultReallocationBatch', allocator, batch)
    expect(prepared.transactions).toHaveLength(1)
    expect(prepared.canonicalPostconditions).toHaveLength(2)
    expect((await carryOut(prepared, allocator)).status).toBe('final_success')
    expect([await allocatedTo(btc), await allocatedTo(eth)]).toEqual([usd('1500000'), usd('2000000')])
  })

  test('an allocator gets every reason that the vault would have', async () => {
    const { reasons, scene } = world
    const allocate = (
      assets: bigint,
      market = btc,
      principal: Address | undefined = allocator,
      vaultAddress = prime,
    ) => reasons('role.allocator.vaultAllocate', principal, { vaultAddress, ...move(market, assets) })
    // Idle are 1.5 M of 5 M; the BTC market takes up to 4 M and has 1.5 M.
    expect(await allocate(usd('1250000'))).toEqual([])
    expect(await allocate(usd('1250000') + 1n)).toEqual(['below_liquidity_buffer'])
    expect(await allocate(usd('1500000') + 1n)).toEqual(['insufficient_idle'])
    expect(await allocate(0n)).toEqual(['amount_is_zero'])
    expect(await allocate(1n, btc, NOBODY)).toEqual(['principal_not_allocator'])
    expect(await allocate(1n, btc, allocator, NOBODY)).toEqual(['vault_not_found'])
    expect(await allocate(1n, NOBODY)).toEqual(['market_not_found'])
    expect(
      await reasons('role.allocator.vaultAllocate', allocator, {
        vaultAddress: scene.at('growthVault'),
        ...move(btc, 1n),
      }),
    ).toEqual(['market_not_listed'])
    expect(
      await reasons('role.allocator.vaultAllocate', undefined, { vaultAddress: prime, ...move(btc, 1n) }),
    ).toEqual(['principal_required'])

    await list(btc, { absoluteCapAssets: usd('1600000') })
    expect(await allocate(usd('100000'))).toEqual([])
    expect(await allocate(usd('100000') + 1n)).toEqual(['above_absolute_cap'])
    await list(btc, { relativeCapBps: 3_200 })
    expect(await allocate(usd('100000'))).toEqual([])
    expect(await allocate(usd('100000') + 1n)).toEqual(['above_relative_cap'])
    await list(btc, { allocationEnabled: false })
    expect(await allocate(1n)).toEqual(['allocation_disabled'])
    await list(btc, { approved: false })
    expect(await allocate(1n)).toEqual(['market_not_approved'])
    await list(btc, {})

    const out = (assets: bigint) =>
      reasons('role.allocator.vaultDeallocate', allocator, { vaultAddress: prime, ...move(btc, assets) })
    expect(await out(usd('1500000'))).toEqual([])
    expect(await out(usd('1500000') + 1n)).toEqual(['insufficient_market_liquidity'])
    type Moves = ReturnType<typeof move>[]
    const batch = (withdrawals: Moves, supplies: Moves) =>
      reasons('role.allocator.vaultReallocationBatch', allocator, {
        vaultAddress: prime,
        withdrawals,
        supplies,
      })
    expect(await batch([], [])).toEqual(['reallocation_empty'])
    await list(eth, {})
    // What is withdrawn first may be supplied.
    expect(await batch([move(btc, usd('1000000'))], [move(eth, usd('2250000'))])).toEqual([])
    expect(await batch([move(btc, usd('1000000'))], [move(eth, usd('2250000') + 1n)])).toEqual([
      'below_liquidity_buffer',
    ])
  })

  test('a preflight passes exactly what the vault would carry out at that block', async () => {
    const { scene, canonical } = world
    await list(btc, { relativeCapBps: 4_000, absoluteCapAssets: usd('1900000') })
    await list(eth, { absoluteCapAssets: usd('2200000') })
    const { block, vaultReads, markets } = await scene.caughtUp(canonical)
    const vault = vaultReads.find(({ address }) => address === prime.toLowerCase())
    const dice = createDice(20_261_121)
    // Around the figures at which something changes, and in between.
    const edges = ['100000', '200000', '400000', '500000', '1250000', '1500000', '2000000'].map(
      (at) => usd(at) - 1n,
    )
    const moves = () =>
      Array.from({ length: dice.upTo(3) }, () => ({
        marketAddress: dice.pick([btc, eth]),
        assets: dice.pick([0n, ...edges]) + BigInt(dice.upTo(3)),
      }))
    const toArgs = (some: ReturnType<typeof moves>) =>
      some.map(({ marketAddress, assets }) => ({ market: marketAddress, assets }))
    const seen = new Set<string>()
    for (let i = 0; i < 250; i++) {
      const [withdrawals, supplies] = [moves(), moves()]
      const reasons = vault === undefined ? [] : judgeMoves(vault.state, markets, withdrawals, supplies)
      const done = await scene.client
        .simulateContract({
          ...ofPrime(),
          account: allocator,
          blockNumber: block.number,
          functionName: 'reallocate',
          args: [toArgs(withdrawals), toArgs(supplies)],
        })
        .then(() => true, falseIfReverted)
      expect(
        reasons.length === 0,
        `${reasons} ${JSON.stringify(toArgs([...withdrawals, ...supplies]), String)}`,
      ).toBe(done)
      for (const reason of reasons.length === 0 ? ['passed'] : reasons) seen.add(reason)
    }
    expect([...seen].sort()).toEqual([
      'above_absolute_cap',
      'above_relative_cap',
      'amount_is_zero',
      'below_liquidity_buffer',
      'insufficient_idle',
      'insufficient_market_liquidity',
      'passed',
      'reallocation_empty',
    ])
    await list(btc, {})
    await list(eth, {})
  })

  const deployment = () => ({
    name: 'Sandbox Income Vault',
    symbol: 'svIncome',
    baseAssetAddress: world.scene.at('sUSD'),
    ownerAddress: manager,
    allocatorAddress: allocator,
    managerAddress: manager,
    liquidityBufferBps: 1_000,
    exitTermKind: 'interval' as const,
    noticeSeconds: '0',
    intervalSeconds: '60',
    maturityTimestamp: '0',
  })

  test('an asset manager deploys a vault by its own key, which is listed and can be deposited into', async () => {
    const { carryOut, prepare, scene, canonical } = world
    const prepared = await prepare('role.asset_manager.vaultDeploy', manager, deployment())
    expect(prepared.transactions).toMatchObject([{ transactionKind: 'contract_deployment', target: null }])
    const nonce = await scene.client.getTransactionCount({ address: manager })
    expect((await carryOut(prepared, manager)).status).toBe('final_success')
    const address = getContractAddress({ from: manager, nonce: BigInt(nonce) }).toLowerCase()
    const { vaults } = await scene.caughtUp(canonical)
    expect(vaults.find((vault) => vault.address === address)).toMatchObject({
      symbol: 'svIncome',
      assetManager: { address: manager.toLowerCase() },
      totalAssets: '0',
      sharePrice: '1',
      exitTerms: { exitTermKind: 'interval', intervalSeconds: '60', noticeSeconds: null },
      portfolioLiquidity: { liquidityBufferBps: 1_000, attachedMarketCount: 0 },
    })
    const ann = await world.trader({ sUSD: usd('10') })
    const deposit = {
      vaultAddress: address as Address,
      assets: String(usd('10')),
      receiverAddress: ann,
      minShares: '1',
    }
    expect((await carryOut(await prepare('deposit', ann, deposit), ann)).status).toBe('final_success')
  })

  test('who deploys a vault gets every reason that the contract would have', async () => {
    const deploying = (changes: object, principal: Address | undefined = manager) =>
      world.reasons('role.asset_manager.vaultDeploy', principal, { ...deployment(), ...changes })
    expect(await world.reasons('role.asset_manager.vaultDeploy', undefined, deployment())).toEqual([
      'principal_required',
    ])
    expect(await deploying({ baseAssetAddress: NOBODY })).toEqual(['base_asset_not_found'])
    expect(await deploying({ ownerAddress: zeroAddress, managerAddress: zeroAddress })).toEqual([
      'owner_is_zero',
      'manager_is_zero',
    ])
    for (const changes of [
      { intervalSeconds: '0' },
      { noticeSeconds: '1' },
      { intervalSeconds: '31536001' },
    ]) {
      expect(await deploying(changes)).toEqual(['exit_terms_out_of_range'])
    }
    const maturity = { exitTermKind: 'maturity', intervalSeconds: '0', maturityTimestamp: '1' }
    expect(await deploying(maturity)).toEqual(['maturity_passed'])
  })

  test('a manager pauses, restores, and says who may receive shares, each to final success', async () => {
    const { carryOut, prepare, reasons, scene } = world
    const TYPE = 'role.asset_manager.vaultShareMobilityManagerAction'
    const { timestamp } = await scene.client.getBlock()
    const pause = {
      vaultAddress: prime,
      action: 'pause' as const,
      reason: 'audit',
      restoreAfterTimestamp: String(timestamp + 100n),
    }
    const restore = { vaultAddress: prime, action: 'restore' as const }
    const profile = {
      vaultAddress: prime,
      action: 'set_transfer_profile' as const,
      transferProfile: 'frozen' as const,
    }
    const trust = {
      vaultAddress: prime,
      action: 'set_trusted_recipient' as const,
      recipientAddress: NOBODY,
      trusted: true,
    }
    expect(await reasons(TYPE, NOBODY, profile)).toEqual(['principal_not_manager'])
    expect(await reasons(TYPE, undefined, profile)).toEqual(['principal_required'])
    expect(await reasons(TYPE, manager, { ...profile, vaultAddress: NOBODY })).toEqual(['vault_not_found'])
    expect(await reasons(TYPE, manager, restore)).toEqual(['share_mobility_not_paused'])
    expect(await reasons(TYPE, manager, { ...profile, transferProfile: 'open' })).toEqual([
      'transfer_profile_unchanged',
    ])
    expect(await reasons(TYPE, manager, { ...trust, trusted: false })).toEqual(['recipient_unchanged'])
    expect(await reasons(TYPE, manager, { ...pause, restoreAfterTimestamp: String(timestamp) })).toEqual([
      'restore_after_out_of_range',
    ])
    expect(await reasons(TYPE, manager, { ...pause, reason: 'ä'.repeat(33) })).toEqual(['reason_too_long'])

    for (const input of [trust, profile, pause]) {
      const prepared = await prepare(TYPE, manager, input)
      expect((await carryOut(prepared, manager)).status).toBe('final_success')
    }
    expect(await reasons(TYPE, manager, pause)).toEqual(['share_mobility_paused'])
    const { vaults } = await scene.caughtUp(world.canonical)
    expect(vaults.find(({ address }) => address === prime.toLowerCase())?.shareMobility).toMatchObject({
      shareMobilityPaused: true,
      systemReason: 'audit',
      redeemFreezeReason: null,
      transferProfile: 'frozen',
      mobilityEpoch: '3',
      restoreAfter: new Date(Number(timestamp + 100n) * 1_000).toISOString(),
      trustedRecipientPolicy: { required: false, recipients: [NOBODY] },
    })
    const ann = await world.trader({})
    expect(await reasons(TYPE, ann, restore)).toEqual(['principal_not_manager'])
    await world.mineAt(timestamp + 100n)
    const restored = await prepare(TYPE, ann, restore)
    const [call] = restored.transactions
    expect(decodeFunctionData({ abi: lendingVaultAbi, data: call?.calldata ?? '0x' }).functionName).toBe(
      'restoreShareMobility',
    )
    expect((await carryOut(restored, ann)).status).toBe('final_success')
  })

  function falseIfReverted(error: unknown): false {
    if (error instanceof BaseError && error.walk((e) => e instanceof ContractFunctionRevertedError) !== null)
      return false
    throw error
  }
})
