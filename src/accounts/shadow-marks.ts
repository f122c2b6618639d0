import type { Address } from 'viem'
import type { Head, Nodes, SimulatedTransaction } from '../chain/nodes.ts'
import { RolekeeperError } from '../errors.ts'
import { moneyOf, type Owned, readOwned, readPrices, type WorthOptions } from '../guard/worth.ts'
import type { Journal } from '../journal/journal.ts'
import { type Came, isUnmarked, type Workflow } from '../workflow/workflow.ts'

/** What came is marked so long after it came: at once it would be worth what was said. */
const MARK_AFTER_MS = 3_600_000

/** How what comes is read, and by which prices it is marked: those of the pages. */
export type MarkedBy = Omit<WorthOptions, 'owners'>

/**
 * Read what a bundle would bring its sender on top of a block: tokens, coin that it sends, and what it has at the deployment's
 * contracts. No word of an agent's is in it. @returns null where the chain does not say. Throws what the nodes throw.
 */
export async function readCame(
  signer: Address,
  bundle: readonly SimulatedTransaction[],
  at: Head,
  { by, nodes }: { readonly by: MarkedBy; readonly nodes: Pick<Nodes, 'simulate'> },
): Promise<readonly Came[] | null> {
  // Both in the block that would be next: time alone brings nothing.
  const ownedAfter = (first: readonly SimulatedTransaction[]) =>
    readOwned(
      { ...by, owners: [signer] },
      {
        balanceWei: async () => -first.reduce((sum, { valueWei }) => sum + valueWei, 0n),
        calls: async (calls) =>
          (await nodes.simulate({ pending: [], before: [], bundle: first, after: calls, at })).after,
      },
      at,
    )
  try {
    return difference(await ownedAfter([]), await ownedAfter(bundle))
  } catch (error) {
    if (error instanceof RolekeeperError && error.code === 'worth.not_read') return null
    throw error
  }
}

function difference(before: Owned, after: Owned): readonly Came[] {
  const sums = new Map<Address | null, bigint>()
  const add = ({ wallet, positions }: Owned, sign: bigint) => {
    for (const { token, assets } of [...wallet, ...positions])
      sums.set(token, (sums.get(token) ?? 0n) + sign * assets)
  }
  add(before, -1n)
  add(after, 1n)
  return [...sums].flatMap(([token, assets]) => (assets === 0n ? [] : { token, assets }))
}

/** Marks what would have come in shadow, an hour later. */
export type ShadowMarks = {
  /** Mark a workflow that ended in shadow when its hour is over; any other is left alone. */
  readonly add: (workflow: Workflow) => void
  /** Mark all whose hour is over at a final block, by the prices there. Throws what the reads throw. */
  readonly look: () => Promise<void>
}

/** Create the marks of a role's shadows. */
export function createShadowMarks(
  by: MarkedBy,
  {
    nodes,
    journal,
    nowMs,
  }: {
    readonly nodes: Pick<Nodes, 'finalized' | 'calls'>
    readonly journal: Pick<Journal, 'write'>
    readonly nowMs: () => number
  },
): ShadowMarks {
  const waiting = new Map<string, Workflow>()
  const dueBy = (atMs: number) => [...waiting.values()].filter((workflow) => dueAtMs(workflow) <= atMs)
  return {
    add: (workflow) => {
      if (isUnmarked(workflow)) waiting.set(workflow.id, workflow)
    },
    look: async () => {
      if (dueBy(nowMs()).length === 0) return
      const head = await nodes.finalized()
      const due = dueBy(head.timestampS * 1_000)
      if (due.length === 0) return
      const prices = await readPrices(by, nodes, head)
      for (const workflow of due) {
        await journal.write(withMark(workflow, prices, head, by))
        waiting.delete(workflow.id)
      }
    },
  }
}

/** When what came of a workflow is marked; never, where that is not decided. */
const dueAtMs = ({ shadowed }: Workflow): number =>
  (shadowed?.outcome?.came?.atMs ?? Number.POSITIVE_INFINITY) + MARK_AFTER_MS

/** Mark what came of a workflow, less the gas that it would have cost. Pure. */
function withMark(
  workflow: Workflow,
  prices: Owned['prices'],
  { number, timestampS }: Head,
  by: MarkedBy,
): Workflow {
  const { shadowed } = workflow
  if (shadowed?.outcome?.came === undefined) return workflow
  const { outcome } = shadowed
  const all: readonly Came[] = [...shadowed.outcome.came.assets, { token: null, assets: -outcome.gasWei }]
  const mark = {
    usdMicros: all.reduce((sum, came) => sum + moneyOf(came, prices, by.deployment), 0n),
    ...{ blockNumber: number, atMs: timestampS * 1_000 },
    prices: [...prices].flatMap(([token, usdMicros]) =>
      all.some((came) => came.token === token) ? { token, usdMicros } : [],
    ),
  }
  return { ...workflow, shadowed: { ...shadowed, outcome: { ...outcome, mark } } }
}
