import { join } from 'node:path'
import { parseUnits } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BLOCKS_KEPT } from '../../../sandbox/chain/chain.ts'
import type { Canonical } from '../../../sandbox/indexer/canonical.ts'
import { EPOCHS_MAX, foldFunds } from '../../../sandbox/indexer/fund-book.ts'
import { createIndexer } from '../../../sandbox/indexer/indexer.ts'
import type { IndexedLog } from '../../../sandbox/indexer/logs.ts'
import { EMPTY_NAV_BOOK, foldNav, NAV_REPORTS_MAX } from '../../../sandbox/indexer/nav-book.ts'
import { systemClock } from '../../../src/clock.ts'
import { fundResource, navReportResource } from '../../../src/service/contract/fund-resources.ts'
import { newDirectory } from '../../support/directory.ts'
import { inOrder } from '../../support/in-order.ts'
import { by, eth, from, usd } from '../contracts/world.ts'
import { createFundWorld, type FundWorld, word } from '../fund-world.ts'
import { found, lower } from './scene.ts'

let world: FundWorld
let canonical: Canonical

beforeAll(async () => {
  world = await createFundWorld()
  const { chain, deployment } = world
  canonical = await createIndexer({
    rpcUrl: chain.rpcUrl,
    chainUrl: chain.rpcUrl,
    deployment,
    clock: systemClock,
    checkpointFile: join(newDirectory(), 'index'),
    blocksKept: BLOCKS_KEPT,
  })
})
afterAll(async () => {
  await canonical?.stop()
  await world?.stop()
})

/** The fund as it is indexed at the chain's head. */
async function indexed() {
  const { hash } = await world.client.getBlock()
  const head = canonical.snapshot().block.hash === hash
  const snapshot = head
    ? canonical.snapshot()
    : await new Promise<ReturnType<Canonical['snapshot']>>((resolve) => {
        const end = canonical.onSnapshot((next) => {
          if (next.block.hash !== hash) return
          end()
          resolve(next)
        })
      })
  return { snapshot, fund: found(snapshot.funds, (row) => row.address === lower(world.fund.address)) }
}

