import { DatabaseSync } from 'node:sqlite'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Snapshot } from '../../../sandbox/indexer/canonical.ts'
import { advance } from '../../../sandbox/service/progress.ts'
import type { WorkflowRecord } from '../../../sandbox/service/workflow-records.ts'
import {
  facilityEntityId,
  trackedTransaction,
  workflowProgress,
} from '../../../src/service/contract/assumptions.ts'
import {
  BORROWER,
  baseSnapshot,
  CHAIN_ID,
  FACILITY_ID,
  type Fixture,
  facility,
  liquidation,
  MARKET,
  newKey,
  secretHeaders,
  startFixture,
  VAULT,
} from './fixture.ts'

let f: Fixture
beforeAll(async () => {
  f = await startFixture()
})
afterAll(() => f.stop())

let requestId = ''
let cursor = ''
beforeEach(async () => {
  f.canonical.push({ facilities: baseSnapshot.facilities })
  requestId = String((await f.post('/v1/workflows/prepare', liquidation())).json.requestId)
  cursor = (await poll()).next
})

let hashes = 0
const newHash = (): Hex => {
  hashes += 1
  return `0x${hashes.toString(16).padStart(64, 'a')}`
}

async function poll(after?: string) {
  const answer = await f.get(`/v1/events${after === undefined ? '' : `?cursor=${after}`}`, secretHeaders)
  const items = answer.json.items as {
    event: { type: string; data: { requestId?: string; status?: string } }
  }[]
  return {
    events: items.map(({ event }) => event),
    next: String((answer.json.pageInfo as { nextCursor: string }).nextCursor),
  }
}

/** The stages announced for this workflow since it was prepared. */
const announced = async () =>
  (await poll(cursor)).events
    .filter(({ data }) => data.requestId === requestId)
    .map(({ data }) => data.status)

const register = (order: number, txHash: Hex, headers: Record<string, string> = secretHeaders) =>
  f.post(`/v1/workflows/${requestId}/transactions`, { order, chainId: CHAIN_ID, txHash }, headers)

const progress = async () =>
  workflowProgress.parse((await f.get(`/v1/workflows/${requestId}`, secretHeaders)).json)

/** A new block with these facilities; returns when every workflow has been looked at. */
async function block(facilities = baseSnapshot.facilities, number?: bigint) {
  const now = f.canonical.snapshot().block
  f.canonical.push({ facilities, ...(number === undefined ? {} : { block: { ...now, number } }) })
  await f.service.idle()
}

/** The action's transaction in the next block, with the position as it is there. */
async function mineNext(hash: Hex, facilities = baseSnapshot.facilities) {
  f.canonical.mine(hash, f.canonical.snapshot().block.number + 1n)
  await block(facilities)
}

/** Two blocks on top of the head: it is final. */
async function finalise(facilities = baseSnapshot.facilities) {
  await block(facilities)
  await block(facilities)
}

/** The postcondition of the workflow as it is latched: the block, or null. */
const latchedAt = async () => {
  const [condition] = (await progress()).canonicalPostconditions
  expect(condition?.satisfied).toBe(condition?.blockNumber != null)
  return condition?.blockNumber
}
const headNumber = () => f.canonical.snapshot().block.number.toString()

