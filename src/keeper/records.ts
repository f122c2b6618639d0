import { existsSync } from 'node:fs'
import type { Address } from 'viem'
import type { Clock } from '../clock.ts'
import type { RunConfig } from '../config/config.ts'
import { RolekeeperError } from '../errors.ts'
import { endProcess } from '../journal/faults.ts'
import type { Journal } from '../journal/journal.ts'
import { lockDirectory } from '../journal/lock.ts'
import { openJournal } from '../journal/open.ts'
import { areHeld, type TakenBack, takeBack } from '../journal/take-back.ts'
import {
  createWatermark,
  lineOf,
  type Mark,
  markOf,
  withWatermark,
  workflowIdOf,
} from '../journal/watermark.ts'
import { type FoundWatermark, openWatermarkFile } from '../journal/watermark-file.ts'
import { doubtAfterLastFinal } from '../pipeline/transactions/nonces.ts'
import { createSigners, type Doubt, type Signers } from '../pipeline/transactions/safe.ts'
import type { Workflow } from '../workflow/workflow.ts'

/** Where a keeper's records are, and whose they are. */
type RecordsConfig = Pick<RunConfig, 'directory'> & {
  readonly watermark?: string | undefined
  readonly chain: Pick<RunConfig['chain'], 'id'>
  readonly agents: readonly {
    readonly mode: 'live' | 'shadow'
    readonly signer: { readonly address: Address }
  }[]
}

/** What opening records needs. */
type RecordsDeps = {
  readonly clock: Clock
  readonly alarm: (error: RolekeeperError) => void
}

/** What a keeper knows of what it did. */
export type KeeperRecords = {
  /** Its barrier passes when the watermark is on disk too. */
  readonly journal: Journal
  readonly signers: Signers
  /** The signers that may have a transaction on its way: those of the configuration, and those of workflows in flight. */
  readonly addresses: readonly Address[]
  /** What has not ended. */
  readonly resumed: readonly Workflow[]
  readonly close: () => Promise<void>
}

/** Where the journal keeps its chain and the signers that its keeper last had, as JSON. */
export const SIGNERS_KEY = 'signers'

/** A watermark and where it is; `kept` names it in the journal. */
type Place = FoundWatermark & { readonly folder: string; readonly kept: string }

/**
 * Open the journal and its watermark and compare them, before anything else: what the journal has lost comes back from
 * the watermark, and its signers are SAFE until a person has looked. Throws `journal.*`, `watermark.not_opened`, and
 * `watermark.other_chain` or `watermark.other_signer` for one that is not ours.
 */
