import { type Checked, RolekeeperError } from '../../errors.ts'
import { checkPrepared } from '../../guard/checks/check-prepared.ts'
import type { Ruleset } from '../../guard/ruleset.ts'
import type { KeeperEvent } from '../../ops/events.ts'
import type { Log } from '../../ops/log.ts'
import type { Metrics } from '../../ops/metrics/metrics.ts'
import type { Stages } from '../../pipeline/pipeline.ts'
import type { Workflow } from '../../workflow/workflow.ts'

/** The rules that are enforced, and those that are judged by beside them. */
type RulesetPair = { readonly enforced: Ruleset; readonly monitored: Ruleset }

/** Where it is made known that the two differ. */
type MonitorDeps = {
  readonly clock: { readonly nowMs: () => number }
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly metrics: Pick<Metrics, 'refused'>
  readonly emit: (event: KeeperEvent) => void
}

/**
 * Judge each answer by other rules too, once the enforced ones have decided, and say where the two differ. What these rules
 * say changes nothing: they see a copy of the answer, ask nobody, and a failure of theirs is a line in the log.
 */
export function monitor(stages: Stages, both: RulesetPair, deps: MonitorDeps): Stages {
  return {
    ...stages,
    attest: async (workflow) => {
      const step = await stages.attest(workflow)
      if (step.type !== 'wait' && step.workflow.state !== 'prepared') {
        try {
          compare(workflow, both, deps)
        } catch (error) {
          deps.log.warn('the monitored policy could not judge', { id: workflow.id }, error)
        }
      }
      return step
    },
  }
}

function compare(workflow: Workflow, both: RulesetPair, { clock, log, metrics, emit }: MonitorDeps): void {
  const { id, role, prepared } = workflow
  if (prepared === undefined) return
  const nowMs = clock.nowMs()
  // A copy for each: what passed is remembered by the answer that is judged.
  const judge = (ruleset: Ruleset): Checked<unknown> =>
    checkPrepared({ workflow, frozen: { ...prepared }, ruleset, nowMs })
  const [enforced, monitored] = [judge(both.enforced), judge(both.monitored)]
  if (enforced.ok === monitored.ok) return
  const refused = monitored.ok ? enforced : monitored
  const verdict = monitored.ok ? 'would_clear' : 'would_refuse'
  const { check, message } = refused.ok ? { check: '', message: '' } : refused
  metrics.refused(role, 'monitor', monitored.ok ? verdict : check)
  log.info('the monitored policy judges otherwise', { id, role, verdict, check })
  const { workflowType } = workflow.proposal
  const at = new Date(nowMs).toISOString()
  emit({ type: 'monitor', id, role, at, workflowType, verdict, check, message })
}

/** Say that the policy which a role is to be judged by beside its own does not load: it works all the same. Pure. */
export const monitorRefused = (role: string, { code, shortMessage, fix }: RolekeeperError): RolekeeperError =>
  new RolekeeperError(
    'policy.monitor_refused',
    `The policy that the ${role} has as its monitor is refused (${code}): ${shortMessage}`,
    {
      fix: `${fix ?? 'correct it'}. It is read again at the next start, and when the policy beside it is taken up.`,
      facts: { role, problem: shortMessage },
    },
  )
