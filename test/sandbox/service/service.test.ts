import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Address, Hex } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { assetAbi } from '../../../sandbox/contracts/abis.ts'
import type { Canonical } from '../../../sandbox/indexer/canonical.ts'
import { type SandboxService, startService } from '../../../sandbox/service/service.ts'
import { systemClock } from '../../../src/clock.ts'
import { type WorkflowProgress, workflowProgress } from '../../../src/service/contract/assumptions.ts'
import { type PreparedWorkflow, preparedWorkflow } from '../../../src/service/contract/prepared-workflow.ts'
import { marketResource } from '../../../src/service/contract/resources.ts'
import { vaultResource } from '../../../src/service/contract/vault-resources.ts'
import { newDirectory } from '../../support/directory.ts'
import { poorDonor } from '../../support/donor.ts'
import { inOrder } from '../../support/in-order.ts'
import { BTC, createScene, type Scene, usd } from '../indexer/scene.ts'
import { newKey, secretHeaders } from './fixture.ts'

let scene: Scene
let canonical: Canonical
let service: SandboxService
const directory = newDirectory()

beforeAll(async () => {
  scene = await createScene()
  canonical = await scene.index()
  service = await startService({
    canonical,
    deployment: scene.deployment,
    entities: [],
    rpcUrl: scene.chain.rpcUrl,
    clock: systemClock,
    dbFile: join(directory, 'service.sqlite'),
    host: '127.0.0.1',
    credentials: { secretKey: 'sk_test_0123456789abcdef', publishableKey: 'pk', origins: [] },
    donor: poorDonor,
    onCrash: (error) => {
      throw error
    },
  })
})
afterAll(async () => {
  await service.stop()
  await canonical.stop()
  await scene.stop()
  rmSync(directory, { recursive: true })
})

