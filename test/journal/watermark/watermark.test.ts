import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import {
  createWatermark,
  lineOf,
  type Mark,
  markOf,
  withWatermark,
} from '../../../src/journal/watermark/watermark.ts'
import { openWatermarkFile } from '../../../src/journal/watermark/watermark-file.ts'
import { newDirectory } from '../../support/directory.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const digest = (of: number) => `0x${String(of).padStart(64, '0')}` as const
const attempt = (of: number): Mark => ({
  type: 'attempt',
  workflowId: 'a',
  chainId: CHAIN,
  signer: SIGNER,
  nonce: of,
  attempt: attemptOf({ digest: digest(of) }),
})

const NOTHING = { digests: [], text: '' }

const never = () => {
  throw new TypeError('no disk fails')
}

let folder: string
beforeEach(() => {
  folder = newDirectory()
})

describe('the file of a watermark', () => {
  const path = () => join(folder, 'watermark.log')

  it('holds the marks that were written, in their order, for their owner alone', async () => {
    const first = await openWatermarkFile(folder)
    expect(first).toMatchObject({ existed: false, lines: [] })
    await first.file.append([attempt(1), attempt(2)].map(lineOf))
    await first.file.close()
    const again = await openWatermarkFile(folder)
    expect(again).toMatchObject({ existed: true })
    expect(again.lines.map(({ digests }) => digests)).toEqual([[digest(1)], [digest(2)]])
    expect(again.lines.map(markOf)).toEqual([attempt(1), attempt(2)])
    expect(statSync(path()).mode & 0o777).toBe(0o600)
    await again.file.close()
  })

  it('takes a line that a crash cut off for none, and writes on after the last whole one', async () => {
    const first = await openWatermarkFile(folder)
    await first.file.append([attempt(1), attempt(2)].map(lineOf))
    await first.file.close()
    truncateSync(path(), statSync(path()).size - 1)
    const again = await openWatermarkFile(folder)
    expect(again).toMatchObject({ lines: [{ digests: [digest(1)] }] })
    await again.file.append([lineOf(attempt(3))])
    await again.file.close()
    const last = await openWatermarkFile(folder)
    expect(last).toMatchObject({ lines: [{ digests: [digest(1)] }, { digests: [digest(3)] }] })
    await last.file.close()
  })

  it('finds nothing in a line that is not as it was written, and keeps the others', async () => {
    const first = await openWatermarkFile(folder)
    await first.file.append([attempt(1), attempt(2)].map(lineOf))
    await first.file.close()
    writeFileSync(path(), readFileSync(path(), 'utf8').replace('"nonce":1', '"nonce":9'))
    appendFileSync(path(), 'nonsense\n\n')
    const again = await openWatermarkFile(folder)
    expect(again).toMatchObject({ lines: [NOTHING, { digests: [digest(2)] }, NOTHING, NOTHING] })
    await again.file.close()
  })

  it('says which folder it could not open', async () => {
    writeFileSync(join(folder, 'file'), '')
    await expect(openWatermarkFile(join(folder, 'file'))).rejects.toThrow(/file could not be opened\. Fix:/)
  })

  it('keeps a file of 32 MB as the old one, and begins another', async () => {
    const first = await openWatermarkFile(folder)
    await first.file.append([{ digests: [digest(1)], text: 'x'.repeat(32_000_000) }])
    await first.file.append([lineOf(attempt(2))])
    await first.file.close()
    const again = await openWatermarkFile(folder)
    expect(again.lines.map(({ digests }) => digests)).toEqual([[digest(1)], [digest(2)]])
    expect(statSync(path()).size).toBeLessThan(10_000)
    await again.file.close()
  })

  it('lets no sign-in push a claim out, however many a service asks for, and keeps the newest', async () => {
    const signIn = (of: number) =>
      lineOf({
        type: 'digest',
        entry: {
          digest: digest(of),
          kind: 'challenge',
          signer: SIGNER,
          workflowId: null,
          nonce: null,
          atMs: of,
        },
      })
    // As many as fill a file.
    const many = { ...signIn(2), text: signIn(2).text.padEnd(33_000_000) }
    const first = await openWatermarkFile(folder)
    await first.file.append([lineOf(attempt(1)), many])
    await first.file.append([{ ...many, digests: [digest(3)] }])
    await first.file.append([signIn(4)])
    await first.file.close()
    const again = await openWatermarkFile(folder)
    expect(again.lines.map(({ digests }) => digests)).toEqual([[digest(1)], [digest(3)], [digest(4)]])
    await again.file.close()
  })
})

