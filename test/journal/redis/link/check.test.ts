import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Endpoint, endpointOf } from '../../../../src/config/redis.ts'
import { RolekeeperError } from '../../../../src/errors.ts'
import { foundFleet } from '../../../../src/journal/redis/link/generation.ts'
import { keysOf } from '../../../../src/journal/redis/link/keys.ts'
import { readRedisJournal } from '../../../../src/journal/redis/open-reads.ts'
import { inOrder } from '../../../support/in-order.ts'
import { startRedis, type TestRedis } from '../../../support/redis.ts'
import { DURABLE, journalOf, newStore, openStore, storeAt, takeSeat } from '../../../support/redis-fleet.ts'
import { until } from '../../../support/until.ts'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis(DURABLE)
})
afterAll(() => redis.stop())

/** What connecting comes to. */
const refusal = async (endpoint: Partial<Endpoint>, replicas = 0): Promise<RolekeeperError> => {
  const config = storeAt(redis.port, 'main', replicas)
  const store = openStore({ ...config, endpoint: { ...config.endpoint, ...endpoint } })
  try {
    await store.connect()
  } catch (error) {
    if (error instanceof RolekeeperError) return error
    throw error
  } finally {
    store.close()
  }
  throw new TypeError('it connected')
}

inOrder('the start check of Redis', () => {
  it('refuses each setting that does not keep what was acknowledged, with the line to write', async () => {
    await foundFleet(storeAt(redis.port, 'main'))
    const client = redis.client()
    for (const [name, bad, good] of [
      ['appendonly', 'no', 'yes'],
      ['appendfsync', 'everysec', 'always'],
      ['no-appendfsync-on-rewrite', 'yes', 'no'],
      ['maxmemory-policy', 'allkeys-lru', 'noeviction'],
    ] as const) {
      await client.config('SET', name, bad)
      const { code, message, fix } = await refusal({})
      expect([code, message]).toEqual([
        'journal.redis_settings',
        expect.stringContaining(`\`${name} ${bad}\``),
      ])
      expect(fix).toContain(`write \`${name} ${good}\``)
      await client.config('SET', name, good)
    }
    await openStore(storeAt(redis.port, 'main')).connect()
  })

  it('asks for every fsync only where no replica acknowledges, and for as many replicas as are waited for', async () => {
    const replica = await startRedis({ ...DURABLE, replicaof: `127.0.0.1 ${redis.port}` })
    const client = redis.client()
    while ((await client.wait(1, 1_000)) !== 1);
    await client.config('SET', 'appendfsync', 'everysec')
    const store = openStore(storeAt(redis.port, 'main', 1))
    await store.connect()
    await (await journalOf(await takeSeat(store), store)).barrier()
    expect(await refusal({}, 2)).toMatchObject({
      code: 'journal.not_replicated',
      facts: { found: 1, wanted: 2 },
    })
    expect(await refusal({ port: replica.port }, 1)).toMatchObject({ code: 'journal.replica' })
    await client.config('SET', 'appendfsync', 'always')
    store.close()
    await replica.stop()
  })

  it('does not pass a barrier that a replica has not acknowledged', async () => {
    const replica = await startRedis({ ...DURABLE, replicaof: `127.0.0.1 ${redis.port}` })
    while ((await redis.client().wait(1, 1_000)) !== 1);
    const store = openStore(storeAt(redis.port, 'main', 1))
    const journal = await journalOf(await takeSeat(store), store)
    // A busy machine may take longer than a replica has.
    await until(() => journal.barrier())
    const { seq } = store.known()
    replica.pause()
    await expect(journal.barrier()).rejects.toMatchObject({
      code: expect.stringMatching(/^journal\.(not_replicated|unknown)$/),
      retry: 'later',
    })
    expect(store.known().seq).toBe(seq)
    replica.resume()
    await until(() => journal.barrier())
    expect(store.known().seq).toBeGreaterThan(seq)
    store.close()
    await replica.stop()
  })

  it('refuses another fleet, a later format, a database that is not there and one of nobody', async () => {
    const client = redis.client()
    const store = openStore(storeAt(redis.port, 'other'))
    await expect(store.connect()).rejects.toMatchObject({
      code: 'journal.not_founded',
      message: expect.stringContaining('no fleet other, but main'),
    })
    await expect(foundFleet(storeAt(redis.port, 'main'))).rejects.toMatchObject({ code: 'journal.founded' })
    await client.hset(keysOf('main').meta, 'format', 2)
    expect(await refusal({})).toMatchObject({ code: 'journal.version', facts: { format: 2 } })
    await client.hset(keysOf('main').meta, 'format', 1)
    expect(await refusal({ db: 99 })).toMatchObject({ code: 'journal.redis_database' })
    expect(await refusal({ db: 3 })).toMatchObject({ code: 'journal.not_founded' })
    expect(await refusal({ port: 1 })).toMatchObject({
      code: 'journal.unreachable',
      facts: { answer: 'ECONNREFUSED' },
    })
  })

  it('lets people read beside settings that are wrong, and keeps no scripts of theirs', async () => {
    const { store, config } = await newStore(redis.port)
    await (await journalOf(await takeSeat(store), store)).setValue('k', 'v')
    const client = redis.client()
    const scripts = async () => /number_of_cached_scripts:(\d+)/.exec(await client.info('memory'))?.[1]
    const before = await scripts()
    await client.config('SET', 'appendonly', 'no')
    const reads = readRedisJournal(config)
    expect(await reads.getValue('k')).toBe('v')
    expect(await scripts()).toBe(before)
    await client.config('SET', 'appendonly', 'yes')
    await reads.close()
    const other = readRedisJournal({ ...config, fleet: 'none' })
    await expect(other.live()).rejects.toMatchObject({ code: 'journal.not_founded' })
    await other.close()
    store.close()
  })

  it('refuses cluster mode', async () => {
    const cluster = await startRedis({ ...DURABLE, 'cluster-enabled': 'yes' })
    expect(await refusal({ port: cluster.port })).toMatchObject({ code: 'journal.redis_cluster' })
    await cluster.stop()
  })

  it('says that Redis is loading, and goes on when it has', async () => {
    const { store, config } = await newStore(redis.port)
    const journal = await journalOf(await takeSeat(store), store)
    // It looks at its lines after each 1,024 commands of the file.
    const client = redis.client()
    await Promise.all(Array.from({ length: 6_000 }, (_, index) => client.set(`k${index}`, 'v')))
    const restarted = redis.restart({ 'key-load-delay': '300' })
    await expect
      .poll(
        () =>
          openStore(config)
            .connect()
            .catch(({ code }) => code),
        { interval: 1 },
      )
      .toBe('journal.loading')
    await restarted
    await journal.setValue('k', 'v')
    expect(await journal.getValue('k')).toBe('v')
    store.close()
  })

  it('stops at once when its server becomes a replica', async () => {
    const { store } = await newStore(redis.port)
    const journal = await journalOf(await takeSeat(store), store)
    await journal.setValue('k', 'v')
    await redis.client().replicaof('127.0.0.1', 1)
    await expect(journal.setValue('k', 'w')).rejects.toMatchObject({ code: 'journal.replica' })
    await redis.client().replicaof('NO', 'ONE')
    await journal.setValue('k', 'w')
    store.close()
  })

  it('shows no password, neither a right one nor a wrong one, nor that of a URL', async () => {
    const client = redis.client()
    await client.acl('SETUSER', 'keeper', 'on', '>canary-right', '~*', '+@all', '-config')
    const wrong = await refusal({ username: 'keeper', password: () => 'canary-wrong' })
    expect(wrong).toMatchObject({ code: 'journal.refused', facts: { answer: 'WRONGPASS' } })
    const blind = await refusal({ username: 'keeper', password: () => 'canary-right' })
    expect(blind).toMatchObject({ code: 'journal.redis_settings', facts: { setting: 'CONFIG' } })
    await client.acl('SETUSER', 'keeper', '+config|get')
    const config = storeAt(redis.port, 'main')
    const access = { username: 'keeper', password: () => 'canary-right' }
    await openStore({ ...config, endpoint: { ...config.endpoint, ...access } }).connect()
    const inUrl = (() => {
      try {
        return endpointOf('redis://keeper:canary-url@127.0.0.1')
      } catch (error) {
        return error
      }
    })()
    expect(inUrl).toMatchObject({ code: 'journal.redis_url' })
    for (const error of [wrong, blind, inUrl]) expect(inspect(error, { depth: 9 })).not.toContain('canary')
    await client.acl('DELUSER', 'keeper')
  })
})

describe('the URL of a Redis', () => {
  it('names host, port and database', () => {
    expect(endpointOf('redis://redis')).toEqual({ host: 'redis', port: 6_379, db: 0 })
    expect(endpointOf('redis://[::1]:7000/4')).toEqual({ host: '::1', port: 7_000, db: 4 })
    expect(endpointOf('rediss://redis', { ca: 'PEM' })).toMatchObject({ ca: 'PEM' })
  })

  it('is refused where it is none of ours', () => {
    for (const [url, found] of [
      ['redis', 'no URL'],
      ['http://redis', 'neither redis: nor rediss:'],
      ['redis:///0', 'a host'],
      ['redis://redis/zero', 'no database'],
      ['redis://redis?password=x', 'a host'],
      ['redis://:x@redis', 'a password'],
      ['rediss://redis', 'no CA'],
    ] as const) {
      expect(() => endpointOf(url)).toThrow(found)
    }
    expect(() => endpointOf('redis://redis', { ca: 'PEM' })).toThrow('asks for no TLS')
  })
})
