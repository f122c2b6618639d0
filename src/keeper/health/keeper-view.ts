import type { Address } from 'viem'
import type { Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import type { RolekeeperError } from '../../errors.ts'
import type { Cap } from '../../guard/limits/budget.ts'
import type { Control } from '../../ops/control.ts'
import type { FleetGauges } from '../../ops/metrics/fleet-metrics.ts'
import type { Outlet } from '../../ops/outlet.ts'
import type { Feed } from '../../service/events/feed.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type { RoleAtWork } from '../role/role.ts'
import type { SeatStanding } from '../seats/seating.ts'
import type { Term } from '../term/term.ts'
import { openMs } from './findings/nonces.ts'
import type { UpkeepState } from './findings/upkeep.ts'

/** What a keeper is looked at by, from the moment that its journal is open. */
export type HealthDeps = {
  readonly clock: Clock
  /** Of each seat that it holds; alone, one term of all. */
  readonly terms: () => readonly Pick<Term, 'states' | 'live' | 'records' | 'safe' | 'payers' | 'unread'>[]
  readonly standing: () => SeatStanding
  /** Of an instance of a fleet; null alone. */
  readonly fleet: () => FleetGauges | null
  /** Null until the keeper hears of changes. */
  readonly feed: () => ReturnType<Feed['state']> | null
  /** Undefined until they are connected. */
  readonly nodes: () =>
    | Pick<Nodes, 'agree' | 'health' | 'quorumMissingSinceMs' | 'unanswered' | 'recent' | 'balanceWei'>
    | undefined
  readonly control: () => Control
  /** Why the chain is not followed yet, or null. */
  readonly waitsFor: () => RolekeeperError | null
  readonly sweptAtMs: () => number | null
  /** What is left on the disk of the state directory; null where that is not known. */
  readonly diskFreeBytes: () => number | null
  readonly outlets: readonly Outlet[]
  /** What all roles together may move; absent: each has its own limits alone. */
  readonly cap: Cap | undefined
  readonly directory: string
  /** By how much our clock is behind the service's, milliseconds, when it last answered; null before. */
  readonly behindServiceMs: () => number | null
  readonly kept: () => UpkeepState
}

export const rolesOf = ({ terms }: Pick<HealthDeps, 'terms'>) => terms().flatMap((term) => term.states())

export const reasonsOf = (signer: Address, { terms }: Pick<HealthDeps, 'terms'>) =>
  terms().flatMap(({ records }) => records.signers.reasonsOf(signer))

export const liveOf = ({ terms }: Pick<HealthDeps, 'terms'>) => terms().flatMap((term) => term.live())

export const ageMs = (atMs: number | null, nowMs: number) => (atMs === null ? null : nowMs - atMs)

export const oldestOpenMs = (workflows: readonly Workflow[], nowMs: number): number => {
  const ages = workflows
    .flatMap((workflow) => workflow.slots)
    .filter((slot) => slot.state === 'open')
    .map((slot) => openMs(slot, nowMs))
  return Math.max(0, ...ages)
}

export const atWork = (deps: HealthDeps): readonly RoleAtWork[] =>
  rolesOf(deps).flatMap(({ state }) => (state.type === 'up' ? [state.role] : []))