describe('a journal with a watermark', () => {
  let raw: Journal
  beforeEach(async () => {
    raw = openSqliteJournal(folder)
    await raw.adoptNonce(CHAIN, SIGNER, 7)
  })
  const claimedSlots = [slotOf({ attempts: [attemptOf({ digest: digest(7) })] })]
  const reservation = {
    workflowId: 'w',
    role: 'liquidator',
    atMs: 1,
    usdMicros: 1n,
    gasWei: 2n,
    reverted: false,
  }

  it('keeps each claim and each later attempt once, and has them on disk when the barrier has passed', async () => {
    const written: string[][] = []
    const file = {
      append: async (lines: readonly { readonly text: string }[]) => {
        written.push(lines.map((line) => markOf({ digests: [], ...line })?.type ?? 'none'))
      },
    }
    const journal = withWatermark(raw, createWatermark([file], never))
    await journal.open(workflowOf('cleared', { id: 'w' }))
    const claimed = await journal.claim(
      workflowOf('in_flight', { id: 'w', slots: claimedSlots }),
      reservation,
    )
    if (claimed === 'lost') throw new TypeError('lost')
    expect(written).toEqual([])
    await journal.barrier()
    expect(written).toEqual([['claim']])
    const [slot] = claimed.slots
    if (slot === undefined) throw new TypeError('no slot')
    const bump = attemptOf({ digest: digest(8) })
    const bumped = await journal.write({
      ...claimed,
      slots: [{ ...slot, attempts: [...slot.attempts, bump] }],
    })
    await journal.write({ ...bumped, updatedAtMs: 9 })
    await journal.barrier()
    expect(written).toEqual([['claim'], ['attempt']])
    await journal.close()
  })

  it('keeps a digest that is no transaction once, also where the ledger has it and a crash took its line', async () => {
    const written: (readonly string[])[] = []
    const file = {
      append: async (lines: readonly { readonly digests: readonly string[] }[]) =>
        void written.push(lines.flatMap(({ digests }) => digests)),
    }
    const entry = {
      digest: digest(9),
      kind: 'typed_data' as const,
      signer: SIGNER,
      workflowId: 'w',
      nonce: null,
      atMs: 1,
    }
    await raw.enterDigest(entry)
    const journal = withWatermark(raw, createWatermark([file], never))
    for (let tries = 0; tries < 3; tries += 1) {
      await journal.enterDigest(entry)
      await journal.barrier()
    }
    expect(written).toEqual([[digest(9)]])
    await journal.close()
  })

  it('writes nothing of a claim that lost its race', async () => {
    const watermark = createWatermark([], never)
    const journal = withWatermark(raw, watermark)
    await journal.open(workflowOf('cleared', { id: 'w' }))
    const late = workflowOf('in_flight', { id: 'w', slots: [slotOf({ nonce: 6 })] })
    expect(await journal.claim(late, null)).toBe('lost')
    expect(watermark.recorded()).toBe(0)
    await journal.close()
  })

  it('never has on disk what the journal may still lose: a mark waits for the barrier of its own commit', async () => {
    const written: number[] = []
    const watermark = createWatermark([{ append: async (lines) => void written.push(lines.length) }], never)
    const commit = Promise.withResolvers<void>()
    const held: Pick<Journal, 'barrier'> = { barrier: () => commit.promise }
    const journal = withWatermark({ ...held } as Journal, watermark)
    watermark.record(attempt(1))
    const first = journal.barrier()
    watermark.record(attempt(2))
    commit.resolve()
    await first
    expect(written).toEqual([1])
    await journal.barrier()
    expect(written).toEqual([1, 1])
    await raw.close()
  })

  it('writes no mark that was recorded after what a flush is for', async () => {
    const written: number[] = []
    const watermark = createWatermark([{ append: async (lines) => void written.push(lines.length) }], never)
    watermark.record(attempt(1))
    await watermark.flush(1)
    for (const nonce of [2, 3]) watermark.record(attempt(nonce))
    await watermark.flush(2)
    expect(written).toEqual([1, 1])
    await raw.close()
  })

  it('shares one sync among all that wait while the disk is busy', async () => {
    const written: number[] = []
    const busy = Promise.withResolvers<void>()
    const append = async ({ length }: readonly unknown[]) => {
      written.push(length)
      await busy.promise
    }
    const watermark = createWatermark([{ append }], never)
    watermark.record(attempt(0))
    const flushes = [watermark.flush(1)]
    for (let count = 2; count <= 50; count += 1) {
      watermark.record(attempt(count))
      flushes.push(watermark.flush(count))
    }
    busy.resolve()
    await Promise.all(flushes)
    expect(written).toEqual([1, 49])
    await raw.close()
  })

  it('passes no barrier any more once a disk took nothing, and says what to do', async () => {
    const failures: string[] = []
    let full = true
    const append = async () => {
      if (full) throw new Error('ENOSPC')
    }
    const journal = withWatermark(
      raw,
      createWatermark([{ append }], ({ code }) => void failures.push(code)),
    )
    await journal.open(workflowOf('cleared', { id: 'w' }))
    await journal.claim(workflowOf('in_flight', { id: 'w', slots: claimedSlots }), null)
    await expect(journal.barrier()).rejects.toThrow(/watermark could not be written to disk\. Fix: make room/)
    expect(failures).toEqual(['watermark.failed'])
    full = false
    await expect(journal.barrier()).rejects.toMatchObject({ code: 'watermark.failed' })
    await journal.close()
  })
})