describe('a workflow', () => {
  it('passes every stage to final success, its postcondition latched at its block', async () => {
    const [approve, liquidate] = [newHash(), newHash()]
    expect((await progress()).status).toBe('prepared')
    await register(0, approve)
    expect((await register(1, liquidate)).json.status).toBe('submitted')
    await mineNext(approve)
    expect((await progress()).status).toBe('submitted')
    await mineNext(liquidate, [facility(BORROWER, { debtShares: 450_000_000n })])
    const minedAt = headNumber()
    expect(await latchedAt()).toBe(minedAt)
    await finalise()
    expect(await latchedAt()).toBe(minedAt)
    const done = await progress()
    expect(done.status).toBe('final_success')
    expect(done.transactions.map((tx) => [tx.order, tx.status])).toEqual([
      [0, 'final_success'],
      [1, 'final_success'],
    ])
    expect(await announced()).toEqual(['submitted', 'mined', 'indexed', 'persisted_visible', 'final_success'])
  })

  it('is visible at its block and one block on, and final two blocks on, though nothing else changes', async () => {
    const hash = newHash()
    await register(1, hash)
    await mineNext(hash, [])
    expect((await progress()).status).toBe('persisted_visible')
    await block([])
    expect((await progress()).status).toBe('persisted_visible')
    await block([])
    expect((await progress()).status).toBe('final_success')
  })

  it('stays as it is while no node answers, and goes on with the block after, without a crash', async () => {
    const hash = newHash()
    await register(1, hash)
    f.canonical.setSilent(true)
    await mineNext(hash, [])
    expect((await progress()).status).toBe('submitted')
    f.canonical.setSilent(false)
    await finalise([])
    expect((await progress()).status).toBe('final_success')
    expect(f.crashes).toEqual([])
  })

  it('is visible but not final one share above its postcondition, and final at it', async () => {
    const hash = newHash()
    await register(1, hash)
    const bound = 900_000_000n - (450_000_000n * 9_999n) / 10_000n
    const above = [facility(BORROWER, { debtShares: bound + 1n })]
    await mineNext(hash, above)
    await finalise(above)
    expect((await progress()).status).toBe('persisted_visible')
    await block([facility(BORROWER, { debtShares: bound })])
    expect((await progress()).status).toBe('final_success')
  })

  it('is final when the facility is gone: nothing is owed', async () => {
    const hash = newHash()
    await register(1, hash)
    await mineNext(hash, [])
    await finalise([])
    expect((await progress()).status).toBe('final_success')
  })

  it('is mined, no further, while its block is ahead of the snapshot', async () => {
    const hash = newHash()
    await register(1, hash)
    f.canonical.mine(hash, f.canonical.snapshot().block.number + 2n)
    await block([])
    expect((await progress()).status).toBe('mined')
    await block([])
    expect((await progress()).status).toBe('persisted_visible')
    await finalise([])
    expect((await progress()).status).toBe('final_success')
  })

  it('does not take a postcondition that held before its transaction was mined', async () => {
    await register(1, newHash())
    await block([])
    expect(await progress()).toMatchObject({
      status: 'submitted',
      canonicalPostconditions: [{ satisfied: false }],
    })
  })

  it('fails when its transaction reverted, and comes back when a reorg undoes that', async () => {
    const hash = newHash()
    await register(1, hash)
    f.canonical.mine(hash, f.canonical.snapshot().block.number + 1n, 'reverted')
    await block()
    expect(await progress()).toMatchObject({ status: 'failed', transactions: [{ status: 'reverted' }] })
    f.canonical.mine(hash, null)
    await block()
    expect((await progress()).status).toBe('submitted')
    expect(await announced()).toEqual(['submitted', 'failed', 'submitted'])
  })

  it('falls back when a reorg drops its transaction, and is latched and counted anew at the new block', async () => {
    const hash = newHash()
    await register(1, hash)
    await mineNext(hash, [])
    await block([])
    expect((await progress()).status).toBe('persisted_visible')
    const latchedBefore = BigInt((await latchedAt()) ?? 0)
    f.canonical.mine(hash, null)
    await block(baseSnapshot.facilities, latchedBefore + 1n)
    expect(await progress()).toMatchObject({
      status: 'submitted',
      transactions: [{ status: 'submitted', blockNumber: null }],
    })
    expect(await latchedAt()).toBeNull()
    await mineNext(hash, [])
    expect(await latchedAt()).toBe((latchedBefore + 2n).toString())
    await block()
    expect((await progress()).status).toBe('persisted_visible')
    await block()
    expect((await progress()).status).toBe('final_success')
    expect(await latchedAt()).toBe((latchedBefore + 2n).toString())
  })

  it('is latched anew when a reorg one block deep puts its transaction one block on', async () => {
    const hash = newHash()
    await register(1, hash)
    await mineNext(hash, [])
    expect(await latchedAt()).toBe(headNumber())
    await mineNext(hash)
    expect((await progress()).status).toBe('persisted_visible')
    expect(await latchedAt()).toBeNull()
    await mineNext(hash, [])
    expect(await latchedAt()).toBe(headNumber())
  })

  it('stays final whatever the chain does afterwards', async () => {
    const hash = newHash()
    await register(1, hash)
    await mineNext(hash, [])
    await finalise()
    f.canonical.mine(hash, null)
    await block()
    expect((await progress()).status).toBe('final_success')
  })

  it('shows its postcondition at the block that a reorg past finality moved it to', async () => {
    const hash = newHash()
    await register(1, hash)
    await mineNext(hash, [])
    await finalise([])
    const done = await progress()
    expect(done.status).toBe('final_success')
    f.canonical.mine(hash, null)
    await block()
    await mineNext(hash, [])
    expect((await progress()).status).toBe('final_success')
    expect(await latchedAt()).toBe(headNumber())
  })

  it('goes on after a restart', async () => {
    const hash = newHash()
    await register(1, hash)
    await f.restart()
    expect((await progress()).status).toBe('submitted')
    await mineNext(hash, [])
    await f.restart()
    await finalise()
    expect((await progress()).status).toBe('final_success')
  })

  it('that was mined before it was registered moves without another block', async () => {
    const hash = newHash()
    f.canonical.mine(hash, f.canonical.snapshot().block.number)
    await register(1, hash)
    await f.service.idle()
    expect((await progress()).status).toBe('persisted_visible')
  })

  it('that was final on the chain before it was registered is final without another block', async () => {
    const hash = newHash()
    f.canonical.mine(hash, f.canonical.snapshot().block.number)
    await finalise([])
    await register(1, hash)
    await f.service.idle()
    expect((await progress()).status).toBe('final_success')
  })
})

