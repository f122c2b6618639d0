import { beforeEach, describe, expect, it } from 'vitest'
import type { Journal, JournalReads, Reservation, Spent } from '../../src/journal/journal.ts'
import { usedBy } from '../../src/workflow/uses.ts'
import { move } from '../../src/workflow/workflow.ts'
import { attemptOf, SIGNER, slotOf, TOKEN, workflowOf } from '../support/workflows.ts'

/** Where journals of one kind are kept, empty at first. */
export type JournalHouse = {
  readonly open: () => Promise<Journal>
  /** Close the journal, and open it again from what it kept. */
  readonly reopen: () => Promise<Journal>
  /** As another process reads it. */
  readonly reader: () => Promise<JournalReads>
}

const CHAIN = 31_337
const discovered = (id: string, opportunity = id) => workflowOf('discovered', { id, opportunity })
const inFlight = (id: string, nonces: readonly number[]) =>
  workflowOf('in_flight', {
    id,
    opportunity: id,
    slots: nonces.map((nonce, index) =>
      slotOf({ index, nonce, attempts: [attemptOf({ digest: `0x${String(nonce).padStart(64, '0')}` })] }),
    ),
  })
const reservation = (workflowId: string, usdMicros = 5n) => ({
  workflowId,
  role: 'liquidator' as const,
  atMs: 10,
  usdMicros,
  gasWei: 7n,
  reverted: false,
})

