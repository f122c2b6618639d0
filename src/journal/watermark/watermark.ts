import type { Address, Hex } from 'viem'
import { RolekeeperError } from '../../errors.ts'
import type { Attempt } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type { Journal, LedgerEntry, Reservation } from '../journal.ts'
import { decodeRecord, encodeRecord } from '../sqlite/records.ts'
import type { WatermarkFile, WatermarkLine } from './watermark-file.ts'

/** What a watermark keeps beside the journal: each claim as it was made, each later attempt, and what else is signed. */
export type Mark =
  | { readonly type: 'digest'; readonly entry: LedgerEntry }
  | { readonly type: 'claim'; readonly workflow: Workflow; readonly reservation: Reservation | null }
  | {
      readonly type: 'attempt'
      readonly workflowId: string
      readonly chainId: number
      readonly signer: Address
      readonly nonce: number
      readonly attempt: Attempt
      /** What the workflow may cost with it; absent where that did not change, and in lines of the first release. */
      readonly reservation?: Reservation
    }

/** A second record of what may have been signed, in one place or two, which outlives a journal that goes back. */
export type Watermark = {
  /** Keep a mark; `flush` brings it to disk. */
  readonly record: (mark: Mark) => void
  /** How many marks were recorded so far. */
  readonly recorded: () => number
  /** Resolve when the first `count` marks are on disk. Throws RolekeeperError `watermark.failed`, from then on always. */
  readonly flush: (count: number) => Promise<void>
  /** Resolve when what is being written has ended. */
  readonly ended: () => Promise<void>
}

/**
 * Create the watermark of files that were read. `onFailed` is called once, when a disk takes nothing: from then on nothing
 * may be signed.
 */
export function createWatermark(
  files: readonly Pick<WatermarkFile, 'append'>[],
  onFailed: (failure: RolekeeperError) => void,
): Watermark {
  let pending: WatermarkLine[] = []
  let recorded = 0
  let allowed = 0
  let written = 0
  let writing: Promise<void> | undefined
  let failure: RolekeeperError | undefined

  /** One sync for all that may be written by now: what comes meanwhile shares the next. */
  const write = async () => {
    const lines = pending.slice(0, allowed - written)
    try {
      await Promise.all(files.map((file) => file.append(lines)))
    } catch (cause) {
      failure = new RolekeeperError('watermark.failed', 'The watermark could not be written to disk.', {
        fix: 'make room on the disks of `directory` and `watermark`, then start again; what was in flight resumes.',
        cause,
      })
      onFailed(failure)
      return
    }
    pending = pending.slice(lines.length)
    written += lines.length
  }
  return {
    record: (mark) => {
      pending.push(lineOf(mark))
      recorded += 1
    },
    recorded: () => recorded,
    flush: async (count) => {
      allowed = Math.max(allowed, count)
      while (written < count && failure === undefined) {
        writing ??= write().finally(() => {
          writing = undefined
        })
        await writing
      }
      if (failure !== undefined) throw failure
    },
    ended: async () => writing,
  }
}

/** The digests that a mark allows. Pure. */
export function digestsOf(mark: Mark): readonly Hex[] {
  if (mark.type === 'digest') return [mark.entry.digest]
  if (mark.type === 'attempt') return [mark.attempt.digest]
  return mark.workflow.slots.flatMap(({ attempts }) => attempts.map(({ digest }) => digest))
}

/** The key that a mark is of, and its workflow; null for a sign-in. Pure. */
export function ownerOf(mark: Mark): Pick<LedgerEntry, 'workflowId' | 'signer'> {
  if (mark.type === 'digest') return mark.entry
  return mark.type === 'attempt' ? mark : { workflowId: mark.workflow.id, signer: mark.workflow.signer }
}

/** Write a mark as a line. Pure. */
export const lineOf = (mark: Mark): WatermarkLine => ({
  digests: digestsOf(mark),
  text: encodeRecord(mark),
  ...(mark.type === 'digest' && mark.entry.kind === 'challenge' ? { isSignIn: true } : {}),
})

