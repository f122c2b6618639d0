import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lendingMarketAbi } from '../../../sandbox/contracts/abis.ts'
import type { Canonical, Snapshot } from '../../../sandbox/indexer/canonical.ts'
import { type Distressed, recoveryOf } from '../../../sandbox/indexer/recovery.ts'
import { liquidationRecoveryResource } from '../../../src/service/contract/resources.ts'
import { inOrder } from '../../support/in-order.ts'
import { BTC, changesDuring, createScene, ETH, found, lower, type Scene, usd } from './scene.ts'

let scene: Scene
let canonical: Canonical
/** Just under water: the close factor bounds what may be repaid. */
let shallow: Address
/** Far under water: what the collateral covers bounds it. */
let deep: Address
/** Owes one base unit. */
let dusty: Address
/** Never under water. */
let safe: Address

beforeAll(async () => {
  scene = await createScene()
  shallow = await scene.actor()
  deep = await scene.actor()
  dusty = await scene.actor()
  safe = await scene.actor()
  await scene.price(BTC, '120000')
  await scene.deposit(BTC, deep, '1')
  await scene.borrow(BTC, 'primeVault', deep, usd('89000'))
  await scene.price(BTC, '60000')
  await scene.deposit(BTC, shallow, '1')
  await scene.borrow(BTC, 'primeVault', shallow, usd('44000'))
  await scene.deposit(BTC, dusty, '0.00000003')
  await scene.borrow(BTC, 'primeVault', dusty, 1_000n)
  await scene.deposit(BTC, safe, '10')
  await scene.borrow(BTC, 'primeVault', safe, usd('44000'))
  await scene.client.increaseTime({ seconds: 86_400 })
  await scene.price(BTC, '40000')
  canonical = await scene.index()
})

afterAll(async () => {
  await canonical?.stop()
  await scene?.stop()
})

const recoveryFor = (snapshot: Snapshot, borrower: Address) =>
  found(snapshot.recoveries, (row) => row.borrowerAddress === lower(borrower))

