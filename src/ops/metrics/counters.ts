import { Counter, Histogram, type Registry } from 'prom-client'
import type { SendOutcome } from '../../chain/nodes.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import { type ShadowVerdict, TERMINAL_STATES, type TerminalState } from '../../workflow/workflow.ts'
import { ALARM_CODES } from '../alarms/codes.ts'
import { DELIVERIES } from '../alarms/target.ts'

/** A role of the configuration, and what it does. */
export type CountedRole = {
  readonly role: Role
  readonly types: readonly WorkflowType[]
  readonly isShadow: boolean
  /** It decides nothing, and does what people submit. */
  readonly isByHand: boolean
}

const SENDS: readonly SendOutcome['outcome'][] = [
  ...(['accepted', 'unknown', 'nonce_too_low', 'underpriced', 'insufficient_funds', 'rejected'] as const),
]
/** What is told at once of a role that people work: all else of it begins when it happens, or its many types would be series of zeros. */
const TOLD: readonly TerminalState[] = ['quarantined', 'partial', 'unconfirmed']
const VERDICTS: readonly ShadowVerdict[] = ['won', 'contested', 'missed', 'unscored']

/** Seconds; from a local call to a workflow that waits for finality. */
const CALL_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
/** Few: each is a series of every role and state. */
const STATE_BUCKETS = [0.01, 0.05, 0.25, 1, 5, 30, 300, 900]

/** Register what is counted as it happens. What is known beforehand begins at 0: a first one is then an increase. */
export function createCounters(
  registry: Registry,
  roles: readonly CountedRole[],
  alarmTargets: readonly string[],
) {
  const counters = registerCounters(registry)
  for (const code of ALARM_CODES) counters.alarms.inc({ code }, 0)
  for (const target of alarmTargets) {
    for (const outcome of DELIVERIES) counters.deliveries.inc({ target, outcome }, 0)
  }
  for (const outcome of SENDS) counters.sends.inc({ outcome }, 0)
  for (const { role, types, isShadow, isByHand } of roles) {
    counters.strikes.inc({ role }, 0)
    const results = isByHand ? [] : ['proposed', 'passed_over']
    for (const result of results) counters.decisions.inc({ role, result }, 0)
    if (isShadow) for (const verdict of VERDICTS) counters.shadows.inc({ role, verdict }, 0)
    const outcomes = isByHand ? TOLD : TERMINAL_STATES.filter((state) => isShadow || state !== 'shadowed')
    for (const type of types) {
      for (const outcome of outcomes) counters.outcomes.inc({ role, type, outcome }, 0)
    }
  }
  return counters
}

function registerCounters(registry: Registry) {
  const counter = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name: `rolekeeper_${name}`, help, labelNames, registers: [registry] })
  const histogram = <L extends string>(name: string, help: string, labelNames: L[], buckets: number[]) =>
    new Histogram({ name: `rolekeeper_${name}`, help, labelNames, buckets, registers: [registry] })
  return {
    states: counter('workflow_states_total', 'States that workflows reached.', ['role', 'type', 'state']),
    outcomes: counter('workflow_outcomes_total', 'Workflows by how they ended.', ['role', 'type', 'outcome']),
    refusals: counter('refusals_total', 'What was not done, by the check that stopped it.', [
      'role',
      'stage',
      'check',
    ]),
    decisions: counter('decision_subjects_total', 'Subjects decided on.', ['role', 'result']),
    sends: counter('sends_total', 'Transactions handed to nodes, by answer.', ['outcome']),
    alone: counter('node_disagreements_total', 'Answers in which a node stood alone.', ['node']),
    webhooks: counter('webhook_requests_total', 'Requests at the webhook listener, by what became of them.', [
      'outcome',
    ]),
    strikes: counter('strikes_total', 'Steps that failed unexpectedly.', ['role']),
    shadows: counter('shadow_verdicts_total', 'Workflows in shadow, by what then happened.', [
      'role',
      'verdict',
    ]),
    alarms: counter('alarms_total', 'Alarms, by code.', ['code']),
    deliveries: counter('alarm_deliveries_total', 'Tries to tell a target of an alarm, by what came of it.', [
      'target',
      'outcome',
    ]),
    stateSeconds: histogram(
      'workflow_state_seconds',
      'Time from one state to the next.',
      ['role', 'state'],
      STATE_BUCKETS,
    ),
    decisionSeconds: histogram('decision_seconds', 'Time of one decision.', ['role'], CALL_BUCKETS),
    kmsSeconds: histogram('kms_call_seconds', 'Calls of the KMS, by outcome.', ['outcome'], CALL_BUCKETS),
    serviceSeconds: histogram(
      'service_call_seconds',
      'Attempts at the service, by outcome.',
      ['outcome'],
      CALL_BUCKETS,
    ),
  }
}
