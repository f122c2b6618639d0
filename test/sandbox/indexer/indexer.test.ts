import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lendingVaultAbi, priceOracleAbi } from '../../../sandbox/contracts/abis.ts'
import type { Canonical, Snapshot } from '../../../sandbox/indexer/canonical.ts'
import {
  creditFacilityResource,
  marketResource,
  positionResource,
} from '../../../src/service/contract/resources.ts'
import { vaultResource } from '../../../src/service/contract/vault-resources.ts'
import { BTC, createScene, ETH, found, lower, type Scene, usd } from './scene.ts'

let scene: Scene
let canonical: Canonical
/** Owes both vaults in the sETH market. */
let twice: Address
/** Owes one vault in the sBTC market. */
let once: Address
/** Has collateral alone. */
let idle: Address

beforeAll(async () => {
  scene = await createScene()
  twice = await scene.actor()
  once = await scene.actor()
  idle = await scene.actor()
  await scene.deposit(ETH, twice, '10')
  await scene.borrow(ETH, 'primeVault', twice, usd('12000'))
  await scene.borrow(ETH, 'growthVault', twice, usd('8999'))
  await scene.deposit(BTC, once, '0.5')
  await scene.borrow(BTC, 'primeVault', once, usd('20000'))
  await scene.deposit(BTC, idle, '2')
  // A year later interest shows in every figure.
  await scene.client.increaseTime({ seconds: 31_536_000 })
  await scene.price(ETH, '2800')
  await scene.price(BTC, '61000')
  canonical = await scene.index()
})

afterAll(async () => {
  await canonical?.stop()
  await scene?.stop()
})

const marketOf = (snapshot: Snapshot, address: Address) =>
  found(snapshot.markets, (row) => row.address === lower(address))

const facilityOf = (snapshot: Snapshot, vault: Address, borrower: Address) =>
  found(
    snapshot.facilities,
    ({ resource }) => resource.vaultAddress === lower(vault) && resource.borrowerAddress === lower(borrower),
  )

