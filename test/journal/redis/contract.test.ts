import { afterAll, beforeAll } from 'vitest'
import { readRedisJournal } from '../../../src/journal/redis/open-reads.ts'
import { startRedis, type TestRedis } from '../../support/redis.ts'
import { DURABLE, journalOf, newStore, takeSeat } from '../../support/redis-fleet.ts'
import { describeJournal } from '../contract.ts'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis(DURABLE)
})
afterAll(() => redis.stop())

describeJournal('the Redis journal', async () => {
  const { store, config } = await newStore(redis.port)
  const open = async () => journalOf(await takeSeat(store), store)
  return { open, reopen: open, reader: async () => readRedisJournal(config) }
})
