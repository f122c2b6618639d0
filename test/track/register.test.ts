import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RolekeeperError } from '../../src/errors.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { openSqliteJournal } from '../../src/journal/sqlite.ts'
import { type RegisterDeps, registerDue } from '../../src/track/register.ts'

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
  journal = openSqliteJournal(mkdtempSync(join(tmpdir(), 'register-')))
  nowMs = 1_000
  posts = []
  refused = []
  failure = null
  deps = {
    nowMs: () => nowMs,
    journal,
    post: async (requestId, key, body) => {
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
      const [row] = await journal.due(Number.MAX_SAFE_INTEGER)
      waits.push((row?.dueAtMs ?? 0) - nowMs)
      nowMs = row?.dueAtMs ?? 0
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
    nowMs -= 1
    await registerDue(deps)
    expect(posts).toHaveLength(9)
  })

  it('says what was refused, and asks again later all the same', async () => {
    await put(1)
    failure = new RolekeeperError('service.unauthorized', 'no')
    await registerDue(deps)
    expect(refused).toEqual([hash(0)])
    failure = null
    nowMs = 2_000
    await registerDue(deps)
    expect(await journal.due(Number.MAX_SAFE_INTEGER)).toEqual([])
  })

  it('tells of thirty-two at once, the longest due first, and of the rest at the next look', async () => {
    await put(33)
    await registerDue(deps)
    expect(posts).toHaveLength(32)
    await registerDue(deps)
    expect(posts[32]?.body).toMatchObject({ txHash: hash(32) })
  })
})