export async function openRecords(config: RecordsConfig, deps: RecordsDeps): Promise<KeeperRecords> {
  const { directory, watermark: copy } = config
  const { journal, close } = openJournal(directory, deps.clock)
  const opened = [close]
  const closeAll = async () => {
    for (const each of opened.toReversed()) await each()
  }
  try {
    if (copy !== undefined) {
      // Where nothing is mounted, a new folder would be a second copy on the first disk.
      if (!existsSync(`${copy}/`)) throw notThere(copy)
      const { release } = lockDirectory(copy)
      opened.push(async () => release())
    }
    const places: Place[] = []
    for (const [index, folder] of [directory, copy].entries()) {
      if (folder === undefined) continue
      const found = await openWatermarkFile(folder)
      opened.push(found.file.close)
      places.push({ ...found, folder, kept: index === 0 ? 'watermark' : `watermark:${folder}` })
    }
    const chainId = config.chain.id
    const ours = signersOf(config, await journal.live())
    const signers = await createSigners(ours, {
      nowMs: deps.clock.nowMs,
      alarm: deps.alarm,
      chainId,
      journal,
    })
    for (const place of places) await compare(place, { journal, signers, ours, chainId })
    for (const place of places) await complete(place, journal)
    const resumed = await journal.live()
    const watermark = createWatermark(
      places.map(({ file }) => file),
      endProcess,
    )
    // Only what is under way: what has passed no barrier is in neither record, or in the journal alone.
    opened.push(watermark.ended)
    const addresses = signersOf(config, resumed)
    await journal.setValue(SIGNERS_KEY, JSON.stringify({ chainId, addresses }))
    return { journal: withWatermark(journal, watermark), signers, addresses, resumed, close: closeAll }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** A shadow claims no nonce: its address may well be another keeper's to use. Pure. */
const signersOf = ({ agents }: RecordsConfig, live: readonly Workflow[]): readonly Address[] => [
  ...new Set([
    ...agents.flatMap(({ mode, signer }) => (mode === 'live' ? [signer.address] : [])),
    ...live.flatMap(({ shadow, signer }) => (shadow === true ? [] : [signer])),
  ]),
]

/** What a watermark is held against. */
type Known = {
  readonly journal: Journal
  readonly signers: Signers
  readonly ours: readonly Address[]
  readonly chainId: number
}

/** Hold the journal against one watermark: a difference is SAFE, and what the journal lost is taken back. */
async function compare(place: Place, known: Known): Promise<void> {
  const { journal, signers } = known
  const { lost, unread } = await lostMarks(place, known)
  // First, both: where the process dies once the marks are back, nothing else shows that they had been lost.
  if (lost.length > 0) await doubtAfterLastFinal(journal, known.chainId)
  const doubt = (signer: Address, missed: readonly TakenBack[]) =>
    signers.safe(
      signer,
      behind(
        place.folder,
        lost.filter((mark) => signerOf(mark) === signer),
        missed.filter((each) => each.signer === signer),
      ),
    )
  for (const signer of new Set(lost.map(signerOf))) doubt(signer, [])
  const missed = (await takeBack(lost, journal)).filter(({ taken }) => !taken)
  for (const signer of new Set(missed.map((each) => each.signer))) doubt(signer, missed)
  const isMissing = !place.existed && (await journal.getValue(place.kept)) !== null
  const damaged = place.damaged + unread
  for (const signer of known.ours) {
    if (isMissing) signers.safe(signer, missing(place.folder))
    if (damaged > 0) signers.safe(signer, unreadable(place.folder, damaged))
  }
}

/**
 * The marks that a journal does not hold: those that follow the newest claim or attempt that it does, in the order of its
 * commits; and how many lines among them are no marks.
 */
async function lostMarks({ folder, lines }: Place, { journal, ours, chainId }: Known) {
  const lost: Mark[] = []
  let unread = 0
  const newest = lines.findLast((line) => chainOf(markOf(line)) !== null)
  const found = newest === undefined ? null : chainOf(markOf(newest))
  if (found !== null && found !== chainId) throw otherChain(folder, found, chainId)
  for (const line of lines.toReversed()) {
    const mark = markOf(line)
    if (await areHeld(line.digests, mark === null ? null : workflowIdOf(mark), journal)) {
      // A start that tries a key again enters its digest anew: what lies before that line may be lost all the same.
      if (mark?.type === 'digest') continue
      break
    }
    if (mark === null) {
      unread += 1
      continue
    }
    const signer = signerOf(mark)
    const isOurs = ours.some((each) => each.toLowerCase() === signer.toLowerCase())
    const isKnown = isOurs || (await journal.nextNonce(chainId, signer)) !== null
    // A key that is no agent's any more and only signed in has nothing under way.
    if (!isKnown && mark.type === 'digest') continue
    if (!isKnown) throw otherSigner(folder, signer)
    lost.unshift(mark)
  }
  return { lost, unread }
}

/** What has no nonce names no chain. Pure. */
function chainOf(mark: Mark | null): number | null {
  if (mark === null || mark.type === 'digest') return null
  return mark.type === 'claim' ? mark.workflow.chainId : mark.chainId
}

function signerOf(mark: Mark): Address {
  if (mark.type === 'digest') return mark.entry.signer
  return mark.type === 'claim' ? mark.workflow.signer : mark.signer
}

/** Write what is live and a watermark lacks into it: one that is new, or whose last lines a crash took. */
async function complete({ file, lines, kept }: Place, journal: Journal): Promise<void> {
  const known = new Set(lines.flatMap(({ digests }) => digests))
  const absent = (await journal.live()).filter(({ slots }) =>
    slots.some(({ attempts }) => attempts.some(({ digest }) => !known.has(digest))),
  )
  // As the journal's commits: the newest line that it holds says that it holds those before.
  const inOrder = absent.toSorted((one, other) => orderedAtMs(one) - orderedAtMs(other))
  const marks = inOrder.map(async (workflow) => {
    const rows = await journal.reservations(workflow.role, workflow.createdAtMs)
    const reservation = rows.find(({ workflowId }) => workflowId === workflow.id) ?? null
    return lineOf({ type: 'claim', workflow, reservation })
  })
  if (absent.length > 0) await file.append(await Promise.all(marks))
  await journal.setValue(kept, 'kept')
  await journal.barrier()
}

/** When the newest attempt of a workflow was ordered. Pure. */
const orderedAtMs = ({ slots }: Workflow): number =>
  Math.max(...slots.flatMap(({ attempts }) => attempts.map((attempt) => attempt.orderedAtMs)))

const behind = (folder: string, lost: readonly Mark[], missed: readonly TakenBack[]): Doubt => {
  const nonces = lost.flatMap(noncesOf)
  const others = lost.filter(({ type }) => type === 'digest').length
  const had = [
    ...(nonces.length === 0
      ? []
      : [`nonces ${Math.min(...nonces)} to ${Math.max(...nonces)}, ${nonces.length} claims and attempts`]),
    ...(others === 0 ? [] : [`${others} digests of sign-ins and typed data`]),
  ]
  const rest =
    missed.length === 0
      ? ''
      : ` It holds something else at nonces ${missed.map(({ nonce }) => nonce).join(', ')}.`
  return {
    check: 'journal_behind_watermark',
    message: `The journal is older than its watermark, as one restored from a backup is.${rest}`,
    seen: `${folder} has ${had.join(', and ')} that the journal had lost`,
    toLeave:
      'find out where the journal came from; each nonce that was seen must be final, which the keeper sees to by itself',
  }
}

function noncesOf(mark: Mark): readonly number[] {
  if (mark.type === 'digest') return []
  return mark.type === 'claim' ? mark.workflow.slots.map(({ nonce }) => nonce) : [mark.nonce]
}

const missing = (folder: string): Doubt => ({
  check: 'watermark_missing',
  message:
    'The watermark that the journal was kept with is gone, so nothing shows whether the journal is the newest.',
  seen: `no watermark.log in ${folder}`,
  toLeave: 'find out where it went, and that the journal was not restored from a backup',
})

const unreadable = (folder: string, damaged: number): Doubt => ({
  check: 'watermark_unreadable',
  message: 'The watermark has lines that are not as they were written.',
  seen: `${damaged} of the lines in ${folder}`,
  toLeave: 'check that disk, and that the journal was not restored from a backup',
})

const notThere = (folder: string) =>
  new RolekeeperError('watermark.not_opened', `There is no folder ${folder} for the watermark.`, {
    fix: 'mount its disk, or make the folder; or correct `watermark`.',
    facts: { folder },
  })

const otherChain = (folder: string, found: number, chainId: number) =>
  new RolekeeperError(
    'watermark.other_chain',
    `The watermark in ${folder} is of chain ${found}; the configuration says ${chainId}.`,
    {
      fix: 'correct `chain.id`; or give this chain a `directory` and a `watermark` of its own.',
      facts: { found, chainId },
    },
  )

const otherSigner = (folder: string, signer: Address) =>
  new RolekeeperError(
    'watermark.other_signer',
    `The watermark in ${folder} is of the signer ${signer}, which neither the configuration nor the journal knows.`,
    {
      fix: 'put its agent back; or give this keeper a `directory` and a `watermark` of its own.',
      facts: { signer },
    },
  )
