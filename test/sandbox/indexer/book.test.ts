import { join } from 'node:path'
import { type Address, numberToHex, stringToHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { ACTIVITY_MAX, EMPTY_BOOK, foldLogs, SETTLED_CLAIMS_MAX } from '../../../sandbox/indexer/book.ts'
import type { BlockHeader } from '../../../sandbox/indexer/chain-reader.ts'
import { openCheckpoints } from '../../../sandbox/indexer/checkpoint.ts'
import {
  checkpointOf,
  EMPTY_TRACK,
  type FollowDeps,
  follow,
  isFollowed,
  ROLLBACK_BLOCKS_MAX,
} from '../../../sandbox/indexer/follow.ts'
import { createHistory } from '../../../sandbox/indexer/history.ts'
import type { IndexedLog } from '../../../sandbox/indexer/logs.ts'
import { aprBps, apyBps } from '../../../sandbox/indexer/rows.ts'
import { newDirectory } from '../../support/directory.ts'

const market: Address = `0x${'aa'.repeat(20)}`
const vault: Address = `0x${'bb'.repeat(20)}`
const wallet: Address = `0x${'cc'.repeat(20)}`
const context = { chainId: 1, marketByOracle: new Map(), emitters: new Set([market]) }

const header = (number: number, fork = 0): BlockHeader => ({
  number: BigInt(number),
  hash: numberToHex(number * 16 + fork, { size: 32 }),
  parentHash: numberToHex((number - 1) * 16 + (fork > 0 && number > forkedAt + 1 ? fork : 0), { size: 32 }),
  timestampS: 1_000 + number,
})
/** The last block that every fork has in common. */
const forkedAt = 1_000

const logIn = (block: BlockHeader, event: IndexedLog['event']): IndexedLog => ({
  event,
  address: market,
  blockNumber: block.number,
  blockHash: block.hash,
  timestampS: block.timestampS,
  txHash: block.hash,
  logIndex: 0,
})

const supplied = (block: BlockHeader) =>
  logIn(block, { eventName: 'Supplied', args: { vault, assets: block.number } })

const liquidated = (claimId: bigint) =>
  logIn(header(1), {
    eventName: 'Liquidated',
    args: {
      claimId,
      vault,
      borrower: wallet,
      liquidator: wallet,
      recipient: wallet,
      repayAssets: 1n,
      collateralSeized: 2n,
      badDebtAssets: 0n,
    },
  })

const settled = (claimId: bigint) =>
  logIn(header(2), {
    eventName: 'ClaimSettled',
    args: { claimId, liquidator: wallet, recipient: wallet, collateralAssets: 2n },
  })

const count = (length: number) => Array.from({ length }, (_, index) => index + 1)

describe('a book', () => {
  test('keeps as much activity as the limit, and drops the oldest one past it', () => {
    const full = foldLogs(
      EMPTY_BOOK,
      count(ACTIVITY_MAX).map((number) => supplied(header(number))),
      context,
    )
    expect(full.activity).toHaveLength(ACTIVITY_MAX)
    expect(full.activity[0]?.resource.blockNumber).toBe('1')
    const past = foldLogs(full, [supplied(header(ACTIVITY_MAX + 1))], context)
    expect(past.activity).toHaveLength(ACTIVITY_MAX)
    expect(past.activity[0]?.resource.blockNumber).toBe('2')
    expect(full.activity[0]?.resource.blockNumber).toBe('1')
  })

  test('forgets the oldest settled claim past the limit, and no open one', () => {
    const ids = count(SETTLED_CLAIMS_MAX + 2).map(BigInt)
    const open = foldLogs(EMPTY_BOOK, ids.map(liquidated), context)
    const full = foldLogs(open, ids.slice(1, -1).map(settled), context)
    expect(full.claims.size).toBe(ids.length)
    const past = foldLogs(full, ids.slice(-1).map(settled), context)
    expect([...past.claims.values()].slice(0, 2).map((claim) => [claim.claimId, claim.settled])).toEqual([
      ['1', false],
      ['3', true],
    ])
    expect(past.claims.size).toBe(ids.length - 1)
  })

  test('reads an action of the registry as text', () => {
    const args = { wallet, action: stringToHex('liquidate', { size: 32 }), scope: market, authorized: true }
    const book = foldLogs(EMPTY_BOOK, [logIn(header(1), { eventName: 'AuthorizationSet', args })], context)
    expect([...book.eligibility.values()].map((row) => row.actionType)).toEqual(['liquidate'])
  })
})

/** A chain in memory, with one log a block, that counts the blocks whose logs were asked for. */
function memoryChain(tip: number, fork = 0) {
  const at = (number: number) => header(number, number > forkedAt ? fork : 0)
  const asked: number[] = []
  const reader: FollowDeps['reader'] = {
    header: async (number) => (Number(number) <= tip ? at(Number(number)) : null),
    logs: async (from, to) => {
      const numbers = count(tip).filter((number) => number >= from && number <= to)
      asked.push(...numbers)
      return numbers.map((number) => supplied(at(number)))
    },
  }
  const deps: FollowDeps = { reader, context, startBlock: 1n, checkpoint: () => null, blocksKept: 2_000n }
  return { head: at(tip), asked, deps }
}

describe('following', () => {
  test('takes back a reorg as deep as it remembers, and reads everything again one block deeper', async () => {
    for (const [depth, firstAsked] of [
      [ROLLBACK_BLOCKS_MAX - 1, forkedAt + 1],
      [ROLLBACK_BLOCKS_MAX, 1],
    ] as const) {
      const old = memoryChain(forkedAt + depth)
      const { track } = await follow(EMPTY_TRACK, old.head, old.deps)
      expect(track.blocks).toHaveLength(ROLLBACK_BLOCKS_MAX)
      const forked = memoryChain(forkedAt + depth, 1)
      const followed = await follow(track, forked.head, forked.deps)
      expect(forked.asked[0]).toBe(firstAsked)
      expect(followed.ancestor).toBe(firstAsked === 1 ? 0n : BigInt(forkedAt))
      const hashes = followed.track.book.activity.map((entry) => entry.resource.txHash)
      expect(hashes).toHaveLength(forkedAt + depth)
      expect(hashes.at(-1)).toBe(forked.head.hash)
      expect(new Set(hashes).size).toBe(hashes.length)
    }
  })

  test('begins behind genesis, whose hash a node that loads its chain again does not keep', async () => {
    const chain = memoryChain(10)
    const reader: FollowDeps['reader'] = {
      ...chain.deps.reader,
      header: async (number) => (number === 0n ? header(0, 1) : chain.deps.reader.header(number)),
    }
    const { track } = await follow(EMPTY_TRACK, chain.head, { ...chain.deps, reader, startBlock: 0n })
    expect(track.book.activity).toHaveLength(10)
  })

  test('asks only for the blocks after the last one', async () => {
    const old = memoryChain(10)
    const { track } = await follow(EMPTY_TRACK, old.head, old.deps)
    const longer = memoryChain(13)
    const followed = await follow(track, longer.head, longer.deps)
    expect(longer.asked).toEqual([11, 12, 13])
    expect(followed).toMatchObject({ ancestor: 10n })
    expect(followed.track.book.activity).toHaveLength(13)
  })

  test('keeps what it can no longer take back', async () => {
    const old = memoryChain(forkedAt - 50)
    const first = await follow(EMPTY_TRACK, old.head, old.deps)
    const longer = memoryChain(forkedAt + 50)
    const second = await follow(first.track, longer.head, longer.deps)
    expect(second.track.blocks).toHaveLength(ROLLBACK_BLOCKS_MAX)
    const forked = memoryChain(forkedAt + 50, 1)
    const third = await follow(second.track, forked.head, forked.deps)
    expect(third.ancestor).toBe(BigInt(forkedAt))
    expect(third.track.book.activity.map((entry) => Number(entry.resource.blockNumber))).toEqual(
      count(forkedAt + 50),
    )
  })

  test('goes on from a checkpoint that is on the chain, and comes to the same book', async () => {
    const { head, deps } = memoryChain(forkedAt + 50)
    const { track } = await follow(EMPTY_TRACK, head, deps)
    const file = join(newDirectory(), 'index')
    openCheckpoints(file).keep(checkpointOf(track) ?? expect.unreachable())
    const { latest } = openCheckpoints(file)
    const longer = memoryChain(forkedAt + 60)
    const { track: again } = await follow(EMPTY_TRACK, longer.head, { ...longer.deps, checkpoint: latest })
    expect(longer.asked[0]).toBe(forkedAt + 50 - ROLLBACK_BLOCKS_MAX + 1)
    const whole = memoryChain(forkedAt + 60)
    expect(again).toEqual((await follow(EMPTY_TRACK, whole.head, whole.deps)).track)
  })

  test('passes over a checkpoint of another chain, and refuses to leave out what the chain has dropped', async () => {
    const { head, deps } = memoryChain(forkedAt + ROLLBACK_BLOCKS_MAX)
    const { track } = await follow(EMPTY_TRACK, head, deps)
    const forked = memoryChain(forkedAt + 300, 1)
    const other = { ...(checkpointOf(track) ?? expect.unreachable()), hash: header(forkedAt, 2).hash }
    const begun = { ...forked.deps, checkpoint: () => other }
    await follow(EMPTY_TRACK, forked.head, begun)
    expect(forked.asked[0]).toBe(1)
    const dropped = follow(EMPTY_TRACK, forked.head, { ...begun, blocksKept: BigInt(forkedAt + 299) })
    await expect(dropped).rejects.toMatchObject({ code: 'indexer.logs_gone' })
  })

  test('knows the blocks of its chain, and none after its head', async () => {
    const { head, deps } = memoryChain(200)
    const { track } = await follow(EMPTY_TRACK, head, deps)
    expect(isFollowed(track, head)).toBe(true)
    expect(isFollowed(track, { ...head, hash: header(200, 1).hash })).toBe(false)
    expect(isFollowed(track, header(201))).toBe(false)
    expect(isFollowed(track, header(1))).toBe(true)
    expect(isFollowed(EMPTY_TRACK, header(1))).toBe(false)
  })

  test('refuses blocks that do not follow each other', async () => {
    const { head, deps } = memoryChain(10)
    const other = { ...deps.reader, header: async () => header(9, 1) }
    await expect(follow(EMPTY_TRACK, head, { ...deps, reader: other })).rejects.toMatchObject({
      code: 'indexer.chain_moved',
    })
  })

  test('refuses logs of a block that has been replaced', async () => {
    const { head, deps } = memoryChain(10)
    const other = { ...deps.reader, logs: async () => [{ ...supplied(head), blockHash: header(10, 1).hash }] }
    await expect(follow(EMPTY_TRACK, head, { ...deps, reader: other })).rejects.toMatchObject({
      code: 'indexer.chain_moved',
    })
  })
})

test('history keeps a day of minutes, and drops the oldest past it', () => {
  const history = createHistory()
  const record = (minute: number) =>
    history.record({
      block: { number: BigInt(minute), hash: header(minute).hash, timestampS: minute * 60 },
      indexedAtMs: 0,
      assets: [],
      oracles: [],
      markets: [{ id: market, chainId: 1, address: market }],
      vaults: [],
      vaultReads: [],
      channels: [],
      wrappers: [],
      fees: [],
      facilities: [],
      positions: [],
      recoveries: [],
      eligibility: [],
      claims: [],
      funds: [],
      navReports: [],
      navValues: new Map(),
      navOracles: new Map(),
      fundLaunches: [],
      channelPolicies: new Map(),
      rfqs: [],
      auctions: [],
      acquisitions: [],
    })
  const minutes = () => history.ofMarket(market).filter((row) => row.interval === '1m')
  for (const minute of count(1_440)) record(minute)
  expect(minutes()).toHaveLength(1_440)
  expect(minutes()[0]?.blockNumber).toBe('1')
  record(1_441)
  expect(minutes()).toHaveLength(1_440)
  expect(minutes()[0]?.blockNumber).toBe('2')
  history.rollBack(1_439n)
  expect(minutes().at(-1)?.blockNumber).toBe('1439')
})

test('a rate of 5 % a year is 500 basis points simple and 513 compounded', () => {
  const ratePerSecondWad = (5n * 10n ** 16n) / 31_536_000n
  expect(aprBps(ratePerSecondWad)).toBe(500)
  expect(apyBps(ratePerSecondWad)).toBe(513)
})