describe('registration', () => {
  it('takes several hashes for one intent, each once', async () => {
    const [first, bumped] = [newHash(), newHash()]
    await register(1, first)
    await register(1, first)
    const answer = await register(1, bumped)
    expect(workflowProgress.parse(answer.json).transactions.map((tx) => tx.txHash)).toEqual([first, bumped])
    await mineNext(bumped, [])
    await finalise()
    expect((await progress()).transactions.map((tx) => tx.status)).toEqual(['submitted', 'final_success'])
  })

  it.each<[string, object]>([
    ['unknown_intent', { order: 2 }],
    ['unknown_chain', { chainId: 1 }],
    ['invalid_request', { txHash: '0x12' }],
    ['invalid_request', { order: -1 }],
    ['invalid_request', { surprise: 1 }],
  ])('is refused with %s for %j', async (code, changes) => {
    const body = { order: 1, chainId: CHAIN_ID, txHash: newHash(), ...changes }
    const answer = await f.post(`/v1/workflows/${requestId}/transactions`, body)
    expect([answer.status, answer.json.code]).toEqual([400, code])
  })

  it('is refused for a workflow that is not there, or that was blocked', async () => {
    const body = { order: 0, chainId: CHAIN_ID, txHash: newHash() }
    const missing = await f.post('/v1/workflows/wf_nothing/transactions', body)
    expect([missing.status, missing.json.code]).toEqual([400, 'not_found'])
    const blocked = await f.post('/v1/workflows/prepare', liquidation({ repayAssets: '500000001' }))
    const refused = await f.post(`/v1/workflows/${blocked.json.requestId}/transactions`, body)
    expect([refused.status, refused.json.code]).toEqual([400, 'unknown_intent'])
  })

  it('takes the hundredth transaction and refuses the next', async () => {
    for (let i = 0; i < 100; i += 1) expect((await register(1, newHash())).status).toBe(200)
    const answer = await register(1, newHash())
    expect([answer.status, answer.json.code]).toEqual([409, 'too_many_transactions'])
    const known = (await progress()).transactions[0]?.txHash
    expect((await register(1, known ?? '0x')).status).toBe(200)
  })

  it('shows in the transaction’s own progress, to a key', async () => {
    const hash = newHash()
    await register(1, hash)
    const path = `/v1/transactions/${CHAIN_ID}/${hash}`
    const answer = await f.get(path, secretHeaders)
    const [row] = answer.json.items as unknown[]
    expect(trackedTransaction.parse(row)).toMatchObject({
      requestId,
      order: 1,
      txHash: hash,
      status: 'submitted',
    })
    expect((await f.get(path)).status).toBe(401)
    expect((await f.get(`/v1/transactions/1/${hash}`, secretHeaders)).json.code).toBe('not_found')
    expect((await f.get(`/v1/transactions/${CHAIN_ID}/${newHash()}`, secretHeaders)).json.code).toBe(
      'not_found',
    )
    expect((await f.get(`/v1/transactions/${CHAIN_ID}/0x12`, secretHeaders)).json.code).toBe(
      'invalid_request',
    )
  })
})

