import { type FileHandle, mkdir, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { RolekeeperError } from '../errors.ts'
import { endProcess } from '../journal/faults.ts'
import type { LastKnown } from '../journal/redis/link/generation.ts'

/** Each of the two places of a file takes one line; a crash spoils the one that was being written. */
const PLACE_BYTES = 128

/** What an instance knows of a seat: what is acknowledged, and the highest nonce that its key was asked to sign. */
export type Witnessed = LastKnown & { readonly top?: number }

/** What this instance knows to be acknowledged for a seat, on its own disk: the generation and the newest sequence. */
export type Witness = {
  /** As it was found; null where there was nothing. */
  readonly known: Witnessed | null
  /**
   * Resolve when it is on disk: before anything that follows from it. Those who ask meanwhile share the next. The highest
   * nonce stays until a higher one is given.
   */
  readonly record: (known: Witnessed) => Promise<void>
  /** The highest nonce so far. */
  readonly top: () => number | undefined
  readonly close: () => Promise<void>
}

/**
 * Open (or create) the witness of a seat in its folder. Throws RolekeeperError `fleet.witness`. Once the disk takes nothing any
 * more the process ends, and other instances take its seats.
 */
export async function openWitness(folder: string): Promise<Witness> {
  const path = join(folder, 'acknowledged')
  let file: FileHandle | undefined
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // Neither of the ways to open it both makes it and lets it be written at any place.
    await (await open(path, 'a', 0o600)).close()
    file = await open(path, 'r+')
    const [one, known] = newestIn(await file.readFile('utf8'))
    return writing(file, known, known !== null && known === one ? 1 : 0, path)
  } catch (cause) {
    await file?.close()
    throw unreadable(path, cause)
  }
}

const unreadable = (path: string, cause: unknown) =>
  new RolekeeperError('fleet.witness', `${path} does not show what was acknowledged.`, {
    fix: 'check that disk; nothing is held on this machine before it shows it, or `rolekeeper safe` has proven the rest.',
    cause,
  })

const unwritten = (path: string, cause: unknown) =>
  new RolekeeperError('fleet.witness', `${path} does not take what is acknowledged.`, {
    fix: 'give `directory` a disk that can be written and has room, then start again; others hold its seats meanwhile.',
    cause,
  })

/** Read the witness of a folder, beside who writes it; null where there is none. Throws RolekeeperError `fleet.witness`. */
export async function readWitness(folder: string): Promise<Witnessed | null> {
  const path = join(folder, 'acknowledged')
  try {
    return newestIn(await readFile(path, 'utf8'))[1]
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null
    throw unreadable(path, cause)
  }
}

/** Read the first place of a file, and the newer of both. Throws where neither is as it was written. Pure. */
function newestIn(text: string): readonly [Witnessed | null, Witnessed | null] {
  const [one = null, other = null] = [0, PLACE_BYTES].map((from) =>
    parse(text.slice(from, from + PLACE_BYTES)),
  )
  const known = (one?.seq ?? -1) >= (other?.seq ?? -1) ? one : other
  // One of two is what a crash leaves.
  if (known === null && text.length > PLACE_BYTES) throw new TypeError('no line is as it was written')
  return [one, known]
}

function writing(file: FileHandle, found: Witnessed | null, first: 0 | 1, path: string): Witness {
  let place = first
  let newest = found
  let written = found
  let underWay: Promise<void> | undefined
  let isClosed = false
  const isOnDisk = ({ gen, seq, top }: Witnessed) =>
    written?.gen === gen && written.seq >= seq && (top === undefined || (written.top ?? -1) >= top)
  const write = async (known: Witnessed) => {
    try {
      await file.write(lineOf(known), place * PLACE_BYTES)
      await file.datasync()
    } catch (cause) {
      const failure = unwritten(path, cause)
      // What comes late is of a term that has ended.
      if (!isClosed) endProcess(failure)
      throw failure
    }
    place = place === 0 ? 1 : 0
    written = known
  }
  return {
    known: found,
    record: async (known) => {
      const top = Math.max(newest?.top ?? -1, known.top ?? -1)
      const isNewer = newest === null || newest.gen !== known.gen || newest.seq < known.seq
      newest = { ...(isNewer || newest === null ? known : newest), ...(top < 0 ? {} : { top }) }
      while (!isOnDisk(known)) {
        underWay ??= write(newest).finally(() => {
          underWay = undefined
        })
        await underWay
      }
    },
    top: () => newest?.top,
    close: async () => {
      isClosed = true
      await underWay
      await file.close()
    },
  }
}

/** Pure. */
function lineOf({ gen, seq, run = '', top }: Witnessed): string {
  const text = `${gen} ${seq} ${run} ${top ?? ''}`.trimEnd()
  return `${`${crc32(text).toString(16).padStart(8, '0')} ${text}`.padEnd(PLACE_BYTES - 1)}\n`
}

/** Read a line that {@link lineOf} wrote; null where it is none. Pure. */
function parse(line: string): Witnessed | null {
  const [, gen = '', seq = '', run = '', top = ''] = line.trimEnd().split(' ')
  const known = {
    gen,
    seq: Number(seq),
    ...(run === '' ? {} : { run }),
    ...(top === '' ? {} : { top: Number(top) }),
  }
  return gen !== '' && line === lineOf(known) ? known : null
}
