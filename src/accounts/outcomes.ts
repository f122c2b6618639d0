import type { Recovered } from '../../agents/agent.ts'
import type { Page, Recorded, SaidOfLot } from '../journal/accounts.ts'
import { inputText, type Proposal } from '../workflow/proposal.ts'
import { isTerminal, type Workflow } from '../workflow/workflow.ts'
import { type Entry, entriesOf, MARKED_AFTER_MS } from './entries.ts'
import { moneyAt } from './period.ts'

/** What of a workflow tells what was said, and of which opportunity. */
export type Told = Pick<Workflow, 'id' | 'createdAtMs'> &
  Pick<Proposal, 'lot' | 'said'> & {
    /** The same for all that is about one opportunity: a claim is its liquidation's. */
    readonly opportunity: string
    readonly isOver: boolean
    /** Others were first: it ended without effect, and had given something to be before them. */
    readonly isRaceLost: boolean
  }

/** All that moved of one opportunity. */
type Thread = { readonly entries: Entry[]; readonly told: Told[]; said: Proposal['said'] }

/** Take of a workflow what tells what was said. Pure. */
export function toldOf({ id, createdAtMs, state, proposal, realized }: Workflow): Told {
  const { lot, said, subject, occurrence, input, offer } = proposal
  const claim = realized?.claimId ?? inputText(input, 'claimId')
  return {
    ...{ id, createdAtMs },
    ...(lot === undefined ? {} : { lot }),
    ...(said === undefined ? {} : { said }),
    opportunity:
      lot ??
      (claim === undefined ? `${subject}:${occurrence}` : `${inputText(input, 'marketAddress')}:${claim}`),
    isOver: isTerminal(state),
    isRaceLost: offer !== undefined && (state === 'reverted' || state === 'superseded'),
  }
}

/**
 * Say what became of what was said, in the order in which it was decided: lost where all that was paid came back and an hour
 * passed, or where others were first; won where what was to come did, and is marked an hour later. Pure.
 * @param pages of one signer, oldest first.
 * @param workflows that their lines belong to.
 * @returns also what of the pages belongs to what is not decided yet.
 */
export function outcomesOf(
  pages: readonly Page[],
  workflows: ReadonlyMap<string, Told>,
): { readonly decided: readonly Recorded[]; readonly undecided: readonly Page[] } {
  const threads = new Map<string, Thread>()
  const others: Entry[] = []
  for (const entry of entriesOf(pages.map((page) => ({ page })))) {
    const own = workflows.get(entry.workflowId ?? '')
    const thread = own === undefined ? undefined : threadOf(own, threads)
    if (thread === undefined) others.push(entry)
    thread?.entries.push(entry)
  }
  // Last of all: by then it is known what came back, and a lot like another brings nothing once it is lost.
  const standing = [...threads.values()].filter(({ entries }) => leftOf(entries) !== 0n)
  for (const entry of others) bringing(entry, standing)?.entries.push(entry)
  const decided: Recorded[] = []
  const open = new Set<Entry['line']>()
  for (const thread of threads.values()) {
    const outcome = outcomeOf(thread, pages)
    if (outcome !== null) decided.push(outcome)
    else if (mayCome(thread)) for (const { line } of thread.entries) open.add(line)
  }
  return {
    decided: decided.toSorted((one, other) => one.atMs - other.atMs),
    undecided: pages
      .map((page) => ({ ...page, lines: page.lines.filter((line) => open.has(line)) }))
      .filter(({ lines }) => lines.length > 0)
      .map((page) => ({ ...page, closing: [], positions: [] })),
  }
}

