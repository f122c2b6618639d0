import { beforeEach, expect, it, onTestFinished } from 'vitest'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { areHeld, takeBack } from '../../../src/journal/watermark/take-back.ts'
import type { Mark } from '../../../src/journal/watermark/watermark.ts'
import type { Inclusion, Slot } from '../../../src/workflow/slot.ts'
import { newDirectory } from '../../support/directory.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const FIRST = attemptOf({ digest: `0x${'01'.repeat(32)}`, hash: `0x${'f1'.repeat(32)}`, state: 'sent' })
const BUMP = attemptOf({
  digest: `0x${'02'.repeat(32)}`,
  maxFeePerGasWei: 3_000_000_000n,
  state: 'sent',
  raw: '0x02',
  hash: `0x${'f2'.repeat(32)}`,
})
const INCLUSION: Inclusion = {
  hash: `0x${'f1'.repeat(32)}`,
  purpose: 'payload',
  blockNumber: 5n,
  blockHash: `0x${'b1'.repeat(32)}`,
  status: 'success',
  gasUsed: 80_000n,
  effectiveGasPriceWei: 1n,
  tokens: [],
}
const RESERVATION = {
  workflowId: 'w7',
  role: 'liquidator',
  atMs: 5,
  usdMicros: 1n,
  gasWei: 300n,
  reverted: false,
}
const mark: Mark = {
  type: 'attempt',
  workflowId: 'w7',
  chainId: 31_337,
  signer: SIGNER,
  nonce: 7,
  attempt: BUMP,
  reservation: RESERVATION,
}

let journal: Journal
beforeEach(() => {
  journal = openSqliteJournal(newDirectory())
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
    expect(await journal.ledgerEntry(BUMP.digest, SIGNER)).toMatchObject({ nonce: 7, workflowId: 'w7' })
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
    reservation: RESERVATION,
  }
  expect(await takeBack([late], journal)).toMatchObject([{ nonce: 7, workflowId: 'w7', taken: true }])
  expect(await journal.reservations('liquidator', 0)).toEqual([RESERVATION])
  expect(await journal.ledgerEntry(BUMP.digest, SIGNER)).toMatchObject({ nonce: 7, workflowId: 'w7' })
  expect((await slot())?.attempts.at(-1)).toMatchObject({ digest: BUMP.digest, state: 'ordered' })
})

