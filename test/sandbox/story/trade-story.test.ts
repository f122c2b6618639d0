import { join } from 'node:path'
import { createTestClient, http, publicActions } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { fundCast } from '../../../sandbox/cast/funding.ts'
import { loadKeys, peopleOf } from '../../../sandbox/cast/keys.ts'
import { BLOCKS_KEPT } from '../../../sandbox/chain/chain.ts'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import { createTransactions } from '../../../sandbox/chain/transactions.ts'
import { deploySandbox } from '../../../sandbox/deploy/deploy.ts'
import { createIndexer } from '../../../sandbox/indexer/indexer.ts'
import { SCENARIOS } from '../../../sandbox/story/scenarios.ts'
import { createTradeStory } from '../../../sandbox/story/trade-story.ts'
import { systemClock } from '../../../src/clock.ts'
import { startAnvil } from '../../support/anvil.ts'
import { removeDirectory, sandboxDirectory } from '../../support/sandbox.ts'

/** A tick here is too long for bidders who come in the last seconds. */
const TRADE = { ...SCENARIOS.lively.trade, snipes: 0 }
/** Long enough for each kind to close and be closed, grace and all. */
const TICKS = 45
/** Chain seconds in a tick: a sandbox under load misses some of its own. */
const TICK_S = 2

test('something is on offer at all times, rivals bid, and what is over is closed; a restart goes on', async () => {
  const directory = sandboxDirectory()
  const chain = await startAnvil()
  const keys = loadKeys(directory)
  const { rpcUrl, chainId } = chain
  const deployment = await deploySandbox({
    rpcUrl,
    deployerKey: keys.deployer,
    ...peopleOf(keys),
  })
  const transactions = createTransactions(rpcUrl, chainId)
  await fundCast(rpcUrl, deployment, keys, transactions)
  const checkpointFile = join(directory, 'index')
  const canonical = await createIndexer({
    rpcUrl,
    chainUrl: rpcUrl,
    deployment,
    clock: systemClock,
    checkpointFile,
    blocksKept: BLOCKS_KEPT,
  })
  onTestFinished(async () => {
    await canonical.stop()
    await chain.stop()
    removeDirectory(directory)
  })
  const client = createTestClient({ mode: 'anvil', transport: http(rpcUrl, TO_CHAIN), cacheTime: 0 }).extend(
    publicActions,
  )
  const { snapshot } = canonical
  /** Mine these calls in a block one tick on, and wait until it is indexed. */
  const mine = async (calls: Parameters<typeof transactions.mine>[0]) => {
    const indexed = Promise.withResolvers<void>()
    const { number } = snapshot().block
    const end = canonical.onSnapshot(({ block }) => block.number > number && indexed.resolve())
    await client.setNextBlockTimestamp({ timestamp: BigInt(snapshot().block.timestampS + TICK_S) })
    await transactions.mine(calls)
    await indexed.promise
    end()
  }

  const start = () => createTradeStory({ deployment, keys, seed: 7, trade: TRADE, snapshot })
  let acts = start()
  for (let tick = 0; tick < TICKS; tick++) {
    if (tick % 15 === 14) acts = start()
    await mine(await acts(BigInt(snapshot().block.timestampS), tick))
    const { rfqs, auctions, acquisitions } = snapshot()
    for (const rows of [rfqs, auctions, acquisitions]) {
      // The next one opens in the block after the last one's time runs short.
      const leftS = rows.map(({ closesAt }) => Date.parse(closesAt) / 1_000 - snapshot().block.timestampS)
      expect(Math.max(...leftS), `tick ${tick}`).toBeGreaterThanOrEqual(30 - TICK_S)
    }
  }
  const { rfqs, auctions, acquisitions, block } = snapshot()
  const offers = [...rfqs, ...auctions, ...acquisitions]
  const bids = [...rfqs, ...auctions].flatMap((row) => row.bids.map(({ assets }) => [row, assets] as const))
  expect(bids.length).toBeGreaterThan(5)
  for (const [{ reserveAssets }, assets] of bids) {
    expect(BigInt(assets)).toBeLessThan(2n * BigInt(reserveAssets))
  }
  const soldOnes = (rows: typeof offers) => rows.filter(({ winnerAddress }) => winnerAddress !== null)
  expect(soldOnes([...rfqs]).length).toBeGreaterThan(0)
  expect(soldOnes([...auctions]).length).toBeGreaterThan(0)
  // Without a fund that bids, a lot goes back to its seller.
  expect(acquisitions.filter(({ status }) => status === 'unsold').length).toBeGreaterThan(0)
  const overdue = offers.filter(
    ({ status, closesAt }) =>
      status === 'closed' && Date.parse(closesAt) / 1_000 < block.timestampS - 15 - 2 * TICK_S,
  )
  expect(overdue).toEqual([])
  expect(rfqs.flatMap((row) => row.bids).some(({ status }) => status === 'refunded')).toBe(true)
  // Openings are never crowded: one of each kind in about ten seconds at the most.
  expect(offers.length).toBeLessThanOrEqual(3 * (1 + (TICKS * TICK_S) / 10))
})
