import { randomUUID } from 'node:crypto'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { replyKey } from '../../src/ops/mail.ts'
import { type SignerOrder, writeSignerOrder } from '../../src/ops/orders.ts'
import { createKeeperScene, type KeeperScene, liquidationOf } from '../support/keeper-scene.ts'

let world: KeeperScene
beforeAll(async () => {
  world = await createKeeperScene()
})
afterAll(() => world.stop())

const sent = () => world.scene.client.getTransactionCount({ address: world.signer })

/** Give an order about the signer, and wait for what it comes to. */
async function order(verb: SignerOrder['verb']): Promise<string> {
  const { directory } = world.config()
  const id = randomUUID()
  writeSignerOrder(directory, id, { verb, signer: world.signer, yes: true })
  const journal = readSqliteJournal(directory)
  try {
    return await expect
      .poll(() => journal.getValue(replyKey(id)))
      .not.toBeNull()
      .then(async () => String(await journal.getValue(replyKey(id))))
  } finally {
    await journal.close()
  }
}

it('sends nothing twice after a journal was restored from a backup, knows its own transactions, and is released', async () => {
  const { directory } = world.config()
  await world.start()
  await world.rest()
  cpSync(directory, join(world.directory, 'backup'), { recursive: true })

  const borrower = await world.openUnderWater()
  const first = await world.start()
  await first.untilSlot(liquidationOf(borrower)('in_flight'), 'mined')
  await world.rest()
  const sentBefore = await sent()
  for (const end of ['', '-wal', '-shm']) rmSync(join(directory, `journal.sqlite${end}`), { force: true })
  cpSync(join(world.directory, 'backup', 'journal.sqlite'), join(directory, 'journal.sqlite'))

  const restored = await world.start()
  const alarm = await restored.until((event) => event.type === 'alarm' && event.code === 'signer.safe')
  expect(alarm).toMatchObject({ message: expect.stringContaining('journal_behind_watermark') })
  expect(JSON.parse(await restored.page('/readyz')).facets['signer/liquidator']).toMatchObject({
    state: 'failing',
    message: expect.stringContaining(`${world.signer.toLowerCase()} is SAFE (journal_behind_watermark)`),
  })
  await restored.until(liquidationOf(borrower)('succeeded'))
  expect(await sent()).toBeGreaterThanOrEqual(sentBefore)
  expect(await world.liquidated()).toEqual([borrower])
  expect(await order('release')).toContain('Done.')
})
