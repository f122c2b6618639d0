import { expect, it } from 'vitest'
import { move } from '../../../src/workflow/workflow.ts'
import { startRedis } from '../../support/redis.ts'
import { DURABLE, journalOf, newStore, takeSeat } from '../../support/redis-fleet.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const COMMANDS_MAX = 25

it('takes at most 25 commands for a workflow, from when it is opened until it ended', async () => {
  const redis = await startRedis(DURABLE)
  const { store } = await newStore(redis.port)
  const journal = await journalOf(await takeSeat(store), store)
  await journal.adoptNonce(CHAIN, SIGNER, 5)
  // A role's budget is read once, when it first asks.
  await journal.spending('liquidator', [0], 'a')
  await journal.barrier()
  const client = redis.client()
  await client.ping()
  const monitor = await client.monitor()
  const seen: string[] = []
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  // What a script does is `lua`; what it costs the network is the script.
  monitor.on('monitor', (_time: string, [command = '']: string[], source: string) => {
    if (command.toLowerCase() === 'ping') resolve()
    else if (source !== 'lua') seen.push(command.toLowerCase())
  })

  // As the keeper's pipeline asks for a liquidation with an approval: so its calls were counted in test/keeper.
  expect(await journal.byOpportunity('a')).toBeNull()
  let workflow = workflowOf('discovered', { id: 'a', opportunity: 'a' })
  await journal.open(workflow)
  for (const state of ['requested', 'prepared', 'attested', 'cleared'] as const) {
    await journal.nextNonce(CHAIN, SIGNER)
    if (state === 'prepared') await journal.barrier()
    expect(await journal.get('a')).toEqual(workflow)
    workflow = await journal.write(move(workflow, state, 2))
  }
  const slots = [5, 6].map((nonce, index) =>
    slotOf({ index, nonce, attempts: [attemptOf({ digest: `0x${String(nonce).padStart(64, '0')}` })] }),
  )
  const ask = {
    ...{ workflowId: 'a', role: 'liquidator', atMs: 3, usdMicros: 5n, gasWei: 7n, reverted: false },
  }
  await journal.spending('liquidator', [0], 'a')
  const { revision } = await journal.spending('liquidator', [0], 'a')
  const claimed = await journal.claimWithin(move(workflow, 'in_flight', 3, { slots }), ask, revision)
  if (typeof claimed === 'string') throw new TypeError(claimed)
  await journal.ordered(
    slots.map(({ nonce, signer, attempts }) => ({
      ...{
        digest: attempts[0]?.digest ?? '0x',
        kind: 'transaction',
        signer,
        workflowId: 'a',
        nonce,
        atMs: 3,
      },
    })),
  )
  workflow = await journal.write({ ...claimed, slots })
  await journal.barrier()
  for (const hash of ['0x01', '0x02'] as const) {
    workflow = await journal.write({ ...workflow, slots })
    await journal.post([{ workflowId: 'a', requestId: 'r', order: 0, chainId: CHAIN, hash, dueAtMs: 1 }])
    await journal.posted(hash)
  }
  const final = slots.map((slot) => ({ ...slot, state: 'final' as const }))
  workflow = await journal.write({ ...workflow, slots: final })
  workflow = await journal.write(move(workflow, 'confirmed', 4), { ...ask, gasWei: 6n })
  workflow = await journal.write(move(workflow, 'succeeded', 5))
  expect(await journal.live()).toEqual([])

  await client.ping()
  await ended
  expect(new Set(seen)).toEqual(new Set(['evalsha', 'hget']))
  expect(seen.length).toBeGreaterThan(15)
  expect(seen.length).toBeLessThanOrEqual(COMMANDS_MAX)
  monitor.disconnect()
  store.close()
  await redis.stop()
})
