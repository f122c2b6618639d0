import { createShadowMarks, type MarkedBy } from '../../accounts/shadow-marks.ts'
import type { Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Journal } from '../../journal/journal.ts'
import { createLotScores, type Trades } from '../../pipeline/shadow-lots.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type { RolePolicy } from '../policy/role-policy.ts'

/** Follows what ended in shadow until it is marked. */
export type ShadowScores = {
  /** Follow a workflow that ended in shadow; any other is left alone. */
  readonly add: (workflow: Workflow) => void
  /** See which lots were decided and which hours are over, and keep that. Throws what the reads throw. */
  readonly look: () => Promise<void>
}

/** What of a role's policy prices tokens. */
type PricedBy = {
  readonly policy: { readonly fees: Pick<RolePolicy['policy']['fees'], 'nativePriceUsdMicros'> }
  readonly ruleset: Pick<RolePolicy['ruleset'], 'deployment'> & {
    readonly limits: Pick<RolePolicy['ruleset']['limits'], 'pricesUsdMicros'>
  }
}

/** The prices of accounts and of shadows: what the deployment states, for all roles alike, else what the policy's limits do. Pure. */
export const pricesOf = ({ policy, ruleset: { deployment, limits } }: PricedBy): Omit<MarkedBy, 'vaults'> => {
  const stated = deployment.assets.flatMap(({ symbol, price }) =>
    price === undefined ? [] : [[symbol, price]],
  )
  return {
    deployment,
    pricesUsdMicros: { ...limits.pricesUsdMicros, ...Object.fromEntries(stated) },
    nativePriceUsdMicros: policy.fees.nativePriceUsdMicros,
  }
}

/** How a role's shadows are marked. Pure. */
export const markedBy = ({
  does,
  policy,
  ruleset,
}: Pick<RolePolicy, 'does' | 'policy' | 'ruleset'>): MarkedBy => ({
  ...pricesOf({ policy, ruleset }),
  vaults: does.worksFor === 'vaults' ? ruleset.deployment.vaults.map(({ address }) => address) : [],
})

/** Create the scores of a role's shadows: bids wait for their lot first. */
export function createShadowScores(
  rolePolicy: RolePolicy,
  {
    collections,
    journal,
    nodes,
    clock: { nowMs },
  }: {
    readonly collections: Trades
    readonly journal: Pick<Journal, 'write' | 'get'>
    readonly nodes: Pick<Nodes, 'finalized' | 'calls'>
    readonly clock: Pick<Clock, 'nowMs'>
  },
): ShadowScores {
  const kept = { write: (workflow: Workflow) => writeOnce(workflow, journal) }
  const marks = createShadowMarks(markedBy(rolePolicy), { nodes, journal: kept, nowMs })
  const lots = createLotScores({ collections, journal: kept, nowMs, onDecided: marks.add })
  return {
    add: (workflow) => {
      lots.add(workflow)
      marks.add(workflow)
    },
    look: async () => {
      await marks.look()
      await lots.look()
    },
  }
}

/** Write a workflow, or go on with what is stored: where its role is opened anew, what followed it before may write last. */
async function writeOnce(workflow: Workflow, journal: Pick<Journal, 'write' | 'get'>): Promise<Workflow> {
  try {
    return await journal.write(workflow)
  } catch (error) {
    const isConflict = error instanceof RolekeeperError && error.code === 'journal.conflict'
    const stored = isConflict ? await journal.get(workflow.id) : null
    if (stored === null) throw error
    return stored
  }
}
