import { type FileHandle, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Hex } from 'viem'
import { RolekeeperError } from '../../errors.ts'

/** One line of a watermark: the digests that may be signed since it was written, and what they are for. */
export type WatermarkLine = {
  readonly digests: readonly Hex[]
  readonly text: string
  /** Kept apart from what moves something. */
  readonly isSignIn?: true
}

/** A file longer than this becomes the old one, and what was the old one goes: some ten thousand workflows. */
const BYTES_MAX = 32_000_000
/** A service may ask for thousands of sign-ins a day, which must push no claim out: some three thousand stay known. */
const SIGN_IN_BYTES_MAX = 1_000_000
/** Stands where a line has no digest. */
const NONE = '-'

/** Append-only files of lines with a checksum each. */
export type WatermarkFile = {
  /** Resolves when the lines are on disk. */
  readonly append: (lines: readonly WatermarkLine[]) => Promise<void>
  readonly close: () => Promise<void>
}

/** A watermark as it was found. */
export type FoundWatermark = {
  readonly file: WatermarkFile
  /** Whether it was there before. */
  readonly existed: boolean
  /**
   * Oldest first, those of the file before it included; sign-ins after all others. One that is not as it was written holds
   * nothing, and a line that a crash cut off at the end is left out.
   */
  readonly lines: readonly WatermarkLine[]
}

/** Open (or create) the watermark in a folder. Throws RolekeeperError `watermark.not_opened`. */
export async function openWatermarkFile(folder: string): Promise<FoundWatermark> {
  try {
    const claims = await openLog(folder, 'watermark', BYTES_MAX)
    const signIns = await openLog(folder, 'watermark.sign-ins', SIGN_IN_BYTES_MAX)
    const file: WatermarkFile = {
      append: async (lines) => {
        await Promise.all([
          claims.append(lines.filter(({ isSignIn }) => isSignIn !== true)),
          signIns.append(lines.filter(({ isSignIn }) => isSignIn === true)),
        ])
      },
      close: async () => {
        await Promise.all([claims.close(), signIns.close()])
      },
    }
    return {
      file,
      existed: claims.existed,
      lines: [...claims.lines, ...signIns.lines.filter((line) => line !== SPOILT)],
    }
  } catch (cause) {
    throw new RolekeeperError('watermark.not_opened', `The watermark in ${folder} could not be opened.`, {
      fix: 'check that the folder of `watermark` is there and yours to write.',
      cause,
    })
  }
}

/** Open one file of lines and the one before it. */
async function openLog(folder: string, name: string, bytesMax: number) {
  const [path, oldPath] = [join(folder, `${name}.log`), join(folder, `${name}.old.log`)]
  const old = await read(oldPath)
  const current = await read(path)
  let handle = await open(path, 'a', 0o600)
  // What a crash cut off would spoil the line that follows it.
  if (current !== null) await handle.truncate(current.bytes)
  let bytes = current?.bytes ?? 0
  return {
    append: async (lines: readonly WatermarkLine[]) => {
      if (lines.length === 0) return
      if (bytes > bytesMax) {
        await handle.close()
        await rename(path, oldPath)
        handle = await open(path, 'a', 0o600)
        bytes = 0
      }
      bytes += await write(handle, lines)
    },
    close: () => handle.close(),
    existed: current !== null || old !== null,
    lines: [...(old?.lines ?? []), ...(current?.lines ?? [])],
  }
}

async function write(handle: FileHandle, lines: readonly WatermarkLine[]): Promise<number> {
  const text = lines
    .map(({ digests, text }) => {
      const body = `${digests.length === 0 ? NONE : digests.join(',')} ${text}`
      return `${checksum(body)} ${body}\n`
    })
    .join('')
  await handle.appendFile(text)
  await handle.datasync()
  return Buffer.byteLength(text)
}

const checksum = (body: string) => crc32(body).toString(16).padStart(8, '0')

/** Read the lines of a file, and how many bytes of it are whole lines; null when it is not there. */
async function read(path: string) {
  const content = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (content === null) return null
  const bytes = content.lastIndexOf('\n') + 1
  const lines = content.toString('utf8', 0, bytes).split('\n').slice(0, -1).map(parse)
  return { bytes, lines }
}

/** A line that is not as it was written. */
const SPOILT: WatermarkLine = { digests: [], text: '' }

function parse(line: string): WatermarkLine {
  const body = line.slice(9)
  const cut = body.indexOf(' ')
  if (cut < 0 || `${checksum(body)} ` !== line.slice(0, 9)) return SPOILT
  const digests = body.slice(0, cut)
  return { digests: digests === NONE ? [] : (digests.split(',') as Hex[]), text: body.slice(cut + 1) }
}
