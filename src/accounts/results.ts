import type { Page } from '../journal/sqlite/accounts.ts'
import { inputText } from '../workflow/proposal.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { type Entry, entriesOf, namedBy } from './entries.ts'
import { isMoved, linkedOf, netOf, type Thread, threadsOf } from './link-workflows.ts'
import { markedOf, type Period, positionsOf, symbolOf } from './period.ts'

/** What is summed up: the money of a group of entries, millionths of a US dollar. */
export type Result = {
  readonly key: string
  /** What was expected of the workflows that succeeded, of each opportunity once; what was given back whole is not. */
  readonly said: bigint
  /** Received less paid, each at the price when it moved. */
  readonly moved: bigint
  readonly gas: bigint
  /** By what escrow, claims and shares of vaults changed; null in a group that is no part of the time. */
  readonly positions: bigint | null
  /** By what prices changed what was held already. */
  readonly marked: bigint | null
  readonly workflows: readonly string[]
  /** Those that the journal does not have: what was expected of them is not known. */
  readonly unknown: readonly string[]
  readonly hashes: readonly string[]
}

/** What can be summed up by. */
export const GROUPS = ['role', 'day', 'market', 'asset', 'counterparty', 'workflow'] as const
export type Group = (typeof GROUPS)[number]

/**
 * Sum a period up by a group. Pure.
 * @param funds of which roles bid the money: what came back to one is said by its pages alone.
 */
export function resultsOf(
  period: Period,
  by: Group,
  workflows: ReadonlyMap<string, Workflow>,
  funds: Period = [],
): readonly Result[] {
  const listed = entriesOf(period)
  const ofHash = new Map(listed.map(({ line, workflowId }) => [line.hash, workflowId]))
  const ofFunds = entriesOf(funds.map(({ page }) => ({ page: namedBy(page, ofHash) })))
  const linked = new Map([...workflows].map(([id, workflow]) => [id, linkedOf(workflow)]))
  const accounts = Map.groupBy([...listed, ...ofFunds], ({ page }) => page.signer).values()
  const threads = [...accounts].flatMap((own) => threadsOf(own, linked))
  const expected = expectedOf(threads, workflows)
  const joined = new Map(threads.flatMap((thread) => thread.entries.map((entry) => [entry, thread])))
  const entries = listed.map((entry) => {
    const linked = joined.get(entry)?.linked ?? []
    const isOwn = linked.some(({ id }) => id === entry.workflowId)
    return { ...entry, workflowId: isOwn ? entry.workflowId : (linked.at(-1)?.id ?? entry.workflowId) }
  })
  const groups = Map.groupBy(entries, (entry) => keyOf(entry, by, workflows))
  // Said once: where its workflow moved something, or paid gas alone.
  const home = new Map<string | null, string>()
  for (const entry of entries.toSorted((one, other) => Number(isMoved(other)) - Number(isMoved(one)))) {
    if (!home.has(entry.workflowId)) home.set(entry.workflowId, keyOf(entry, by, workflows))
  }
  const parts = by === 'role' || by === 'day' ? Map.groupBy(period, ({ page }) => partOf(page, by)) : null
  const keys = [...new Set([...groups.keys(), ...(parts?.keys() ?? [])])].toSorted()
  return keys.map((key) => {
    const own = groups.get(key) ?? []
    const ids = [...new Set(own.flatMap(({ workflowId }) => workflowId ?? []))]
    const part = parts?.get(key) ?? []
    return {
      key,
      said: ids.reduce((total, id) => total + (home.get(id) === key ? (expected.get(id) ?? 0n) : 0n), 0n),
      moved: sum(own.filter(isMoved)),
      gas: sum(own.filter((entry) => !isMoved(entry))),
      positions: parts === null ? null : part.reduce((all, each) => all + positionsOf(each), 0n),
      marked: parts === null ? null : part.reduce((all, each) => all + markedOf(each), 0n),
      workflows: ids,
      unknown: ids.filter((id) => !workflows.has(id)),
      hashes: [...new Set(own.flatMap(({ line }) => line.hash ?? []))],
    }
  })
}

const sum = (entries: readonly Entry[]) => entries.reduce((all, { usdMicros }) => all + usdMicros, 0n)

const partOf = ({ role, to }: Page, by: 'role' | 'day') =>
  by === 'role' ? role : new Date(to.atMs).toISOString().slice(0, 10)

const NONE = '-'

function keyOf(
  { page, line, workflowId }: Entry,
  by: Group,
  workflows: ReadonlyMap<string, Workflow>,
): string {
  switch (by) {
    case 'role':
    case 'day':
      return partOf(page, by)
    case 'asset':
      return symbolOf(page, line)
    case 'counterparty':
      return line.counterparty ?? NONE
    case 'workflow':
      return workflowId ?? NONE
    case 'market':
      return placeOf(workflows.get(workflowId ?? '')) ?? line.counterparty ?? NONE
  }
}

/** The contract that a workflow is about. */
const PLACES = [
  'marketAddress',
  'vaultAddress',
  'rfqAddress',
  'auctionAddress',
  'oracleAddress',
  'fundAddress',
]

function placeOf(workflow: Workflow | undefined): string | undefined {
  const places = PLACES.map((name) => inputText(workflow?.proposal.input ?? {}, name))
  return places.find((place) => place !== undefined)?.toLowerCase()
}

/** What was said, by workflow: of each opportunity the last that succeeded counts, where not all it gave came back. */
function expectedOf(
  threads: readonly Thread[],
  workflows: ReadonlyMap<string, Workflow>,
): ReadonlyMap<string, bigint> {
  const isReturned = ({ entries }: Thread) => {
    const moved = entries.filter(isMoved)
    return moved.length > 0 && netOf(moved).length === 0
  }
  const returned = new Set(threads.filter(isReturned).flatMap(({ linked }) => linked.map(({ id }) => id)))
  // A fund's money moves in one account, and its signer pays the gas in another: both tell the same.
  const linked = new Map(threads.flatMap((thread) => thread.linked.map((each) => [each.id, each])))
  const opportunities = Map.groupBy(
    linked.values(),
    ({ id, opportunity }) => `${workflows.get(id)?.signer}:${opportunity}`,
  )
  return new Map(
    [...opportunities.values()].flatMap((own) => {
      const [last] = own
        .filter(
          ({ id, gainUsdMicros }) =>
            gainUsdMicros !== undefined && workflows.get(id)?.state === 'succeeded' && !returned.has(id),
        )
        .toSorted((one, other) => other.createdAtMs - one.createdAtMs)
      return last === undefined ? [] : [[last.id, last.gainUsdMicros ?? 0n] as const]
    }),
  )
}