describe('figures', () => {
  for (const side of [BTC, ETH]) {
    test(`of the ${side.collateral} market are those of its contract at that block`, async () => {
      const snapshot = await scene.caughtUp(canonical)
      const at = { ...scene.market(side), blockNumber: snapshot.block.number }
      const row = marketOf(snapshot, scene.at(side.market))
      const read = scene.client.readContract
      expect(marketResource.parse(row)).toEqual(row)
      expect(row).toMatchObject({
        totalDebt: String(await read({ ...at, functionName: 'totalDebt' })),
        availableLiquidity: String(await read({ ...at, functionName: 'totalCash' })),
        totalBadDebt: String(await read({ ...at, functionName: 'totalBadDebt' })),
        utilizationWad: String(await read({ ...at, functionName: 'utilizationWad' })),
        currentBorrowRatePerSecond: String(await read({ ...at, functionName: 'borrowRatePerSecond' })),
        currentSupplyRatePerSecond: String(await read({ ...at, functionName: 'supplyRatePerSecond' })),
        lltvBps: await read({ ...at, functionName: 'lltvBps' }),
        liquidationThresholdBps: await read({ ...at, functionName: 'liquidationThresholdBps' }),
        closeFactorBps: await read({ ...at, functionName: 'closeFactorBps' }),
        liquidationBonusBps: await read({ ...at, functionName: 'liquidationBonusBps' }),
        paused: await read({ ...at, functionName: 'paused' }),
        collateralGateEnabled: await read({ ...at, functionName: 'liquidatorGate' }),
      })
      const oracle = { address: scene.at(side.oracle), abi: priceOracleAbi, blockNumber: at.blockNumber }
      const [priceWad] = await read({ ...oracle, functionName: 'read' })
      expect(row.oracle?.priceWad).toBe(String(priceWad))
    })
  }

  test('name the vault that funds a market most', async () => {
    const { markets } = await scene.caughtUp(canonical)
    const { funding, allocators } = found(markets, (row) => row.address === lower(scene.at(ETH.market)))
    expect(funding).toMatchObject({
      // One is of a vault whose owner has not attached the market.
      partitionCount: 4,
      largestSourceVaultAddress: lower(scene.at('rivalVault')),
    })
    expect(allocators?.map((row) => [row.vaultSymbol, row.absoluteCapAssets])).toEqual([
      ['svPrime', String(usd('2000000'))],
      ['svGrowth', String(usd('2000000'))],
      ['svRival', String(usd('200000000'))],
      ['svPartner', '0'],
    ])
  })

  test('of each debt are those of the market at that block', async () => {
    const snapshot = await scene.caughtUp(canonical)
    const debts = [
      { side: ETH, vault: scene.at('primeVault'), borrower: twice },
      { side: ETH, vault: scene.at('growthVault'), borrower: twice },
      { side: BTC, vault: scene.at('primeVault'), borrower: once },
    ]
    expect(snapshot.facilities).toHaveLength(debts.length)
    for (const { side, vault, borrower } of debts) {
      const at = { ...scene.market(side), blockNumber: snapshot.block.number }
      const row = facilityOf(snapshot, vault, borrower)
      expect(creditFacilityResource.parse(row.resource)).toEqual(row.resource)
      const read = scene.client.readContract
      const pair = [vault, borrower] as const
      expect(row.debtAssets).toBe(await read({ ...at, functionName: 'debtOf', args: pair }))
      expect(row.debtAssets).toBeGreaterThan(BigInt(row.resource.principalAssets ?? 0))
      expect(row.debtShares).toBe(await read({ ...at, functionName: 'debtSharesOf', args: pair }))
      expect(row.healthFactorWad).toBe(
        await read({ ...at, functionName: 'healthFactorWad', args: [borrower] }),
      )
      expect(row.resource).toMatchObject({
        principalAssets: String(await read({ ...at, functionName: 'principalOf', args: pair })),
        debtAssets: String(row.debtAssets),
        healthFactorWad: String(row.healthFactorWad),
        maxBorrowableAssets: String(await read({ ...at, functionName: 'maxBorrowable', args: [borrower] })),
      })
    }
  })

  test('of a position sum over the vaults, and one without debt has no health factor', async () => {
    const snapshot = await scene.caughtUp(canonical)
    const at = { ...scene.market(ETH), blockNumber: snapshot.block.number }
    expect(snapshot.positions).toHaveLength(3)
    for (const row of snapshot.positions) expect(positionResource.parse(row)).toEqual(row)
    const both = found(snapshot.positions, (row) => row.walletAddress === lower(twice))
    const shares = snapshot.facilities
      .filter(({ resource }) => resource.borrowerAddress === lower(twice))
      .reduce((sum, row) => sum + row.debtShares, 0n)
    expect(both).toMatchObject({
      debtShares: String(shares),
      debtAssets: String(
        await scene.client.readContract({ ...at, functionName: 'totalDebtOf', args: [twice] }),
      ),
      collateralAssets: '10000000000000000000',
    })
    const alone = found(snapshot.positions, (row) => row.walletAddress === lower(idle))
    expect(alone).toMatchObject({ collateralAssets: '200000000', debtAssets: '0', healthFactorWad: null })
  })

  test('of a vault are those of its contract at that block', async () => {
    const snapshot = await scene.caughtUp(canonical)
    for (const name of ['primeVault', 'growthVault'] as const) {
      const at = {
        address: scene.at(name),
        abi: lendingVaultAbi,
        blockNumber: snapshot.block.number,
      } as const
      const row = found(snapshot.vaults, (one) => one.address === lower(scene.at(name)))
      expect(vaultResource.parse(row)).toEqual(row)
      const read = scene.client.readContract
      const oneShare = 10n ** BigInt(await read({ ...at, functionName: 'decimals' }))
      const assets = await read({ ...at, functionName: 'convertToAssets', args: [oneShare] })
      expect(row).toMatchObject({
        totalAssets: String(await read({ ...at, functionName: 'totalAssets' })),
        totalSupply: String(await read({ ...at, functionName: 'totalSupply' })),
        idleAssets: String(await read({ ...at, functionName: 'idleAssets' })),
      })
      expect(Math.floor(Number(row.sharePrice) * 1e6)).toBe(Number(assets))
      expect(Number(assets)).toBeGreaterThan(1e6)
    }
  })
})
