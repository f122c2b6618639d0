import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { NodeHealth, SendOutcome } from '../chain/nodes.ts'
import type { CircuitPhase } from '../service/circuit.ts'
import type { Role } from '../service/contract/roles.ts'
import type { WorkflowType } from '../service/contract/workflow-types.ts'
import { isTerminal, type ShadowVerdict, type WorkflowState } from '../workflow/workflow.ts'
import type { Control } from './control.ts'
import { createFleetMetrics, type FleetGauges, type FleetMetrics } from './fleet-metrics.ts'

/** How the feed hears of changes. */
const FEED_MODES = ['stream', 'polling', 'down'] as const
type FeedMode = (typeof FEED_MODES)[number]

/** What is said, and of what came the parts whose sum is what a signer is worth more. */
const MONEY_PARTS = ['said', 'moved', 'gas', 'positions', 'marked'] as const
type Money = Readonly<Partial<Record<(typeof MONEY_PARTS)[number], bigint | null | undefined>>>

/** What is so at this moment: read when Prometheus asks, so that an age is never older than the question. */
export type Gauges = {
  readonly control: Control
  readonly feed: { readonly mode: FeedMode; readonly messageAgeMs: number | null }
  readonly nodes: readonly NodeHealth[]
  /** How long too few nodes have agreed on a newer block; 0 while enough do. */
  readonly quorumMissingMs: number
  readonly sweepAgeMs: number | null
  /** How far the service says its own state is behind. */
  readonly serviceLagMs: number | null
  readonly roles: readonly {
    readonly role: Role
    /** Whether every agent of the role works. */
    readonly up: boolean
    /** Signers that are SAFE, by the reason's check. */
    readonly safe: Readonly<Record<string, number>>
    readonly workflowsLive: number
    /** Those that wait for a person. */
    readonly workflowsHeld: number
    readonly slotsOpen: number
    /** Age of the oldest nonce that has not landed; 0 when none is open. */
    readonly slotAgeMs: number
    readonly decisionAgeMs: number | null
    readonly nativeBalanceWei: bigint | null
    readonly marketsArmed: number
    readonly marketsUnarmed: number
    /** Part of each rolling budget that is used, 1 being all. */
    readonly budgets: Readonly<Record<string, number>>
    /** The same of each of `limits.allowances`, by its place there. */
    readonly allowances: Readonly<Record<string, number>>
  }[]
  /** The same of the cap over all roles; empty where there is none. */
  readonly capUsed: Readonly<Record<string, number>>
  /** Of an instance of a fleet. */
  readonly fleet?: FleetGauges
}

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
}

/** Names that come from code are few; should one ever not be, it must not fill Prometheus. */
const NAMES_MAX = 200

/** Create the registry of one keeper. */
export function createMetrics(facts: KeeperFacts): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const name = createNames()
  const counters = createCounters(registry)
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

/** Seconds; from a local call to a workflow that waits for finality. */
const CALL_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const STATE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 900]