describe('the records', () => {
  it('forget a workflow and its transactions after 30 days, and not a moment before', async () => {
    const own = await startFixture()
    try {
      const { json } = await own.post('/v1/workflows/prepare', liquidation())
      const path = `/v1/workflows/${json.requestId}`
      const body = { order: 0, chainId: CHAIN_ID, txHash: newHash() }
      await own.post(`${path}/transactions`, body)
      own.clock.advance(30 * 86_400_000)
      await own.post('/v1/workflows/prepare', liquidation())
      expect((await own.get(path, secretHeaders)).status).toBe(200)
      own.clock.advance(1)
      await own.post('/v1/workflows/prepare', liquidation())
      expect((await own.get(path, secretHeaders)).json.code).toBe('not_found')
      const db = new DatabaseSync(own.dbFile, { readOnly: true })
      expect(db.prepare('SELECT count(*) AS n FROM transactions').get()?.n).toBe(0)
      db.close()
    } finally {
      await own.stop()
    }
  })
})

describe('a wallet session', () => {
  it('prepares and reads for its own wallet only', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    const challenge = await f.post('/v1/wallet-sessions/challenges', {
      address: account.address,
      chainId: CHAIN_ID,
    })
    const signature = await account.signMessage({ message: String(challenge.json.message) })
    const confirm = await f.post('/v1/wallet-sessions/confirm', {
      challengeId: challenge.json.challengeId,
      signature,
    })
    const session = { 'x-svc-wallet-session': String(confirm.json.session) }
    const foreign = await f.post('/v1/workflows/prepare', liquidation(), {
      ...session,
      'idempotency-key': newKey(),
    })
    expect([foreign.status, foreign.json.code]).toEqual([403, 'foreign_principal'])
    const { principalAddress: _, ...own } = liquidation()
    const prepared = await f.post('/v1/workflows/prepare', own, session)
    expect((await f.get(`/v1/workflows/${prepared.json.requestId}`, session)).status).toBe(200)
    const other = await f.get(`/v1/workflows/${requestId}`, session)
    expect([other.status, other.json.code]).toEqual([403, 'foreign_workflow'])
    expect((await register(1, newHash(), session)).status).toBe(403)
    expect((await f.get(`/v1/workflows/${requestId}`)).status).toBe(401)
  })
})

