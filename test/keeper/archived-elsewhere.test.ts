import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { openProposal } from '../../src/decide/open.ts'
import type { RedisStore } from '../../src/journal/redis/link/store.ts'
import { fillNonce } from '../../src/keeper/signer/fill-nonce.ts'
import { readNonceCounts } from '../../src/keeper/signer/nonce-counts.ts'
import { unheldAt } from '../../src/keeper/signer/plans.ts'
import { takenBy } from '../../src/pipeline/transactions/safe.ts'
import type { Slot } from '../../src/workflow/slot.ts'
import { move, type Workflow } from '../../src/workflow/workflow.ts'
import { receiptOf } from '../support/carry-world.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE, journalOf, newStore, takeSeat } from '../support/redis-fleet.ts'
import { attemptOf, FEE_POLICY, proposalOf, SIGNER, slotOf, workflowOf } from '../support/workflows.ts'

const CHAIN = 31_337
const LATER = 1_000_000
const opener = { role: 'liquidator', chainId: CHAIN, signer: SIGNER, shadow: false } as const
type Kept = Awaited<ReturnType<typeof journalOf>>

let redis: TestRedis
let store: RedisStore
/** The journals of two machines, each with an archive of its own, that hold the seat one after the other. */
let before: Kept
let now: Kept
beforeAll(async () => {
  redis = await startRedis(DURABLE)
})
afterAll(() => redis.stop())
beforeEach(async () => {
  store = (await newStore(redis.port)).store
  before = await journalOf(await takeSeat(store), store)
})
afterEach(() => store.close())

/** The other machine archives all that ended, and loses the seat. */
const moveOn = async () => {
  expect(await before.archiveSlice(LATER, 0)).toBeNull()
  now = await journalOf(await takeSeat(store), store)
}
const opened = async (journal: Kept, nowMs: number) => {
  const alarm = () => undefined
  return openProposal(proposalOf(), opener, { nowMs: () => nowMs, journal, alarm })
}
const begun = async (): Promise<Workflow> => {
  const result = await opened(before, 1_000)
  if (!result.ok) throw new TypeError(result.message)
  return result.workflow
}
const digestOf = (nonce: number) => `0x${String(nonce).padStart(64, '0')}` as const
const fillDeps = (): Parameters<typeof fillNonce>[3] => ({
  nowMs: () => LATER,
  chainId: CHAIN,
  journal: now,
  baseFeePerGasWei: () => 1n,
  fillerOf: () => ({ role: 'liquidator', workflowType: 'role.liquidator.liquidate', fees: FEE_POLICY }),
  noopGas: () => 21_000n,
  onFilled: () => undefined,
})
/** Claim a nonce, and be over with it. */
const done = async (workflow: Workflow, nonce: number, state: Workflow['state']): Promise<void> => {
  const slot: Slot = slotOf({ nonce, attempts: [attemptOf({ digest: digestOf(nonce) })] })
  const claimed = await before.claim({ ...workflow, state: 'in_flight', slots: [slot] }, null)
  if (claimed === 'lost') throw new TypeError(claimed)
  await before.write({ ...claimed, state, updatedAtMs: 2_000, slots: [{ ...slot, state: 'final' }] })
}

it('does no opportunity again that ended in the archive of another machine', async () => {
  await before.adoptNonce(CHAIN, SIGNER, 5)
  await done(await begun(), 5, 'succeeded')
  await moveOn()
  expect(await opened(now, LATER)).toMatchObject({ ok: false, check: 'already_done' })
  while (await now.forgetSlice(LATER));
  expect(await opened(now, LATER)).toMatchObject({ ok: false, check: 'already_done' })
})

it('tries one again that was refused there, as the round after it', async () => {
  await before.write(move(await begun(), 'refused', 2_000, { note: { check: 'x', message: 'y' } }))
  await moveOn()
  expect(await opened(now, 2_001)).toMatchObject({ ok: false, check: 'backing_off' })
  expect(await opened(now, LATER)).toMatchObject({ ok: true, workflow: { round: 1 } })
})

it('takes no nonce for unheld whose workflow another machine has archived, and puts nothing in its place', async () => {
  await before.adoptNonce(CHAIN, SIGNER, 5)
  for (const nonce of [5, 6, 7]) {
    const workflow = workflowOf('cleared', { id: `w${nonce}`, opportunity: `of w${nonce}` })
    await before.open(workflow)
    await done(workflow, nonce, 'succeeded')
  }
  await moveOn()
  // Nodes that all show the chain as it was days ago, as after a snapshot.
  const nodes = {
    chainId: CHAIN,
    head: async () => block,
    finalized: async () => block,
    transactionCount: async () => 6,
  }
  const block = { number: 9n, hash: '0x09', parentHash: '0x08', timestampS: 0, baseFeePerGasWei: 1n } as const
  const standing = { next: 8, unheld: [], ahead: [6, 7] }
  expect(await readNonceCounts(SIGNER, { nodes, journal: now })).toMatchObject(standing)
  expect(await now.byNonce(CHAIN, SIGNER, 6)).toBe('archived')

  while (await now.forgetSlice(LATER));
  expect(await store.read('HGET', store.keys.nonces(CHAIN, SIGNER), 6)).toBeNull()
  expect(await readNonceCounts(SIGNER, { nodes, journal: now })).toMatchObject(standing)
  expect(await now.byNonce(CHAIN, SIGNER, 8)).toBeNull()
  const filled = await fillNonce(SIGNER, 6, unheldAt(SIGNER, 6), fillDeps())
  expect(filled).toMatchObject({ ok: false, check: 'nonce_held' })
})

it('remembers what had a nonce before for as long as a live workflow has something else there', async () => {
  await before.adoptNonce(CHAIN, SIGNER, 5)
  await done(await begun(), 5, 'succeeded')
  await moveOn()
  const filling = { ...unheldAt(SIGNER, 5), instead: 'the one before' }
  const filled = await fillNonce(SIGNER, 5, filling, fillDeps())
  if (!filled.ok) throw new TypeError(filled.message)
  const mined = {
    from: SIGNER,
    nonce: 5,
    digest: digestOf(5),
    receipt: receiptOf('0x01'),
    maxFeePerGasWei: 1n,
    maxPriorityFeePerGasWei: 1n,
  }
  const doubt = () =>
    takenBy({ hash: '0x01', ...mined }, { nonce: 5, signer: SIGNER }, filled.workflow.id, now)

  while (await now.forgetSlice(LATER));
  // Theirs it would be without the ledger: and SAFE for a key that nobody else has.
  expect(await doubt()).toMatchObject({ check: 'landed_after_all' })
  const closed = filled.workflow.slots.map((slot) => ({ ...slot, state: 'final' as const }))
  await now.write({ ...filled.workflow, state: 'cancelled', slots: closed })
  while (await now.forgetSlice(LATER + 86_400_000));
  expect(await now.ledgerEntry(digestOf(5), SIGNER)).toBeNull()
})
