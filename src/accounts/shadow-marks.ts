import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Address, Hex } from 'viem'
import type { Call, Head, Nodes, SimulatedTransaction } from '../chain/nodes.ts'
import { RolekeeperError } from '../errors.ts'
import {
  moneyOf,
  type OwnedAssets,
  readOwned,
  readPrices,
  type WorthOptions,
} from '../guard/limits/valuation.ts'
import { WAD } from '../guard/sanity/units.ts'
import type { Journal } from '../journal/journal.ts'
import { isUnmarked, type LentMore, type TokenFlow, type Workflow } from '../workflow/workflow.ts'
import { MARKED_AFTER_MS } from './entries.ts'
import { readRates, readVaultLoans } from './vault-loans.ts'

/** How what comes is read, and by which prices it is marked: those of the pages. */
export type MarkedBy = Omit<WorthOptions, 'owners'> & {
  /** The vaults that the role works for. */
  readonly vaults: readonly Address[]
}

/**
 * Read what a bundle would bring its sender on top of a block: tokens, coin that it sends, and what it has at the deployment's
 * contracts; and what vaults lend more by it. No word of an agent's is in it. @returns null where the chain does not say. Throws what the nodes throw.
 */
export async function readTokenFlows(
  signer: Address,
  bundle: readonly SimulatedTransaction[],
  at: Head,
  { by, nodes }: { readonly by: MarkedBy; readonly nodes: Pick<Nodes, 'simulate'> },
): Promise<{ readonly assets: readonly TokenFlow[]; readonly lent: readonly LentMore[] } | null> {
  // Both in the block that would be next: time alone brings nothing.
  const after = async (first: readonly SimulatedTransaction[]) => {
    const simulated = {
      balanceWei: async () => -first.reduce((sum, { valueWei }) => sum + valueWei, 0n),
      calls: async (calls: readonly Call[]) =>
        (await nodes.simulate({ pending: [], before: [], bundle: first, after: calls, at })).after,
    }
    const owned = await readOwned({ ...by, owners: [signer] }, simulated, at)
    const lent = await Promise.all(
      by.vaults.map((vault) => readVaultLoans(vault, by.deployment, simulated, at)),
    )
    return { owned, lent: lent.flat() }
  }
  try {
    const [was, is] = [await after([]), await after(bundle)]
    const lent = is.lent.map((each, index) => ({
      ...each,
      assets: each.assets - (was.lent[index]?.assets ?? 0n),
    }))
    return { assets: difference(was.owned, is.owned), lent: lent.filter(({ assets }) => assets !== 0n) }
  } catch (error) {
    if (error instanceof RolekeeperError && error.code === 'worth.not_read') return null
    throw error
  }
}

function difference(before: OwnedAssets, after: OwnedAssets): readonly TokenFlow[] {
  const sums = new Map<Address | null, bigint>()
  const add = ({ wallet, positions }: OwnedAssets, sign: bigint) => {
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
      const rates = await readRates(by.deployment, nodes, head)
      for (const workflow of due) {
        // A thousand may be due at once.
        await nextTurn()
        const written = await journal.write(withMark(workflow, { prices, rates }, head, by))
        waiting.delete(workflow.id)
        if (isUnmarked(written)) waiting.set(workflow.id, written)
      }
    },
  }
}

/** When what came of a workflow is marked; never, where that is not decided. */
const dueAtMs = ({ shadowed }: Workflow): number =>
  (shadowed?.outcome?.came?.atMs ?? Number.POSITIVE_INFINITY) + MARKED_AFTER_MS

/** What was lent more earned in the hour, by what each market paid at its beginning and pays now. Pure. */
const interestOf = (lent: readonly LentMore[], rates: ReadonlyMap<Hex, bigint>): readonly TokenFlow[] =>
  lent.map(({ token, assets, market, ratePerSecondWad }) => {
    const rateWad = (ratePerSecondWad + (rates.get(market) ?? 0n)) / 2n
    return { token, assets: (assets * rateWad * BigInt(MARKED_AFTER_MS / 1_000)) / WAD }
  })

/** Mark what came of a workflow, less the gas that it would have cost. Pure. */
function withMark(
  workflow: Workflow,
  { prices, rates }: { readonly prices: OwnedAssets['prices']; readonly rates: ReadonlyMap<Hex, bigint> },
  { number, timestampS }: Head,
  by: MarkedBy,
): Workflow {
  const { shadowed } = workflow
  if (shadowed?.outcome?.came === undefined) return workflow
  const { outcome } = shadowed
  const { assets, lent = [] } = shadowed.outcome.came
  const all: readonly TokenFlow[] = [
    ...assets,
    ...interestOf(lent, rates),
    { token: null, assets: -outcome.gasWei },
  ]
  const mark = {
    usdMicros: all.reduce((sum, came) => sum + moneyOf(came, prices, by.deployment), 0n),
    blockNumber: number,
    atMs: timestampS * 1_000,
    prices: [...prices].flatMap(([token, usdMicros]) =>
      all.some((came) => came.token === token) ? { token, usdMicros } : [],
    ),
  }
  return { ...workflow, shadowed: { ...shadowed, outcome: { ...outcome, mark } } }
}
