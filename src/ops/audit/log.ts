import { mkdirSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { RolekeeperError } from '../../errors.ts'
import { GENESIS, type Head, lineAfter, readLine } from './chain.ts'
import { auditFolder, readSegment, type Segment, segmentName, segmentsIn } from './segments.ts'

/** What is said beside the time and the kind of a record; plain JSON, no secret. */
export type AuditFacts = Readonly<Record<string, unknown>>

/** How an audit stands. */
export type AuditState = {
  /**
   * Where the chain ends on disk: who notes it elsewhere can prove later that nothing of it was changed or cut. What is not on
   * disk yet may go with the power, and its head would accuse somebody.
   */
  readonly head: Head
  /** Since when something that was taken down is not on disk, milliseconds of the monotonic clock; null while all is. */
  readonly waitingSinceMs: number | null
  /** What the start found that does not hold together: a person has to look. */
  readonly damage: RolekeeperError | null
}

/** The record of everything that a keeper did and was told, each line bound to the one before. */
export type AuditLog = {
  /** Take a record down; it is with the operating system by the end of the turn, and on disk after `flush`. */
  readonly record: (kind: string, facts: AuditFacts) => void
  /** Resolve when everything taken down so far is on disk. Throws RolekeeperError `audit.failed`, from then on always. */
  readonly flush: () => Promise<void>
  readonly state: () => AuditState
  readonly close: () => Promise<void>
}

/** What the audit needs. */
type AuditDeps = {
  readonly nowMs: () => number
  readonly monotonicMs: () => number
  /** Called once, when the disk takes nothing: from then on nothing may be signed. */
  readonly onFailed: (failure: RolekeeperError) => void
  /** Of a segment; tests have smaller ones. */
  readonly bytesMax?: number
  /** How many are kept. */
  readonly segmentsMax?: number
}

/** Some ten thousand records: as much as a start reads again. */
const BYTES_MAX = 8_000_000
/** Half a gigabyte. */
const SEGMENTS_MAX = 64
/** What no effect waits for is on disk by then. */
const SYNC_MS = 1_000

/**
 * Open (or begin) the audit of a directory that this process has locked, behind what is there.
 * @throws RolekeeperError `audit.failed`.
 */
export async function openAudit(directory: string, deps: AuditDeps): Promise<AuditLog> {
  const folder = auditFolder(directory)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const writer = new Writer(folder, deps)
    await writer.begin()
    return writer
  } catch (cause) {
    throw failed(folder, cause)
  }
}

/** A segment to be begun, and those that go for it. */
type NextSegment = { readonly name: string; readonly head: Head; readonly gone: readonly Segment[] }