/** Say the same of what was bought for others, by the last that was said of each lot. Pure. */
export const recoveriesOf = (
  recovered: readonly Recovered[],
  lots: readonly SaidOfLot[],
): readonly (Recorded & { readonly lot: string })[] =>
  recovered.flatMap(({ lot, paidUsdMicros, cameUsdMicros, atMs }) => {
    const said = lots.find((each) => each.lot === lot)?.said
    if (said === undefined || said.markUsdMicros <= 0n) return []
    const part = (usdMicros: bigint) => Number(usdMicros) / Number(said.markUsdMicros)
    const error = part(cameUsdMicros - said.worthUsdMicros)
    return { lot, of: said.of, came: { error, gain: part(cameUsdMicros - paidUsdMicros) }, atMs }
  })

function threadOf(told: Told, threads: Map<string, Thread>): Thread {
  const thread = threads.get(told.opportunity) ?? { entries: [], told: [], said: undefined }
  threads.set(told.opportunity, thread)
  thread.told.push(told)
  thread.said = told.said ?? thread.said
  return thread
}

/** Of what an opportunity was to bring so much may be missing, as of a token that takes a fee: what is less was something else. */
const MISSING_BPS_MAX = 1_000n

/** The opportunity that something came of by another's transaction: what it was to bring, or a little less, from whom it paid. */
function bringing({ line }: Entry, threads: readonly Thread[]): Thread | undefined {
  const missing = ({ said }: Thread) => (said?.brings?.assets ?? 0n) - line.assets
  const [nearest] = threads
    .filter(
      (thread) =>
        thread.said?.brings?.token === line.token &&
        missing(thread) >= 0n &&
        missing(thread) * 10_000n <= thread.said.brings.assets * MISSING_BPS_MAX &&
        thread.entries.some((entry) => entry.line.counterparty === line.counterparty) &&
        !thread.entries.some((entry) => entry.line.token === line.token && entry.line.assets > 0n),
    )
    .toSorted((one, other) => Number(missing(one) - missing(other)))
  return nearest
}

const isMoved = ({ line }: Entry) => line.kind !== 'gas'

/** What is left of what was given once what came back is counted, base units. */
const leftOf = (entries: readonly Entry[]): bigint =>
  entries.filter(isMoved).reduce((sum, { line }) => sum + line.assets, 0n)

/** Whether anything may still be learned of it: what only cost gas, and is over, brings nothing any more. */
const mayCome = ({ entries, told, said }: Thread): boolean =>
  told.some(({ isOver }) => !isOver) || (said?.brings !== undefined && entries.some(isMoved))

function outcomeOf({ entries, told, said }: Thread, pages: readonly Page[]): Recorded | null {
  if (said?.brings === undefined) return null
  const { of, brings, worthUsdMicros, markUsdMicros } = said
  const moved = entries.filter(isMoved)
  const came = moved.filter(({ line }) => line.token === brings.token && line.assets > 0n)
  // What was lost may be tried again as long as what came waits to be marked.
  const settledOn = (atMs: number) => pages.find(({ to }) => to.atMs >= atMs + MARKED_AFTER_MS)
  const lastMs = Math.max(...(moved.length === 0 ? entries : moved).map(({ page }) => page.to.atMs))
  if (moved.length === 0)
    return told.some(({ isRaceLost }) => isRaceLost) ? { of, came: null, atMs: lastMs } : null
  if (came.length > 0 && markUsdMicros > 0n) {
    const markedOn = settledOn(Math.max(...came.map(({ page }) => page.to.atMs)))
    if (markedOn === undefined) return null
    const worth = came.reduce((sum, { line }) => sum + moneyAt(markedOn, line), 0n)
    const paid = entries
      .filter((entry) => !came.includes(entry))
      .reduce((sum, each) => sum + each.usdMicros, 0n)
    const part = (usdMicros: bigint) => Number(usdMicros) / Number(markUsdMicros)
    return {
      of,
      came: { error: part(worth - worthUsdMicros), gain: part(worth + paid) },
      atMs: markedOn.to.atMs,
    }
  }
  return leftOf(entries) === 0n && settledOn(lastMs) !== undefined ? { of, came: null, atMs: lastMs } : null
}
