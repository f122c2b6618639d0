import { Counter, Gauge, type Registry } from 'prom-client'
import type { NodeHealth } from '../chain/nodes.ts'
import type { Role } from '../service/contract/roles.ts'
import type { Control } from './control.ts'
import { FACET_STATES, type Facet } from './facet.ts'
import type { FleetGauges } from './fleet-metrics.ts'

/** How the feed hears of changes. */
const FEED_MODES = ['stream', 'polling', 'down'] as const
type FeedMode = (typeof FEED_MODES)[number]

/** What is so at this moment: read when Prometheus asks, so that an age is never older than the question. */
export type Gauges = {
  readonly control: Control
  readonly feed: {
    readonly mode: FeedMode
    readonly messageAgeMs: number | null
    /** How often the stream was opened since the start. */
    readonly connections: number
  }
  readonly nodes: readonly NodeHealth[]
  /** What is left on the disk of the state directory; null where that is not known. */
  readonly diskFreeBytes: number | null
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
    /** How many workflows of the policy's most gas that pays for. */
    readonly gasRunwayWorkflows: number | null
    /** What workflows under way may move: millionths of a US dollar. */
    readonly exposureUsdMicros: bigint
    /** What its signers hold, whole tokens by symbol. */
    readonly inventory: Readonly<Record<string, number>>
    /** Until the first proposal that waits for a person expires; null where none waits. */
    readonly approvalExpiresMs: number | null
    readonly marketsArmed: number
    readonly marketsUnarmed: number
    /** Part of each rolling budget that is used, 1 being all. */
    readonly budgets: Readonly<Record<string, number>>
    /** The same of each of `limits.allowances`, by its place there. */
    readonly allowances: Readonly<Record<string, number>>
  }[]
  /** The same of the cap over all roles; empty where there is none. */
  readonly capUsed: Readonly<Record<string, number>>
  readonly facets: readonly Facet[]
  /** Of an instance of a fleet. */
  readonly fleet?: FleetGauges
}

/** Register the gauges of a keeper. */
export function createGauges(registry: Registry) {
  const gauge = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Gauge({ name: `rolekeeper_${name}`, help, labelNames, registers: [registry] })
  const counter = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Counter({ name: `rolekeeper_${name}`, help, labelNames, registers: [registry] })
  return {
    info: gauge('info', 'Always 1; the labels say what runs.', [
      'version',
      'environment',
      'config_hash',
      'ruleset_hash',
    ]),
    facets: gauge('facet_state', '0: well; 1: a warning; 2: failing.', ['facet', 'about']),
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
    nodeHead: gauge('node_head_block', 'Newest block that a reading node has shown.', ['node']),
    nodeErrors: counter('node_errors_total', 'Answers of a reading node that failed.', ['node']),
    connections: counter('stream_connections_total', 'How often the stream of events was opened.'),
    diskFree: gauge('disk_free_bytes', 'Free space on the disk of the state directory.'),
    balance: gauge('native_balance_ether', 'Native balance of the signer, for gas.', ['role']),
    runway: gauge(
      'gas_runway_workflows',
      'Workflows that the native balance pays for, each at the most that the policy lets one cost.',
      ['role'],
    ),
    exposure: gauge('exposure_dollars', 'What workflows under way may move.', ['role']),
    inventory: gauge('inventory_tokens', 'What the signers of a role hold, whole tokens.', ['role', 'token']),
    approvalExpires: gauge(
      'approval_expires_seconds',
      'Time until the first proposal that waits for a person expires; absent where none waits.',
      ['role'],
    ),
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

/** Show what is so now. */
export function setGauges(gauges: ReturnType<typeof createGauges>, now: Gauges): void {
  gauges.facets.reset()
  for (const { facet, about, state } of now.facets)
    gauges.facets.set({ facet, about }, FACET_STATES.indexOf(state))
  gauges.killed.set(Number(now.control.killed))
  gauges.paused.set(Number(now.control.paused))
  for (const mode of FEED_MODES) gauges.feedMode.set({ mode }, Number(mode === now.feed.mode))
  gauges.messageAge.set(seconds(now.feed.messageAgeMs))
  gauges.sweepAge.set(seconds(now.sweepAgeMs))
  gauges.serviceLag.set(seconds(now.serviceLagMs))
  gauges.diskFree.set(now.diskFreeBytes ?? Number.NaN)
  gauges.connections.reset()
  gauges.connections.inc(now.feed.connections)
  for (const each of [gauges.nodeState, gauges.nodeErrors]) each.reset()
  for (const { node, state, blocksBehind, headNumber, errors } of now.nodes) {
    gauges.nodeHead.set({ node }, headNumber === null ? Number.NaN : Number(headNumber))
    gauges.nodeErrors.inc({ node }, errors)
    gauges.nodeState.set({ node, state }, 1)
    gauges.nodeBehind.set({ node }, blocksBehind ?? Number.NaN)
  }
  gauges.quorumMissing.set(now.quorumMissingMs / 1_000)
  gauges.safe.reset()
  for (const each of [gauges.budgets, gauges.allowances, gauges.cap, gauges.approvalExpires]) each.reset()
  for (const [budget, used] of Object.entries(now.capUsed)) gauges.cap.set({ budget }, used)
  for (const { role, budgets, allowances, safe, inventory, ...figures } of now.roles) {
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
    gauges.runway.set({ role }, figures.gasRunwayWorkflows ?? Number.NaN)
    gauges.exposure.set({ role }, Number(figures.exposureUsdMicros) / 1e6)
    for (const [token, held] of Object.entries(inventory)) gauges.inventory.set({ role, token }, held)
    const { approvalExpiresMs } = figures
    if (approvalExpiresMs !== null) gauges.approvalExpires.set({ role }, approvalExpiresMs / 1_000)
    for (const [budget, used] of Object.entries(budgets)) gauges.budgets.set({ role, budget }, used)
    for (const [allowance, used] of Object.entries(allowances)) {
      gauges.allowances.set({ role, allowance }, used)
    }
  }
}

/** What is not known is NaN, which Prometheus keeps apart from 0. */
const seconds = (ms: number | null) => (ms === null ? Number.NaN : ms / 1_000)
