import { describe, expect, it } from 'vitest'
import type { OutboxRow } from '../../../../src/journal/journal.ts'
import { Outbox } from '../../../../src/journal/redis/records/outbox.ts'

const rowOf = (hash: `0x${string}`, dueAtMs = 1): OutboxRow => ({
  workflowId: 'a',
  requestId: 'r',
  order: 0,
  chainId: 1,
  hash,
  tries: 0,
  dueAtMs,
})
const written = async () => {}

/** What Redis has, and how often it was read. */
function stored(rows: readonly OutboxRow[]) {
  const redis = { rows, reads: 0, meanwhile: async () => {} }
  const read = async (limit: number) => {
    redis.reads += 1
    const found = redis.rows.slice(0, limit)
    await redis.meanwhile()
    return found
  }
  return { redis, read }
}

describe('what is known of an outbox', () => {
  it('is read once, and follows what is written', async () => {
    const { redis, read } = stored([rowOf('0x01')])
    const outbox = new Outbox()
    expect(await outbox.due(1, 9, read)).toEqual([rowOf('0x01')])
    await outbox.post([rowOf('0x02', 3), rowOf('0x03', 2)], written)
    await outbox.posted('0x01', written)
    await outbox.postpone('0x02', 5, written)
    expect(await outbox.due(4, 9, read)).toEqual([rowOf('0x03', 2)])
    expect(await outbox.due(5, 9, read)).toEqual([rowOf('0x03', 2), { ...rowOf('0x02', 5), tries: 1 }])
    expect(await outbox.due(5, 1, read)).toEqual([rowOf('0x03', 2)])
    expect(redis.reads).toBe(1)
  })

  it('is read again after a write without an answer, and that is written again', async () => {
    const { redis, read } = stored([])
    const outbox = new Outbox()
    await outbox.due(1, 9, read)
    const lost = async () => {
      redis.rows = [rowOf('0x01')]
      throw new TypeError('no answer')
    }
    await expect(outbox.post([rowOf('0x01')], lost)).rejects.toThrow('no answer')
    expect(await outbox.due(1, 9, read)).toEqual([rowOf('0x01')])
    let writes = 0
    for (let times = 0; times < 2; times += 1) {
      await outbox.post([rowOf('0x01')], async () => {
        writes += 1
      })
    }
    expect(writes).toBe(1)
  })

  it('is read again where something was written while it was read', async () => {
    const { redis, read } = stored([])
    const outbox = new Outbox()
    redis.meanwhile = () =>
      outbox.post([rowOf('0x01')], async () => {
        redis.rows = [rowOf('0x01')]
      })
    expect(await outbox.due(1, 9, read)).toEqual([])
    redis.meanwhile = written
    expect(await outbox.due(1, 9, read)).toEqual([rowOf('0x01')])
  })

  it('is read each time while there is more than is asked for', async () => {
    const { redis, read } = stored([rowOf('0x01'), rowOf('0x02')])
    const outbox = new Outbox()
    await outbox.due(1, 2, read)
    redis.rows = [rowOf('0x02')]
    expect(await outbox.due(1, 2, read)).toEqual([rowOf('0x02')])
  })
})