inOrder('one market of debts', () => {
  test('lists the debts below a health factor of one, and no other', async () => {
    const { recoveries, facilities } = await scene.caughtUp(canonical)
    expect(facilities).toHaveLength(4)
    expect(recoveries.map((row) => row.borrowerAddress).sort()).toEqual(
      [shallow, deep, dusty].map(lower).sort(),
    )
    for (const row of recoveries) {
      expect(liquidationRecoveryResource.parse(row)).toEqual(row)
      expect(row).toMatchObject({ liquidatable: true, executable: true, blockedReason: null })
    }
  })

  test('names amounts that the market accepts, and seizes what it says', async () => {
    const { recoveries, block } = await scene.caughtUp(canonical)
    for (const row of recoveries) {
      const call = await scene.liquidation(
        BTC,
        'primeVault',
        row.borrowerAddress,
        BigInt(row.repayAssets ?? 0),
      )
      // The liquidator is funded in later blocks; at the row's own time the figures are exact.
      const { result } = await scene.client.simulateContract({
        ...call,
        blockOverrides: { time: BigInt(block.timestampS) },
      })
      expect(String(result[1])).toBe(row.collateralSeizedAssets)
    }
  })

  test('repays half of a debt where the close factor binds, and a base unit more is refused', async () => {
    const snapshot = await scene.caughtUp(canonical)
    const row = recoveryFor(snapshot, shallow)
    const { debtAssets } = found(
      snapshot.facilities,
      (one) => one.resource.borrowerAddress === lower(shallow),
    )
    const repayAssets = BigInt(row.repayAssets ?? 0)
    expect(repayAssets).toBe((debtAssets + 1n) / 2n)
    const call = await scene.liquidation(BTC, 'primeVault', shallow, repayAssets + 1n)
    const blockOverrides = { time: BigInt(snapshot.block.timestampS) }
    await expect(scene.client.simulateContract({ ...call, blockOverrides })).rejects.toThrow(
      'RepayAboveCloseFactor',
    )
  })

  test('repays no more than empties the collateral, and names the bad debt that the market then writes off', async () => {
    const row = recoveryFor(await scene.caughtUp(canonical), deep)
    expect(row.collateralSeizedAssets).toBe('100000000')
    const residual = BigInt(row.residualBadDebtAssets ?? 0)
    expect(residual).toBeGreaterThan(usd('50000'))
    const call = await scene.liquidation(BTC, 'primeVault', deep, BigInt(row.repayAssets ?? 0))
    const changes = await changesDuring(scene, canonical, () => scene.client.writeContractSync(call))
    const events = { address: call.address, abi: lendingMarketAbi, fromBlock: 0n } as const
    const [liquidated] = await scene.client.getContractEvents({ ...events, eventName: 'Liquidated' })
    // A few seconds of interest lie between the row and the transaction.
    expect(liquidated?.args.badDebtAssets).toBeGreaterThanOrEqual(residual)
    expect(liquidated?.args.badDebtAssets).toBeLessThan(residual + usd('0.01'))

    const vaults = changes.filter((change) => change.eventType === 'vaults.updated')
    expect(vaults.map((change) => change.subject)).toEqual([
      lower(scene.at('primeVault')),
      lower(scene.at('rivalVault')),
    ])
    const after = await scene.caughtUp(canonical)
    expect(after.recoveries.map((one) => one.borrowerAddress)).not.toContain(lower(deep))
    const market = found(after.markets, (one) => one.address === lower(scene.at('btcMarket')))
    expect(market.totalBadDebt).toBe(String(liquidated?.args.badDebtAssets))
    const newest = canonical.activity().slice(0, 2)
    expect(newest.map((one) => one.type)).toEqual(['liquidate', 'bad_debt_realized'])
  })

  test('keeps a claim from the liquidation to its settlement', async () => {
    const row = recoveryFor(await scene.caughtUp(canonical), shallow)
    const call = await scene.liquidation(BTC, 'primeVault', shallow, BigInt(row.repayAssets ?? 0))
    await scene.client.writeContractSync(call)
    const open = await scene.caughtUp(canonical)
    const claim = open.claims.at(-1)
    expect(claim).toEqual({
      marketAddress: lower(scene.at('btcMarket')),
      claimId: '2',
      liquidator: lower(call.account),
      recipient: lower(call.account),
      vaultAddress: lower(scene.at('primeVault')),
      borrowerAddress: lower(shallow),
      collateralAssets: row.collateralSeizedAssets,
      settleableAtS: open.block.timestampS + 2,
      settled: false,
    })
    await scene.client.increaseTime({ seconds: 2 })
    await scene.client.writeContractSync({
      ...scene.market(BTC),
      account: call.account,
      functionName: 'settleLiquidationClaim',
      args: [2n],
    })
    expect((await scene.caughtUp(canonical)).claims.at(-1)).toEqual({ ...claim, settled: true })
    expect(canonical.activity()[0]).toMatchObject({
      resourceType: 'liquidation',
      resourceId: `${lower(scene.at('btcMarket'))}:2`,
      type: 'liquidation_claim_settled',
      amount: row.collateralSeizedAssets,
    })
  })

  test('is not executable while the market is paused or its oracle is not healthy', async () => {
    await scene.pause(BTC, true)
    expect(recoveryFor(await scene.caughtUp(canonical), dusty)).toMatchObject({
      liquidatable: true,
      executable: false,
      blockedReason: 'market_paused',
    })
    await scene.pause(BTC, false)
    await scene.oracleState(BTC, 2)
    const snapshot = await scene.caughtUp(canonical)
    expect(recoveryFor(snapshot, dusty)).toMatchObject({
      liquidatable: false,
      executable: false,
      blockedReason: 'oracle_not_healthy',
    })
    expect(snapshot.markets[0]).toMatchObject({
      oracleState: 'stale',
      marketRegimeState: 'normal',
      paused: false,
    })
    await scene.oracleState(BTC, 1)
  })

  test('calls a debt bad that another vault left without collateral', async () => {
    const borrower = await scene.actor()
    await scene.price(ETH, '3000')
    await scene.deposit(ETH, borrower, '1')
    await scene.borrow(ETH, 'primeVault', borrower, usd('1000'))
    await scene.borrow(ETH, 'growthVault', borrower, usd('1000'))
    await scene.price(ETH, '300')
    const prime = found(
      (await scene.caughtUp(canonical)).recoveries,
      (row) => row.vaultId === lower(scene.at('primeVault')) && row.borrowerAddress === lower(borrower),
    )
    const call = await scene.liquidation(ETH, 'primeVault', borrower, BigInt(prime.repayAssets ?? 0))
    await scene.authorize(call.account, ETH, true)
    await scene.client.writeContractSync(call)
    const snapshot = await scene.caughtUp(canonical)
    expect(recoveryFor(snapshot, borrower)).toMatchObject({
      vaultAddress: lower(scene.at('growthVault')),
      executable: false,
      blockedReason: 'no_collateral',
      repayAssets: '0',
      collateralSeizedAssets: '0',
    })
    expect(found(snapshot.positions, (row) => row.walletAddress === lower(borrower)).monitorState).toBe(
      'bad_debt',
    )
  })

  describe('the largest liquidation', () => {
    /** A debt of whole tokens at a price of one, without bonus; a share is worth one and a half base units. */
    const debt: Distressed = {
      debtAssets: 15n,
      debtShares: 10n,
      collateralAssets: 100n,
      borrowIndexRay: 15n * 10n ** 26n,
      priceWad: 10n ** 18n,
      loanDecimals: 0,
      collateralDecimals: 0,
      closeFactorBps: 5_000,
      liquidationBonusBps: 0,
    }

    test('repays the close factor, rounded up', () => {
      expect(recoveryOf(debt)).toEqual({
        repayAssets: 8n,
        collateralSeizedAssets: 8n,
        residualBadDebtAssets: 0n,
      })
    })

    test('repays the whole of a debt whose part would burn no share', () => {
      const dust = { ...debt, debtAssets: 2n, debtShares: 1n }
      expect(recoveryOf(dust)).toEqual({
        repayAssets: 2n,
        collateralSeizedAssets: 2n,
        residualBadDebtAssets: 0n,
      })
    })

    test('repays at least what burns a share, also where less would empty the collateral', () => {
      const bare = { ...debt, collateralAssets: 1n }
      expect(recoveryOf(bare)).toEqual({
        repayAssets: 2n,
        collateralSeizedAssets: 1n,
        residualBadDebtAssets: 14n,
      })
    })

    test('pays the bonus, rounded down, and takes no more than there is', () => {
      const bonus = { ...debt, liquidationBonusBps: 2_000 }
      expect(recoveryOf(bonus).collateralSeizedAssets).toBe(9n)
      expect(recoveryOf({ ...bonus, collateralAssets: 9n })).toEqual({
        repayAssets: 8n,
        collateralSeizedAssets: 9n,
        residualBadDebtAssets: 8n,
      })
    })
  })
})