function createCounters(registry: Registry) {
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

function createGauges(registry: Registry) {
  const gauge = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Gauge({ name: `rolekeeper_${name}`, help, labelNames, registers: [registry] })
  return {
    info: gauge('info', 'Always 1; the labels say what runs.', [
      'version',
      'environment',
      'config_hash',
      'ruleset_hash',
    ]),
    killed: gauge('killed', '1 while the kill file is there or cannot be read.'),
    paused: gauge('paused', '1 while the pause file is there.'),
    feedMode: gauge('feed_mode', '1 for the way the feed hears of changes now.', ['mode']),
    messageAge: gauge('feed_message_age_seconds', 'Time since the feed last heard anything.'),
    sweepAge: gauge('sweep_age_seconds', 'Time since the last full sweep.'),
    serviceLag: gauge('service_lag_seconds', 'How far the service is behind, by its own word.'),
    circuitOpen: gauge('service_circuit_open', '1 while the service failed in a row and is only probed.'),
    nodeState: gauge('node_state', '1 for how a reading node stands beside the others now.', [
      'node',
      'state',
    ]),
    nodeBehind: gauge('node_blocks_behind', 'Blocks that a reading node is behind the agreed head.', [
      'node',
    ]),
    quorumMissing: gauge('quorum_missing_seconds', 'Time for which too few nodes agree on a newer block.'),
    safe: gauge('signers_safe', 'Signers that are SAFE, by the reason.', ['role', 'check']),
    up: gauge('role_up', '1 while the role works; 0 while it is down or being opened.', ['role']),
    live: gauge('workflows_live', 'Workflows that have not ended.', ['role']),
    held: gauge('workflows_held', 'Workflows that wait for a person.', ['role']),
    slotsOpen: gauge('slots_open', 'Nonces taken that have not landed.', ['role']),
    slotAge: gauge('slot_age_seconds', 'Age of the oldest nonce that has not landed.', ['role']),
    decisionAge: gauge('decision_age_seconds', 'Time since the last decision.', ['role']),
    balance: gauge('native_balance_ether', 'Native balance of the signer, for gas.', ['role']),
    money: gauge(
      'money_dollars',
      'What a role said of what succeeded since the start, and what came, by part.',
      ['role', 'part'],
    ),
    accountsForked: gauge('accounts_forked', 'Accounts whose last block the chain has left.', ['role']),
    markets: gauge('markets', 'Markets by whether the units were proven.', ['role', 'armed']),
    budgets: gauge('budget_used_ratio', 'Part of a rolling budget that is used.', ['role', 'budget']),
    allowances: gauge(
      'allowance_used_ratio',
      'Part of an allowance that is used, by its place in the policy.',
      ['role', 'allowance'],
    ),
    cap: gauge('cap_used_ratio', 'Part of the cap over all roles that is used.', ['budget']),
  }
}

function setGauges(gauges: ReturnType<typeof createGauges>, now: Gauges): void {
  gauges.killed.set(Number(now.control.killed))
  gauges.paused.set(Number(now.control.paused))
  for (const mode of FEED_MODES) gauges.feedMode.set({ mode }, Number(mode === now.feed.mode))
  gauges.messageAge.set(seconds(now.feed.messageAgeMs))
  gauges.sweepAge.set(seconds(now.sweepAgeMs))
  gauges.serviceLag.set(seconds(now.serviceLagMs))
  gauges.nodeState.reset()
  for (const { node, state, blocksBehind } of now.nodes) {
    gauges.nodeState.set({ node, state }, 1)
    gauges.nodeBehind.set({ node }, blocksBehind ?? Number.NaN)
  }
  gauges.quorumMissing.set(now.quorumMissingMs / 1_000)
  gauges.safe.reset()
  for (const each of [gauges.budgets, gauges.allowances, gauges.cap]) each.reset()
  for (const [budget, used] of Object.entries(now.capUsed)) gauges.cap.set({ budget }, used)
  for (const { role, budgets, allowances, safe, ...figures } of now.roles) {
    for (const [check, signers] of Object.entries(safe)) gauges.safe.set({ role, check }, signers)
    gauges.up.set({ role }, Number(figures.up))
    gauges.live.set({ role }, figures.workflowsLive)
    gauges.held.set({ role }, figures.workflowsHeld)
    gauges.slotsOpen.set({ role }, figures.slotsOpen)
    gauges.slotAge.set({ role }, figures.slotAgeMs / 1_000)
    gauges.decisionAge.set({ role }, seconds(figures.decisionAgeMs))
    gauges.markets.set({ role, armed: 'yes' }, figures.marketsArmed)
    gauges.markets.set({ role, armed: 'no' }, figures.marketsUnarmed)
    // A gauge is a float: good to watch a balance by, not to reckon with.
    gauges.balance.set(
      { role },
      figures.nativeBalanceWei === null ? Number.NaN : Number(figures.nativeBalanceWei) / 1e18,
    )
    for (const [budget, used] of Object.entries(budgets)) gauges.budgets.set({ role, budget }, used)
    for (const [allowance, used] of Object.entries(allowances)) {
      gauges.allowances.set({ role, allowance }, used)
    }
  }
}

/** What is not known is NaN, which Prometheus keeps apart from 0. */
const seconds = (ms: number | null) => (ms === null ? Number.NaN : ms / 1_000)
