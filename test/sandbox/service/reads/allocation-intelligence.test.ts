import { parseEther } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { lendingVaultAbi } from '../../../../sandbox/contracts/abis.ts'
import type { Canonical, CanonicalChange } from '../../../../sandbox/indexer/canonical.ts'
import {
  bestMove,
  createIntelligence,
  type Intelligence,
} from '../../../../sandbox/service/reads/allocation-intelligence.ts'
import { allocationIntelligenceResource } from '../../../../src/service/contract/directory-resources.ts'
import { inOrder } from '../../../support/in-order.ts'
import { EXIT_AT_ONCE } from '../../contracts/world.ts'
import { createScene, ETH, type Scene, usd } from '../../indexer/scene.ts'

let scene: Scene
let canonical: Canonical
let intelligence: Intelligence
const announced: CanonicalChange[] = []

beforeAll(async () => {
  scene = await createScene()
  const { allocator } = scene.deployment
  await scene.client.impersonateAccount({ address: allocator })
  await scene.client.setBalance({ address: allocator, value: parseEther('10') })
  canonical = await scene.index()
  intelligence = createIntelligence(canonical)
  canonical.onSnapshot((snapshot) => announced.push(...intelligence.advance(snapshot)))
})
afterAll(async () => {
  await canonical.stop()
  await scene.stop()
})

const allocation = (vault: 'primeVault' | 'growthVault', market: `0x${string}`, assets: bigint) => ({
  address: scene.at(vault),
  abi: lendingVaultAbi,
  functionName: 'allocate' as const,
  args: [market, assets] as const,
  account: scene.deployment.allocator,
  // Estimated in the second of the last accrual, it would not pay for the next one.
  gas: 1_000_000n,
})
const rows = () => intelligence.rowsFor(scene.deployment.allocator)
const rowOf = (vault: 'primeVault' | 'growthVault') =>
  rows().find((row) => row.targetVaultAddress === lower(vault) && row.status === 'proposed')
const lower = (name: Parameters<Scene['at']>[0]) => scene.at(name).toLowerCase()

inOrder('one vault', () => {
  it('proposes to the allocator of a vault, in the resource’s own shape, and to nobody else', () => {
    expect(rows().map((row) => allocationIntelligenceResource.strict().parse(row))).toMatchObject([
      // 5,000,000 in all, 1,000,000 idle, a buffer of 5 %: 99 % of what is left.
      { status: 'proposed', action: 'allocate', amountAssets: String(usd('742500')), txHash: null },
      {
        targetVaultAddress: lower('growthVault'),
        targetMarketAddress: lower('ethMarket'),
        amountAssets: String(usd('495000')),
      },
    ])
    expect(intelligence.rowsFor(scene.deployment.assetManager)).toEqual([])
  })

  it('knows the most that each vault’s contract would take, to the unit', async () => {
    const snapshot = canonical.snapshot()
    for (const name of ['primeVault', 'growthVault'] as const) {
      const read = snapshot.vaultReads.find(({ address }) => address === lower(name))
      const move = read === undefined ? null : bestMove(read, snapshot)
      if (move === null) throw new TypeError('nothing to move')
      const ask = (assets: bigint) => scene.client.simulateContract(allocation(name, move.market, assets))
      await expect(ask(move.limitAssets)).resolves.toBeDefined()
      await expect(ask(move.limitAssets + 1n)).rejects.toThrow(
        /BelowLiquidityBuffer|AboveAbsoluteCap|AboveRelativeCap/,
      )
    }
  })

  it('turns to the market that pays more', async () => {
    const borrower = await scene.actor()
    await scene.price(ETH, '3000')
    await scene.deposit(ETH, borrower, '40000')
    await scene.borrow(ETH, 'rivalVault', borrower, usd('50000000'))
    await scene.caughtUp(canonical)
    expect(rowOf('primeVault')).toMatchObject({ targetMarketAddress: lower('ethMarket') })
    expect(announced.map(({ data }) => [data.vaultAddress, data.marketAddress, data.status])).toEqual([
      [lower('primeVault'), lower('ethMarket'), 'proposed'],
      [lower('primeVault'), lower('btcMarket'), 'withdrawn'],
    ])
  })

  it('stands while it can be carried out, and says which transaction did', async () => {
    const proposed = rowOf('primeVault')
    await scene.client.writeContractSync(allocation('primeVault', scene.at('ethMarket'), usd('1000')))
    await scene.caughtUp(canonical)
    expect(rowOf('primeVault')).toEqual(proposed)

    const exactly = BigInt(proposed?.amountAssets ?? 0)
    const { transactionHash } = await scene.client.writeContractSync(
      allocation('primeVault', scene.at('ethMarket'), exactly),
    )
    await scene.caughtUp(canonical)
    const landed = rows().filter((row) => row.status === 'executed')
    expect(landed).toEqual([{ ...proposed, status: 'executed', txHash: transactionHash }])
  })

  it('calls back what the buffer lacks, from the market that pays least', async () => {
    const vault = { address: scene.at('primeVault'), abi: lendingVaultAbi, account: scene.deployment.admin }
    await scene.client.writeContractSync({
      ...vault,
      functionName: 'setSettings',
      args: [1_000, EXIT_AT_ONCE, 0n, 0n],
    })
    await scene.caughtUp(canonical)
    expect(rowOf('primeVault')).toMatchObject({
      action: 'deallocate',
      targetMarketAddress: lower('btcMarket'),
    })
  })
})
