import type { Clock } from '../../clock.ts'
import { type AgentConfig, type RunConfig, secretsOf } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import { createAlarms } from '../../ops/alarms/alarms.ts'
import { type AlarmsOut, createAlarmsOut } from '../../ops/alarms/alarms-out.ts'
import { type KeeperEvent, roleEvent, type SummaryEvent } from '../../ops/events.ts'
import { facetKey } from '../../ops/facet.ts'
import type { Log } from '../../ops/log.ts'
import { createMetrics, type Metrics } from '../../ops/metrics/metrics.ts'
import { createScrubber } from '../../ops/scrub.ts'
import { createTally } from '../../ops/tally.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { createEarned, type Earned } from '../money/earned.ts'
import type { Candidate } from '../policy/candidates.ts'
import type { RoleState } from '../role/role.ts'

/** What a keeper says of itself: events, alarms, metrics and the summary of its run. */
export type Reports = {
  /** What it was created for, and with. */
  readonly of: {
    readonly version: string
    readonly log: Log
    readonly clock: Clock
    readonly candidates: readonly Candidate[]
  }
  readonly metrics: Metrics
  readonly earned: Earned
  /** Give an event to every listener. */
  readonly emit: (event: KeeperEvent) => void
  /** Log, count and emit an alarm, and tell its targets; the same one at most once a minute. `facet` names the one that it is of. */
  readonly alarm: (error: RolekeeperError, facet?: string) => void
  /** @returns how to stop listening. */
  readonly onEvent: (listener: (event: KeeperEvent) => void) => () => void
  /** Say that the keeper watches and decides, with these roles at work. */
  readonly ready: (
    urls: { readonly opsUrl: string; readonly consoleUrl?: string },
    atWork: readonly { readonly role: Role; readonly signer: string }[],
    resumed: number,
  ) => void
  /** Say that a role went down, or came up. */
  readonly roleIs: (agent: AgentConfig, state: RoleState) => void
  /** Count a workflow that ended. */
  readonly ended: (workflow: Workflow) => void
  /** Sum the run up; what is still live counts as parked. */
  readonly summary: (live: readonly Workflow[], money: SummaryEvent['money']) => SummaryEvent
  /** Take up a workflow that was there before. */
  readonly resumed: AlarmsOut['adopt']
  /** How each target of alarms stands. */
  readonly alarmTargets: AlarmsOut['targets']
  /** Tell the targets what waits, for a short time, and nothing more. */
  readonly close: AlarmsOut['close']
}

/** Create the reports of a keeper whose run begins now. */
export function createReports(
  config: RunConfig,
  candidates: readonly Candidate[],
  { version, log, clock }: { readonly version: string; readonly log: Log; readonly clock: Clock },
): Reports {
  const { environment, hash, chain, directory, fleet } = config
  const listeners = new Set<(event: KeeperEvent) => void>()
  const tally = createTally(clock.nowMs())
  const rulesetHash = () =>
    candidates
      .flatMap(({ policy }) => (policy instanceof RolekeeperError ? [] : [policy.ruleset.hash]))
      .join(',')
  const roles = candidates.map(({ agent: { role, mode }, does: { workflowTypes, byHand } }) => ({
    role,
    types: workflowTypes,
    isShadow: mode === 'shadow',
    isByHand: byHand === true,
  }))
  const alarmTargets = config.alarms.map(({ name }) => name)
  const facts = { version, environment, configHash: hash, rulesetHash, isInFleet: fleet !== undefined }
  const counted = createMetrics({ ...facts, roles, alarmTargets })
  const earned = createEarned(clock.nowMs)
  const metrics = withEarned(counted, earned)
  const emit = (event: KeeperEvent): void => {
    out.hear(event)
    for (const listener of listeners) listener(event)
  }
  const now = () => new Date(clock.nowMs()).toISOString()
  const alarm = createAlarms((error, nowMs, facet) => {
    metrics.alarmed(error.code)
    log.error('alarm', {}, error)
    const { code, shortMessage: message, fix = '' } = error
    const of = facet === undefined ? {} : { facet }
    emit({ type: 'alarm', at: new Date(nowMs).toISOString(), code, message, fix, ...of })
    out.raise(error, facet ?? facetOf(error, config))
  }, clock)
  const out = createAlarmsOut(config.alarms, {
    clock,
    onDelivery: metrics.alarmDelivered,
    scrub: createScrubber(() => secretsOf(config)),
    source: ['rolekeeper', config.deployment.namespace, fleet?.instance].filter(Boolean).join(' '),
  })
  return {
    of: { version, log, clock, candidates },
    metrics,
    earned,
    emit,
    alarm,
    alarmTargets: out.targets,
    resumed: out.adopt,
    close: out.close,
    ready: (urls, atWork, resumed) => {
      const signers = atWork.map(({ role, signer: address }) => ({ role, address }))
      const where = { environment, chainId: chain.id, directory, ...urls }
      emit({ type: 'ready', at: now(), ...where, signers, resumed })
    },
    roleIs: ({ role, signer }, state) => {
      const reason = state.type === 'down' ? state.reason : null
      if (reason !== null) log.warn('a role is down', { role }, reason)
      emit(roleEvent(role, signer.address, reason, clock.nowMs()))
    },
    onEvent: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    ended: tally.ended,
    summary: (live, money) =>
      tally.summary(
        candidates.map(({ agent }) => agent.role),
        live,
        money,
        clock.nowMs(),
      ),
  }
}

const withEarned = (counted: Metrics, earned: Earned): Metrics => ({
  ...counted,
  accounted: (role, money) => {
    counted.accounted(role, money)
    earned.add(role, money)
  },
})

/** The facet of an alarm that is raised once, as it begins: what it is of lasts for as long as that is not well. Pure. */
function facetOf(
  { code, facts }: RolekeeperError,
  { agents }: Pick<RunConfig, 'agents'>,
): string | undefined {
  if (code === 'role.down') return facetKey({ facet: 'role', about: String(facts.role) })
  const agent = agents.find(({ signer }) => signer.address === String(facts.signer).toLowerCase())
  return code === 'signer.safe' && agent !== undefined
    ? facetKey({ facet: 'signer', about: agent.role })
    : undefined
}