describe('advance', () => {
  const tx = newHash()
  const condition = (entityId: string) => ({
    entityType: 'credit_facility',
    entityId,
    field: 'debtShares',
    expected: { op: 'lte', value: '10' } as const,
    satisfied: false,
    blockNumber: null,
  })
  const other = `0x${'9'.repeat(40)}` as const
  const record: WorkflowRecord = {
    requestId: 'wf_1',
    workflowType: 'role.liquidator.liquidate',
    applicationId: null,
    principal: null,
    status: 'submitted',
    intents: 1,
    postconditions: [condition(FACILITY_ID), condition(facilityEntityId(MARKET, VAULT, other))],
    createdMs: 0,
    failedBlock: null,
    transactions: [{ order: 0, hash: tx, status: 'submitted', blockNumber: null }],
  }
  const at = (number: bigint, shares: bigint, otherShares: bigint): Snapshot => ({
    ...baseSnapshot,
    block: { ...baseSnapshot.block, number },
    facilities: [facility(BORROWER, { debtShares: shares }), facility(other, { debtShares: otherShares })],
  })
  const minedAt = (blockNumber: bigint) => new Map([[tx, { blockNumber, status: 'success' as const }]])
  const half = advance(record, minedAt(11n), at(11n, 10n, 11n))

  it('keeps a postcondition that held once, until the others do', () => {
    expect(half.postconditions.map(({ satisfied, blockNumber }) => [satisfied, blockNumber])).toEqual([
      [true, '11'],
      [false, null],
    ])
    const visible = advance(half, minedAt(11n), at(12n, 11n, 10n))
    expect(visible.status).toBe('persisted_visible')
    const done = advance(visible, minedAt(11n), at(13n, 11n, 11n))
    expect(done.status).toBe('final_success')
    expect(done.postconditions.map(({ blockNumber }) => blockNumber)).toEqual(['11', '12'])
  })

  it.each([
    ['persisted_visible', 0n],
    ['persisted_visible', 1n],
    ['final_success', 2n],
    ['final_success', 3n],
  ])('says %s with %d blocks on top of the action, every postcondition true', (status, depth) => {
    expect(advance(record, minedAt(11n), at(11n + depth, 10n, 10n)).status).toBe(status)
  })

  it('says final success at no depth while a postcondition is not true', () => {
    expect(advance(record, minedAt(11n), at(99n, 10n, 11n)).status).toBe('persisted_visible')
  })

  it('judges every postcondition anew when a reorg moved the transaction', () => {
    const moved = advance(half, minedAt(12n), at(12n, 11n, 10n))
    expect(moved.postconditions.map(({ satisfied, blockNumber }) => [satisfied, blockNumber])).toEqual([
      [false, null],
      [true, '12'],
    ])
    const both = advance(half, minedAt(12n), at(12n, 10n, 10n))
    expect(both.postconditions.map(({ blockNumber }) => blockNumber)).toEqual(['12', '12'])
  })

  it('counts finality from the block that a reorg moved the transaction to', () => {
    const visible = advance(record, minedAt(11n), at(12n, 10n, 10n))
    const moved = advance(visible, minedAt(12n), at(13n, 10n, 10n))
    expect(moved.status).toBe('persisted_visible')
    expect(advance(moved, minedAt(12n), at(14n, 10n, 10n)).status).toBe('final_success')
  })

  it('judges postconditions anew where a reorg moved what was final already', () => {
    const done = advance(half, minedAt(11n), at(13n, 11n, 10n))
    const gone = advance(done, new Map(), at(13n, 11n, 11n))
    const moved = advance(gone, minedAt(14n), at(14n, 10n, 11n))
    expect([moved.status, ...moved.postconditions.map(({ blockNumber }) => blockNumber)]).toEqual([
      'final_success',
      '14',
      null,
    ])
    const again = advance(moved, minedAt(14n), at(15n, 10n, 10n))
    expect([again.status, ...again.postconditions.map(({ blockNumber }) => blockNumber)]).toEqual([
      'final_success',
      '14',
      '15',
    ])
  })

  it('never leaves final success', () => {
    const done = advance(half, minedAt(11n), at(13n, 11n, 10n))
    expect(done.status).toBe('final_success')
    expect(advance(done, new Map(), at(14n, 11n, 11n))).toBe(done)
  })
})
