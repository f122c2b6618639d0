import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openWatermarkFile, type WatermarkLine } from '../../../src/journal/watermark/watermark-file.ts'
import { newDirectory } from '../../support/directory.ts'

const A = `0x${'aa'.repeat(32)}` as const
const B = `0x${'bb'.repeat(32)}` as const
const NOTHING = { digests: [], text: '' }

let folder: string
beforeEach(() => {
  folder = newDirectory()
})
afterEach(() => void vi.restoreAllMocks())
const file = (name: string) => join(folder, name)
const signIn = (text: string): WatermarkLine => ({ digests: [A], text, isSignIn: true })

/** Append lines, a list at a time, and find what a later start finds. */
async function found(...appended: readonly (readonly WatermarkLine[])[]) {
  const first = await openWatermarkFile(folder)
  for (const lines of appended) await first.file.append(lines)
  await first.file.close()
  const again = await openWatermarkFile(folder)
  await again.file.close()
  return again
}

it('a line has any number of digests, and any text', async () => {
  const lines = [
    { digests: [], text: 'none of them, - or more' },
    { digests: [A, B], text: 'äö {"a": 1}' },
  ]
  expect(await found(lines, [], [signIn('x')])).toMatchObject({
    existed: true,
    lines: [...lines, { digests: [A], text: 'x' }],
  })
  expect(readFileSync(file('watermark.log'), 'utf8').split('\n')[0]).toMatch(/^[0-9a-f]{8} - none/)
})

it('a checksum is of eight digits, and a line that has none, or no digests, holds nothing', async () => {
  const short = Array.from({ length: 500 }, (_, index) => ({ digests: [], text: String(index) }))
  // Among so many there is one whose checksum begins with 0.
  expect((await found(short)).lines).toEqual(short)
  const body = 'nothing'
  appendFileSync(
    file('watermark.log'),
    `${crc32(body).toString(16).padStart(8, '0')} ${body}\n00000000 a b\n`,
  )
  expect((await found()).lines.slice(-2)).toEqual([NOTHING, NOTHING])
})

it('what is spoilt of the sign-ins is left out, for it moves nothing', async () => {
  await found([signIn('x')])
  appendFileSync(file('watermark.sign-ins.log'), 'spoilt\n')
  expect((await found()).lines).toEqual([{ digests: [A], text: 'x' }])
  expect(readFileSync(file('watermark.sign-ins.log'), 'utf8')).toContain(A)
})

it('was there before where only its old file is', async () => {
  const none = await openWatermarkFile(folder)
  await none.file.close()
  expect(none).toMatchObject({ existed: false, lines: [] })
  await found([{ digests: [A], text: 'x' }])
  renameSync(file('watermark.log'), file('watermark.old.log'))
  const again = await openWatermarkFile(folder)
  await again.file.close()
  expect(again).toMatchObject({ existed: true, lines: [{ digests: [A], text: 'x' }] })
})

it('is not opened where its old file cannot be read', async () => {
  mkdirSync(file('watermark.old.log'))
  await expect(openWatermarkFile(folder)).rejects.toThrow('could not be opened')
})

it('begins another file once, also where a start found it full', async () => {
  const full = signIn('x'.repeat(1_100_000))
  await found([full])
  // Each list begins a file where the one before is full, and all others stay.
  const { lines } = await found([signIn('1')], [signIn('2')], [signIn('3')])
  expect(lines.map(({ text }) => text.slice(0, 9))).toEqual(['xxxxxxxxx', '1', '2', '3'])
})

it('is full once it is longer than a megabyte, and then closed', async () => {
  const first = await openWatermarkFile(folder)
  const old = file('watermark.sign-ins.old.log')
  // With its checksum, its digest, two spaces and its end a line of a million bytes.
  await first.file.append([signIn('x'.repeat(1_000_000 - 8 - A.length - 3))])
  await first.file.append([signIn('1')])
  expect(existsSync(old)).toBe(false)
  await first.file.append([signIn('2')])
  expect(existsSync(old)).toBe(true)
  const opened = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      // The list's own is closed by now.
      return ''
    }
  })
  expect(opened).toContain(file('watermark.sign-ins.log'))
  expect(opened).not.toContain(old)
  await first.file.close()
})

it('is on disk before it is said to be, and takes nothing once it is closed', async () => {
  const handle = await open(file('any'), 'w')
  const synced = vi.spyOn(Object.getPrototypeOf(handle) as { datasync: () => Promise<void> }, 'datasync')
  await handle.close()
  const first = await openWatermarkFile(folder)
  await first.file.append([{ digests: [A], text: 'x' }, signIn('y')])
  expect(synced).toHaveBeenCalledTimes(2)
  await first.file.append([signIn('z')])
  expect(synced).toHaveBeenCalledTimes(3)
  await first.file.close()
  for (const line of [{ digests: [A], text: 'x' }, signIn('y')])
    await expect(first.file.append([line])).rejects.toThrow()
})
