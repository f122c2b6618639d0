import { appendFileSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { lineOf } from '../../../src/journal/watermark/watermark.ts'
import { openWatermarkFile } from '../../../src/journal/watermark/watermark-file.ts'
import { type KeeperRecords, openRecords } from '../../../src/keeper/records/records.ts'
import { move, type Workflow } from '../../../src/workflow/workflow.ts'
import { newDirectory } from '../../support/directory.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const OTHER = `0x${'52'.repeat(20)}` as const
const digest = (of: number) => `0x${String(of).padStart(64, '0')}` as const

let root: string
let alarms: string[]
beforeEach(() => {
  root = newDirectory()
  for (const folder of ['copy', 'elsewhere']) mkdirSync(join(root, folder))
  alarms = []
})

type Config = Parameters<typeof openRecords>[0]
const agentsOf = (...addresses: readonly Config['agents'][number]['signer']['address'][]) =>
  addresses.map((address) => ({ mode: 'live' as const, signer: { address } }))

const open = (changes: Partial<Config> = {}) =>
  openRecords(
    { directory: join(root, 'state'), chain: { id: CHAIN }, agents: agentsOf(SIGNER), ...changes },
    { clock: systemClock, alarm: ({ message }) => void alarms.push(message) },
  )

/** Claim a nonce for a workflow of that id, on disk. */
async function claim({ journal }: KeeperRecords, nonce: number, of = nonce): Promise<Workflow> {
  const id = `w${of}`
  await journal.open(workflowOf('cleared', { id, opportunity: id }))
  const slots = [slotOf({ nonce, attempts: [attemptOf({ digest: digest(of) })] })]
  const claimed = await journal.claim(workflowOf('in_flight', { id, opportunity: id, slots }), {
    workflowId: id,
    role: 'liquidator',
    atMs: 1_000,
    usdMicros: 10n,
    gasWei: 1n,
    reverted: false,
  })
  if (claimed === 'lost') throw new TypeError('lost')
  await journal.barrier()
  return claimed
}
/** Order a bump of its one nonce, on disk. */
async function bump({ journal }: KeeperRecords, workflow: Workflow, of: number): Promise<Workflow> {
  const [slot] = workflow.slots
  if (slot === undefined) throw new TypeError('no slot')
  const attempts = [...slot.attempts, attemptOf({ digest: digest(of) })]
  const bumped = await journal.write(
    { ...workflow, slots: [{ ...slot, attempts }] },
    { workflowId: workflow.id, role: 'liquidator', atMs: 1_001, usdMicros: 10n, gasWei: 2n, reverted: false },
  )
  await journal.barrier()
  return bumped
}
/** Sign the typed data of a workflow that is refused then, on disk. */
async function refuseAttested({ journal }: KeeperRecords, of: number): Promise<void> {
  const id = `w${of}`
  const attestation = { digest: digest(of) }
  await journal.open(workflowOf('prepared', { id, opportunity: id, attestation }))
  await journal.enterDigest({
    digest: digest(of),
    kind: 'typed_data',
    signer: SIGNER,
    workflowId: id,
    nonce: null,
    atMs: 1_003,
  })
  await journal.barrier()
  const stored = await journal.get(id)
  if (stored === null) throw new TypeError('not there')
  await journal.write(move(stored, 'refused', 3_000))
}
/** A keeper that claims nonce 7, has its directory copied, then claims 8 and bumps 7. */
async function backUp(changes: Partial<Config> = {}) {
  const first = await open(changes)
  await first.journal.adoptNonce(CHAIN, SIGNER, 7)
  const seven = await claim(first, 7)
  await first.close()
  cpSync(join(root, 'state'), join(root, 'backup'), { recursive: true })
  const then = await open(changes)
  await claim(then, 8)
  await bump(then, seven, 70)
  await then.close()
  expect(alarms).toEqual([])
}
const checks = ({ signers }: KeeperRecords) => signers.reasonsOf(SIGNER).map(({ check }) => check)

/** Make a journal whose next nonce is 7, and a backup of it. @returns where its state is. */
async function backedUp(): Promise<string> {
  const state = join(root, 'state')
  const first = await open()
  await first.journal.adoptNonce(CHAIN, SIGNER, 7)
  await first.close()
  cpSync(state, join(root, 'backup'), { recursive: true })
  return state
}

/** Keep a second watermark from now on, then put the backup in the journal's place. */
async function restoredBesideCopy() {
  const watermark = join(root, 'copy')
  const state = join(root, 'state')
  await (await open({ watermark })).close()
  rmSync(state, { recursive: true })
  cpSync(join(root, 'backup'), state, { recursive: true })
  return open({ watermark })
}

describe('a keeper’s records', () => {
  it('keep what a workflow reserved in a watermark that came later, and take it back from there', async () => {
    await backedUp()
    const then = await open()
    await claim(then, 7)
    await then.close()
    const back = await restoredBesideCopy()
    expect(checks(back)).toEqual(['journal_behind_watermark'])
    expect(await back.journal.reservations('liquidator', 0)).toMatchObject([{ usdMicros: 10n, gasWei: 1n }])
    await back.close()
  })

  it.each([
    ['the workflow that was opened first', 1_001],
    ['one that claimed when the clock was put back', 999],
  ])('take the last claim back from a watermark that came later, also of %s', async (_, orderedAtMs) => {
    const state = join(root, 'state')
    const first = await open()
    await first.journal.adoptNonce(CHAIN, SIGNER, 7)
    const waits = workflowOf('cleared', { id: 'w8', opportunity: 'w8', createdAtMs: 1 })
    await first.journal.open(waits)
    await claim(first, 7)
    await first.close()
    cpSync(state, join(root, 'backup'), { recursive: true })
    const then = await open()
    const slots = [slotOf({ nonce: 8, attempts: [attemptOf({ digest: digest(8), orderedAtMs })] })]
    await then.journal.claim({ ...waits, state: 'in_flight', slots }, null)
    await then.journal.barrier()
    await then.close()
    const back = await restoredBesideCopy()
    expect(checks(back)).toEqual(['journal_behind_watermark'])
    expect((await back.journal.get('w8'))?.slots[0]).toMatchObject({ nonce: 8 })
    await back.close()
  })

  it('that went back doubt what became final after their last final block, and nothing else', async () => {
    const state = join(root, 'state')
    const first = await open()
    await first.journal.adoptNonce(CHAIN, SIGNER, 7)
    await first.journal.setValue(`final:${CHAIN}`, JSON.stringify({ number: '90', hash: digest(90) }))
    await first.close()
    cpSync(state, join(root, 'backup'), { recursive: true })
    const then = await open()
    await then.journal.setValue(`final:${CHAIN}`, JSON.stringify({ number: '99', hash: digest(99) }))
    await claim(then, 7)
    await then.close()
    cpSync(join(state, 'watermark.log'), join(root, 'backup', 'watermark.log'))
    const same = await open()
    expect(await same.journal.getValue(`doubted:${CHAIN}`)).toBe(null)
    await same.close()
    rmSync(state, { recursive: true })
    cpSync(join(root, 'backup'), state, { recursive: true })
    const back = await open()
    expect(checks(back)).toEqual(['journal_behind_watermark'])
    expect(await back.journal.getValue(`doubted:${CHAIN}`)).toBe('91')
    await back.close()
  })

  it('agree after a start, a stop and another start', async () => {
    const first = await open()
    await first.journal.adoptNonce(CHAIN, SIGNER, 7)
    await claim(first, 7)
    await first.close()
    const again = await open()
    expect(checks(again)).toEqual([])
    await again.close()
  })

  it('take back the digest of a sign-in that the KMS signed after the backup: none of its signatures is unexplained', async () => {
    const state = join(root, 'state')
    await backUp()
    rmSync(join(root, 'backup'), { recursive: true })
    cpSync(state, join(root, 'backup'), { recursive: true })
    const then = await open()
    const entry = {
      digest: digest(80),
      kind: 'challenge' as const,
      signer: SIGNER,
      workflowId: null,
      nonce: null,
      atMs: 1_002,
    }
    await then.journal.enterDigest(entry)
    await then.journal.barrier()
    await then.close()
    rmSync(join(state, 'journal.sqlite'))
    cpSync(join(root, 'backup', 'journal.sqlite'), join(state, 'journal.sqlite'))
    const back = await open()
    expect(await back.journal.ledgerEntry(entry.digest, entry.signer)).toEqual(entry)
    expect(checks(back)).toEqual(['journal_behind_watermark'])
    await back.close()
  })

  it('take back a claim before a digest that the journal held and a later start entered again', async () => {
    const state = join(root, 'state')
    const entry = {
      digest: digest(80),
      kind: 'typed_data' as const,
      signer: SIGNER,
      workflowId: 'w80',
      nonce: null,
      atMs: 1_002,
    }
    const enter = async ({ journal }: KeeperRecords) => {
      await journal.enterDigest(entry)
      await journal.barrier()
    }
    const first = await open()
    await first.journal.adoptNonce(CHAIN, SIGNER, 7)
    await enter(first)
    await first.close()
    cpSync(state, join(root, 'backup'), { recursive: true })
    const then = await open()
    await claim(then, 7)
    // Its key has not answered yet.
    await enter(then)
    await then.close()
    cpSync(join(root, 'backup', 'journal.sqlite'), join(state, 'journal.sqlite'))
    const back = await open()
    expect(checks(back)).toEqual(['journal_behind_watermark'])
    expect((await back.journal.get('w7'))?.slots[0]).toMatchObject({ nonce: 7 })
    await back.close()
  })

  it('start where a key that only ever signed in is of no agent any more, nor of the older journal', async () => {
    const state = join(root, 'state')
    await backUp()
    cpSync(join(state, 'journal.sqlite'), join(root, 'journal.sqlite'))
    const then = await open({ agents: agentsOf(SIGNER, OTHER) })
    await then.journal.enterDigest({
      digest: digest(80),
      kind: 'challenge',
      signer: OTHER,
      workflowId: null,
      nonce: null,
      atMs: 1_002,
    })
    await then.journal.barrier()
    await then.close()
    cpSync(join(root, 'journal.sqlite'), join(state, 'journal.sqlite'))
    const back = await open()
    expect(checks(back)).toEqual([])
    expect(back.signers.reasonsOf(OTHER)).toEqual([])
    await back.close()
  })

  it.each([
    ['a claim and its bump', false],
    ['typed data of a workflow that claimed nothing', true],
  ])('agree where all that ended is in the archive, at last %s', async (_, isTyped) => {
    const first = await open()
    await first.journal.adoptNonce(CHAIN, SIGNER, 7)
    const claimed = await bump(first, await claim(first, 7), 70)
    const slots = claimed.slots.map((slot) => ({ ...slot, state: 'final' as const }))
    const confirmed = await first.journal.write(move({ ...claimed, slots }, 'confirmed', 2_000))
    await first.journal.write(move(confirmed, 'succeeded', 3_000))
    if (isTyped) await refuseAttested(first, 71)
    await first.close()
    const archiving = await open()
    const newest = isTyped ? 71 : 70
    await expect.poll(() => archiving.journal.ledgerEntry(digest(newest), SIGNER)).toBeNull()
    await archiving.close()
    const again = await open()
    expect(checks(again)).toEqual([])
    await again.close()
  })

  it('begin a watermark for a journal that has none yet, with what is live', async () => {
    const first = await open()
    await first.journal.adoptNonce(CHAIN, SIGNER, 7)
    await claim(first, 7)
    await first.journal.setValue('watermark', null)
    await first.close()
    rmSync(join(root, 'state', 'watermark.log'))
    await (await open()).close()
    cpSync(join(root, 'state', 'watermark.log'), join(root, 'copy', 'watermark.log'))
    rmSync(join(root, 'state'), { recursive: true })
    const bare = await open({ watermark: join(root, 'copy') })
    expect((await bare.journal.get('w7'))?.slots[0]).toMatchObject({ nonce: 7 })
    await bare.close()
  })

  it.each([
    ['the journal alone', undefined, 'state/journal.sqlite'],
    ['the whole directory, with a second watermark elsewhere', 'elsewhere', 'state'],
  ])(
    'restored from a backup of %s make the signer SAFE and take back what was lost',
    async (_, copy, what) => {
      const changes = copy === undefined ? {} : { watermark: join(root, copy) }
      await backUp(changes)
      rmSync(join(root, what), { recursive: true })
      cpSync(join(root, what.replace('state', 'backup')), join(root, what), { recursive: true })
      const records = await open(changes)
      expect(checks(records)).toEqual(['journal_behind_watermark'])
      expect(alarms[0]).toContain('has nonces 7 to 8, 2 claims and attempts that the journal had lost')
      const { journal } = records
      expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(9)
      expect(await journal.byNonce(CHAIN, SIGNER, 8)).toMatchObject({ id: 'w8', state: 'in_flight' })
      expect(await journal.byOpportunity('w8')).toMatchObject({ state: 'in_flight' })
      const seven = await journal.get('w7')
      expect(seven?.slots[0]?.attempts.map((each) => each.digest)).toEqual([digest(7), digest(70)])
      const reserved = await journal.reservations('liquidator', 0)
      expect(reserved.map(({ workflowId, gasWei }) => [workflowId, gasWei])).toEqual(
        expect.arrayContaining([
          ['w7', 2n],
          ['w8', 1n],
        ]),
      )
      await records.close()
      const again = await open(changes)
      expect(checks(again)).toEqual(['journal_behind_watermark'])
      expect(await again.journal.live()).toHaveLength(2)
      await again.close()
    },
  )

  it.each([11, 12, 13])(
    'are SAFE also where a kill ends the start that took back what was lost, after whichever of its commits, of %i claims',
    async (claims) => {
      const state = await backedUp()
      const then = await open()
      // The twelve, and what is doubted with them, are as many changes as a commit holds.
      for (let nonce = 7; nonce < 7 + claims; nonce += 1) await claim(then, nonce)
      await then.close()
      cpSync(join(root, 'backup', 'journal.sqlite'), join(state, 'journal.sqlite'))
      const killed: string[] = []
      const { exec } = DatabaseSync.prototype
      const commits = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
        this: DatabaseSync,
        sql,
      ) {
        exec.call(this, sql)
        if (sql !== 'COMMIT') return
        const directory = join(root, `killed-${killed.length}`)
        cpSync(state, directory, { recursive: true, filter: (name) => !/lock|shm/.test(name) })
        killed.push(directory)
      })
      await (await open()).close()
      commits.mockRestore()
      const found: string[][] = []
      for (const directory of killed) {
        const again = await open({ directory })
        found.push(checks(again))
        expect(await again.journal.nextNonce(CHAIN, SIGNER)).toBe(7 + claims)
        await again.close()
      }
      expect(found).toEqual(killed.map(() => ['journal_behind_watermark']))
    },
  )

  it('end what a watermark has at a nonce that the journal holds for something else: it is not begun once more', async () => {
    const changes = { watermark: join(root, 'elsewhere') }
    await backUp(changes)
    rmSync(join(root, 'state'), { recursive: true })
    cpSync(join(root, 'backup'), join(root, 'state'), { recursive: true })
    const alone = await open()
    await claim(alone, 8, 80)
    await alone.close()
    const records = await open(changes)
    expect(checks(records)).toEqual(['journal_behind_watermark'])
    const [reason] = records.signers.reasonsOf(SIGNER)
    expect(reason?.message).toContain('It holds something else at nonces 8.')
    expect(alarms.at(-1)).toContain(reason?.message)
    expect(await records.journal.byNonce(CHAIN, SIGNER, 8)).toMatchObject({ id: 'w80' })
    expect(await records.journal.byOpportunity('w8')).toMatchObject({
      state: 'quarantined',
      check: 'sent_before_restore',
    })
    // A person has looked: it is no news to the next start.
    if (reason !== undefined) records.signers.leave(SIGNER, reason)
    await records.close()
    const again = await open(changes)
    expect(checks(again)).toEqual([])
    await again.close()
  })

  it('take nothing for sent because a watermark says so: it may be on a disk that others write', async () => {
    const changes = { watermark: join(root, 'elsewhere') }
    await backUp(changes)
    const { file, lines } = await openWatermarkFile(join(root, 'elsewhere'))
    const [line] = lines
    if (line === undefined) throw new TypeError('no line')
    const sent = attemptOf({ digest: digest(9), state: 'sent', raw: '0x02', hash: digest(99) })
    const slots = [slotOf({ nonce: 9, attempts: [sent] })]
    const workflow = workflowOf('in_flight', { id: 'w9', opportunity: 'w9', slots })
    await file.append([lineOf({ type: 'claim', workflow, reservation: null })])
    await file.close()
    const records = await open(changes)
    expect(checks(records)).toEqual(['journal_behind_watermark'])
    const taken = (await records.journal.get('w9'))?.slots[0]?.attempts
    expect(taken).toEqual([{ ...attemptOf({ digest: digest(9) }) }])
    await records.close()
  })

  it.each(['{"type":"claim","workf', '"claim"', 'null', '{}'])(
    'become SAFE, and do not end, where a line with a checksum that fits is no mark: %s',
    async (text) => {
      const changes = { watermark: join(root, 'elsewhere') }
      await backUp(changes)
      const { file } = await openWatermarkFile(join(root, 'elsewhere'))
      await file.append([{ digests: [digest(9)], text }])
      await file.close()
      const records = await open(changes)
      expect(checks(records)).toEqual(['watermark_unreadable'])
      const [reason] = records.signers.reasonsOf(SIGNER)
      expect(reason?.seen).toBe(`1 of the lines in ${join(root, 'elsewhere')}`)
      await records.close()
    },
  )

  it('are SAFE by a spoilt line until a person has looked and a claim follows it, and not at every start', async () => {
    const first = await open()
    await first.journal.adoptNonce(CHAIN, SIGNER, 7)
    await claim(first, 7)
    await first.close()
    appendFileSync(join(root, 'state', 'watermark.log'), 'spoilt\n')
    appendFileSync(join(root, 'state', 'watermark.sign-ins.log'), 'spoilt\n')
    const then = await open()
    expect(checks(then)).toEqual(['watermark_unreadable'])
    const [reason] = then.signers.reasonsOf(SIGNER)
    if (reason !== undefined) then.signers.leave(SIGNER, reason)
    await claim(then, 8)
    await then.close()
    const again = await open()
    expect(checks(again)).toEqual([])
    await again.close()
  })

  it('of a second directory with the same key are SAFE by the watermark that both have', async () => {
    const changes = { watermark: join(root, 'elsewhere') }
    await backUp(changes)
    const second = await open({ ...changes, directory: join(root, 'second') })
    expect(checks(second)).toEqual(['journal_behind_watermark'])
    expect(await second.journal.nextNonce(CHAIN, SIGNER)).toBe(9)
    await expect(open({ ...changes, directory: join(root, 'third') })).rejects.toThrow(/works in .*elsewhere/)
    await second.close()
  })

  it('without the watermark that the journal was kept with are SAFE', async () => {
    await backUp()
    rmSync(join(root, 'state', 'watermark.log'))
    const records = await open()
    expect(checks(records)).toEqual(['watermark_missing'])
    await records.close()
  })

  it('refuse a folder for the watermark that is not there: where nothing is mounted, it is no second disk', async () => {
    await expect(open({ watermark: join(root, 'unmounted') })).rejects.toThrow(
      /There is no folder .*unmounted for the watermark/,
    )
    expect(existsSync(join(root, 'unmounted'))).toBe(false)
  })

  it.each([
    [
      'another chain',
      { chain: { id: 1 } },
      /watermark in .* is of chain 31337; the configuration says 1\. Fix: correct `chain\.id`/,
    ],
    ['another signer', { agents: agentsOf(OTHER), directory: 'new' }, /is of the signer 0x5151/],
  ])('refuse a watermark of %s', async (_, changes, said) => {
    await backUp({ watermark: join(root, 'elsewhere') })
    const directory = join(root, 'directory' in changes ? changes.directory : 'state')
    await expect(open({ watermark: join(root, 'elsewhere'), ...changes, directory })).rejects.toThrow(said)
    // What was opened is closed: the directory can be opened again.
    const agents = 'agents' in changes ? { agents: changes.agents, directory } : {}
    await (await open(agents)).close()
  })
})
