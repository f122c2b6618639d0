import type { Address } from 'viem'
import type { Recovered } from '../../agents/protocol/experience.ts'
import type { Journal } from '../journal/journal.ts'
import type {
  Accounts,
  CasesOf,
  ExpectedOfLot,
  OpenCases,
  Page,
  RecordedCase,
} from '../journal/sqlite/accounts.ts'
import { type LinkedWorkflow, linkedOf } from './link-workflows.ts'
import { outcomesOf, recoveriesOf } from './outcomes.ts'

/** Pages that are read at once, where many are new. */
const PAGES_AT_ONCE = 50
/** What stays undecided for so long that newer things fill so many pages, or lots, is let go of. */
const UNDECIDED_PAGES_MAX = 500
const UNDECIDED_LOTS_MAX = 2_000
/** Pages of a vault that are read at once: a day has no more. */
const VAULT_PAGES_MAX = 6_000

type LearnDeps = {
  readonly accounts: Pick<Accounts, 'after' | 'undecided' | 'decide'>
  readonly journal: Pick<Journal, 'get'>
}

/** What was recorded, and what is left to decide. */
type Learned = { readonly cases: readonly RecordedCase[]; readonly undecided: OpenCases }

/**
 * Record what the pages since the last time decide of what was expected, and what became money again of what was bought for others.
 * Each case is recorded in one commit with what is left undecided then, so once, wherever a process ends. Throws
 * `accounts.decided` where another does the same, as what is left of a role that was opened anew.
 */
export async function recordCases(
  of: CasesOf,
  recovered: readonly Recovered[],
  { accounts, journal }: LearnDeps,
): Promise<Learned> {
  let undecided = await accounts.undecided(of)
  const all: RecordedCase[] = []
  for (;;) {
    const pages = await accounts.after(of, undecided.toBlock, PAGES_AT_ONCE)
    const isIdle = pages.length === 0 && recoveriesOf(recovered, undecided.lots).length === 0
    if (isIdle) return { cases: all, undecided }
    const workflows = await toldIn([...undecided.pages, ...pages], journal)
    // Those of the pages before are in the list, or were recorded; or the journal did not have them then.
    const added = new Set([...idsIn(pages), ...(undecided.unknown ?? [])])
    const lots = withLots(
      undecided.lots,
      [...workflows.values()].filter(({ id }) => added.has(id)),
    )
    const recoveries = recoveriesOf(recovered, lots)
    const open = [...undecided.pages, ...pages]
    const found = outcomesOf(open, workflows, await workedOn(open, workflows, of, accounts))
    const cases = [...found.decided, ...recoveries.map(({ lot: _, ...recorded }) => recorded)]
    const next = {
      toBlock: pages.at(-1)?.to.number ?? undecided.toBlock,
      pages: found.undecided.slice(-UNDECIDED_PAGES_MAX),
      unknown: [...idsIn(found.undecided)].filter((id) => !workflows.has(id)),
      lots: lots.filter(({ lot }) => !recoveries.some((each) => each.lot === lot)).slice(-UNDECIDED_LOTS_MAX),
    }
    await accounts.decide(of, cases, next, undecided)
    undecided = next
    all.push(...cases)
  }
}

const idsIn = (pages: readonly Page[]) =>
  new Set(pages.flatMap(({ lines }) => lines.flatMap(({ workflowId }) => workflowId ?? [])))

async function toldIn(
  pages: readonly Page[],
  journal: LearnDeps['journal'],
): Promise<Map<string, LinkedWorkflow>> {
  const known = new Map<string, LinkedWorkflow>()
  for (const id of idsIn(pages)) {
    const workflow = await journal.get(id)
    if (workflow !== null) known.set(id, linkedOf(workflow))
  }
  return known
}

/** Read the pages of vaults whose moves are to be decided: so long as was said of them passed, by the signer's own pages. */
async function workedOn(
  pages: readonly Page[],
  workflows: ReadonlyMap<string, LinkedWorkflow>,
  of: CasesOf,
  accounts: Pick<Accounts, 'after'>,
): Promise<ReadonlyMap<Address, readonly Page[]>> {
  const nowMs = pages.at(-1)?.to.atMs ?? 0
  const worked = new Map<Address, readonly Page[]>()
  for (const { to, lines } of pages) {
    for (const { workflowId, blockNumber } of lines) {
      const earns = workflows.get(workflowId ?? '')?.said?.earns
      if (earns === undefined || worked.has(earns.vault) || nowMs < to.atMs + earns.forS * 1_000) continue
      const vault = { ...of, signer: earns.vault }
      worked.set(earns.vault, await accounts.after(vault, blockNumber - 1n, VAULT_PAGES_MAX))
    }
  }
  return worked
}

/** Of what is bought for others, the signer's accounts show only that it was said: the last of each lot, the newest at the end. */
function withLots(
  lots: readonly ExpectedOfLot[],
  workflows: readonly LinkedWorkflow[],
): readonly ExpectedOfLot[] {
  const known = new Map(lots.map((each) => [each.lot, each]))
  for (const { lot, said } of workflows.toSorted((one, other) => one.createdAtMs - other.createdAtMs)) {
    if (lot === undefined || said === undefined || said.brings !== undefined) continue
    known.delete(lot)
    known.set(lot, { lot, said })
  }
  return [...known.values()]
}
