import type { Recovered } from '../../agents/agent.ts'
import type { Case } from '../../agents/protocol/experience.ts'
import type { Page } from '../journal/accounts.ts'
import type { Proposal } from '../workflow/proposal.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { type Entry, entriesOf, moneyAt, periodOf } from './pnl.ts'

/** What came is marked so long after it came: at once it would be worth what was said. */
const MARK_AFTER_MS = 3_600_000

/** What of a workflow tells what was said, and of which opportunity. */
export type Told = Pick<Workflow, 'id' | 'createdAtMs'> & {
  readonly proposal: Pick<Proposal, 'lot' | 'subject' | 'said'>
}

/** All that moved of one opportunity. */
type Thread = { readonly entries: Entry[]; said: NonNullable<Proposal['said']> | null }

/**
 * List what became of what was said, in the order in which it was decided: lost where all that was paid came back; won where
 * what was to come did, and is marked an hour later. The rest is not decided yet. Pure.
 * @param pages of one signer, oldest first.
 * @param workflows that their lines belong to.
 */
export function outcomesOf(
  pages: readonly Page[],
  workflows: ReadonlyMap<string, Told>,
): readonly (Case & { readonly atMs: number })[] {
  const threads = new Map<string, Thread>()
  const others: Entry[] = []
  for (const entry of entriesOf(periodOf(pages, 0))) {
    const own = workflows.get(entry.workflowId ?? '')
    const thread = own === undefined ? undefined : threadOf(own, threads)
    if (thread === undefined) others.push(entry)
    thread?.entries.push(entry)
    if (thread !== undefined && own?.proposal.said !== undefined) thread.said = own.proposal.said
  }
  // Last of all: by then it is known what came back, and a lot like another brings nothing once it is lost.
  const standing = [...threads.values()].filter(({ entries }) => leftOf(entries) !== 0n)
  for (const entry of others) bringing(entry, standing)?.entries.push(entry)
  return [...threads.values()]
    .flatMap((thread) => outcomeOf(thread, pages) ?? [])
    .toSorted((one, other) => one.atMs - other.atMs)
}

/** List the same of what was bought for others, by the last that was said of each lot. Pure. */
export function recoveriesOf(
  recovered: readonly Recovered[],
  workflows: Iterable<Told>,
): ReturnType<typeof outcomesOf> {
  const told = [...workflows].toSorted((one, other) => other.createdAtMs - one.createdAtMs)
  return recovered.flatMap(({ lot, paidUsdMicros, cameUsdMicros, atMs }) => {
    const said = told.find(({ proposal }) => proposal.lot === lot && proposal.said !== undefined)?.proposal
      .said
    if (said === undefined || said.markUsdMicros <= 0n) return []
    const part = (usdMicros: bigint) => Number(usdMicros) / Number(said.markUsdMicros)
    const error = part(cameUsdMicros - said.worthUsdMicros)
    return { of: said.of, came: { error, gain: part(cameUsdMicros - paidUsdMicros) }, atMs }
  })
}

function threadOf({ proposal }: Told, threads: Map<string, Thread>): Thread {
  const key = proposal.lot ?? proposal.subject
  const thread = threads.get(key) ?? { entries: [], said: null }
  threads.set(key, thread)
  return thread
}

/** The opportunity that something came of by another's transaction: just what it was to bring, from whom it paid. */
const bringing = ({ line }: Entry, threads: readonly Thread[]): Thread | undefined =>
  threads.find(
    ({ said, entries }) =>
      said?.brings?.token === line.token &&
      said?.brings?.assets === line.assets &&
      entries.some((entry) => entry.line.counterparty === line.counterparty) &&
      !entries.some((entry) => entry.line.token === line.token && entry.line.assets > 0n),
  )

const isMoved = ({ line }: Entry) => line.kind !== 'gas'

/** What is left of what was given once what came back is counted, base units. */
const leftOf = (entries: readonly Entry[]): bigint =>
  entries.filter(isMoved).reduce((sum, { line }) => sum + line.assets, 0n)

function outcomeOf({ entries, said }: Thread, pages: readonly Page[]) {
  if (said?.brings === undefined) return null
  const { of, brings, worthUsdMicros, markUsdMicros } = said
  const moved = entries.filter(isMoved)
  const came = moved.filter(({ line }) => line.token === brings.token)
  const last = moved.at(-1)
  if (came.length > 0 && markUsdMicros > 0n) {
    const cameAtMs = Math.max(...came.map(({ page }) => page.to.atMs))
    const markedOn = pages.find(({ to }) => to.atMs >= cameAtMs + MARK_AFTER_MS)
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
  return last === undefined || leftOf(entries) !== 0n ? null : { of, came: null, atMs: last.page.to.atMs }
}