inOrder('one fund', () => {
  test('a fund that was just launched is shown, and what nobody reported is null', async () => {
    const { snapshot, fund } = await indexed()
    expect(snapshot.funds).toHaveLength(3)
    for (const row of snapshot.funds) expect(fundResource.parse(row)).toEqual(row)
    expect(fund).toMatchObject({
      name: 'Recovery One',
      status: 'active',
      navAssets: null,
      navAsOf: null,
      sharePrice: null,
      quoteAssetAddress: lower(world.sUSD.address),
      managerAddress: lower(world.manager),
      fundReadinessApproved: true,
      purchasesEnabled: true,
      shareTokenActive: false,
      subscriptionStatus: 'closed',
      minSubscriptionAssets: String(usd('1000')),
      totalSupply: '0',
      totalHoldings: 0,
      effectiveEpochId: null,
      currentEpoch: null,
      epochs: [],
      holdings: [],
    })
    const policies = [...snapshot.channelPolicies].filter(([id]) => id.startsWith(fund.id))
    expect(policies.map(([id]) => id.split(':')[1])).toEqual(['acquisition', 'auction', 'rfq'])
  })

  test('epochs, NAV, reservations and holdings follow the chain, and events name them', async () => {
    const { fund, admin, manager, house, desk, client } = world
    const ann = await world.investor(usd('500000'))
    await fund.write.openEpoch([60n], by(admin))
    await fund.write.subscribe([usd('500000')], by(ann))
    const open = await indexed()
    expect(open.fund).toMatchObject({
      subscriptionStatus: 'open',
      subscriptionStatusCode: 1,
      effectiveEpochId: '1',
    })
    expect(open.fund.currentEpoch).toMatchObject({
      id: `${lower(fund.address)}:1`,
      status: 'open',
      depositedQuoteAmount: String(usd('500000')),
      closedAt: null,
      activeScaleRay: null,
      activeReservationId: null,
      fundedSidePocketCount: 0,
    })

    await world.close()
    const seen: string[] = []
    const end = canonical.onSnapshot((_, changes) => seen.push(...changes.map(({ eventType }) => eventType)))
    await world.value(parseUnits('1.25', 18))
    const valued = await indexed()
    end()
    expect(seen).toEqual(expect.arrayContaining(['funds.updated', 'nav.reports.updated', 'activity.updated']))
    const { submittedAt, valuationTime } = await world.navOracle.read.latest([word('nav')])
    expect(valued.fund).toMatchObject({
      navAssets: String(usd('625000')),
      sharePrice: '1.25',
      navAsOf: new Date(Number(valuationTime) * 1_000).toISOString(),
      shareTokenActive: true,
    })
    expect(valued.fund.currentEpoch).toMatchObject({ status: 'funding', activeScaleRay: String(10n ** 27n) })
    const [report] = valued.snapshot.navReports
    expect(navReportResource.parse(report)).toEqual(report)
    expect(report).toMatchObject({
      asset: lower(fund.address),
      assetName: 'Recovery One',
      oracleAddress: lower(world.navOracle.address),
      reportType: 'nav',
      value: String(parseUnits('1.25', 18)),
      decimals: 18,
      revisionLabel: null,
      submittedAtEpochMs: Number(submittedAt) * 1_000,
      signerAddress: lower(world.signer.address),
    })
    const entityId = `${lower(world.navOracle.address)}:nav:${valuationTime}:0`
    expect(valued.snapshot.navValues.get(entityId)).toBe(String(parseUnits('1.25', 18)))

    const lot = await world.offer(eth('10'), usd('1000'), { lane: 'restricted' })
    await fund.write.bidAcquisition([house.address, lot.lotId, usd('20000')], by(manager))
    expect((await indexed()).fund.currentEpoch?.activeReservationId).toBe('1')
    await client.setNextBlockTimestamp({ timestamp: lot.closesAt })
    await house.write.award([lot.lotId], by(admin))
    const bought = await indexed()
    expect(bought.fund).toMatchObject({ totalHoldings: 1, liquidHoldings: 0, restrictedHoldings: 1 })
    expect(bought.fund.currentEpoch).toMatchObject({ activeReservationId: null, fundedSidePocketCount: 1 })
    expect(bought.fund.holdings?.[0]).toMatchObject({
      id: `${lower(fund.address)}:1`,
      positionId: lot.positionId,
      assetLane: 'restricted',
      holdingStatus: 'held',
      transferPriceAssets: String(usd('20000')),
      acquiredAt: new Date(Number(lot.closesAt) * 1_000).toISOString(),
      disposedAt: null,
      claimableAssets: String(eth('10')),
      recoveryValueAssets: String(usd('30000')),
    })
    await world.oracle.write.setState([2], by(admin))
    expect((await indexed()).fund.holdings?.[0]?.recoveryValueAssets).toBeNull()
    await world.oracle.write.setState([1], by(admin))

    await fund.write.openRfq([desk.address, 1n, usd('25000'), (await world.now()) + 20n], by(manager))
    expect((await indexed()).fund.holdings?.[0]?.holdingStatus).toBe('listed')
    await client.increaseTime({ seconds: 20 })
    await desk.write.finalize([1n], by(ann))
    expect((await indexed()).fund.holdings?.[0]?.holdingStatus).toBe('held')
  })

  test('a sold holding, a self-launched fund and a reorg that takes it back are all followed', async () => {
    const { fund, admin, manager, auction, client, factory, registry, terms } = world
    const bob = await world.investor(usd('100000'))
    const lot = await world.offer(eth('1'), usd('1'))
    await fund.write.openEpoch([60n], by(admin))
    await fund.write.bidAcquisition([world.house.address, lot.lotId, usd('2000')], by(manager))
    await client.setNextBlockTimestamp({ timestamp: lot.closesAt })
    await world.house.write.award([lot.lotId], by(admin))
    await fund.write.listAtAuction([auction.address, 2n, usd('2500'), (await world.now()) + 20n], by(manager))
    await world.sUSD.write.approve([auction.address, usd('2600')], by(bob))
    await auction.write.bid([1n, usd('2600')], by(bob))
    await client.increaseTime({ seconds: 60 })
    await auction.write.settle([1n], by(bob))
    const sold = (await indexed()).fund
    expect(sold.holdings?.[0]).toMatchObject({
      holdingStatus: 'disposed',
      claimableAssets: '0',
      recoveryValueAssets: String(usd('2600')),
    })
    expect(sold.totalHoldings).toBe(1)

    const before = await client.snapshot()
    await registry.write.setAuthorization([bob, word('selfLaunch'), factory.address, true], by(admin))
    await factory.write.launch([{ ...terms, name: 'Bob Recovery' }], by(bob))
    const { snapshot } = await indexed()
    const launched = found(snapshot.funds, ({ name }) => name === 'Bob Recovery')
    expect(launched).toMatchObject({
      status: 'pending_approval',
      managerAddress: lower(bob),
      subscriptionStatus: 'paused',
    })
    expect(canonical.activity()[0]).toMatchObject({
      resourceType: 'fund',
      resourceId: launched.address,
      type: 'fund_launched',
    })

    await client.revert({ id: before })
    await client.mine({ blocks: 1 })
    expect((await indexed()).snapshot.funds.map(({ name }) => name)).not.toContain('Bob Recovery')
    const stranger = await world.investor(usd('1'))
    await expect(factory.simulate.launch([terms], from(stranger))).rejects.toThrow('LauncherNotAuthorized')
  })

  test('the book keeps the newest epochs and reports, and believes no factory but ours', () => {
    const factory = '0x00000000000000000000000000000000000000f1'
    const fund = '0x00000000000000000000000000000000000000f2'
    const oracle = '0x00000000000000000000000000000000000000f3'
    const at = (address: `0x${string}`, event: IndexedLog['event']): IndexedLog => ({
      event,
      address,
      blockNumber: 1n,
      blockHash: '0x01',
      timestampS: 1,
      txHash: '0x02',
      logIndex: 0,
    })
    const launched = at(factory, {
      eventName: 'FundLaunched',
      args: { fund, manager: fund, navOracle: oracle },
    })
    const created = at(factory, {
      eventName: 'NavOracleCreated',
      args: { navOracle: oracle, asset: fund, reporter: fund, decimals: 18 },
    })
    const opened = (epochId: bigint) =>
      at(fund, { eventName: 'EpochOpened', args: { epochId, scheduledCloseAt: 60n } })
    const epochs = Array.from({ length: EPOCHS_MAX + 1 }, (_, index) => opened(BigInt(index + 1)))
    const ours = new Set<`0x${string}`>([factory])
    const kept = foldFunds(new Map(), [launched, ...epochs], ours).get(fund)?.epochs
    expect([...(kept?.keys() ?? [])].slice(0, 2)).toEqual(['2', '3'])
    expect(kept?.size).toBe(EPOCHS_MAX)
    expect(foldFunds(new Map(), [launched, ...epochs], new Set()).size).toBe(0)

    const report = { asset: fund, reportType: word('nav'), value: 1n, decimals: 18 } as const
    const reported = at(oracle, {
      eventName: 'NavReported',
      args: {
        reporter: fund,
        report: { ...report, valuationTime: 1n, revision: 0, revisionLabel: '', deadline: 1n },
      },
    })
    const reports = Array.from({ length: NAV_REPORTS_MAX + 1 }, () => reported)
    expect(foldNav(EMPTY_NAV_BOOK, [created, ...reports], ours).reports).toHaveLength(NAV_REPORTS_MAX)
    expect(foldNav(EMPTY_NAV_BOOK, [created, ...reports], new Set())).toBe(EMPTY_NAV_BOOK)
  })
})
