import { existsSync } from 'node:fs'
import type { Address } from 'viem'
import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import type { RolekeeperError } from '../../errors.ts'
import { lockDirectory } from '../../journal/directory/lock.ts'
import { endProcess } from '../../journal/faults.ts'
import type { Journal } from '../../journal/journal.ts'
import { openJournal } from '../../journal/open.ts'
import { areHeld, type TakenBack, takeBack } from '../../journal/watermark/take-back.ts'
import {
  createWatermark,
  lineOf,
  type Mark,
  markOf,
  ownerOf,
  withWatermark,
} from '../../journal/watermark/watermark.ts'
import { type FoundWatermark, openWatermarkFile } from '../../journal/watermark/watermark-file.ts'
import { doubtAfterLastFinal } from '../../pipeline/transactions/chain-view.ts'
import { createSigners, type Signers } from '../../pipeline/transactions/safe.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { behind, missing, notThere, otherChain, otherSigner, unreadable } from './watermark-doubts.ts'

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
  /** What sets its values apart from those of others on the same journal. */
  readonly scope: string
  /** What has not ended. */
  readonly resumed: readonly Workflow[]
  readonly close: () => Promise<void>
}

/** Where the journal keeps its chain and the signers that its keeper last had, as JSON. */
export const SIGNERS_KEY = 'signers'

/** A watermark and where it is; `kept` names it in the journal. */
type WatermarkPlace = FoundWatermark & { readonly folder: string; readonly kept: string }

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
    const places: WatermarkPlace[] = []
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
    for (const place of places) await complete(place, places, journal)
    const resumed = await journal.live()
    const watermark = createWatermark(
      places.map(({ file }) => file),
      endProcess,
    )
    // Only what is under way: what has passed no barrier is in neither record, or in the journal alone.
    opened.push(watermark.ended)
    const addresses = signersOf(config, resumed)
    await journal.setValue(SIGNERS_KEY, JSON.stringify({ chainId, addresses }))
    return {
      journal: withWatermark(journal, watermark),
      signers,
      addresses,
      scope: '',
      resumed,
      close: closeAll,
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** A shadow claims no nonce: its address may well be another keeper's to use. Pure. */
export const signersOf = (
  { agents }: Pick<RecordsConfig, 'agents'>,
  live: readonly Workflow[],
): readonly Address[] => [
  ...new Set([
    ...agents.flatMap(({ mode, signer }) => (mode === 'live' ? [signer.address] : [])),
    ...live.flatMap(({ shadow, signer }) => (shadow === true ? [] : [signer])),
  ]),
]

/** What a watermark is held against. */
type WatermarkTerms = {
  readonly journal: Journal
  readonly signers: Signers
  readonly ours: readonly Address[]
  readonly chainId: number
}

/** Hold the journal against one watermark: a difference is SAFE, and what the journal lost is taken back. */
async function compare(place: WatermarkPlace, known: WatermarkTerms): Promise<void> {
  const { journal, signers } = known
  const { lost, unread } = await lostMarks(place, known)
  // First, both: where the process dies once the marks are back, nothing else shows that they had been lost.
  if (lost.length > 0) await doubtAfterLastFinal(journal, known.chainId)
  const doubt = (signer: Address, missed: readonly TakenBack[]) =>
    signers.safe(
      signer,
      behind(
        place.folder,
        lost.filter((mark) => ownerOf(mark).signer === signer),
        missed.filter((each) => each.signer === signer),
      ),
    )
  for (const signer of new Set(lost.map((mark) => ownerOf(mark).signer))) doubt(signer, [])
  const missed = (await takeBack(lost, journal)).filter(({ taken }) => !taken)
  for (const signer of new Set(missed.map((each) => each.signer))) doubt(signer, missed)
  const isMissing = !place.existed && (await journal.getValue(place.kept)) !== null
  for (const signer of known.ours) {
    if (isMissing) signers.safe(signer, missing(place.folder))
    if (unread > 0) signers.safe(signer, unreadable(place.folder, unread))
  }
}

/**
 * The marks that a journal does not hold: those that follow the newest claim or attempt that it does, in the order of its
 * commits; and how many lines among them are no marks.
 */
async function lostMarks({ folder, lines }: WatermarkPlace, { journal, ours, chainId }: WatermarkTerms) {
  const lost: Mark[] = []
  let unread = 0
  const newest = lines.findLast((line) => chainOf(markOf(line)) !== null)
  const found = newest === undefined ? null : chainOf(markOf(newest))
  if (found !== null && found !== chainId) throw otherChain(folder, found, chainId)
  for (const line of lines.toReversed()) {
    const mark = markOf(line)
    // Whose a line is that is no mark, nobody knows.
    const owners = mark === null ? ours.map((signer) => ({ workflowId: null, signer })) : [ownerOf(mark)]
    // One that is spoilt says nothing, also not that it is held.
    const isWhole = line.digests.length > 0
    const held = await Promise.all(owners.map((owner) => areHeld(line.digests, owner, journal)))
    if (isWhole && held.includes(true)) {
      // A start that tries a key again enters its digest anew: what lies before that line may be lost all the same.
      if (mark?.type === 'digest') continue
      break
    }
    if (mark === null) {
      unread += 1
      continue
    }
    const { signer } = ownerOf(mark)
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

/** Write what is live and a watermark lacks into it: one that is new, or whose last lines a crash took. */
async function complete(
  { file, lines, kept }: WatermarkPlace,
  places: readonly WatermarkPlace[],
  journal: Journal,
): Promise<void> {
  const known = new Set(
    lines.flatMap((line) => {
      const mark = markOf(line)
      return mark === null ? [] : line.digests.map((digest) => `${digest} ${ownerOf(mark).signer}`)
    }),
  )
  const absent = (await journal.live()).filter((workflow) =>
    attemptsOf(workflow).some(({ digest }) => !known.has(`${digest} ${workflow.signer}`)),
  )
  const marks = inOrder(absent, places).map(async (workflow) => {
    const rows = await journal.reservations(workflow.role, workflow.createdAtMs)
    const reservation = rows.find(({ workflowId }) => workflowId === workflow.id) ?? null
    return lineOf({ type: 'claim', workflow, reservation })
  })
  if (absent.length > 0) await file.append(await Promise.all(marks))
  await journal.setValue(kept, 'kept')
  await journal.barrier()
}

const attemptsOf = ({ slots }: Workflow) => slots.flatMap(({ attempts }) => attempts)

/**
 * Put workflows in the order of the journal's commits, as its watermarks have them: the newest line that a journal holds
 * says that it holds those before. What is in none of them came last, by the clock. Pure.
 */
function inOrder(workflows: readonly Workflow[], places: readonly WatermarkPlace[]): readonly Workflow[] {
  if (workflows.length === 0) return []
  const digests = places.flatMap(({ lines }) => lines.flatMap((line) => line.digests))
  const order = new Map(digests.map((digest, index) => [digest, index]))
  return workflows
    .map((workflow) => ({
      workflow,
      at: Math.max(...attemptsOf(workflow).map(({ digest }) => order.get(digest) ?? digests.length)),
      atMs: Math.max(...attemptsOf(workflow).map(({ orderedAtMs }) => orderedAtMs)),
    }))
    .toSorted((one, other) => one.at - other.at || one.atMs - other.atMs)
    .map(({ workflow }) => workflow)
}
