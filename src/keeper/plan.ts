import type { Around } from '../../agents/agent.ts'
import { assetManager } from '../../agents/asset-manager/agent.ts'
import type { Difference } from '../../agents/asset-manager/difference.ts'
import type { ManagerPolicy } from '../../agents/asset-manager/policy.ts'
import { reconcile } from '../../agents/asset-manager/reconcile.ts'
import { systemClock } from '../clock.ts'
import type { AgentConfig, RunConfig } from '../config/config.ts'
import { loadPolicy } from '../config/policy.ts'
import { createRecent, inFlight } from '../decide/around.ts'
import { RolekeeperError } from '../errors.ts'
import { compileApproval, whyAsk } from '../guard/approval.ts'
import { readSqliteJournal } from '../journal/sqlite.ts'
import { createBorrowerRows } from '../observe/borrower-rows.ts'
import { createCollections } from '../observe/collections.ts'
import { observe } from '../observe/observe.ts'
import { openNodes, openService } from './connect.ts'
import { sectionsOf } from './role-policy.ts'
import { clientOf } from './startup-checks.ts'

/** What stands between the declared and what is there; `asked` says why a person would be asked first, or null. */
export type PlannedDifference = Difference & { readonly asked: string | null }

/** Workflows of the journal that may still be about a declared thing. */
const JOURNAL_ROWS = 1_000

/**
 * Compare what the asset manager's policy declares with what is there: a look that signs nothing, opens nothing and
 * waits for nobody. What a keeper of the directory does already is taken into account. Throws RolekeeperError
 * `plan.no_role` or `plan.not_fresh`, and what loading and reading throw.
 */
export async function planOf(config: RunConfig): Promise<readonly PlannedDifference[]> {
  const agent = config.agents.find(({ role }) => role === assetManager.role)
  if (agent === undefined) {
    throw new RolekeeperError('plan.no_role', `The run configuration has no ${assetManager.role}.`, {
      fix: 'add it to `agents`; no other role declares anything.',
    })
  }
  const policy = loadPolicy(agent.policy, agent.role, sectionsOf<ManagerPolicy>(assetManager))
  const seen = await look(config, agent, policy)
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
  const approval = compileApproval(policy.approval, config.deployment)
  return reconcile(seen, policy.strategy.declared).map((difference) => ({
    ...difference,
    asked:
      'workflowType' in difference.outcome ? (whyAsk(difference.outcome, approval)?.message ?? null) : null,
  }))
}

type Policy = ReturnType<typeof loadPolicy<ReturnType<typeof sectionsOf<ManagerPolicy>>>>

async function look(config: RunConfig, agent: AgentConfig, policy: Policy) {
  const { service, deployment } = config
  const client = openService(config, systemClock)
  const nodes = await openNodes(config, systemClock)
  try {
    const own = clientOf(client, config, agent)
    return await observe(
      assetManager,
      policy.strategy,
      { previous: null, book: null, armed: new Map() },
      {
        collections: createCollections(own, null, service.assumptions),
        ofWallets: createBorrowerRows(own, () => {}).ofWallets,
        nodes,
        clock: systemClock,
        outside: async () => ({ ok: false, check: 'source_unknown', message: 'A plan asks no source.' }),
      },
      {
        chainId: nodes.chainId,
        signer: agent.signer.address,
        ours: config.agents.map((each) => each.signer.address),
        deployment,
        limits: policy.freshness,
        priorityFeePerGasWei: policy.fees.priorityFeePerGasWei,
        ...(await around(config.directory)),
      },
    )
  } finally {
    await Promise.all([client.close(), nodes.close()])
  }
}

/** What the keeper of a directory does and did of late; nothing where none has run. */
async function around(directory: string): Promise<Around> {
  const journal = openedJournal(directory)
  if (journal === null) return { inFlight: [], recent: [], colleagues: [] }
  try {
    const { role } = assetManager
    const [live, newest] = await Promise.all([journal.live(), journal.newestOf(role, JOURNAL_ROWS)])
    return {
      inFlight: live.filter((workflow) => workflow.role === role).map(inFlight),
      recent: createRecent(newest, systemClock.nowMs).list(),
      colleagues: [],
    }
  } finally {
    await journal.close()
  }
}

function openedJournal(directory: string) {
  try {
    return readSqliteJournal(directory)
  } catch (error) {
    if (error instanceof RolekeeperError && error.code === 'journal.absent') return null
    throw error
  }
}
