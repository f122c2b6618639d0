import type { Line, Page } from '../journal/sqlite/accounts.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { earnedMore } from './earned.ts'
import { type Entry, entriesOf, MARKED_AFTER_MS, namedBy } from './entries.ts'
import { isPaidAlone, linkedOf, netOf, neverPaid, type Thread, threadsOf } from './link-workflows.ts'
import { moneyAt } from './period.ts'
import { type Sale, salesOf } from './sales.ts'

/** What something came to, millionths of a US dollar without gas, and the block that its prices are of; Unix milliseconds. */
export type At = { readonly usdMicros: bigint; readonly block: bigint; readonly atMs: number }

/** One opportunity of an account, with all its workflows, and what came of it: for its signer, or for who owns the account. */
export type Opportunity = Pick<Page, 'signer' | 'role'> & {
  readonly owner: Page['owner']
  readonly workflows: readonly string[]
  /** Those that the journal does not have: what was expected of them is not known. */
  readonly unknown: readonly string[]
  /** Whether what was paid for is there, or what was paid came back; it never came where a week was not enough. */
  readonly came: 'yes' | 'waiting' | 'never'
  /** When the last of it moved, Unix milliseconds. */
  readonly movedAtMs: number
  /** What was said last to be gained; null where nothing was. */
  readonly said: bigint | null
  readonly gas: bigint
  /** What moved, at the prices of the pages that it moved on; null where something is to come yet, and of a vault, which has what it lent. */
  readonly atEnd: At | null
  /** The same kept for an hour, at the prices then; of a vault what it earned more than had it stood still. Null before. */
  readonly hourLater: At | null
  /** What was paid, and what all that came of it was sold for; null before. */
  readonly sold: At | null
  readonly hashes: readonly string[]
}

/**
 * List what was done, account by account, and what came of it by the chain and the prices of its pages. Pure.
 * @param pages of signers, and of the vaults and funds that they work for, oldest first.
 */
export function opportunitiesOf(
  pages: readonly Page[],
  workflows: ReadonlyMap<string, Workflow>,
): readonly Opportunity[] {
  const ofHash = new Map<Line['hash'], string>()
  const gasOf = new Map<string, bigint>()
  for (const page of pages.filter(({ owner }) => owner === undefined)) {
    for (const line of page.lines) {
      if (line.kind !== 'gas' || line.workflowId === null) continue
      ofHash.set(line.hash, line.workflowId)
      gasOf.set(line.workflowId, (gasOf.get(line.workflowId) ?? 0n) + moneyAt(page, line))
    }
  }
  const linked = new Map([...workflows].map(([id, workflow]) => [id, linkedOf(workflow)]))
  return [...Map.groupBy(pages, ({ signer }) => signer).values()].flatMap((own) => {
    const collateral = new Set(
      own.flatMap(({ tokens }) => tokens.flatMap((each) => (each.isCollateral === true ? each.token : []))),
    )
    const named = own.map((page) => ({
      ...namedBy(page, ofHash),
      // The pages of an earlier release do not say it.
      tokens: page.tokens.map((each) =>
        collateral.has(each.token) ? { ...each, isCollateral: true as const } : each,
      ),
    }))
    const entries = entriesOf(named.map((page) => ({ page }))).filter(({ line }) => line.kind === 'moved')
    const threads = threadsOf(entries, linked)
    const sales = salesOf(threads, entries, named[0])
    const lost = neverPaid(threads, named.at(-1))
    return threads.flatMap((thread) => {
      const arrival = lost.has(thread) ? 'never' : isPaidAlone(thread) ? 'waiting' : 'yes'
      return opportunityOf(thread, arrival, named, sales.get(thread), gasOf) ?? []
    })
  })
}

function opportunityOf(
  { entries, linked }: Thread,
  arrival: Opportunity['came'],
  pages: readonly Page[],
  sale: Sale | undefined,
  gasOf: ReadonlyMap<string, bigint>,
): Opportunity | null {
  const last = entries.at(-1)?.page
  if (last === undefined) return null
  const isVault = last.owner === 'vault'
  const net = netOf(entries)
  // What was paid for something that is not there yet, a claim or a lot, is no loss.
  const isOpen = !isVault && arrival === 'waiting'
  const hour = pages.slice(pages.indexOf(last))
  const later = hour.findIndex(({ to }) => to.atMs >= last.to.atMs + MARKED_AFTER_MS)
  const then = isOpen ? undefined : hour[later]
  const worthAt = (page: Page) => net.reduce((sum, balance) => sum + moneyAt(page, balance), 0n)
  const sum = (of: readonly Entry[]) => of.reduce((all, { usdMicros }) => all + usdMicros, 0n)
  const expected = linked.findLast(({ gainUsdMicros }) => gainUsdMicros !== undefined)?.gainUsdMicros
  const { signer, role, owner } = last
  return {
    signer,
    role,
    owner,
    workflows: linked.map(({ id }) => id),
    movedAtMs: last.to.atMs,
    unknown: linked.filter(({ isKnown }) => !isKnown).map(({ id }) => id),
    came: isVault ? 'yes' : arrival,
    said: expected ?? null,
    gas: linked.reduce((sum, { id }) => sum + (gasOf.get(id) ?? 0n), 0n),
    atEnd: isVault || isOpen ? null : at(last, sum(entries)),
    hourLater:
      then === undefined
        ? null
        : at(then, isVault ? earnedMore(entries, hour.slice(0, later + 1), then) : worthAt(then)),
    sold:
      sale === undefined
        ? null
        : at(sale.page, sum(entries.filter(({ line }) => line.assets < 0n)) + sale.usdMicros),
    hashes: [...new Set([...entries, ...(sale?.entries ?? [])].flatMap(({ line }) => line.hash ?? []))],
  }
}

const at = ({ to }: Page, usdMicros: bigint): At => ({ usdMicros, block: to.number, atMs: to.atMs })
