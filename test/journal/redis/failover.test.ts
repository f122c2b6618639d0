import { expect, it } from 'vitest'
import { endpointOf } from '../../../src/config/redis.ts'
import { move } from '../../../src/workflow/workflow.ts'
import { startRedis, type TestRedis } from '../../support/redis.ts'
import { DURABLE, journalOf, newStore, openStore, takeSeat } from '../../support/redis-fleet.ts'
import { startRedisProxy } from '../../support/redis-proxy.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { SIGNER, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const cleared = (id: string) => workflowOf('cleared', { id, opportunity: id })
const reservation = { role: 'liquidator', atMs: 10, usdMicros: 5n, gasWei: 7n, reverted: false }

const followed = async (master: TestRedis, count: number) => {
  const client = master.client()
  while ((await client.wait(count, 1_000)) < count);
}

it('passes no barrier on a replica that lacks what was written before it, and goes on from the record', async () => {
  const master = await startRedis(DURABLE)
  const replica = await startRedis({ ...DURABLE, replicaof: `127.0.0.1 ${master.port}` })
  const third = await startRedis({ ...DURABLE, replicaof: `127.0.0.1 ${replica.port}` })
  const proxy = await startRedisProxy(master.port)
  const { config } = await newStore(master.port)
  await followed(master, 1)
  const endpoint = endpointOf(`redis://127.0.0.1:${proxy.port}/0`)
  const store = openStore({ ...config, endpoint, replicas: 1 })
  const held = await takeSeat(store)
  const journal = await journalOf(held, store)
  await journal.open(cleared('a'))
  await journal.spending('liquidator', [0], 'a')
  await journal.barrier()

  // From here on the replica learns nothing.
  await replica.client().replicaof('NO', 'ONE')
  const requested = await journal.write(move(cleared('a'), 'attested', 2))
  await journal.settle({ ...reservation, workflowId: 'a' })
  expect((await journal.spending('liquidator', [0], 'x')).rows).toHaveLength(1)
  await followed(replica, 1)
  await proxy.lead(replica.port)
  await master.kill()

  const lost = { code: 'seat.lost', retry: 'later', facts: { tail: true } }
  await expect(journal.barrier()).rejects.toMatchObject(lost)
  await expect(journal.write(move(requested, 'cleared', 3))).rejects.toMatchObject(lost)
  await expect(journal.adoptNonce(CHAIN, SIGNER, 5)).rejects.toMatchObject(lost)
  // Another writer of the same seat knows nothing that the record does not.
  const again = await journalOf(held, store)
  await again.barrier()
  expect(await again.get('a')).toMatchObject({ state: 'cleared', version: 0 })
  expect((await again.spending('liquidator', [0], 'x')).rows).toEqual([])
  await again.write(move(cleared('a'), 'attested', 3))
  await expect(journal.barrier()).rejects.toMatchObject(lost)

  store.close()
  await proxy.stop()
  for (const each of [master, replica, third]) await each.stop()
})

it('passes no barrier while its replica has heard nothing since the one before', async () => {
  const master = await startRedis(DURABLE)
  const replica = await startRedis({ ...DURABLE, replicaof: `127.0.0.1 ${master.port}` })
  const { config } = await newStore(master.port)
  await followed(master, 1)
  const store = openStore({ ...config, replicas: 1 })
  const journal = await journalOf(await takeSeat(store), store)
  await journal.barrier()
  const client = master.client()
  await client.incr('heard')
  while ((await client.wait(1, 1_000)) < 1);
  replica.pause()
  await expect(journal.barrier()).rejects.toMatchObject({ code: 'journal.not_replicated' })
  replica.resume()
  await journal.barrier()
  store.close()
  for (const each of [master, replica]) await each.stop()
})

it('judges by no reservation that a promoted replica lacks', async () => {
  const master = await startRedis(DURABLE)
  const proxy = await startRedisProxy(master.port)
  const { config } = await newStore(master.port)
  const [one, other] = [
    openStore({ ...config, endpoint: endpointOf(`redis://127.0.0.1:${proxy.port}/0`) }),
    openStore(config),
  ]
  const judging = await journalOf(await takeSeat(one, '0x01'), one)
  const reserving = await journalOf(await takeSeat(other, '0x02'), other)
  await judging.setValue('k', 'v')
  await judging.spending('liquidator', [0], 'x')
  const replica = await startRedis({ ...DURABLE, replicaof: `127.0.0.1 ${master.port}` })
  await followed(master, 1)
  await replica.client().replicaof('NO', 'ONE')
  await reserving.settle({ ...reservation, workflowId: 'b' })
  await reserving.open(workflowOf('discovered', { id: 'b', opportunity: 'b' }))
  expect((await judging.spending('liquidator', [0], 'x')).rows).toHaveLength(1)
  expect(await judging.ofRole('liquidator')).toHaveLength(1)
  await proxy.lead(replica.port)
  expect((await judging.spending('liquidator', [0], 'x')).rows).toEqual([])
  expect(await judging.ofRole('liquidator')).toEqual([])
  for (const store of [one, other]) store.close()
  await proxy.stop()
  for (const each of [master, replica]) await each.stop()
})

it('passes barriers again on a server that was restarted while their own line was lost without a word', async () => {
  const redis = await startRedis(DURABLE)
  const proxy = await startTcpProxy(redis)
  const { config } = await newStore(redis.port)
  const store = openStore({ ...config, endpoint: endpointOf(`redis://127.0.0.1:${proxy.port}/0`) })
  const journal = await journalOf(await takeSeat(store), store)
  await journal.barrier()

  proxy.loseLines()
  await redis.restart()
  // As a look does. Of the barriers' line nothing is heard.
  await store.read('PING')
  store.rely(store.runId())
  await journal.barrier()
  store.close()
  await Promise.all([proxy.stop(), redis.stop()])
})