/** Read the mark of a line that {@link lineOf} wrote; null where it is none, though its checksum fits. Pure. */
export function markOf({ text }: WatermarkLine): Mark | null {
  try {
    const mark = decodeRecord<Mark | null>(text)
    return mark !== null && ['claim', 'attempt', 'digest'].includes(mark.type) ? mark : null
  } catch {
    return null
  }
}

/** Digests that are remembered as entered; when they are more, one that is tried again has a second line, which does no harm. */
const ENTERED_MAX = 10_000

/**
 * Keep a watermark of everything that a journal lets be signed. What a barrier has passed is on disk in both; the journal
 * first, so that a crash between the two never leaves a watermark that is ahead.
 */
export function withWatermark(journal: Journal, watermark: Watermark): Journal {
  const entered = new Set<string>()
  const written = async <Answer extends Workflow | 'outdated'>(
    workflow: Workflow,
    reservation: Reservation | null | undefined,
    write: () => Promise<Answer>,
  ): Promise<Answer> => {
    const before = workflow.slots.length === 0 ? null : await journal.get(workflow.id)
    const next = await write()
    if (typeof next === 'string') return next
    for (const mark of newAttempts(before, next, reservation)) watermark.record(mark)
    return next
  }
  const claimed = async <Answer extends Workflow | 'lost' | 'outdated'>(
    reservation: Reservation | null,
    claiming: Promise<Answer>,
  ): Promise<Answer> => {
    const workflow = await claiming
    if (typeof workflow !== 'string') watermark.record({ type: 'claim', workflow, reservation })
    return workflow
  }
  const marked: Pick<
    Journal,
    'claim' | 'claimWithin' | 'write' | 'writeWithin' | 'enterDigest' | 'ordered' | 'barrier'
  > = {
    claim: (workflow, reservation) => claimed(reservation, journal.claim(workflow, reservation)),
    claimWithin: (workflow, reservation, revision) =>
      claimed(reservation, journal.claimWithin(workflow, reservation, revision)),
    write: (workflow, reservation) =>
      written(workflow, reservation, () => journal.write(workflow, reservation)),
    writeWithin: (workflow, reservation, revision) =>
      written(workflow, reservation, () => journal.writeWithin(workflow, reservation, revision)),
    ordered: async (entries) => {
      await marked.barrier()
      await journal.ordered(entries)
    },
    enterDigest: async (entry) => {
      await journal.enterDigest(entry)
      // Where a key does not answer, the same digest is entered at each try. That the ledger has it is not enough: a
      // crash may have come before the watermark's line.
      const line = `${entry.digest} ${entry.signer}`
      if (!entered.has(line)) watermark.record({ type: 'digest', entry })
      if (entered.size >= ENTERED_MAX) entered.clear()
      entered.add(line)
    },
    barrier: async () => {
      // Nothing that is written after this is sure to be in the journal when its barrier has passed.
      const count = watermark.recorded()
      await journal.barrier()
      await watermark.flush(count)
    },
  }
  return new Proxy(journal, {
    get: (target, name) => {
      const value: unknown = Reflect.get(marked, name) ?? Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function newAttempts(
  before: Workflow | null,
  { id, slots }: Workflow,
  reservation: Reservation | null = null,
): readonly Mark[] {
  const reserved = reservation === null ? {} : { reservation }
  const known = new Set(before?.slots.flatMap(({ attempts }) => attempts.map(({ digest }) => digest)))
  return slots.flatMap(({ chainId, signer, nonce, attempts }) =>
    attempts
      .filter(({ digest }) => before !== null && !known.has(digest))
      .map(
        (attempt): Mark => ({
          type: 'attempt',
          workflowId: id,
          chainId,
          signer,
          nonce,
          attempt,
          ...reserved,
        }),
      ),
  )
}
