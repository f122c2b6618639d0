import { collectDefaultMetrics, Registry } from 'prom-client'
import type { SendOutcome } from '../../chain/nodes.ts'
import type { CircuitPhase } from '../../service/circuit.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import { isTerminal, type ShadowVerdict, type WorkflowState } from '../../workflow/workflow.ts'
import type { Delivery } from '../alarms/target.ts'
import { type CountedRole, createCounters } from './counters.ts'
import { createFleetMetrics, type FleetMetrics } from './fleet-metrics.ts'
import { createGauges, type Gauges, setGauges } from './gauges.ts'

/** The parts whose sum is what a signer is worth more. */
const MONEY_PARTS = ['moved', 'gas', 'positions', 'marked'] as const
type Money = Readonly<Partial<Record<(typeof MONEY_PARTS)[number], bigint | null | undefined>>>

/** What happened, counted as it happens, and the page that Prometheus reads. No label holds an address or an id. */
export type Metrics = {
  /** A workflow reached a state; `durationMs` since the state before. */
  readonly workflowMoved: (role: Role, type: WorkflowType, state: WorkflowState, durationMs: number) => void
  /** A subject was passed over by its agent, or a workflow refused by the guard: by the check that stopped it. */
  readonly refused: (role: Role, stage: 'agent' | 'guard' | 'monitor', check: string) => void
  readonly decided: (role: Role, proposals: number, passedOver: number, durationMs: number) => void
  /** One call of the KMS; `outcome` is `ok` or the error's code. */
  readonly kmsCalled: (outcome: string, durationMs: number) => void
  readonly sent: (outcome: SendOutcome['outcome']) => void
  /** A reading node, by its name, said something else than those that agree. */
  readonly nodeAlone: (node: string) => void
  /** An attempt at the service; `outcome` is `ok`, a status or the error's code. */
  readonly serviceCalled: (outcome: string, durationMs: number) => void
  /** The circuit to the service opened, closed, or lets one request through to find out. */
  readonly circuitMoved: (phase: CircuitPhase) => void
  /** A request at the webhook listener; `outcome` is one of its fixed names. */
  readonly webhookReceived: (outcome: string) => void
  readonly struck: (role: Role) => void
  /** A workflow in shadow was compared with what then happened. */
  readonly scored: (role: Role, verdict: ShadowVerdict) => void
  readonly alarmed: (code: string) => void
  /** A try to tell a target of an alarm. */
  readonly alarmDelivered: (target: string, outcome: Delivery) => void
  /** What a role said of what succeeded, and what its accounts came to, millionths of a US dollar. */
  readonly accounted: (role: Role, money: Money) => void
  /** How many accounts of a role stand still, as the chain left a block that one of their pages ends at. */
  readonly accountsForked: (role: Role, accounts: number) => void
  /** Null where it is in no fleet: such a page has none of its families. */
  readonly fleet: FleetMetrics | null
  /** The text of `/metrics`, in Prometheus's text format 0.0.4. */
  readonly render: (gauges: Gauges) => Promise<string>
}

/** Media type of {@link Metrics.render}. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** What runs. */
type KeeperFacts = {
  readonly version: string
  readonly environment: string
  readonly configHash: string
  /** By now: a policy that is tightened is another one. */
  readonly rulesetHash: () => string
  readonly isInFleet: boolean
  /** Of the configuration, each once: what can happen of them is counted from 0. */
  readonly roles: readonly CountedRole[]
  /** Where alarms go, by name. */
  readonly alarmTargets: readonly string[]
}

/** Names that come from code are few; should one ever not be, it must not fill Prometheus. */
const NAMES_MAX = 200

/** Create the registry of one keeper. */
export function createMetrics(facts: KeeperFacts): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // Gauges that are named like counters; those by type beside them say the same.
  for (const what of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${what}_total`)
  const name = createNames()
  const counters = createCounters(registry, facts.roles, facts.alarmTargets)
  const gauges = createGauges(registry)
  const fleet = facts.isInFleet ? createFleetMetrics(registry, name) : null
  return {
    workflowMoved: (role, type, state, durationMs) => {
      counters.states.inc({ role, type, state })
      counters.stateSeconds.observe({ role, state }, durationMs / 1_000)
      if (isTerminal(state)) counters.outcomes.inc({ role, type, outcome: state })
    },
    refused: (role, stage, check) => counters.refusals.inc({ role, stage, check: name(check) }),
    decided: (role, proposals, passedOver, durationMs) => {
      counters.decisions.inc({ role, result: 'proposed' }, proposals)
      counters.decisions.inc({ role, result: 'passed_over' }, passedOver)
      counters.decisionSeconds.observe({ role }, durationMs / 1_000)
    },
    kmsCalled: (outcome, durationMs) =>
      counters.kmsSeconds.observe({ outcome: name(outcome) }, durationMs / 1_000),
    sent: (outcome) => counters.sends.inc({ outcome }),
    nodeAlone: (node) => counters.alone.inc({ node }),
    serviceCalled: (outcome, durationMs) =>
      counters.serviceSeconds.observe({ outcome: name(outcome) }, durationMs / 1_000),
    circuitMoved: (phase) => gauges.circuitOpen.set(phase === 'closed' ? 0 : 1),
    webhookReceived: (outcome) => counters.webhooks.inc({ outcome: name(outcome) }),
    struck: (role) => counters.strikes.inc({ role }),
    scored: (role, verdict) => counters.shadows.inc({ role, verdict }),
    alarmed: (code) => counters.alarms.inc({ code: name(code) }),
    alarmDelivered: (target, outcome) => counters.deliveries.inc({ target, outcome }),
    accounted: (role, money) => {
      for (const part of MONEY_PARTS) gauges.money.inc({ role, part }, Number(money[part] ?? 0n) / 1e6)
    },
    accountsForked: (role, accounts) => gauges.accountsForked.set({ role }, accounts),
    fleet,
    render: (now) => {
      const { version, environment, configHash: config_hash } = facts
      gauges.info.reset()
      gauges.info.set({ version, environment, config_hash, ruleset_hash: facts.rulesetHash() }, 1)
      setGauges(gauges, now)
      if (now.fleet !== undefined) fleet?.set(now.fleet)
      return registry.metrics()
    },
  }
}

/** Let the first {@link NAMES_MAX} well-formed names through, and call every other one `other`. */
function createNames(): (text: string) => string {
  const seen = new Set<string>()
  return (text) => {
    if (seen.has(text)) return text
    if (seen.size >= NAMES_MAX || !/^[a-z][a-z0-9_.-]{0,63}$/.test(text)) return 'other'
    seen.add(text)
    return text
  }
}
