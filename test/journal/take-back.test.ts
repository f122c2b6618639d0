import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import type { Journal } from '../../src/journal/journal.ts'
import { openSqliteJournal } from '../../src/journal/sqlite.ts'
import { takeBack } from '../../src/journal/take-back.ts'
import type { Mark } from '../../src/journal/watermark.ts'
import type { Inclusion, Slot } from '../../src/workflow/slot.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../support/workflows.ts'

const FIRST = attemptOf({ digest: `0x${'01'.repeat(32)}`, hash: `0x${'f1'.repeat(32)}`, state: 'sent' })
const BUMP = attemptOf({
  ...{ digest: `0x${'02'.repeat(32)}`, maxFeePerGasWei: 3_000_000_000n, state: 'sent', raw: '0x02' },
  hash: `0x${'f2'.repeat(32)}`,
})
const INCLUSION: Inclusion = {
  ...{ hash: `0x${'f1'.repeat(32)}`, purpose: 'payload', blockNumber: 5n, blockHash: `0x${'b1'.repeat(32)}` },
  ...{ status: 'success', gasUsed: 80_000n, effectiveGasPriceWei: 1n, tokens: [] },
}
const mark: Mark = {
  ...{ type: 'attempt', workflowId: 'w7', chainId: 31_337, signer: SIGNER, nonce: 7, attempt: BUMP },
  reservation: {
    workflowId: 'w7',
    role: 'liquidator',
    atMs: 5,
    usdMicros: 1n,
    gasWei: 300n,
    reverted: false,
  },
}

let journal: Journal
beforeEach(() => {
  journal = openSqliteJournal(mkdtempSync(join(tmpdir(), 'take-back-')))
  onTestFinished(() => journal.close())
})

/** What a restored journal holds at nonce 7. */
async function restored(changes: Partial<Slot>): Promise<void> {
  await journal.adoptNonce(31_337, SIGNER, 7)
  await journal.open(workflowOf('cleared', { id: 'w7' }))
  const slots = [slotOf({ attempts: [FIRST], ...changes })]
  expect(await journal.claim(workflowOf('in_flight', { id: 'w7', slots }), null)).not.toBe('lost')
}
const slot = async () => (await journal.get('w7'))?.slots[0]

it.each<[string, Partial<Slot>]>([
  ['mined', { state: 'mined', inclusion: INCLUSION }],
  ['final', { state: 'final', inclusion: INCLUSION }],
  ['lost to another', { state: 'final', consumedByOther: true }],
])(
  'takes a later bump back where the older journal holds its slot %s, as it was before a reorg',
  async (_, held) => {
    await restored(held)
    expect(await takeBack([mark], journal)).toMatchObject([{ nonce: 7, workflowId: 'w7', taken: true }])
    // Open again, so that the bump is looked for by its digest: nothing says that it was ever signed.
    const { raw: _raw, hash: _hash, ...ordered } = BUMP
    expect(await slot()).toEqual(slotOf({ attempts: [FIRST, { ...ordered, state: 'ordered' }] }))
    expect(await journal.ledgerEntry(BUMP.digest)).toMatchObject({ nonce: 7, workflowId: 'w7' })
    expect(await journal.reservations('liquidator', 0)).toMatchObject([{ workflowId: 'w7', gasWei: 300n }])
    expect(await takeBack([mark], journal)).toEqual([])
  },
)

it('carries a workflow again that the older journal holds confirmed, and that a reorg opened again before its bump', async () => {
  await restored({ state: 'final', inclusion: INCLUSION })
  const workflow = await journal.get('w7')
  if (workflow === null) throw new TypeError('none')
  await journal.write({ ...workflow, state: 'confirmed' })
  expect(await takeBack([mark], journal)).toMatchObject([{ nonce: 7, taken: true }])
  expect(await journal.get('w7')).toMatchObject({ state: 'in_flight', slots: [{ state: 'open' }] })
})

it('takes a later bump back out of a claim that was written as it stood by then', async () => {
  await restored({})
  const slots = [slotOf({ attempts: [FIRST, BUMP] })]
  const late: Mark = {
    type: 'claim',
    workflow: workflowOf('in_flight', { id: 'w7', slots }),
    reservation: null,
  }
  expect(await takeBack([late], journal)).toMatchObject([{ nonce: 7, workflowId: 'w7', taken: true }])
  expect(await journal.ledgerEntry(BUMP.digest)).toMatchObject({ nonce: 7, workflowId: 'w7' })
  expect((await slot())?.attempts.at(-1)).toMatchObject({ digest: BUMP.digest, state: 'ordered' })
})

it('leaves a slot that is closed by a no-op since as it is', async () => {
  const changes = { attempts: [FIRST, attemptOf({ ...BUMP, digest: '0x03', purpose: 'noop' })] }
  await restored(changes)
  expect(await takeBack([mark], journal)).toMatchObject([{ nonce: 7, taken: false }])
  expect(await slot()).toEqual(slotOf(changes))
  expect(await takeBack([mark], journal)).toEqual([])
})

it('leaves a workflow that has ended as it is', async () => {
  await restored({ state: 'final', inclusion: INCLUSION })
  const workflow = await journal.get('w7')
  if (workflow === null) throw new TypeError('none')
  await journal.write({ ...workflow, state: 'succeeded' })
  expect(await takeBack([mark], journal)).toMatchObject([{ nonce: 7, taken: false }])
  expect(await slot()).toMatchObject({ state: 'final', attempts: [FIRST] })
  // It is in the ledger, so that it is not lost again at each start once a person has looked.
  expect(await journal.ledgerEntry(BUMP.digest)).toMatchObject({ nonce: 7, workflowId: 'w7' })
  expect(await takeBack([mark], journal)).toEqual([])
})

it('ends what was under way of an opportunity of which a later round had claimed nonces', async () => {
  await journal.adoptNonce(31_337, SIGNER, 7)
  await journal.open(workflowOf('requested', { id: 'w0', opportunity: 'o', round: 0 }))
  const workflow = workflowOf('in_flight', { id: 'w7', opportunity: 'o', round: 1, slots: [slotOf({})] })
  const claim: Mark = { type: 'claim', workflow, reservation: null }
  expect(await takeBack([claim], journal)).toMatchObject([{ nonce: 7, taken: true }])
  expect(await journal.get('w0')).toMatchObject({
    state: 'cancelled',
    note: { check: 'ended_before_restore' },
  })
  expect((await journal.live()).map(({ id }) => id)).toEqual(['w7'])
})
