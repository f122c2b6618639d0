import type { Nodes } from '../../chain/nodes.ts'
import { type Checked, invariant } from '../../errors.ts'
import { usesAhead } from '../../guard/checks/affected.ts'
import { checkRequest } from '../../guard/checks/check-request.ts'
import type { Ruleset } from '../../guard/ruleset.ts'
import type { Journal, Reservation } from '../../journal/journal.ts'
import { type Gate, stopped } from '../../ops/control.ts'
import { compose } from '../../pipeline/compose.ts'
import type { Stage, Stages } from '../../pipeline/pipeline.ts'
import { prepare } from '../../pipeline/prepare.ts'
import { request } from '../../pipeline/request.ts'
import { reservationOf } from '../../pipeline/transactions/reservation.ts'
import type { ServiceClient } from '../../service/client.ts'
import { isMetadata } from '../../workflow/metadata.ts'
import type { Step } from '../../workflow/step.ts'
import type { Workflow } from '../../workflow/workflow.ts'

/** What the first two stages are joined from, live and in shadow alike. */
type RequestStagesDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'barrier'>
  readonly nodes: Pick<Nodes, 'head'>
  readonly client: Pick<ServiceClient, 'prepareWorkflow'>
  readonly ruleset: Ruleset
  readonly gate: () => Gate
  /** Where a person must be asked first: what the hold comes to; null when nothing stands in the way. */
  readonly hold: (workflow: Workflow) => Promise<Step | null>
  /** Whether the workflow may be prepared at all, before its rules are asked. */
  readonly mayPrepare: (workflow: Workflow) => Checked<unknown>
  readonly checkBudget: (ask: Reservation) => Promise<Checked<unknown>>
  /** What is done by preparing it; absent in shadow, where nothing is. */
  readonly save?: Stage
}

/** Join the stages up to the service's answer: what is asked of it, and the asking. */
export function createRequestStages(deps: RequestStagesDeps): Pick<Stages, 'request' | 'prepare'> {
  const { nowMs, journal, client, ruleset } = deps
  return {
    request: (workflow) =>
      request(workflow, {
        nowMs,
        stopped: () => stopped(deps.gate()),
        hold: deps.hold,
        checkRequest: (proposal) => {
          const may = deps.mayPrepare(workflow)
          const { role, signer } = workflow
          return may.ok ? checkRequest({ proposal, role, signer, ruleset }) : may
        },
        checkBudget: () =>
          deps.checkBudget({
            ...reservationOf(workflow, nowMs()),
            uses: usesAhead(workflow.proposal, workflow.signer, ruleset),
            ...(workflow.shadow === true ? { shadow: true } : {}),
          }),
        compose: async (each) => compose(each, { ruleset, head: await deps.nodes.head(), nowMs: nowMs() }),
        deploymentNamespace: ruleset.deployment.namespace,
      }),

    prepare: async (workflow) => {
      await journal.barrier()
      if (isMetadata(workflow.proposal.workflowType)) {
        invariant(
          deps.save !== undefined,
          `workflow ${workflow.id} is in shadow, and nothing is saved for it`,
        )
        return deps.save(workflow)
      }
      return prepare(workflow, {
        nowMs,
        post: (idempotencyKey, bodyText) => client.prepareWorkflow({ bodyText, idempotencyKey }),
      })
    },
  }
}
