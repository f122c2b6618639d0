import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { leavePlace } from '../../src/cli/target/place.ts'
import { foundFleet } from '../../src/journal/redis/link/generation.ts'
import { openRedisJournal } from '../../src/journal/redis/redis.ts'
import { Archive } from '../../src/journal/sqlite/archive.ts'
import { archiveFile, openArchiveDatabase } from '../../src/journal/sqlite/database.ts'
import { Records } from '../../src/journal/sqlite/records.ts'
import { move } from '../../src/workflow/workflow.ts'
import { runCommand, writeFleetConfig } from '../support/commands.ts'
import { newDirectory } from '../support/directory.ts'
import { inOrder } from '../support/in-order.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE, openStore, storeAt, takeSeat } from '../support/redis-fleet.ts'
import { SIGNER, workflowOf } from '../support/workflows.ts'

const PASSWORD = 'known-to-nobody'
const ENV = { REDIS_PASSWORD: PASSWORD }
const LIVE = 'a'.repeat(64)
const OLD = 'b'.repeat(64)
let redis: TestRedis
let file: string
const here = newDirectory()

beforeAll(async () => {
  redis = await startRedis({ ...DURABLE })
  const bare = storeAt(redis.port, 'main')
  await foundFleet(bare)
  file = writeFleetConfig({
    port: redis.port,
    fleet: 'main',
    directory: here,
    password: 'env:REDIS_PASSWORD',
  })
  const store = openStore({ ...bare, instance: 'two' })
  const there = newDirectory()
  const onFailed = (failure: Error) => {
    throw failure
  }
  const archive = new Archive(new Records(openArchiveDatabase(there), archiveFile(there), onFailed))
  const held = await takeSeat(store, SIGNER)
  const journal = await openRedisJournal(held, { store, archive, onControls: () => undefined })
  await journal.open(workflowOf('cleared', { id: LIVE, opportunity: 'live', createdAtMs: 2_000 }))
  const old = workflowOf('cleared', { id: OLD, opportunity: 'old', createdAtMs: 1_000 })
  await journal.open(old)
  await journal.write(move(old, 'refused', 1_500, { note: { check: 'too_old', message: 'x' } }))
  await journal.adoptNonce(31_337, SIGNER, 7)
  await journal.addDecisions([
    { role: 'liquidator', subject: '0xabcd:1', atMs: 3, check: 'too_small', message: 'is.', reason: {} },
  ])
  await journal.archiveSlice(5_000, 0)
  store.close()
  await redis.client().config('SET', 'requirepass', PASSWORD)
})
afterAll(() => redis.stop())

const run = (...args: readonly string[]) => runCommand(args, ENV)

inOrder('what a fleet shows to who reads it', () => {
  it('reads a whole fleet by its configuration alone, with nothing else of it in the environment', async () => {
    const list = await run('workflows', 'list', '--config', file)
    expect(list).toMatchObject({ code: 0, err: expect.stringContaining('archives of two') })
    expect(list.out).toContain(LIVE.slice(0, 8))
    expect((await run('workflows', 'show', 'aaa', '--config', file)).out).toContain('liquidator')
    expect((await run('explain', '0xabcd', '--config', file)).out).toContain('too_small')
    expect((await run('shadow', '--config', file)).out).toBe('Nothing ended in shadow yet.\n')
    expect((await run('signer', 'show', '--config', file)).out).toContain('at work  next nonce 7')
  })

  it('says which instance has what another machine archived', async () => {
    expect(await run('workflows', 'show', OLD, '--config', file)).toEqual({
      code: 1,
      out: '',
      err: `error journal.archived: Workflow ${OLD} ended long ago, and its record is in the archive of the instance two. Fix: give the same command on the machine of two.\n`,
    })
    expect((await run('workflows', 'show', 'cccc', '--config', file)).err).toContain('archives of two')
  })

  it('finds the fleet from what its instance left in the directory, and loses it when that works alone', async () => {
    leavePlace({ directory: here, fleet: { instance: 'one' } }, file)
    expect((await run('workflows', 'list', '--directory', here)).out).toContain(LIVE.slice(0, 8))
    leavePlace({ directory: here }, file)
    expect((await run('workflows', 'list', '--directory', here)).err).toContain('journal.absent')
  })

  it('says in a line what is wrong with where it looks', async () => {
    const list = (...args: readonly string[]) => run('workflows', 'list', ...args)
    expect(await list('--config', file, '--directory', here)).toMatchObject({ code: 2 })
    const other = writeFleetConfig({ port: redis.port, fleet: 'mian', password: 'env:REDIS_PASSWORD' })
    expect((await list('--config', other)).err).toContain('This Redis has no fleet mian, but main.')
    const bare = await runCommand(['workflows', 'list', '--config', file])
    expect(bare).toMatchObject({ code: 2, err: expect.stringContaining('REDIS_PASSWORD is not set') })
    const wrong = await runCommand(['workflows', 'list', '--config', file], { REDIS_PASSWORD: 'guessed' })
    expect(wrong).toMatchObject({
      code: 1,
      err: expect.stringContaining('correct the user name and the password'),
    })
    expect(wrong.err).not.toContain('guessed')
    writeFileSync(join(here, 'fleet.json'), '{}')
    expect((await list('--directory', here)).err).toContain('--config')
  })
})
