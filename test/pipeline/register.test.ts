import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RolekeeperError } from '../../src/errors.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { type RegisterDeps, registerDue, registrations } from '../../src/pipeline/register.ts'
import { newDirectory } from '../support/directory.ts'
import { attemptOf, proposalOf, slotOf, workflowOf } from '../support/workflows.ts'

let journal: Journal
let nowMs: number
let posts: { readonly requestId: string; readonly key: string; readonly body: unknown }[]
let refused: string[]
let failure: Error | null
let deps: RegisterDeps
const hash = (index: number) => `0x${String(index).padStart(64, '0')}` as const
const put = (count: number) =>
  journal.post(
    Array.from({ length: count }, (_, index) => ({
      workflowId: 'w',
      requestId: 'r',
      order: index,
      chainId: 1,
      hash: hash(index),
      dueAtMs: index,
    })),
  )

beforeEach(() => {
  journal = openSqliteJournal(newDirectory())
  nowMs = 1_000
  posts = []
  refused = []
  failure = null
  deps = {
    nowMs: () => nowMs,
    journal,
    post: async ({ requestId }, key, body) => {
      posts.push({ requestId, key, body })
      if (failure !== null) throw failure
    },
    onRefused: (refusedHash) => refused.push(refusedHash),
  }
})
afterEach(() => journal.close())

describe('registering', () => {
  it('tells the service once of each transaction', async () => {
    await put(1)
    await registerDue(deps)
    await registerDue(deps)
    const body = { order: 0, chainId: 1, txHash: hash(0) }
    expect(posts).toEqual([{ requestId: 'r', key: '0'.repeat(32), body }])
  })

  it('tries again after one second, then two, and at most once a minute', async () => {
    await put(1)
    failure = new RolekeeperError('service.unreachable', 'down', { retry: 'later' })
    const waits: number[] = []
    for (let tries = 0; tries < 9; tries += 1) {
      await registerDue(deps)
      const [row] = await journal.due(Number.MAX_SAFE_INTEGER, 10)
      waits.push((row?.dueAtMs ?? 0) - nowMs)
      nowMs = row?.dueAtMs ?? 0
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
    nowMs -= 1
    await registerDue(deps)
    expect(posts).toHaveLength(9)
  })

  it('tells at once of what an hour of a clock that was set back stands before, and no sooner of the rest', async () => {
    await put(2)
    failure = new RolekeeperError('service.unreachable', 'down', { retry: 'later' })
    nowMs += 3_600_000
    await registerDue(deps)
    nowMs -= 3_600_000
    await registerDue(deps)
    expect(posts).toHaveLength(4)
    await registerDue(deps)
    expect(posts).toHaveLength(4)
    nowMs += 2_000
    await registerDue(deps)
    expect(posts).toHaveLength(6)
  })

  it('says what was refused, and asks again later all the same', async () => {
    await put(1)
    failure = new RolekeeperError('service.unauthorized', 'no')
    await registerDue(deps)
    expect(refused).toEqual([hash(0)])
    failure = null
    nowMs = 2_000
    await registerDue(deps)
    expect(await journal.due(Number.MAX_SAFE_INTEGER, 10)).toEqual([])
  })

  it('tells of thirty-two at once, the longest due first, and of the rest at the next look', async () => {
    await put(33)
    await registerDue(deps)
    expect(posts).toHaveLength(32)
    await registerDue(deps)
    expect(posts[32]?.body).toMatchObject({ txHash: hash(32) })
  })
})

describe('what is registered', () => {
  const inclusion = (of: `0x${string}`) => ({
    hash: of,
    purpose: 'payload' as const,
    blockNumber: 1n,
    blockHash: hash(9),
    status: 'success' as const,
    gasUsed: 1n,
    effectiveGasPriceWei: 1n,
  })

  it('is every payload of an intent that a node has, also one whose sending was never recorded', () => {
    const sent = attemptOf({ state: 'sent', raw: '0x01', hash: hash(1) })
    const bumped = attemptOf({ state: 'sent', raw: '0x02', hash: hash(2) })
    const landed = attemptOf({ state: 'signed', raw: '0x03', hash: hash(3) })
    const waiting = attemptOf({ state: 'signed', raw: '0x04', hash: hash(4) })
    const closed = attemptOf({ state: 'sent', purpose: 'noop', raw: '0x05', hash: hash(5) })
    const workflow = workflowOf('in_flight', {
      slots: [
        slotOf({ index: 0, attempts: [sent, bumped] }),
        slotOf({ index: 1, attempts: [landed], state: 'mined', inclusion: inclusion(hash(3)) }),
        slotOf({ index: 2, attempts: [waiting, closed] }),
        slotOf({ index: 3, kind: 'revoke', attempts: [sent] }),
      ],
    })
    const told = registrations(workflow, 7).map(({ order, hash: of, dueAtMs }) => ({ order, of, dueAtMs }))
    expect(told).toEqual([
      { order: 0, of: hash(1), dueAtMs: 7 },
      { order: 0, of: hash(2), dueAtMs: 7 },
      { order: 1, of: hash(3), dueAtMs: 7 },
    ])
    const own = { ...workflow, proposal: proposalOf({ workflowType: 'own.liquidator.sell' }) }
    expect(registrations(own, 7)).toEqual([])
  })
})
