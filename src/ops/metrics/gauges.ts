import { Counter, Gauge, type Registry } from 'prom-client'
import type { NodeHealth } from '../../chain/nodes.ts'
import type { Control } from '../control.ts'
import { FACET_STATES, type Facet } from '../facet.ts'
import type { FleetGauges } from './fleet-metrics.ts'
import { createRoleGauges, type RoleFigures, seconds, setRoleGauges } from './role-gauges.ts'

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
  /** How many records are on disk, and for how long the oldest that is not has waited; 0 where all are. */
  readonly audit: { readonly records: number; readonly waitingMs: number }
  /** How long too few nodes have agreed on a newer block; 0 while enough do. */
  readonly quorumMissingMs: number
  readonly sweepAgeMs: number | null
  /** How far the service says its own state is behind. */
  readonly serviceLagMs: number | null
  readonly roles: readonly RoleFigures[]
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
    nodeHead: gauge('node_head_block', 'Newest block that a reading node has shown.', ['node']),
    nodeErrors: counter('node_errors_total', 'Answers of a reading node that failed.', ['node']),
    connections: counter('stream_connections_total', 'How often the stream of events was opened.'),
    auditRecords: counter('audit_records_total', 'Number of the last record of the audit that is on disk.'),
    auditWaiting: gauge(
      'audit_waiting_seconds',
      'Time for which the oldest record that is not on disk has waited.',
    ),
    diskFree: gauge('disk_free_bytes', 'Free space on the disk of the state directory.'),
    money: gauge(
      'money_dollars',
      'What came of a role since the start, by part; their sum is what its signer is worth more.',
      ['role', 'part'],
    ),
    accountsForked: gauge('accounts_forked', 'Accounts whose last block the chain has left.', ['role']),
    ofRoles: createRoleGauges(registry),
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
  gauges.auditRecords.reset()
  gauges.auditRecords.inc(now.audit.records)
  gauges.auditWaiting.set(now.audit.waitingMs / 1_000)
  for (const each of [gauges.nodeState, gauges.nodeErrors]) each.reset()
  for (const { node, state, blocksBehind, headNumber, errors } of now.nodes) {
    gauges.nodeHead.set({ node }, headNumber === null ? Number.NaN : Number(headNumber))
    gauges.nodeErrors.inc({ node }, errors)
    gauges.nodeState.set({ node, state }, 1)
    gauges.nodeBehind.set({ node }, blocksBehind ?? Number.NaN)
  }
  gauges.quorumMissing.set(now.quorumMissingMs / 1_000)
  gauges.cap.reset()
  for (const [budget, used] of Object.entries(now.capUsed)) gauges.cap.set({ budget }, used)
  setRoleGauges(gauges.ofRoles, now.roles)
}
