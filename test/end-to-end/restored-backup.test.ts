import { randomUUID } from 'node:crypto'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { lendingMarketAbi } from '../../sandbox/contracts/abis.ts'
import { readSqliteJournal } from '../../src/journal/sqlite.ts'
import { replyKey } from '../../src/keeper/submissions.ts'
import { type SignerOrder, writeSignerOrder } from '../../src/ops/orders.ts'
import { BTC } from '../sandbox/indexer/scene.ts'
import {
  createKeeperScene,
  type KeeperScene,
  reached,
  startTestKeeper,
  type TestKeeper,
} from '../support/keeper-scene.ts'

let world: KeeperScene
let running: TestKeeper | undefined
beforeAll(async () => {
  world = await createKeeperScene()
})
afterAll(async () => {
  await running?.keeper.stop({ drainMs: 0 })
  await world.stop()
})

const start = async () => {
  running = await startTestKeeper(world.config())
  return running
}
const stop = async () => {
  await running?.keeper.stop({ drainMs: 0 })
  running = undefined
}
const sent = () => world.scene.client.getTransactionCount({ address: world.signer })
const liquidations = () =>
  world.scene.client.getContractEvents({
    ...{ address: world.scene.at(BTC.market), abi: lendingMarketAbi, eventName: 'Liquidated', fromBlock: 0n },
  })

/** Give an order about the signer, and wait for what it comes to. */
async function order(verb: SignerOrder['verb']): Promise<string> {
  const { directory } = world.config()
  const id = randomUUID()
  writeSignerOrder(directory, id, { verb, signer: world.signer, yes: true })
  const journal = readSqliteJournal(directory)
  try {
    return await expect
      .poll(() => journal.getValue(replyKey(id)), { timeout: 10_000 })
      .not.toBeNull()
      .then(async () => String(await journal.getValue(replyKey(id))))
  } finally {
    await journal.close()
  }
}

it('sends nothing twice after a journal was restored from a backup, knows its own transactions, and is released', async () => {
  const { directory } = world.config()
  await start()
  await stop()
  cpSync(directory, join(world.directory, 'backup'), { recursive: true })

  await world.quickly(async () => {
    await world.openBorrower()
    await world.scene.price(BTC, '47000')
  })
  const first = await start()
  await first.until(reached('in_flight'))
  await first.until((event) => event.type === 'slot' && event.state === 'mined')
  await stop()
  const sentBefore = await sent()
  for (const end of ['', '-wal', '-shm']) rmSync(join(directory, `journal.sqlite${end}`), { force: true })
  cpSync(join(world.directory, 'backup', 'journal.sqlite'), join(directory, 'journal.sqlite'))

  const restored = await start()
  const alarm = await restored.until((event) => event.type === 'alarm' && event.code === 'signer.safe')
  expect(alarm).toMatchObject({ message: expect.stringContaining('journal_behind_watermark') })
  const ready = await restored.until((event) => event.type === 'ready')
  expect(await (await fetch(`${ready.type === 'ready' && ready.opsUrl}/readyz`)).text()).toContain(
    `"signers":{"ok":false,"message":"${world.signer.toLowerCase()} is SAFE (journal_behind_watermark)`,
  )
  await restored.until(reached('succeeded'))
  expect(await sent()).toBeGreaterThanOrEqual(sentBefore)
  expect(await liquidations()).toHaveLength(1)
  expect(await order('release')).toContain('Done.')
})
