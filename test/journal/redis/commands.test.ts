import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { move } from '../../../src/workflow/workflow.ts'
import { startRedis } from '../../support/redis.ts'
import { DURABLE, journalOf, newStore, takeSeat } from '../../support/redis-fleet.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const COMMANDS_MAX = 25

it('takes at most 25 commands for a workflow, from when it is opened until it ended, with a replica to wait for', async () => {
  const redis = await startRedis(DURABLE)
  const replica = await startRedis({ ...DURABLE, replicaof: `127.0.0.1 ${redis.port}` })
  const client = redis.client()
  do await client.incr('written')
  while ((await client.wait(1, 1_000)) < 1)
  const { store } = await newStore(redis.port, 1)
  const journal = await journalOf(await takeSeat(store, SIGNER), store)
  await journal.adoptNonce(CHAIN, SIGNER, 5)
  // The next nonce, a role's budget and the outbox are read once, when they are first asked for.
  await journal.nextNonce(CHAIN, SIGNER)
  await journal.spending('liquidator', [0], 'a')
  await journal.due(0, 32)
  await journal.barrier()
  const seen: string[] = []
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  // A plain socket: a client may take the first line for the answer to what it asked before.
  const monitor = connect(redis.port, '127.0.0.1')
  const lines = createInterface({ input: monitor })
  const begun = once(lines, 'line')
  monitor.write('MONITOR\r\n')
  expect(await begun).toEqual(['+OK'])
  // What a script does is `lua`; what it costs the network is the script.
  lines.on('line', (line) => {
    const [, source = '', command = ''] = /^\+\S+ \[\d+ (\S+)\] "(\w+)"/.exec(line) ?? []
    const name = command.toLowerCase()
    if (name === 'ping') resolve()
    else if (source !== 'lua' && name !== 'replconf') seen.push(name)
  })

  // As the keeper's pipeline asks for a liquidation with an approval, the transactions of which are mined in one block.
  expect(await journal.byOpportunity('a')).toBeNull()
  let workflow = workflowOf('discovered', { id: 'a', opportunity: 'a' })
  await journal.open(workflow)
  await journal.spending('liquidator', [0], 'a')
  for (const state of ['requested', 'prepared', 'attested', 'cleared'] as const) {
    if (state === 'prepared') await journal.barrier()
    expect(await journal.get('a')).toEqual(workflow)
    const next = move(workflow, state, 2)
    const written = state === 'attested' ? await journal.writeBound(next, 'r') : await journal.write(next)
    if (written === 'taken') throw new TypeError(written)
    workflow = written
  }
  const slots = [5, 6].map((nonce, index) =>
    slotOf({ index, nonce, attempts: [attemptOf({ digest: `0x${String(nonce).padStart(64, '0')}` })] }),
  )
  const ask = {
    workflowId: 'a',
    role: 'liquidator',
    atMs: 3,
    usdMicros: 5n,
    gasWei: 7n,
    reverted: false,
  }
  expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(5)
  const { revision } = await journal.spending('liquidator', [0], 'a')
  const claimed = await journal.claimWithin(move(workflow, 'in_flight', 3, { slots }), ask, revision)
  if (typeof claimed === 'string') throw new TypeError(claimed)
  const kind = 'transaction'
  await journal.ordered(
    slots.map(({ nonce, signer, attempts }) => ({
      digest: attempts[0]?.digest ?? '0x',
      kind,
      signer,
      workflowId: 'a',
      nonce,
      atMs: 3,
    })),
  )
  workflow = await journal.write({ ...claimed, slots })
  await journal.barrier()
  const rows = (['0x01', '0x02'] as const).map((hash, order) => ({
    workflowId: 'a',
    requestId: 'r',
    order,
    chainId: CHAIN,
    hash,
    dueAtMs: 4,
  }))
  await journal.post(rows)
  workflow = await journal.write({ ...workflow, slots })
  for (const { hash } of await journal.due(4, 32)) await journal.posted(hash)
  expect(await journal.due(5, 32)).toEqual([])
  await journal.post(rows)
  workflow = await journal.write({ ...workflow, slots })
  const final = slots.map((slot) => ({ ...slot, state: 'final' as const }))
  workflow = await journal.write({ ...workflow, slots: final })
  workflow = await journal.write(move(workflow, 'confirmed', 4), { ...ask, gasWei: 6n })
  workflow = await journal.write(move(workflow, 'succeeded', 5))
  expect(await journal.get('a')).toEqual(workflow)
  expect(await journal.live()).toEqual([])

  await client.ping()
  await ended
  expect(new Set(seen)).toEqual(new Set(['evalsha', 'wait', 'hget']))
  expect(seen.length).toBeGreaterThan(15)
  expect(seen.length).toBeLessThanOrEqual(COMMANDS_MAX)
  monitor.destroy()
  store.close()
  await replica.stop()
  await redis.stop()
})
