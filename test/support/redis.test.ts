import { readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startRedis, type TestRedis } from './redis.ts'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis({ appendonly: 'yes', appendfsync: 'always' })
})
afterAll(() => redis.stop())

it('keeps what it acknowledged over a kill, on the same port and files', async () => {
  const client = redis.client()
  await client.set('kept', 'yes')
  const pid = redis.pid()
  await redis.kill()
  expect(() => process.kill(pid, 0)).toThrow()
  await redis.restart({ maxmemory: '50mb' })
  expect(await client.get('kept')).toBe('yes')
  expect(await client.config('GET', 'maxmemory', 'appendfsync')).toEqual(
    expect.arrayContaining([String(50 * 1_024 * 1_024), 'always']),
  )
  expect(await readdir(redis.directory)).toContain('appendonlydir')
})

it('answers nothing while it is paused, and all of it when it goes on', async () => {
  const client = redis.client()
  await client.ping()
  redis.pause()
  let isAnswered = false
  const answer = client.ping().then((said) => {
    isAnswered = true
    return said
  })
  await sleep(100)
  expect(isAnswered).toBe(false)
  redis.resume()
  expect(await answer).toBe('PONG')
})

it('is a replica of another', async () => {
  const replica = await startRedis({ replicaof: `127.0.0.1 ${redis.port}` })
  await redis.client().set('copied', 'yes')
  const client = replica.client()
  await expect.poll(() => client.get('copied')).toBe('yes')
  await replica.stop()
})

it('says in one line what is wrong with a setting', async () => {
  await expect(startRedis({ appendfsync: 'sometimes' })).rejects.toThrow(
    /ended at start: .*'appendfsync "sometimes"'/,
  )
})
