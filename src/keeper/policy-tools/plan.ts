import type { Around, Difference } from '../../../agents/agent.ts'
import { agents } from '../../../agents/index.ts'
import type { Nodes } from '../../chain/nodes.ts'
import { systemClock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { recordsOf } from '../../config/place.ts'
import { createRecent, inFlight } from '../../decide/recent-workflows.ts'
import { RolekeeperError } from '../../errors.ts'
import { whyAsk } from '../../guard/approval/approval.ts'
import { readJournal } from '../../journal/open.ts'
import { createBorrowerRows } from '../../observe/borrower-rows.ts'
import { createCollections } from '../../observe/collections.ts'
import { observe } from '../../observe/observe.ts'
import type { Role } from '../../service/contract/roles.ts'
import { briefOf } from '../../workflow/brief.ts'
import { loadRolePolicy, positionOf, type RolePolicy } from '../policy/role-policy.ts'
import { clientOf } from '../startup/access.ts'
import { openNodes, openService } from '../startup/connect.ts'
import { type MissingPin, missingPin } from './plan-pins.ts'

/**
 * What stands between the declared and what is there; `asked` says why a person would be asked first, `pin` what the run
 * configuration is to name first; each null where it is not so.
 */
export type PlannedDifference = Omit<Difference, 'pin'> & {
  readonly asked: string | null
  readonly pin: MissingPin | null
}

/** The roles whose policies declare things. */
export const DECLARING_ROLES: readonly Role[] = agents.flatMap(({ role, plan }) =>
  plan === undefined ? [] : [role],
)

/** Workflows of the journal that may still be about a declared thing. */
const JOURNAL_ROWS = 1_000

/**
 * Compare what policies declare with what is there: a look that signs nothing, opens nothing and waits for nobody. What a
 * keeper of the directory does already is taken into account. Throws RolekeeperError `plan.no_role` or `plan.not_fresh`,
 * and what loading and reading throw.
 * @param roles whose policies, of {@link DECLARING_ROLES}.
 */
export async function planOf(
  config: RunConfig,
  roles: readonly Role[],
): Promise<readonly PlannedDifference[]> {
  const declaring = config.agents.filter(({ role }) => roles.includes(role))
  if (declaring.length === 0) {
    throw new RolekeeperError('plan.no_role', `The run configuration has no ${roles.join(' or ')}.`, {
      fix: 'add it to `agents`; no other role declares anything.',
    })
  }
  const plans = await Promise.all(
    declaring.map((agent) => planOfRole(loadRolePolicy(positionOf(agent), config), config)),
  )
  return plans.flat()
}

async function planOfRole(rolePolicy: RolePolicy, config: RunConfig): Promise<readonly PlannedDifference[]> {
  const nodes = await openNodes(config, systemClock)
  try {
    return await compare(rolePolicy, config, nodes)
  } finally {
    await nodes.close()
  }
}

async function compare(
  rolePolicy: RolePolicy,
  config: RunConfig,
  nodes: Nodes,
): Promise<readonly PlannedDifference[]> {
  const { does, policy, approval, agent } = rolePolicy
  const seen = await look(rolePolicy, config, nodes)
  if (!seen.freshness.ok) {
    throw new RolekeeperError(
      'plan.not_fresh',
      `What was read is too old to plan on: ${seen.freshness.message}.`,
      {
        retry: 'later',
        fix: "wait for the service's indexer, or raise `freshness` in the policy.",
      },
    )
  }
  const differences = does.plan?.(seen, policy.strategy) ?? []
  return Promise.all(
    differences.map(async (difference) => ({
      ...difference,
      asked:
        'workflowType' in difference.outcome ? (whyAsk(difference.outcome, approval)?.message ?? null) : null,
      pin:
        difference.pin === undefined ? null : await missingPin(difference.pin, agent.signer.address, nodes),
    })),
  )
}

async function look({ agent, does, policy }: RolePolicy, config: RunConfig, nodes: Nodes) {
  const { service, deployment } = config
  const client = openService(config, systemClock)
  try {
    const own = clientOf(client, config, agent)
    return await observe(
      does,
      policy.strategy,
      { previous: null, book: null, armed: new Map() },
      {
        collections: createCollections(own, null, service.assumptions),
        ofWallets: createBorrowerRows(own, systemClock.monotonicMs, () => {}).ofWallets,
        nodes,
        clock: systemClock,
        outside: async () => ({ ok: false, check: 'source_unknown', message: 'A plan asks no source.' }),
        // Nothing that is declared is weighed against what it costs.
        dataFeeWei: () => 0n,
      },
      {
        chainId: nodes.chainId,
        signer: agent.signer.address,
        ours: config.agents.map((each) => each.signer.address),
        deployment,
        limits: policy.freshness,
        priorityFeePerGasWei: policy.fees.priorityFeePerGasWei,
        ...(await around(config, agent.role)),
      },
    )
  } finally {
    await client.close()
  }
}

/** What the keeper of a configuration, or its fleet, does and did of late; nothing where none has run. */
async function around(config: RunConfig, role: Role): Promise<Around> {
  try {
    return await readJournal(recordsOf(config), async (journal) => {
      const [live, newest] = await Promise.all([journal.live(), journal.newestOf(role, JOURNAL_ROWS)])
      const ended = newest.filter(({ shadow }) => shadow !== true)
      return {
        inFlight: live
          .filter((workflow) => workflow.role === role)
          .map((workflow) => inFlight(briefOf(workflow))),
        recent: createRecent(ended, systemClock.nowMs).list(),
        colleagues: [],
        experience: [],
        rivals: [],
      }
    })
  } catch (error) {
    if (!(error instanceof RolekeeperError) || error.code !== 'journal.absent') throw error
    return { inFlight: [], recent: [], colleagues: [], experience: [], rivals: [] }
  }
}
