import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Canonical } from '../../../sandbox/indexer/canonical.ts'
import type { Clock } from '../../../src/clock.ts'
import { inOrder } from '../../support/in-order.ts'
import { BTC, changesDuring, createScene, ETH, lower, type Scene, usd } from './scene.ts'

let scene: Scene
let canonical: Canonical
let borrower: Address
let nowMs: number
const clock: Clock = {
  nowMs: () => nowMs,
  monotonicMs: () => nowMs,
  sleep: () => Promise.reject(new TypeError('The indexer does not wait by the clock.')),
}

beforeAll(async () => {
  scene = await createScene()
  borrower = await scene.actor()
  await scene.deposit(BTC, borrower, '1')
  await scene.borrow(BTC, 'primeVault', borrower, usd('40000'))
  nowMs = Number((await scene.client.getBlock()).timestamp) * 1_000
  canonical = await scene.index(clock)
})

afterAll(async () => {
  await canonical?.stop()
  await scene?.stop()
})

const eventTypes = async (act: () => Promise<unknown>) => {
  const changes = await changesDuring(scene, canonical, act)
  return changes.map((change) => change.eventType).sort()
}

inOrder('one chain, followed', () => {
  describe('events', () => {
    test('are none for interest alone', async () => {
      const before = (await scene.caughtUp(canonical)).facilities[0]?.debtAssets
      const passTime = async () => {
        await scene.client.increaseTime({ seconds: 600 })
        await scene.client.mine({ blocks: 1 })
      }
      // The first of them takes the fund's epoch past its close.
      await passTime()
      expect(await changesDuring(scene, canonical, passTime)).toEqual([])
      expect((await scene.caughtUp(canonical)).facilities[0]?.debtAssets).toBeGreaterThan(before ?? 0n)
    })

    test('are none for a price that is published again', async () => {
      await scene.price(BTC, '59000')
      expect(await eventTypes(() => scene.price(BTC, '59000'))).toEqual([])
    })

    test('name the oracle and its market when a price moves and crosses nothing', async () => {
      const changes = await changesDuring(scene, canonical, () => scene.price(BTC, '60000'))
      const blockNumber = String(canonical.snapshot().block.number)
      const market = lower(scene.at('btcMarket'))
      const oracle = lower(scene.at('btcOracle'))
      expect(changes).toEqual([
        {
          eventType: 'oracles.updated',
          subject: oracle,
          data: { oracleAddress: oracle, marketAddress: market, blockNumber },
        },
        { eventType: 'markets.updated', subject: market, data: { marketAddress: market, blockNumber } },
      ])
    })

    test('name the facility when it comes close to liquidation', async () => {
      const changes = await eventTypes(() => scene.price(BTC, '51000'))
      expect(changes).toEqual([
        'credit.facilities.updated',
        'markets.updated',
        'oracles.updated',
        'positions.updated',
      ])
      expect(canonical.snapshot().facilities[0]?.resource.monitorState).toBe('watch')
      await scene.price(BTC, '60000')
    })

    test('name the facility when it goes under water, and again when it comes back', async () => {
      const crossing = [
        'credit.facilities.updated',
        'liquidation.recovery.updated',
        'markets.updated',
        'oracles.updated',
        'positions.updated',
      ]
      const changes = await changesDuring(scene, canonical, () => scene.price(BTC, '49000'))
      expect(changes.map((change) => change.eventType).sort()).toEqual(crossing)
      const ids = [scene.at('btcMarket'), scene.at('primeVault'), borrower].map(lower)
      expect(changes.find((change) => change.eventType === 'liquidation.recovery.updated')).toEqual({
        eventType: 'liquidation.recovery.updated',
        subject: ids.join(':'),
        data: {
          marketAddress: ids[0],
          vaultAddress: ids[1],
          borrowerAddress: ids[2],
          blockNumber: String(canonical.snapshot().block.number),
        },
      })
      expect(await eventTypes(() => scene.price(BTC, '60000'))).toEqual(crossing)
    })

    test('name the rows that a repayment, a deposit, a pause and an authorization touch', async () => {
      expect(await eventTypes(() => scene.deposit(BTC, borrower, '0.1'))).toEqual([
        'activity.updated',
        'credit.facilities.updated',
        'positions.updated',
      ])
      expect(await eventTypes(() => scene.borrow(BTC, 'primeVault', borrower, usd('10')))).toEqual([
        'activity.updated',
        'credit.facilities.updated',
        'markets.updated',
        'positions.updated',
      ])
      expect(await eventTypes(() => scene.pause(ETH, true))).toEqual(['activity.updated', 'markets.updated'])
      const wallet = await scene.actor()
      expect(await eventTypes(() => scene.authorize(wallet, ETH, true))).toEqual(['eligibility.updated'])
      expect(await eventTypes(() => scene.authorize(wallet, ETH, true))).toEqual([])
      expect(await eventTypes(() => scene.authorize(wallet, ETH, false))).toEqual(['eligibility.updated'])
      expect(canonical.snapshot().eligibility).toContainEqual({
        chainId: scene.chain.chainId,
        walletAddress: lower(wallet),
        actionType: 'liquidate',
        scopeAddress: lower(scene.at('ethMarket')),
        authorizationStatus: 'revoked',
      })
    })
  })

  describe('the chain', () => {
    test('is read again by a restart into the same snapshot, activity and transactions', async () => {
      const snapshot = await scene.caughtUp(canonical)
      const again = await scene.index(clock)
      await again.stop()
      expect(again.snapshot()).toEqual({ ...snapshot, indexedAtMs: again.snapshot().indexedAtMs })
      expect(again.activity()).toEqual(canonical.activity())
      expect(again.activity({ vaultAddress: scene.at('growthVault') }).length).toBeGreaterThan(0)
      expect(again.activity({ marketAddress: scene.at('ethMarket') })[0]?.type).toBe('paused')
    })

    test('is followed into a reorg of five blocks, and what it took back is gone', async () => {
      const before = await scene.caughtUp(canonical)
      const known = canonical.activity()
      const other = await scene.actor()
      await scene.deposit(BTC, other, '1')
      const { transactionHash } = await scene.borrow(BTC, 'primeVault', other, usd('1000'))
      await scene.authorize(other, ETH, true)
      const forked = await scene.caughtUp(canonical)
      expect(forked.facilities).toHaveLength(2)
      expect(await canonical.transaction(transactionHash)).toEqual({
        blockNumber: forked.block.number - 1n,
        status: 'success',
      })

      const depth = Number(forked.block.number - before.block.number)
      expect(depth).toBe(5)
      const changes = await changesDuring(scene, canonical, () => scene.rpc('anvil_reorg', depth, []))
      const after = canonical.snapshot()
      expect(after.block.number).toBe(forked.block.number)
      expect(after.block.hash).not.toBe(forked.block.hash)
      expect(after.facilities.map((row) => row.resource.borrowerAddress)).toEqual([lower(borrower)])
      expect(after.positions.map((row) => row.walletAddress)).toEqual([lower(borrower)])
      expect(after.eligibility).toEqual(before.eligibility)
      expect(canonical.activity()).toEqual(known)
      expect(await canonical.transaction(transactionHash)).toBeNull()
      expect(changes.map((change) => change.eventType).sort()).toEqual([
        'credit.facilities.updated',
        'eligibility.updated',
        'markets.updated',
        'positions.updated',
      ])
    })

    test('is followed back when it lost its tail', async () => {
      const before = await scene.caughtUp(canonical)
      await scene.price(BTC, '61000')
      await scene.client.mine({ blocks: 2 })
      await scene.caughtUp(canonical)
      await scene.rpc('anvil_rollback', 3)
      const after = await scene.caughtUp(canonical)
      expect(after).toEqual({ ...before, indexedAtMs: after.indexedAtMs })
    })

    test('is read again from the start after a reorg deeper than can be taken back', async () => {
      await scene.client.mine({ blocks: 130 })
      const deep = await scene.caughtUp(canonical)
      await scene.rpc('anvil_reorg', 125, [])
      const after = await scene.caughtUp(canonical)
      expect(after.block.number).toBe(deep.block.number)
      const again = await scene.index(clock)
      await again.stop()
      expect(after).toEqual({ ...again.snapshot(), indexedAtMs: after.indexedAtMs })
      expect(again.activity()).toEqual(canonical.activity())
    })
  })

  test('history holds the last state of each minute and hour', async () => {
    const { timestamp } = await scene.client.getBlock()
    // The start of an hour, so that the minutes below never end one.
    const hour = (timestamp / 3_600n) * 3_600n + 3_600n
    await scene.client.setNextBlockTimestamp({ timestamp: hour + 60n })
    await scene.client.mine({ blocks: 1 })
    await scene.caughtUp(canonical)
    await scene.client.setNextBlockTimestamp({ timestamp: hour + 119n })
    await scene.price(BTC, '62000')
    const { block, markets } = await scene.caughtUp(canonical)
    const rows = canonical.marketHistory(scene.at('btcMarket'))
    const last = rows.filter((row) => row.interval === '1m').at(-1)
    expect(last).toMatchObject({
      bucketStart: new Date(Number(hour + 60n) * 1_000).toISOString(),
      bucketEnd: new Date(Number(hour + 120n) * 1_000).toISOString(),
      totalDebt: markets[0]?.totalDebt,
      blockNumber: String(block.number),
    })
    expect(rows.filter((row) => row.interval === '1h').at(-1)?.blockNumber).toBe(String(block.number))
    expect(canonical.marketHistory(borrower)).toEqual([])

    await scene.client.setNextBlockTimestamp({ timestamp: hour + 120n })
    await scene.client.mine({ blocks: 1 })
    await scene.caughtUp(canonical)
    expect(canonical.marketHistory(scene.at('btcMarket')).length).toBe(rows.length + 1)
    await scene.rpc('anvil_rollback', 1)
    await scene.caughtUp(canonical)
    expect(canonical.marketHistory(scene.at('btcMarket'))).toEqual(rows)
  })

  describe('freshness', () => {
    test('is current, healthy and stale by the age of the indexed block', async () => {
      const { block } = await scene.caughtUp(canonical)
      const at = (ageMs: number) => {
        nowMs = block.timestampS * 1_000 + ageMs
        const { status, lagSeconds } = canonical.freshness()
        return { status, lagSeconds }
      }
      expect(at(-2_000)).toEqual({ status: 'current', lagSeconds: 0 })
      expect(at(5_999)).toEqual({ status: 'current', lagSeconds: 5 })
      expect(at(6_000)).toEqual({ status: 'healthy', lagSeconds: 6 })
      expect(at(15_999)).toEqual({ status: 'healthy', lagSeconds: 15 })
      expect(at(16_000)).toEqual({ status: 'stale', lagSeconds: 16 })
      expect(canonical.freshness()).toMatchObject({
        blockNumber: String(block.number),
        blockTimestamp: new Date(block.timestampS * 1_000).toISOString(),
        reason: null,
      })
      nowMs = block.timestampS * 1_000
    })

    test('is blocked while the node is on another chain, and current when it is back', async () => {
      await scene.rpc('anvil_setChainId', 5)
      await scene.client.mine({ blocks: 1 })
      await expect.poll(() => canonical.freshness().status, { interval: 5 }).toBe('blocked')
      expect(canonical.freshness().reason).toMatch(
        /^The node is at block [0-9]+ of chain 5; the deployment is on chain/,
      )
      await scene.rpc('anvil_setChainId', scene.chain.chainId)
      await scene.caughtUp(canonical)
      expect(canonical.freshness()).toMatchObject({ status: 'current', reason: null })
    })

    test('grows stale and says why when the node is gone, and the last snapshot stays', async () => {
      const snapshot = await scene.caughtUp(canonical)
      await scene.stop()
      await expect
        .poll(() => canonical.freshness().reason, { interval: 5 })
        .toBe("The chain's node did not answer: HttpRequestError.")
      nowMs = (snapshot.block.timestampS + 16) * 1_000
      expect(canonical.freshness().status).toBe('stale')
      expect(canonical.snapshot()).toBe(snapshot)
      await expect(scene.index(clock)).rejects.toMatchObject({ code: 'indexer.node' })
    })
  })
})
