import { type Address, encodeFunctionData } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Moment } from '../../../agents/agent.ts'
import { allocator } from '../../../agents/allocator/agent.ts'
import { decide } from '../../../agents/allocator/decide.ts'
import type { AllocatorSeen } from '../../../agents/allocator/seen.ts'
import { lendingVaultAbi } from '../../../sandbox/contracts/abis.ts'
import type { Canonical } from '../../../sandbox/indexer/canonical.ts'
import { createNodes } from '../../../src/chain/http-nodes.ts'
import { systemClock } from '../../../src/clock.ts'
import { type ObserveDeps, observe as observeAgent } from '../../../src/observe/observe.ts'
import type { PinnedDeployment } from '../../../src/service/contract/deployment.ts'
import { marketResource } from '../../../src/service/contract/resources.ts'
import { vaultResource } from '../../../src/service/contract/vault-resources.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { BTC, createScene, ETH, type Scene, SENT, usd } from '../../sandbox/indexer/scene.ts'
import { NOTHING_AROUND } from '../../support/around.ts'
import { movesIn, policy } from './fixtures.ts'

let scene: Scene
let canonical: Canonical
let nodes: Awaited<ReturnType<typeof createNodes>>
let pins: PinnedDeployment
let signer: Address

const lower = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`

beforeAll(async () => {
  scene = await createScene()
  canonical = await scene.index()
  const { rpcUrl, chainId } = scene.chain
  nodes = await createNodes({
    chainId,
    read: [rpcUrl],
    send: [rpcUrl],
    agree: 1,
    finality: 'finalized' as const,
    timeoutMs: 5_000,
    pollMs: 50,
    clock: systemClock,
  })
  const at = (name: Parameters<Scene['at']>[0]) => lower(scene.at(name))
  pins = {
    assets: [
      { address: at('sUSD'), symbol: 'sUSD', decimals: 6 },
      { address: at('sBTC'), symbol: 'sBTC', decimals: 8 },
      { address: at('sETH'), symbol: 'sETH', decimals: 18 },
    ],
    markets: [BTC, ETH].map((side) => ({
      address: at(side.market),
      loanAsset: at('sUSD'),
      collateralAsset: at(side.collateral),
      oracle: at(side.oracle),
    })),
    vaults: [{ address: at('primeVault') }, { address: at('growthVault') }],
    funds: [],
    contracts: [],
  }
  signer = lower(scene.deployment.allocator)
  await scene.client.impersonateAccount({ address: signer })
  await scene.client.setBalance({ address: signer, value: 10n ** 20n })
  await scene.price(BTC, '60000')
  await scene.price(ETH, '3000')
  for (const [side, amount, debt] of [
    [BTC, '60', '2500000'],
    [ETH, '500', '900000'],
  ] as const) {
    const borrower = await scene.actor()
    await scene.deposit(side, borrower, amount)
    await scene.borrow(side, 'primeVault', borrower, usd(debt))
  }
})
afterAll(async () => {
  await canonical.stop()
  await nodes.close()
  await scene.stop()
})

type Market = ReturnType<typeof marketResource.parse>
let asked = 0

/** What the allocator sees of the chain and of what the service says, which a test may change. */
async function observe(
  previous: AllocatorSeen | null = null,
  say: (market: Market) => Market = (market) => market,
): Promise<Moment & AllocatorSeen> {
  await scene.price(BTC, '60000')
  await scene.price(ETH, '3000')
  const { vaults, markets } = await scene.caughtUp(canonical)
  const list = (items: readonly unknown[]) => async () => ({ items, freshness: canonical.freshness() })
  asked = 0
  const deps: ObserveDeps = {
    collections: {
      vaults: list(vaults.map((row) => vaultResource.parse(JSON.parse(JSON.stringify(row))))),
      markets: list(markets.map((row) => say(marketResource.parse(JSON.parse(JSON.stringify(row)))))),
      'allocation-intelligence': list([]),
    } as unknown as ObserveDeps['collections'],
    ofWallets: async () => {
      throw new TypeError('no rows of wallets are asked for')
    },
    dataFeeWei: () => 0n,
    nodes: {
      ...nodes,
      calls: (calls, blockNumber) => {
        asked += 1
        return nodes.calls(calls, blockNumber)
      },
    },
    clock: systemClock,
    outside: async () => ({ ok: false, check: 'none', message: 'none' }),
  }
  return observeAgent(allocator, policy(), { previous, book: null, armed: new Map() }, deps, {
    signer,
    chainId: scene.chain.chainId,
    ours: [signer],
    ...NOTHING_AROUND,
    deployment: pins,
    priorityFeePerGasWei: 1_000_000_000n,
    limits: { ageMsMax: 60_000, blockLagMax: 3n, headAgeMsMax: 60_000 },
  })
}

/** Send what a proposal asks for, as the service would prepare it. */
async function carryOut(proposal: Proposal) {
  const moves = movesIn(proposal).map(({ market, assets }) => ({ market: market as Address, assets }))
  const withdrawals = moves
    .filter(({ assets }) => assets < 0n)
    .map((one) => ({ ...one, assets: -one.assets }))
  const supplies = moves.filter(({ assets }) => assets > 0n)
  await scene.client.sendTransactionSync({
    ...SENT,
    gas: 3_000_000n,
    account: signer,
    to: proposal.subject as Address,
    data: encodeFunctionData({
      abi: lendingVaultAbi,
      functionName: 'reallocate',
      args: [withdrawals, supplies],
    }),
  })
}

describe('on a real chain', () => {
  it('sees books, caps and proved curves, in four waves and then in three', async () => {
    const seen = await observe()
    expect(asked - 1).toBe(4)
    const [prime, growth] = seen.vaults
    expect(prime?.books).toMatchObject({
      totalShares: usd('5000000') * 10n ** 6n,
      bufferBps: 500,
      isAllocator: true,
    })
    expect(growth?.exit).toMatchObject({ kind: 'notice', noticeS: 10, durationCompatible: true })
    expect(prime?.allocations[0]).toMatchObject({
      listing: { approved: true, allocationEnabled: true, relativeCapBps: 8_000 },
      listed: true,
      relativeCapBps: 8_000,
      absoluteCapAssets: usd('4000000'),
    })
    expect(seen.markets.map(({ curve }) => 'unknown' in curve)).toEqual([false, false])
    const again = await observe(seen)
    expect(asked - 1).toBe(3)
    const borrowed = Object.values(again.borrowing)
    expect(borrowed.map(({ samples }) => samples.map(({ atS }) => atS))).toEqual([
      [seen.chain.timestampS],
      [seen.chain.timestampS],
    ])
  })

  it('knows no curve that the market does not name, or that its rates do not follow', async () => {
    const other = lower(scene.at('ethRateModel'))
    const lied = await observe(null, (row) =>
      row.address === lower(scene.at('btcMarket')) ? { ...row, interestRateModelAddress: other } : row,
    )
    expect(lied.markets.map(({ curve }) => 'unknown' in curve)).toEqual([true, false])
    const reserved = await observe(null, (row) => ({ ...row, reserveFactorBps: 1_000 }))
    expect(reserved.markets.map(({ curve }) => 'unknown' in curve)).toEqual([true, true])
    const silent = await observe(null, (row) => ({ ...row, interestRateModelAddress: null }))
    expect(silent.markets.map(({ curve }) => 'unknown' in curve)).toEqual([true, true])
  })

  it('moves what the vaults accept, and is content with what it made', async () => {
    const before = await observe()
    const { proposals } = decide(before, policy())
    expect(proposals.map(({ kind }) => kind)).toContain('yield')
    for (const proposal of proposals) await carryOut(proposal)
    const after = await observe(before)
    expect(decide(after, policy()).proposals).toEqual([])
    const idle = after.vaults.map(({ books }) => books?.idleAssets)
    expect(idle[0]).toBeGreaterThanOrEqual(usd('250000'))
  })

  it('funds a redemption of a vault that has lent everything out', async () => {
    const growth = scene.at('growthVault')
    const { admin } = scene.deployment
    const idle = (await observe()).vaults[1]?.books?.idleAssets ?? 0n
    const market = scene.at('ethMarket')
    await scene.client.writeContractSync({
      ...SENT,
      account: signer,
      address: growth,
      abi: lendingVaultAbi,
      functionName: 'allocate',
      args: [market, idle],
    })
    await scene.client.writeContractSync({
      ...SENT,
      account: admin,
      address: growth,
      abi: lendingVaultAbi,
      functionName: 'requestWithdrawal',
      args: [usd('300000') * 10n ** 6n, admin],
    })
    await scene.client.increaseTime({ seconds: 6 })
    const [proposal] = decide(await observe(), policy()).proposals.filter(
      ({ subject }) => subject === lower(growth),
    )
    expect(proposal).toMatchObject({ kind: 'redemptions', workflowType: 'role.allocator.vaultDeallocate' })
    if (proposal === undefined) return
    await carryOut(proposal)
    await scene.client.increaseTime({ seconds: 10 })
    await scene.client.writeContractSync({
      ...SENT,
      account: admin,
      address: growth,
      abi: lendingVaultAbi,
      functionName: 'processQueue',
      args: [1n],
    })
    const after = await observe()
    expect(after.vaults[1]?.books?.queuedAssets).toBe(0n)
  })
})
