import type { Duty } from '../../decide/decision-loop.ts'
import { assessGain, rememberClaim } from '../../decide/gains.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Stages } from '../../pipeline/pipeline.ts'
import type { ServiceClient } from '../../service/client.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { markedBy } from '../money/shadow-scores.ts'
import type { RolePolicy } from '../policy/role-policy.ts'
import type { Ground, Records, Runtime, Turns } from '../ports.ts'
import { monitor, monitorRefused } from '../stages/monitor-policy.ts'
import { createShadowStages } from '../stages/shadow.ts'

/** What a role has to do with its workflows. */
export type RoleWorkflows = {
  /** The stages that a workflow of the role passes. */
  readonly stagesOf: (workflow: Workflow) => Stages
  /** Take note of a workflow of the role that moved, or was opened, and of one that ended. */
  readonly moved: (before: Workflow | null, after: Workflow) => void
  readonly ended: (workflow: Workflow) => void
  /** Remember what a confirmed workflow opened, and say what one that succeeded brought. */
  readonly assess: (workflow: Workflow) => Promise<void>
}

/** What a role's workflows are joined to. */
type WorkflowsDeps = Omit<Runtime, 'config'> &
  Pick<Ground, 'nodes' | 'gas'> &
  Pick<Records, 'journal'> &
  Pick<Turns, 'gate'> & { readonly client: ServiceClient }

/** What is the role's own in it; `live` are its live stages, null where it is in shadow. */
type Own = {
  readonly live: Stages | null
  readonly lastSeen: Duty['lastSeen']
  readonly onMoved: RoleWorkflows['moved']
  readonly onEnded: (workflow: Workflow) => void
}

/** Join what a role has to do with its workflows, live and in shadow. */
export function createRoleWorkflows(
  { agent: { role }, does, policy, ruleset, approval, apart, monitored }: RolePolicy,
  { clock, journal, nodes, gas, client, gate, metrics, emit, log, alarm }: WorkflowsDeps,
  { live, lastSeen, onMoved, onEnded }: Own,
): RoleWorkflows {
  const shadowStages = createShadowStages({
    nowMs: clock.nowMs,
    journal,
    nodes,
    gas,
    client,
    ruleset,
    approval,
    apart,
    fees: policy.fees,
    gate,
    marked: markedBy({ does, policy, ruleset }),
    onScored: (verdict) => metrics.scored(role, verdict),
  })
  if (monitored instanceof RolekeeperError) alarm(monitorRefused(role, monitored))
  const beside = (stages: Stages) =>
    monitored === undefined || monitored instanceof RolekeeperError
      ? stages
      : monitor(stages, { enforced: ruleset, monitored }, { clock, log, metrics, emit })
  const [inShadow, inEarnest] = [beside(shadowStages), live === null ? null : beside(live)]
  return {
    stagesOf: ({ shadow }) => (shadow === true || inEarnest === null ? inShadow : inEarnest),
    moved: onMoved,
    ended: onEnded,
    assess: async (workflow) => {
      if (workflow.state === 'confirmed') return rememberClaim(workflow, journal)
      const seen = lastSeen()
      const gain = await assessGain(workflow, journal, (done) =>
        seen === null ? null : (does.assess?.(done, seen, policy.strategy) ?? null),
      )
      if (gain === null) return
      const at = new Date(clock.nowMs()).toISOString()
      const profitUsdMicros = String(gain.profitUsdMicros)
      emit({ type: 'gain', id: workflow.id, role, at, ...gain, profitUsdMicros })
    },
  }
}