async function ask(path: string, body?: object): Promise<unknown> {
  const headers = { ...secretHeaders, 'content-type': 'application/json', 'idempotency-key': newKey() }
  const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${service.url}${path}`, init)
  const json = await response.json()
  expect(response.status, JSON.stringify(json)).toBe(200)
  return json
}

async function prepare(type: string, principal: Address, input: object): Promise<PreparedWorkflow> {
  const chainId = scene.deployment.chainId
  return preparedWorkflow.parse(
    await ask('/v1/workflows/prepare', { workflowType: type, chainId, principalAddress: principal, input }),
  )
}

/** Wait until a transaction is in a block and the indexer holds the chain's head: the node answers before it mines. */
async function indexed(hash: Hex): Promise<void> {
  await scene.client.waitForTransactionReceipt({ hash })
  await scene.caughtUp(canonical)
}

/** How far the workflow is when the chain is indexed. */
async function progress(requestId: string): Promise<WorkflowProgress> {
  await scene.caughtUp(canonical)
  await service.idle()
  return workflowProgress.parse(await ask(`/v1/workflows/${requestId}`))
}

/** The same, when one more block is on top. */
async function afterBlock(requestId: string): Promise<WorkflowProgress> {
  await scene.client.mine({ blocks: 1 })
  return progress(requestId)
}

/** Send what was prepared, register it, and say how far the workflow is when two blocks are on top: no sooner final. */
async function carryOut(prepared: PreparedWorkflow, account: Address): Promise<WorkflowProgress> {
  for (const { order, target, calldata } of prepared.transactions) {
    // Not estimated: a later second can make it dearer.
    const sent = { chain: null, account, to: target, data: calldata, gas: 1_000_000n } as const
    const hash: Hex = await scene.client.sendTransaction(sent)
    const { chainId } = scene.deployment
    await ask(`/v1/workflows/${prepared.requestId}/transactions`, { order, chainId, txHash: hash })
    await indexed(hash)
  }
  expect((await progress(prepared.requestId)).status).toBe('persisted_visible')
  expect((await afterBlock(prepared.requestId)).status).toBe('persisted_visible')
  return afterBlock(prepared.requestId)
}

const mint = (to: Address, assets: bigint) =>
  scene.client.writeContract({
    chain: null,
    address: scene.at('sUSD'),
    abi: assetAbi,
    account: scene.deployment.admin,
    functionName: 'mint',
    args: [to, assets],
  })

inOrder('a service on one chain', () => {
  it('carries a liquidation and its claim to final success on a real chain', async () => {
    const [borrower, liquidator] = [await scene.actor(), await scene.actor()]
    const [market, vault] = [scene.at('btcMarket'), scene.at('primeVault')]
    await scene.deposit(BTC, borrower, '1')
    await scene.borrow(BTC, 'primeVault', borrower, usd('40000'))
    await indexed(await mint(liquidator, usd('20000')))
    const input = {
      marketAddress: market,
      vaultAddress: vault,
      borrowerAddress: borrower,
      repayAssets: usd('20000').toString(),
      minCollateralAssets: '1',
      recipientAddress: liquidator,
    }
    const early = await prepare('role.liquidator.liquidate', liquidator, input)
    expect(early.preflight.blockedReasons).toEqual(['position_not_liquidatable'])

    await scene.price(BTC, '45000')
    await scene.caughtUp(canonical)
    const prepared = await prepare('role.liquidator.liquidate', liquidator, input)
    expect(prepared.preflight.blockedReasons).toEqual([])
    const done = await carryOut(prepared, liquidator)
    expect(done).toMatchObject({ status: 'final_success', canonicalPostconditions: [{ satisfied: true }] })

    const { claimId } = canonical.snapshot().claims[0] ?? { claimId: '' }
    const settlement = { marketAddress: market, claimId }
    const tooSoon = await prepare('role.liquidator.settleLiquidationClaim', liquidator, settlement)
    expect(tooSoon.preflight.blockedReasons).toEqual(['claim_not_settleable_yet'])
    await scene.client.increaseTime({ seconds: 2 })
    await scene.client.mine({ blocks: 1 })
    await scene.caughtUp(canonical)
    const settle = await prepare('role.liquidator.settleLiquidationClaim', liquidator, settlement)
    expect(settle.preflight.blockedReasons).toEqual([])
    expect((await carryOut(settle, liquidator)).status).toBe('final_success')
  })

  it('falls back when a real reorg drops the transaction, and latches anew at its new block', async () => {
    const borrower = await scene.actor()
    await scene.price(BTC, '60000')
    await scene.deposit(BTC, borrower, '1')
    await scene.borrow(BTC, 'primeVault', borrower, usd('40000'))
    await scene.price(BTC, '45000')
    const call = await scene.liquidation(BTC, 'primeVault', borrower, usd('1000'))
    await indexed(await mint(call.account, usd('9000')))
    const prepared = await prepare('role.liquidator.liquidate', call.account, {
      marketAddress: scene.at('btcMarket'),
      vaultAddress: scene.at('primeVault'),
      borrowerAddress: borrower,
      repayAssets: usd('1000').toString(),
      minCollateralAssets: '1',
      recipientAddress: call.account,
    })
    const { requestId } = prepared
    const carryOutCall = async () => {
      const txHash = await scene.client.writeContract(call)
      await indexed(txHash)
      const { chainId } = scene.deployment
      await ask(`/v1/workflows/${requestId}/transactions`, { order: 1, chainId, txHash })
      return canonical.snapshot().block.number
    }
    const latched = (at: bigint | null) => [{ satisfied: at !== null, blockNumber: at?.toString() ?? null }]
    const first = await carryOutCall()
    expect(await progress(requestId)).toMatchObject({
      status: 'persisted_visible',
      canonicalPostconditions: latched(first),
    })
    await scene.rpc('anvil_reorg', 1, [])
    expect(await progress(requestId)).toMatchObject({
      status: 'submitted',
      canonicalPostconditions: latched(null),
    })
    const second = await carryOutCall()
    expect(second).toBe(first + 1n)
    expect((await afterBlock(requestId)).status).toBe('persisted_visible')
    expect(await afterBlock(requestId)).toMatchObject({
      status: 'final_success',
      canonicalPostconditions: latched(second),
    })
  })

  it('shows rows that are as the schemas say, by their real ids', async () => {
    const { items } = (await ask('/v1/markets')) as { items: { id: string }[] }
    const ids = items.map(({ id }) => id)
    expect(ids).toHaveLength(2)
    for (const id of ids) marketResource.parse(await ask(`/v1/markets/${id}`))
    vaultResource.parse(await ask(`/v1/vaults/${scene.at('primeVault')}`))
    const selected = await ask(`/v1/markets/${ids[0]}?fields=oracle.priceWad&fields=paused`)
    expect(Object.keys(selected as object).sort()).toEqual([
      'address',
      'chainId',
      'freshness',
      'id',
      'oracle',
      'paused',
    ])
  })
})