class Writer implements AuditLog {
  readonly #folder: string
  readonly #deps: Required<AuditDeps>
  #head = GENESIS
  /** Where the chain ends on disk. */
  #headOnDisk = GENESIS
  #waitingSinceMs: number | null = null
  #damage: RolekeeperError | null = null
  #pending: string[] = []
  #handle: FileHandle | undefined
  #bytes = 0
  /** How much was taken down, and how much of it is on disk. */
  #taken = 0
  #synced = 0
  #writing: Promise<void> | undefined
  #wantsSync = false
  #failure: RolekeeperError | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(folder: string, deps: AuditDeps) {
    this.#folder = folder
    this.#deps = { bytesMax: BYTES_MAX, segmentsMax: SEGMENTS_MAX, ...deps }
  }

  /** Go on where the last segment ends; what a crash left of a line is not a record, and goes. */
  async begin(): Promise<void> {
    const last = segmentsIn(this.#folder).at(-1)
    if (last === undefined) return this.#enter(this.#segmentAfter())
    const { lines, bytes, cut } = readSegment(last)
    if (lines.length === 0) {
      // A crash or a full disk came between a segment and its first record: what is whole ends with the one before.
      rmSync(last.path)
      await this.begin()
      return this.record('cut', { bytes: cut, segment: last.name })
    }
    const found = endOf(last, lines)
    this.#head = found.head
    this.#headOnDisk = found.head
    if (found.isDamaged) {
      this.#damage = damaged(last.path)
      return this.#enter(this.#segmentAfter())
    }
    this.#handle = await open(last.path, 'a', 0o600)
    if (cut > 0) {
      await this.#handle.truncate(bytes)
      this.record('cut', { bytes: cut })
    }
    this.#bytes = bytes
  }

  readonly record = (kind: string, facts: AuditFacts): void => {
    this.#take({ at: this.#now(), kind, ...facts })
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      // The next one who waits for it hears of it.
      this.flush().catch(() => undefined)
    }, SYNC_MS).unref()
    if (this.#pending.length === 1) setImmediate(() => void this.#write(false))
  }

  #take(record: { readonly at: string; readonly kind: string; readonly [fact: string]: unknown }): void {
    const { line, head } = lineAfter(this.#head, record)
    this.#head = head
    this.#waitingSinceMs ??= this.#deps.monotonicMs()
    this.#pending.push(line)
    this.#taken += 1
  }

  /** What was taken down up to here is on disk; what came meanwhile waits. */
  #onDisk(upTo: number, head: Head): void {
    this.#synced = upTo
    this.#headOnDisk = head
    this.#waitingSinceMs = this.#taken > upTo ? this.#deps.monotonicMs() : null
  }

  readonly state = (): AuditState => ({
    head: this.#headOnDisk,
    waitingSinceMs: this.#waitingSinceMs,
    damage: this.#damage,
  })

  #now(): string {
    return new Date(this.#deps.nowMs()).toISOString()
  }

  readonly flush = async (): Promise<void> => {
    const upTo = this.#taken
    while (this.#synced < upTo && this.#failure === undefined) await this.#write(true)
    if (this.#failure !== undefined) throw this.#failure
  }

  /** One write at a time; what comes meanwhile shares the next. */
  #write(sync: boolean): Promise<void> {
    this.#wantsSync ||= sync
    this.#writing ??= this.#writeAll()
      .catch((cause: unknown) => {
        this.#failure = failed(this.#folder, cause)
        this.#deps.onFailed(this.#failure)
      })
      .finally(() => {
        this.#writing = undefined
      })
    return this.#writing
  }

  async #writeAll(): Promise<void> {
    while (this.#pending.length > 0 || this.#wantsSync) {
      const isFull = this.#bytes > this.#deps.bytesMax
      const sync = this.#wantsSync || isFull
      this.#wantsSync = false
      const text = this.#pending.join('')
      const [upTo, head] = [this.#taken, this.#head]
      this.#pending = []
      // What is taken down from here on stands behind the first record of the next segment.
      const next = isFull ? this.#segmentAfter() : undefined
      await this.#handle?.appendFile(text)
      this.#bytes += Buffer.byteLength(text)
      if (!sync) continue
      await this.#handle?.datasync()
      this.#onDisk(upTo, head)
      if (next !== undefined) await this.#enter(next)
    }
  }

  /** Take down the first record of the next segment: the hash that it goes on from, and what is dropped for it. */
  #segmentAfter(): NextSegment {
    const { seq, hash } = this.#head
    const name = segmentName(seq + 1)
    const segments = segmentsIn(this.#folder)
    const gone = segments.slice(0, Math.max(0, segments.length + 1 - this.#deps.segmentsMax))
    const before = segments[gone.length]?.first ?? seq + 1
    this.#take({
      at: this.#now(),
      kind: 'segment',
      prev: hash,
      ...(gone.length === 0 ? {} : { dropped: { before } }),
    })
    return { name, head: this.#head, gone }
  }

  async #enter({ name, head, gone }: NextSegment): Promise<void> {
    const line = this.#pending.shift() ?? ''
    await this.#handle?.close()
    this.#handle = await open(join(this.#folder, name), 'ax', 0o600)
    await this.#handle.appendFile(line)
    await this.#handle.datasync()
    this.#onDisk(this.#synced + 1, head)
    this.#bytes = Buffer.byteLength(line)
    // What says that they went is on disk.
    for (const { path } of gone) rmSync(path, { force: true })
  }

  readonly close = async (): Promise<void> => {
    clearTimeout(this.#timer)
    await this.flush().catch(() => undefined)
    await this.#handle?.close()
  }
}

/** Find the head that a segment ends with. */
function endOf(
  { first }: Segment,
  lines: readonly string[],
): { readonly head: Head; readonly isDamaged: boolean } {
  let head: Head = { seq: first - 1, hash: prevOf(lines[0]) }
  let isDamaged = false
  for (const line of lines) {
    const { record, stated, fits } = readLine(line, head.hash)
    if (!fits || record?.seq !== head.seq + 1) isDamaged = true
    head = { seq: head.seq + 1, hash: stated }
  }
  return { head, isDamaged }
}

/** The hash that the first line of a segment says it goes on from. */
export function prevOf(line: string | undefined): string {
  const prev = line === undefined ? undefined : readLine(line, '').record?.prev
  return typeof prev === 'string' ? prev : GENESIS.hash
}

const failed = (folder: string, cause: unknown) =>
  cause instanceof RolekeeperError
    ? cause
    : new RolekeeperError('audit.failed', `The audit in ${folder} could not be written.`, {
        fix: 'give `directory` a disk that can be written and has room, then start again; what was in flight resumes.',
        cause,
      })

const damaged = (path: string) =>
  new RolekeeperError(
    'audit.damaged',
    `The audit ${path} does not hold together; a new segment is begun behind it.`,
    {
      fix: 'see `rolekeeper audit verify`, which names the record; keep the file as it is for whoever looks into it.',
    },
  )
