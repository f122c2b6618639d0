import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { RolekeeperError } from '../../../src/errors.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { createSigners, readSafe } from '../../../src/pipeline/transactions/safe.ts'
import { newDirectory } from '../../support/directory.ts'
import { SIGNER } from '../../support/workflows.ts'

const OTHER = `0x${'52'.repeat(20)}` as const
const CHAIN = 31_337
const reason = {
  check: 'nonce_used_elsewhere',
  message: 'The chain counts more than we hold.',
  seen: 'count 9 at block 4',
  toLeave: 'prove that nobody else has the key',
}

const createWorld = async (directory = newDirectory()) => {
  const world = { nowMs: 1_000, alarms: [] as string[], writes: Promise.resolve() }
  const journal = openSqliteJournal(directory)
  const signers = await createSigners([SIGNER, OTHER], {
    nowMs: () => world.nowMs,
    chainId: CHAIN,
    journal: {
      getValue: journal.getValue.bind(journal),
      setValue: async (...value) => {
        await world.writes
        await journal.setValue(...value)
      },
    },
    alarm: (error) => void world.alarms.push(error.message),
  })
  return { world, journal, signers, directory }
}

it('makes one signer SAFE, says what leaves it, and keeps it over a restart', async () => {
  const { world, journal, signers, directory } = await createWorld()
  signers.safe(SIGNER, reason)
  expect(signers.reasonsOf(SIGNER)).toEqual([{ ...reason, atMs: 1_000 }])
  expect(signers.reasonsOf(OTHER)).toEqual([])
  expect(world.alarms).toEqual([
    `${SIGNER} is SAFE (nonce_used_elsewhere): The chain counts more than we hold. Seen: count 9 at block 4. Fix: prove that nobody else has the key; then \`rolekeeper signer release ${SIGNER} --yes\`.`,
  ])
  await journal.close()
  const again = await createWorld(directory)
  expect(again.signers.reasonsOf(SIGNER)).toEqual([{ ...reason, atMs: 1_000 }])
  await again.journal.close()
})

it('has one reason for each check and workflow, as it was seen first, and alarms with what is seen now', async () => {
  const { world, journal, signers } = await createWorld()
  signers.safe(SIGNER, reason)
  world.nowMs = 2_000
  signers.safe(SIGNER, { ...reason, seen: 'count 10 at block 5' })
  expect(world.alarms.at(-1)).toContain('Seen: count 10 at block 5.')
  signers.safe(SIGNER, { ...reason, check: 'three_strikes', workflowId: 'a' })
  signers.safe(SIGNER, { ...reason, check: 'three_strikes', workflowId: 'b' })
  const [first, second, third] = signers.reasonsOf(SIGNER)
  expect(first).toEqual({ ...reason, atMs: 1_000 })
  expect([second?.workflowId, third?.workflowId]).toEqual(['a', 'b'])
  if (second !== undefined) signers.leave(SIGNER, second)
  await nextTurn()
  expect(await readSafe(journal, CHAIN, SIGNER)).toEqual([first, third])
  await journal.close()
})

it('keeps it once the record is back, however often the record refused it', async () => {
  const { world, journal, signers } = await createWorld()
  world.writes = Promise.reject(new RolekeeperError('journal.unreachable', 'x', { retry: 'later' }))
  world.writes.catch(() => undefined)
  signers.safe(SIGNER, reason)
  signers.safe(SIGNER, { ...reason, check: 'nonce_taken' })
  await nextTurn()
  expect(signers.reasonsOf(SIGNER)).toHaveLength(2)
  expect(await readSafe(journal, CHAIN, SIGNER)).toEqual([])
  world.writes = Promise.resolve()
  // As the desk says of each signer that stays SAFE.
  signers.safe(SIGNER, reason)
  await nextTurn()
  expect(await readSafe(journal, CHAIN, SIGNER)).toEqual(signers.reasonsOf(SIGNER))
  await journal.close()
})

it('writes one word after another, so that none that was late is the last', async () => {
  const { world, journal, signers } = await createWorld()
  const first = Promise.withResolvers<void>()
  world.writes = first.promise
  signers.safe(SIGNER, reason)
  world.writes = Promise.resolve()
  signers.safe(SIGNER, { ...reason, check: 'nonce_taken' })
  await nextTurn()
  expect(await readSafe(journal, CHAIN, SIGNER)).toEqual([])
  first.resolve()
  await nextTurn()
  expect(await readSafe(journal, CHAIN, SIGNER)).toEqual(signers.reasonsOf(SIGNER))
  await journal.close()
})

it('says of a reason what is in doubt now, since it was first seen', async () => {
  const { world, journal, signers } = await createWorld()
  signers.safe(SIGNER, reason)
  world.nowMs = 2_000
  const more = { ...reason, message: 'And workflow 7 relied on it.', seen: 'block 9' }
  signers.safe(SIGNER, more)
  await nextTurn()
  expect(await readSafe(journal, CHAIN, SIGNER)).toEqual([{ ...more, atMs: 1_000 }])
  await journal.close()
})

it('orders no release of what the keeper leaves by itself', async () => {
  const { world, journal, signers } = await createWorld()
  signers.safe(SIGNER, { ...reason, check: 'not_compared', toLeave: 'the nodes answer' })
  expect(world.alarms.at(-1)).toMatch(/ Fix: the nodes answer\.$/)
  await journal.close()
})