it('leaves a slot that is closed by a no-op since as it is', async () => {
  const noop = attemptOf({ ...BUMP, digest: '0x03', purpose: 'noop' })
  const changes = { attempts: [FIRST, attemptOf({ ...BUMP, digest: '0x04' }), noop] }
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
  expect(await journal.ledgerEntry(BUMP.digest, SIGNER)).toMatchObject({ nonce: 7, workflowId: 'w7' })
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

const CHAIN = 31_337
const other = attemptOf({ digest: `0x${'0a'.repeat(32)}` })
const claimOf = (changes: Parameters<typeof workflowOf>[1]): Mark => ({
  type: 'claim',
  workflow: workflowOf('in_flight', { id: 'w7', ...changes }),
  reservation: null,
})

it('takes a claim back as it was ordered, with its budget: what was sent, and what is not final, is for the chain to say', async () => {
  const slots = [
    slotOf({ nonce: 7, state: 'final', inclusion: INCLUSION, attempts: [FIRST] }),
    slotOf({ index: 1, nonce: 8, state: 'mined', inclusion: INCLUSION, attempts: [BUMP] }),
  ]
  const workflow = workflowOf('in_flight', { id: 'w7', slots, version: 9 })
  const claim: Mark = { type: 'claim', workflow, reservation: RESERVATION }
  expect(await takeBack([claim], journal)).toEqual(
    [7, 8].map((nonce) => ({ signer: SIGNER, nonce, workflowId: 'w7', taken: true })),
  )
  const { raw: _raw, hash: _hash, ...ordered } = BUMP
  expect(await journal.get('w7')).toMatchObject({ state: 'in_flight', version: 1 })
  expect((await journal.get('w7'))?.slots).toEqual([
    slots[0],
    slotOf({ index: 1, nonce: 8, attempts: [{ ...ordered, state: 'ordered' }] }),
  ])
  expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(9)
  expect(await journal.reservations('liquidator', 0)).toMatchObject([{ gasWei: 300n }])
  for (const { digest } of [FIRST, BUMP]) expect(await journal.ledgerEntry(digest, SIGNER)).not.toBeNull()
  expect(await takeBack([claim], journal)).toEqual([])
})

it('goes over nonces that nobody claimed, and takes none below', async () => {
  await journal.adoptNonce(CHAIN, SIGNER, 3)
  expect(await takeBack([claimOf({ slots: [slotOf({})] })], journal)).toMatchObject([{ taken: true }])
  expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(8)
  const below = claimOf({ id: 'w5', opportunity: 'o5', slots: [slotOf({ nonce: 5, attempts: [other] })] })
  expect(await takeBack([below], journal)).toMatchObject([{ nonce: 5, taken: false }])
  expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(8)
})

it('takes no nonce that the chain has counted by now', async () => {
  await journal.adoptNonce(CHAIN, SIGNER, 9)
  expect(await takeBack([claimOf({ slots: [slotOf({})] })], journal)).toMatchObject([{ taken: false }])
  expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(9)
})

it('begins nothing again whose nonce the journal holds for another, and says what to look at', async () => {
  await restored({})
  const late = claimOf({
    id: 'w8',
    opportunity: 'o8',
    updatedAtMs: 99,
    slots: [slotOf({ attempts: [other] })],
  })
  expect(await takeBack([late], journal)).toEqual([
    { signer: SIGNER, nonce: 7, workflowId: 'w8', taken: false },
  ])
  expect(await journal.get('w8')).toMatchObject({
    state: 'quarantined',
    updatedAtMs: 99,
    slots: [],
    note: { check: 'sent_before_restore', message: expect.stringContaining('signer show') },
  })
  expect(await journal.ledgerEntry(other.digest, SIGNER)).toMatchObject({ nonce: 7, workflowId: 'w8' })
  expect(await takeBack([late], journal)).toEqual([])
})

it('leaves what ended, or has nonces of its own, as it is where a claim of it is lost', async () => {
  await restored({})
  const more = [slotOf({ attempts: [FIRST] }), slotOf({ index: 1, nonce: 3, attempts: [other] })]
  expect(await takeBack([claimOf({ slots: more })], journal)).toMatchObject([{ nonce: 3, taken: false }])
  expect(await journal.get('w7')).toMatchObject({ state: 'in_flight', slots: [{ nonce: 7 }] })
  const ended = workflowOf('cleared', { id: 'w8', opportunity: 'o8' })
  await journal.open(ended)
  await journal.write({ ...ended, state: 'cancelled' })
  const late = claimOf({ id: 'w8', opportunity: 'o8', slots: [slotOf({ attempts: [BUMP] })] })
  expect(await takeBack([late], journal)).toMatchObject([{ nonce: 7, taken: false }])
  expect(await journal.get('w8')).toMatchObject({ state: 'cancelled' })
})

it('takes what has no nonce back into the ledger', async () => {
  const entry = {
    digest: other.digest,
    kind: 'challenge' as const,
    signer: SIGNER,
    workflowId: null,
    nonce: null,
    atMs: 4,
  }
  const signIn: Mark = { type: 'digest', entry }
  expect(await takeBack([signIn], journal)).toMatchObject([{ workflowId: null, nonce: null, taken: true }])
  expect(await journal.ledgerEntry(other.digest, SIGNER)).toEqual(entry)
  expect(await takeBack([signIn], journal)).toEqual([])
})

it('knows the digests of what ended from its record, where the ledger has forgotten them', async () => {
  const ended = workflowOf('succeeded', {
    id: 'w7',
    slots: [slotOf({ attempts: [FIRST] })],
    attestation: { digest: other.digest },
  })
  const holding = (workflow: typeof ended, held: readonly string[] = []) => ({
    get: async () => workflow,
    ledgerEntry: async (digest: `0x${string}`) =>
      held.includes(digest)
        ? {
            digest,
            kind: 'typed_data' as const,
            signer: SIGNER,
            workflowId: 'w7',
            nonce: null,
            atMs: 1,
          }
        : null,
  })
  const all = [FIRST.digest, other.digest]
  expect(await areHeld(all, { workflowId: 'w7', signer: SIGNER }, holding(ended))).toBe(true)
  expect(await areHeld([...all, BUMP.digest], { workflowId: 'w7', signer: SIGNER }, holding(ended))).toBe(
    false,
  )
  expect(
    await areHeld([...all, BUMP.digest], { workflowId: 'w7', signer: SIGNER }, holding(ended, [BUMP.digest])),
  ).toBe(true)
  expect(await areHeld(all, { workflowId: null, signer: SIGNER }, holding(ended))).toBe(false)
  expect(
    await areHeld(all, { workflowId: 'w7', signer: SIGNER }, holding({ ...ended, state: 'in_flight' })),
  ).toBe(false)
  expect(
    await areHeld(all, { workflowId: 'w7', signer: SIGNER }, holding({ ...ended, state: 'in_flight' }, all)),
  ).toBe(true)
})

it('orders a bump again of a workflow that is not there for the ledger alone', async () => {
  expect(await takeBack([mark], journal)).toMatchObject([{ nonce: 7, workflowId: 'w7', taken: false }])
  expect(await journal.get('w7')).toBeNull()
  expect(await journal.ledgerEntry(BUMP.digest, SIGNER)).toMatchObject({ nonce: 7, workflowId: 'w7' })
})

it('orders the no-op that closed a slot again, also after another, and changes no other slot', async () => {
  const slots = [0, 1, 2].map((index) =>
    slotOf({ index, nonce: 7 + index, attempts: [attemptOf({ digest: `0x0${index}` })] }),
  )
  await journal.adoptNonce(CHAIN, SIGNER, 7)
  await journal.open(workflowOf('cleared', { id: 'w7' }))
  await journal.claim(workflowOf('in_flight', { id: 'w7', slots }), null)
  const noop = (of: number): Mark => ({
    type: 'attempt',
    workflowId: 'w7',
    chainId: CHAIN,
    signer: SIGNER,
    nonce: 8,
    attempt: attemptOf({ digest: `0x1${of}`, purpose: 'noop' }),
  })
  expect(await takeBack([noop(1), noop(2)], journal)).toMatchObject([{ taken: true }, { taken: true }])
  const [first, second, third] = (await journal.get('w7'))?.slots ?? []
  expect([first, third]).toEqual([slots[0], slots[2]])
  expect(second?.attempts.map(({ digest }) => digest)).toEqual(['0x01', '0x11', '0x12'])
})

it.each([
  ['a round that has nonces', { slots: [slotOf({ nonce: 6, attempts: [other] })] }, 1],
  ['a round that came later', { round: 2 }, 1],
  ['the same round', { id: 'w7', round: 1 }, 1],
] as const)('ends no %s', async (_which, changes, round) => {
  await journal.adoptNonce(CHAIN, SIGNER, 6)
  const held = workflowOf('requested', { id: 'w0', opportunity: 'o', ...changes, slots: [] })
  await journal.open(held)
  if ('slots' in changes) await journal.claim({ ...held, state: 'in_flight', slots: changes.slots }, null)
  const before = await journal.get(held.id)
  await takeBack([claimOf({ opportunity: 'o', round, slots: [slotOf({})] })], journal)
  expect((await journal.transitions(held.id)).map(({ state }) => state)).not.toContain('cancelled')
  if (held.id === 'w7') expect(await journal.get('w7')).toMatchObject({ state: 'in_flight' })
  else expect(await journal.get(held.id)).toEqual(before)
})