/** Hold a kind of journal to what every journal does. */
export function describeJournal(name: string, build: () => Promise<JournalHouse>): void {
  let house: JournalHouse
  let journal: Journal
  beforeEach(async () => {
    house = await build()
    journal = await house.open()
  })

  describe(name, () => {
    it('opens one workflow for one opportunity and round', async () => {
      expect(await journal.open(discovered('a', 'opp'))).toBe('opened')
      expect(await journal.open(discovered('b', 'opp'))).toBe('exists')
      expect(await journal.open({ ...discovered('b', 'opp'), round: 1 })).toBe('opened')
      expect((await journal.byOpportunity('opp'))?.id).toBe('b')
    })

    it('says of an opportunity what its newest round has come to, at every step of it', async () => {
      const first = { ...discovered('a', 'opp'), createdAtMs: 5, updatedAtMs: 5 }
      await journal.open(first)
      const begun = { id: 'a', round: 0, state: 'discovered', hasClaimed: false, refusedSinceMs: 5 }
      expect(await journal.byOpportunity('opp')).toEqual({ ...begun, updatedAtMs: 5 })
      await journal.write({ ...first, state: 'refused', updatedAtMs: 6, note: { check: 'x', message: 'y' } })
      expect(await journal.byOpportunity('opp')).toEqual({
        ...begun,
        state: 'refused',
        updatedAtMs: 6,
        check: 'x',
      })
      const second = {
        ...inFlight('b', [3]),
        opportunity: 'opp',
        round: 1,
        claimedRounds: 2,
        refusedSinceMs: 9,
      }
      await journal.open(second)
      const again = { id: 'b', round: 1, hasClaimed: true, claimedRounds: 2, refusedSinceMs: 9 }
      expect(await journal.byOpportunity('opp')).toMatchObject({ ...again, state: 'in_flight' })
      await journal.write({ ...second, state: 'succeeded' })
      expect(await journal.byOpportunity('opp')).toMatchObject({ ...again, state: 'succeeded' })
      expect(await journal.byOpportunity('another')).toBeNull()
    })

    it('binds a request of the service’s to the first workflow that is written for it, for good', async () => {
      for (const id of ['a', 'b']) await journal.open(discovered(id))
      const [first, second] = [discovered('a'), discovered('b')]
      const written = await Promise.all(
        ['wf-1', 'wf-1'].map((request, at) => journal.writeBound(at === 0 ? first : second, request)),
      )
      expect(written).toEqual([{ ...first, version: first.version + 1 }, 'taken'])
      expect(await journal.get('b')).toEqual(second)
      await journal.barrier()
      journal = await house.reopen()
      expect(await journal.writeBound(second, 'wf-1')).toBe('taken')
      const again = await journal.get('a')
      if (again === null) throw new TypeError('a workflow')
      expect(await journal.writeBound(again, 'wf-1')).toMatchObject({ id: 'a' })
      expect(await journal.writeBound(second, 'wf-2')).toMatchObject({ id: 'b' })
    })

    it('gives a record back as it was, bigints too', async () => {
      const workflow = inFlight('a', [3])
      await journal.open(workflow)
      expect(await journal.get('a')).toEqual(workflow)
    })

    it('writes what changed of a record, however much of it was written before', async () => {
      const workflow = inFlight('a', [3])
      await journal.open(workflow)
      const [slot] = workflow.slots
      if (slot === undefined) throw new TypeError('no slot')
      const later = await journal.write({ ...workflow, slots: [{ ...slot, state: 'mined' }], strikes: 2 })
      await journal.barrier()
      const reader = await house.reader()
      expect(await reader.get('a')).toEqual(later)
      await reader.close()
    })

    it('fails the caller alone whose version is old', async () => {
      const workflow = discovered('a')
      await journal.open(workflow)
      const first = journal.write(move(workflow, 'requested', 2))
      const second = journal.write(move(workflow, 'refused', 2))
      await expect(first).resolves.toMatchObject({ state: 'requested', version: 1 })
      await expect(second).rejects.toMatchObject({ code: 'journal.conflict' })
      await journal.barrier()
      expect((await journal.get('a'))?.state).toBe('requested')
    })

    it('is durable after a barrier, for a reader of the same files', async () => {
      await journal.open(discovered('a'))
      await journal.barrier()
      const reader = await house.reader()
      expect((await reader.get('a'))?.id).toBe('a')
      await reader.close()
    })

    it('gives the newest of one role, however busy another is', async () => {
      const at = (id: string, role: string, createdAtMs: number) =>
        journal.open({ ...discovered(id, id), role, createdAtMs })
      await at('a', 'allocator', 1)
      await at('b', 'allocator', 2)
      for (let count = 0; count < 5; count += 1) await at(`l${count}`, 'liquidator', 10 + count)
      expect((await journal.newestOf('allocator', 5)).map(({ id }) => id)).toEqual(['b', 'a'])
      expect(await journal.newestOf('liquidator', 2)).toHaveLength(2)
    })

    it('keeps every state with its time', async () => {
      const workflow = discovered('a')
      await journal.open(workflow)
      const requested = await journal.write(move(workflow, 'requested', 20))
      await journal.write(move(requested, 'refused', 30, { note: { check: 'x', message: 'y' } }))
      expect(await journal.transitions('a')).toEqual([
        { state: 'discovered', atMs: 1_000 },
        { state: 'requested', atMs: 20 },
        { state: 'refused', atMs: 30, note: { check: 'x', message: 'y' } },
      ])
      expect(await journal.live()).toEqual([])
    })

    it('forgets a change that its caller lost, in memory as on disk', async () => {
      const workflow = workflowOf('cleared', { id: 'a', opportunity: 'a' })
      await journal.open(workflow)
      await journal.adoptNonce(CHAIN, SIGNER, 5)
      expect(await journal.claim({ ...inFlight('a', [5, 7]), version: 0 }, reservation('a'))).toBe('lost')
      await expect(journal.write({ ...workflow, version: 9 })).rejects.toMatchObject({
        code: 'journal.conflict',
      })
      expect(await journal.live()).toEqual([workflow])
      expect(await journal.byNonce(CHAIN, SIGNER, 5)).toBeNull()
      expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(5)
    })

    it('gives a nonce to one claim only, gapless, and writes nothing for the loser', async () => {
      await journal.adoptNonce(CHAIN, SIGNER, 5)
      for (const id of ['a', 'b', 'c']) await journal.open(workflowOf('cleared', { id, opportunity: id }))
      expect(await journal.claim(inFlight('a', [5, 6]), reservation('a'))).toMatchObject({ version: 1 })
      expect(await journal.claim(inFlight('b', [5]), reservation('b'))).toBe('lost')
      expect(await journal.claim(inFlight('c', [8]), reservation('c'))).toBe('lost')
      expect((await journal.get('b'))?.state).toBe('cleared')
      expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(7)
      expect(await journal.byNonce(CHAIN, SIGNER, 6)).toMatchObject({ id: 'a' })
      expect(await journal.byNonce(CHAIN, SIGNER, 7)).toBeNull()
      expect((await journal.reservations('liquidator', 0)).map((row) => row.workflowId)).toEqual(['a'])
    })

    it('lets a workflow claim one more nonce for a revocation', async () => {
      await journal.adoptNonce(CHAIN, SIGNER, 5)
      await journal.open(workflowOf('cleared', { id: 'a', opportunity: 'a' }))
      const claimed = await journal.claim(inFlight('a', [5]), reservation('a'))
      if (claimed === 'lost') throw new Error('lost')
      const more = { ...claimed, slots: [...claimed.slots, slotOf({ index: 1, kind: 'revoke', nonce: 6 })] }
      expect(await journal.claim(more, null)).toMatchObject({ version: 2 })
      expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(7)
    })

    it('never lowers the next nonce to one that is held', async () => {
      await journal.adoptNonce(CHAIN, SIGNER, 7)
      await journal.open(discovered('a'))
      await journal.claim(inFlight('a', [7, 8]), null)
      await journal.adoptNonce(CHAIN, SIGNER, 1_000_000)
      await journal.adoptNonce(CHAIN, SIGNER, 4)
      expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(9)
    })

    it('lets a nonce that nobody holds be taken once, and only to close it', async () => {
      await journal.adoptNonce(CHAIN, SIGNER, 9)
      const fill = (id: string, closing?: string) =>
        workflowOf('in_flight', {
          id,
          opportunity: id,
          slots: [slotOf({ nonce: 7, ...(closing === undefined ? {} : { closing }) })],
        })
      for (const id of ['a', 'b', 'c']) await journal.open(discovered(id))
      expect(await journal.claim(fill('a'), null)).toBe('lost')
      expect(await journal.claim(fill('b', 'nonce_unheld'), null)).not.toBe('lost')
      expect(await journal.claim(fill('c', 'nonce_unheld'), null)).toBe('lost')
      expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(9)
      expect(await journal.byNonce(CHAIN, SIGNER, 7)).toMatchObject({ id: 'b' })
    })

    it('lets a nonce of a workflow that ended be taken over, and only to close it', async () => {
      await journal.adoptNonce(CHAIN, SIGNER, 7)
      for (const id of ['a', 'b', 'c']) await journal.open(discovered(id))
      const held = await journal.claim(inFlight('a', [7]), null)
      if (held === 'lost') throw new TypeError('lost')
      const fill = (id: string, closing?: string) =>
        workflowOf('in_flight', {
          id,
          opportunity: id,
          slots: [slotOf({ nonce: 7, ...(closing === undefined ? {} : { closing }) })],
        })
      expect(await journal.claim(fill('b', 'final_lost'), null)).toBe('lost')
      await journal.write({ ...held, state: 'succeeded' })
      expect(await journal.claim(fill('b'), null)).toBe('lost')
      expect(await journal.claim(fill('b', 'final_lost'), null)).not.toBe('lost')
      expect(await journal.claim(fill('c', 'final_lost'), null)).toBe('lost')
      expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(8)
      expect(await journal.byNonce(CHAIN, SIGNER, 7)).toMatchObject({ id: 'b' })
    })

    it('holds the digest of every attempt that was written', async () => {
      await journal.adoptNonce(CHAIN, SIGNER, 5)
      await journal.open(workflowOf('cleared', { id: 'a', opportunity: 'a' }))
      await journal.claim(inFlight('a', [5]), reservation('a'))
      expect(await journal.ledgerEntry(`0x${'5'.padStart(64, '0')}`, SIGNER)).toMatchObject({
        nonce: 5,
        workflowId: 'a',
      })
      expect(await journal.ledgerEntry(`0x${'6'.padStart(64, '0')}`, SIGNER)).toBeNull()
    })

    it('holds one digest for each of two keys that order the same at one nonce', async () => {
      // What is signed has no sender in it: the same call, nonce and fees are the same bytes.
      const [digest, other] = [`0x${'5'.padStart(64, '0')}` as const, `0x${'Ab'.repeat(20)}` as const]
      const entry = { digest, kind: 'transaction' as const, nonce: 5, atMs: 1 }
      const [theirs, ours] = [
        { ...entry, signer: other, workflowId: 'b' },
        { ...entry, signer: SIGNER, workflowId: 'a' },
      ]
      await journal.enterDigest(theirs)
      await journal.adoptNonce(CHAIN, SIGNER, 5)
      await journal.open(workflowOf('cleared', { id: 'a', opportunity: 'a' }))
      expect(await journal.claim(inFlight('a', [5]), reservation('a'))).not.toBe('lost')
      await journal.enterDigest(theirs)
      await journal.ordered([theirs, ours])
      expect(await journal.ledgerEntry(digest, SIGNER)).toMatchObject({ workflowId: 'a' })
      expect(await journal.ledgerEntry(digest, other)).toMatchObject({ workflowId: 'b' })
      expect(await journal.ledgerEntry(digest, TOKEN)).toBeNull()
      for (const wrong of [
        { ...ours, workflowId: 'b' },
        { ...theirs, workflowId: 'a' },
      ]) {
        await expect(journal.ordered([wrong])).rejects.toThrow('does not hold the digest')
      }
    })

    it('keeps an outbox row until it is posted, and never takes it again', async () => {
      const row = {
        workflowId: 'a',
        requestId: 'r',
        order: 0,
        chainId: CHAIN,
        hash: '0x01' as const,
        dueAtMs: 10,
      }
      await journal.post([row])
      expect(await journal.due(9, 10)).toEqual([])
      expect(await journal.due(10, 10)).toEqual([{ ...row, tries: 0 }])
      await journal.postpone('0x01', 50)
      expect(await journal.due(49, 10)).toEqual([])
      expect(await journal.due(50, 10)).toEqual([{ ...row, tries: 1, dueAtMs: 50 }])
      await journal.posted('0x01')
      await journal.post([row])
      expect(await journal.due(1_000, 10)).toEqual([])
    })

    it('finds decisions by a part of their subject, newest first', async () => {
      const row = {
        role: 'liquidator' as const,
        subject: 'm:v:b',
        atMs: 1,
        check: 'x',
        message: 'm',
        reason: { a: '1' },
      }
      await journal.addDecisions([row, { ...row, subject: 'm:v:c' }, { ...row, check: 'y' }])
      expect((await journal.decisions('V:B', 10)).map((each) => each.check)).toEqual(['y', 'x'])
      expect(await journal.decisions('m:v', 1)).toHaveLength(1)
      await journal.addDecisions([{ ...row, subject: 'recoveryFund:custodian' }])
      expect(await journal.decisions('recoveryFund', 10)).toHaveLength(1)
    })

    it('takes a reservation with a write, in one step: a write that conflicts reserves nothing', async () => {
      await journal.adoptNonce(CHAIN, SIGNER, 5)
      await journal.open(inFlight('a', []))
      const claimed = await journal.claim(inFlight('a', [5]), reservation('a'))
      if (claimed === 'lost') throw new TypeError('lost')
      await expect(journal.write({ ...claimed, version: 0 }, reservation('a', 6n))).rejects.toThrow(
        'another writer',
      )
      expect(await journal.reservations('liquidator', 0)).toMatchObject([{ usdMicros: 5n }])
      await journal.write(claimed, reservation('a', 9n))
      expect(await journal.reservations('liquidator', 0)).toMatchObject([{ usdMicros: 9n }])
    })

    it('answers for reservations of any age, before and after a restart', async () => {
      const day = 86_400_000
      const at = (id: string, days: number) => ({ ...reservation(id), atMs: days * day })
      for (let days = 1; days <= 9; days += 1) await journal.settle(at(`w${days}`, days))
      const ids = async (days: number) =>
        (await journal.reservations('liquidator', days * day)).map(({ workflowId }) => workflowId)
      const asked = async () => [await ids(9), await ids(8), await ids(6), await ids(2), await ids(10)]
      const before = await asked()
      expect(before.map((each) => each.length)).toEqual([1, 2, 4, 8, 0])
      journal = await house.reopen()
      expect(await asked()).toEqual(before)
    })

    it('adds up what was reserved to the same budgets as its rows, over changes and a restart', async () => {
      const counts = (row: Reservation, own: string) => row.shadow !== true && row.workflowId !== own
      const sumOf = (rows: readonly Reservation[], own: string, afterMs: number) => {
        const counted = rows.filter((row) => counts(row, own) && row.atMs > afterMs)
        const reverts = counted.filter(({ reverted }) => reverted).length
        const usd = counted.reduce((sum, { usdMicros }) => sum + usdMicros, 0n)
        return { usd, gas: counted.reduce((sum, { gasWei }) => sum + gasWei, 0n), reverts }
      }
      const expectSame = async () => {
        for (let index = 0; index < 60; index += 1) {
          const own = `w${index % 40}`
          const edges = [NOW_MS - HOUR_MS + index * 997, NOW_MS - 3 * HOUR_MS - index * 1_009]
          const rows = await journal.reservations('liquidator', 0)
          const { rows: sums } = await journal.spending('liquidator', edges, own)
          for (const afterMs of edges) expect(sumOf(sums, own, afterMs)).toEqual(sumOf(rows, own, afterMs))
        }
      }
      const NOW_MS = 1_800_000_000_000
      const HOUR_MS = 3_600_000
      for (let index = 0; index < 900; index += 1) {
        await journal.settle({
          ...reservation(`w${(index * 7) % 600}`, BigInt(index)),
          atMs: NOW_MS - ((index * 104_729) % (4 * HOUR_MS)),
          gasWei: BigInt(index * 3),
          reverted: index % 11 === 0,
          ...(index % 13 === 0 ? { shadow: true } : {}),
        })
      }
      await expectSame()
      const edges = [NOW_MS - HOUR_MS, NOW_MS - 3 * HOUR_MS]
      expect((await journal.spending('liquidator', edges, 'w1')).rows.length).toBeLessThan(400)
      journal = await house.reopen()
      await expectSame()
    })

    it('takes a changed reservation once', async () => {
      await journal.settle(reservation('a', 5n))
      await journal.settle(reservation('a', 9n))
      expect(await journal.reservations('liquidator', 0)).toEqual([reservation('a', 9n)])
      expect(await journal.reservations('liquidator', 11)).toEqual([])
    })

    it('tells who is live of a role, of a signer and about a lot, as each stands', async () => {
      const onLot = (id: string, role: string, lot: string, shadow?: true) => {
        const one = discovered(id)
        return {
          ...one,
          role,
          proposal: { ...one.proposal, lot },
          ...(shadow === undefined ? {} : { shadow }),
        }
      }
      await journal.open(onLot('a', 'allocator', 'lot-1'))
      await journal.open(discovered('b'))
      expect((await journal.ofRole('liquidator')).map(({ id }) => id)).toEqual(['b'])
      expect(await journal.ofRole('allocator')).toMatchObject([
        {
          id: 'a',
          signer: SIGNER,
          held: false,
          nonces: 1,
          proposal: { lot: 'lot-1', subject: expect.any(String) },
        },
      ])
      expect((await journal.onLots()).map(({ id }) => id)).toEqual(['a'])
      expect((await journal.ofSigner(SIGNER)).map(({ id }) => id)).toEqual(['a', 'b'])
      const [held] = await journal.ofSigner(SIGNER)
      if (held === undefined) throw new TypeError('nothing is live')
      await journal.write(move(held, 'refused', 2, { note: { check: 'x', message: 'y' } }))
      expect(await journal.onLots()).toEqual([])
      expect(await journal.ofRole('allocator')).toEqual([])
      journal = await house.reopen()
      expect((await journal.ofRole('liquidator')).map(({ id }) => id)).toEqual(['b'])
      expect((await journal.ofSigner(SIGNER)).map(({ id }) => id)).toEqual(['b'])
    })

    it('opens no second role’s workflow about a lot, but what is in shadow holds none', async () => {
      const about = (id: string, role: string, shadow?: true) => {
        const one = discovered(id)
        return {
          ...one,
          role,
          proposal: { ...one.proposal, lot: 'lot-1' },
          ...(shadow === undefined ? {} : { shadow }),
        }
      }
      expect(await journal.open(about('s', 'allocator', true))).toBe('opened')
      expect(await journal.open(about('a', 'liquidator'))).toBe('opened')
      expect(await journal.open(about('b', 'liquidator'))).toBe('opened')
      expect(await journal.open(about('c', 'allocator'))).toMatchObject({ id: 'a', role: 'liquidator' })
      expect(await journal.open(about('d', 'allocator', true))).toMatchObject({ id: 'a' })
      expect(await journal.get('c')).toBeNull()
    })

    it('takes a reservation within a budget only as of the revision that it was judged by', async () => {
      await journal.adoptNonce(CHAIN, SIGNER, 5)
      for (const id of ['a', 'b']) await journal.open(workflowOf('cleared', { id, opportunity: id }))
      const judged = async () => (await journal.spending('liquidator', [0], 'a')).revision
      const revision = await judged()
      expect(await judged()).toBe(revision)
      await journal.settle(reservation('other'))
      expect(await journal.claimWithin(inFlight('a', [5]), reservation('a'), revision)).toBe('outdated')
      expect(await journal.get('a')).toMatchObject({ state: 'cleared', version: 0 })
      expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(5)
      const claimed = await journal.claimWithin(inFlight('a', [5]), reservation('a'), await judged())
      if (typeof claimed === 'string') throw new TypeError(claimed)
      expect(await journal.writeWithin(claimed, reservation('a', 6n), revision)).toBe('outdated')
      const raised = await journal.writeWithin(claimed, reservation('a', 6n), await judged())
      expect(raised).toMatchObject({ version: 2 })
      const { rows } = await journal.spending('liquidator', [0], 'none')
      expect(rows.reduce((sum, { usdMicros }) => sum + usdMicros, 0n)).toBe(11n)
      // Another role's budget is another.
      const before = await judged()
      await journal.settle({ ...reservation('x'), role: 'allocator' })
      expect(await judged()).toBe(before)
    })

    it('takes a reservation within the budgets of all roles only as of the revision that they were judged by', async () => {
      await journal.adoptNonce(CHAIN, SIGNER, 5)
      const other = { ...reservation('x'), role: 'allocator' }
      await journal.open(workflowOf('cleared', { id: 'x', opportunity: 'x', role: 'allocator' }))
      for (const id of ['a', 'b']) await journal.open(workflowOf('cleared', { id, opportunity: id }))
      const all = () => journal.spending(null, [0], 'none')
      const judged = await all()
      expect((await all()).revision).toBe(judged.revision)
      // Another role took of it at the same instant: whichever claims first, the other is judged again.
      await journal.settle(other)
      expect(await journal.claimWithin(inFlight('a', [5]), reservation('a'), judged.revision)).toBe(
        'outdated',
      )
      const claimed = await journal.claimWithin(inFlight('a', [5]), reservation('a'), (await all()).revision)
      if (typeof claimed === 'string') throw new TypeError(claimed)
      expect(await journal.writeWithin(claimed, reservation('a', 6n), judged.revision)).toBe('outdated')
      await journal.writeWithin(claimed, reservation('a', 6n), (await all()).revision)
      const expectAll = async () =>
        expect((await all()).rows.map(({ role, usdMicros }) => [role, usdMicros]).toSorted()).toEqual([
          ['allocator', 5n],
          ['liquidator', 6n],
        ])
      await expectAll()
      journal = await house.reopen()
      await expectAll()
      const { revision } = await all()
      await journal.settle({ ...other, usdMicros: 9n })
      expect((await all()).revision).not.toBe(revision)
    })

    it('forgets nothing of today where a clock ran ahead by days and was put right', async () => {
      const nowMs = Date.now()
      for (const id of ['a', 'b']) await journal.settle({ ...reservation(id), atMs: nowMs })
      const sums = async () => (await journal.spending('liquidator', [nowMs - 3_600_000], 'none')).rows
      await sums()
      await journal.settle({ ...reservation('c'), atMs: nowMs + 9 * 86_400_000 })
      const expectAll = async () =>
        expect((await sums()).reduce((sum, { usdMicros }) => sum + usdMicros, 0n)).toBe(15n)
      await expectAll()
      journal = await house.reopen()
      await expectAll()
    })

    it('misses nothing of what leaves once it is eight days old', async () => {
      const nowMs = Date.now()
      const sums = async () => (await journal.spending('liquidator', [nowMs - 3_600_000], 'none')).rows
      await journal.settle({ ...reservation('a'), atMs: nowMs - 9 * 86_400_000 })
      await sums()
      await journal.settle({ ...reservation('b'), atMs: nowMs })
      await sums()
      expect(await sums()).toHaveLength(1)
    })

    it('adds up what was used with the rows, by signer, over changes and a restart', async () => {
      const NOW_MS = 1_800_000_000_000
      const at = (index: number): Reservation => ({
        ...reservation(`w${(index * 7) % 40}`, BigInt(index)),
        atMs: NOW_MS - ((index * 104_729) % 7_200_000),
        signer: index % 2 === 0 ? '0x01' : '0x02',
        ...(index % 5 === 0 ? {} : { uses: [`market 0x${index % 3}`, 'function repay', 'function repay'] }),
      })
      for (let index = 0; index < 80; index += 1) await journal.settle(at(index))
      const usedOf = (rows: readonly Spent[]) => {
        const sums = new Map<string, { usdMicros: bigint; calls: number }>()
        for (const row of rows) {
          for (const [use, { usdMicros, calls }] of usedBy(row)) {
            const key = `${row.signer} ${use}`
            const known = sums.get(key) ?? { usdMicros: 0n, calls: 0 }
            sums.set(key, { usdMicros: known.usdMicros + usdMicros, calls: known.calls + calls })
          }
        }
        return sums
      }
      const expectSame = async () => {
        const rows = await journal.reservations('liquidator', 0)
        const { rows: sums } = await journal.spending('liquidator', [NOW_MS - 86_000_000], 'none')
        expect(sums.length).toBeLessThanOrEqual(rows.length)
        expect(usedOf(sums)).toEqual(usedOf(rows))
      }
      await expectSame()
      journal = await house.reopen()
      await expectSame()
    })

    it('says that a digest may be signed only for what it was ordered for', async () => {
      await journal.adoptNonce(CHAIN, SIGNER, 5)
      await journal.open(workflowOf('cleared', { id: 'a', opportunity: 'a' }))
      await journal.claim(inFlight('a', [5]), reservation('a'))
      const digest = `0x${'5'.padStart(64, '0')}` as const
      const entry = {
        digest,
        kind: 'transaction',
        signer: SIGNER,
        workflowId: 'a',
        nonce: 5,
        atMs: 99,
      } as const
      await journal.ordered([entry])
      for (const other of [{ nonce: 6 }, { workflowId: 'b' }, { kind: 'challenge' as const }])
        await expect(journal.ordered([{ ...entry, ...other }])).rejects.toThrow('does not hold the digest')
      await expect(journal.ordered([{ ...entry, digest: `0x${'ee'.repeat(32)}` }])).rejects.toThrow()
    })
  })
}
