import type { Address } from 'viem'
import type { Balance, Page } from '../journal/accounts.ts'
import type { Proposal } from '../workflow/proposal.ts'
import type { Workflow } from '../workflow/workflow.ts'
import type { Entry } from './entries.ts'
import { toldOf } from './outcomes.ts'

/** All that moved of one opportunity. */
export type Thread = { readonly workflows: Workflow[]; readonly entries: Entry[] }

/** Join what moved by what it was of; what came by another's transaction belongs to what was given for it there. Pure. */
export function threadsOf(
  entries: readonly Entry[],
  workflows: ReadonlyMap<string, Workflow>,
): readonly Thread[] {
  const threads = new Map<string, Thread>()
  // Strangers may send as much dust as they like: what they give is of none.
  const givenTo = new Map<unknown, Set<Thread>>()
  for (const entry of entries) {
    const workflow = workflows.get(entry.workflowId ?? '')
    if (workflow === undefined) {
      givenFor(entry, [...(givenTo.get(entry.line.counterparty) ?? [])])?.entries.push(entry)
      continue
    }
    // A vault's moves are each a work of its own.
    const key = entry.page.owner === 'vault' ? workflow.id : toldOf(workflow).opportunity
    const thread = threads.get(key) ?? { workflows: [], entries: [] }
    if (!thread.workflows.includes(workflow)) thread.workflows.push(workflow)
    thread.entries.push(entry)
    threads.set(key, thread)
    const { assets, counterparty } = entry.line
    if (assets < 0n) givenTo.set(counterparty, (givenTo.get(counterparty) ?? new Set()).add(thread))
  }
  return [...threads.values()]
}

/** What a token came for: what was given there and did not come back, for just that amount; or the only one that is. */
function givenFor({ line }: Entry, threads: readonly Thread[]): Thread | undefined {
  if (line.assets <= 0n) return undefined
  const open = threads.filter(
    ({ entries }) =>
      netOf(entries).some(({ assets, token }) => assets < 0n && token !== line.token) &&
      !entries.some((entry) => entry.line.token === line.token),
  )
  const exact = open.find(({ workflows }) =>
    workflows.some(({ proposal }) => wantedOf(proposal) === line.assets),
  )
  return exact ?? (open.length === 1 ? open[0] : undefined)
}

/** How much of something a proposal was for, where it says so: that joins, and is no figure of any sum. */
function wantedOf({ said, reason }: Proposal): bigint | null {
  if (said?.brings !== undefined) return said.brings.assets
  const { assetAmount } = reason
  return typeof assetAmount === 'string' && /^\d+$/.test(assetAmount) ? BigInt(assetAmount) : null
}

/** What came less what went, by token, base units. Pure. */
export function netOf(entries: readonly Entry[]): readonly Balance[] {
  return [...Map.groupBy(entries, ({ line }) => line.token)]
    .map(([token, own]) => ({ token, assets: own.reduce((sum, { line }) => sum + line.assets, 0n) }))
    .filter(({ assets }) => assets !== 0n)
}

/** Whether a market takes a token as collateral, so that its oracle prices it; all else counts as money. Pure. */
export const isCollateral = ({ tokens }: Page, token: Address | null): boolean =>
  tokens.some((each) => each.token === token && each.isCollateral === true)
