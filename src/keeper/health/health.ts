import type { Address } from 'viem'
import type { Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Cap } from '../../guard/budget.ts'
import type { Control } from '../../ops/control.ts'
import type { FleetGauges } from '../../ops/fleet-metrics.ts'
import type { Gauges, Metrics } from '../../ops/metrics.ts'
import { type Facet, type OpsServer, type Readiness, startOpsServer } from '../../ops/server.ts'
import { wayOut } from '../../pipeline/transactions/safe.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { Feed } from '../../service/events/feed.ts'
import { duration } from '../../units.ts'
import { isHeld, type Workflow } from '../../workflow/workflow.ts'
import type { RoleAtWork } from '../role.ts'
import type { Standing } from '../seating.ts'
import type { Term } from '../term.ts'
import { DECISION_MS_MAX, NO_QUORUM_MS_MAX, OPEN_MS_MAX, openMs } from './lookout.ts'
import { readUsed, type Used } from './used.ts'

/** What a keeper is looked at by, from the moment that its journal is open. */
export type HealthDeps = {
  readonly clock: Clock
  /** Of each seat that it holds; alone, one term of all. */
  readonly terms: () => readonly Pick<Term, 'states' | 'live' | 'records' | 'safe'>[]
  readonly standing: () => Standing
  /** Of an instance of a fleet; null alone. */
  readonly fleet: () => FleetGauges | null
  /** Null until the keeper hears of changes. */
  readonly feed: () => ReturnType<Feed['state']> | null
  /** Undefined until they are connected. */
  readonly nodes: () => Pick<Nodes, 'agree' | 'health' | 'quorumMissingSinceMs'> | undefined
  readonly control: () => Control
  /** Why the chain is not followed yet, or null. */
  readonly waitsFor: () => RolekeeperError | null
  readonly sweptAtMs: () => number | null
  /** What all roles together may move; absent: each has its own limits alone. */
  readonly cap: Cap | undefined
}

/** Start the pages that a keeper is looked at by. Throws what listening throws. */
export const startHealth = (
  where: RunConfig['ops'],
  metrics: Metrics,
  deps: HealthDeps,
): Promise<OpsServer> =>
  startOpsServer(where, {
    metrics: async () => metrics.render(await readGauges(deps)),
    readiness: () => readReadiness(deps),
  })

const rolesOf = ({ terms }: Pick<HealthDeps, 'terms'>) => terms().flatMap((term) => term.states())

const reasonsOf = (signer: Address, { terms }: Pick<HealthDeps, 'terms'>) =>
  terms().flatMap(({ records }) => records.signers.reasonsOf(signer))

const liveOf = ({ terms }: Pick<HealthDeps, 'terms'>) => terms().flatMap((term) => term.live())

const ageMs = (atMs: number | null, nowMs: number) => (atMs === null ? null : nowMs - atMs)

const oldestOpenMs = (workflows: readonly Workflow[], nowMs: number): number => {
  const ages = workflows
    .flatMap((workflow) => workflow.slots)
    .filter((slot) => slot.state === 'open')
    .map((slot) => openMs(slot, nowMs))
  return Math.max(0, ...ages)
}

const atWork = (deps: HealthDeps): readonly RoleAtWork[] =>
  rolesOf(deps).flatMap(({ state }) => (state.type === 'up' ? [state.role] : []))

/** Read every gauge, now. */
async function readGauges(deps: HealthDeps): Promise<Gauges> {
  const nowMs = deps.clock.nowMs()
  const feed = deps.feed()
  const fleet = deps.fleet()
  const lags = atWork(deps)
    .map(({ duty }) => duty.lastSeen()?.freshness.ageMs ?? null)
    .filter((age) => age !== null)
  // What is in flight counts, whether or not its role works or is configured at all.
  const names = new Set([
    ...rolesOf(deps).map(({ agent }) => agent.role),
    ...liveOf(deps).map(({ role }) => role),
  ])
  const [{ records } = {}] = deps.terms()
  const used = await readUsed(records?.journal, deps.cap, nowMs)
  return {
    control: deps.control(),
    feed: { mode: feed?.mode ?? 'down', messageAgeMs: ageMs(feed?.lastMessageAtMs ?? null, nowMs) },
    nodes: deps.nodes()?.health() ?? [],
    quorumMissingMs: nowMs - (deps.nodes()?.quorumMissingSinceMs() ?? nowMs),
    sweepAgeMs: ageMs(deps.sweptAtMs(), nowMs),
    serviceLagMs: lags.length === 0 ? null : Math.max(...lags),
    ...(fleet === null ? {} : { fleet }),
    capUsed: used.ofCap,
    roles: [...names].map((name) => readRole(name, used, deps)),
  }
}

function readRole(name: Role, used: Used, deps: HealthDeps): Gauges['roles'][number] {
  const nowMs = deps.clock.nowMs()
  const mine = liveOf(deps).filter(({ role }) => role === name)
  const places = rolesOf(deps).filter(({ agent }) => agent.role === name)
  const keys = atWork(deps).filter((each) => each.role === name)
  const [role] = keys
  const arming = role?.vitals.arming()
  const decisionAges = keys.flatMap(({ duty }) => ageMs(duty.lastDecidedAtMs(), nowMs) ?? [])
  const balancesWei = keys.flatMap(({ duty }) => duty.lastSeen()?.nativeBalanceWei ?? [])
  return {
    role: name,
    safe: safeOf(name, deps),
    up: places.length > 0 && places.every(({ state }) => state.type === 'up'),
    workflowsLive: mine.length,
    workflowsHeld: mine.filter(isHeld).length,
    slotsOpen: mine.flatMap(({ slots }) => slots).filter(({ state }) => state === 'open').length,
    slotAgeMs: oldestOpenMs(mine, nowMs),
    decisionAgeMs: decisionAges.length === 0 ? null : Math.max(...decisionAges),
    // Of several keys, the poorest.
    nativeBalanceWei: balancesWei.toSorted((a, b) => (a < b ? -1 : 1))[0] ?? null,
    marketsArmed: arming?.armed ?? 0,
    marketsUnarmed: arming?.unarmed ?? 0,
    ...used.ofRole(name, keys),
  }
}

/** How many signers of a role are SAFE, by reason: also one whose agent is gone and whose workflows are not. */
function safeOf(name: Role, deps: HealthDeps): Readonly<Record<string, number>> {
  const mine = new Set([
    ...rolesOf(deps).flatMap(({ agent: { role, signer } }) => (role === name ? [signer.address] : [])),
    ...liveOf(deps).flatMap(({ role, signer }) => (role === name ? [signer] : [])),
  ])
  const checks = [...mine].flatMap((signer) => [
    ...new Set(reasonsOf(signer, deps).map(({ check }) => check)),
  ])
  const ofFleet = deps
    .terms()
    .filter((term) => term.safe() !== undefined && term.states().some(({ agent: { role } }) => role === name))
  checks.push(...ofFleet.map(() => 'fleet'))
  return Object.fromEntries(
    [...new Set(checks)].map((check) => [check, checks.filter((each) => each === check).length]),
  )
}

const facet = (ok: boolean, message: string): Facet => ({ ok, message })

/** Whether every part does its work, by what it last did and not by whether it runs. */
function readReadiness(deps: HealthDeps): Readiness {
  const nowMs = deps.clock.nowMs()
  const control = deps.control()
  const feed = deps.feed()?.mode ?? 'down'
  const roles = atWork(deps)
  const decisionAges = roles.map(({ duty }) => ageMs(duty.lastDecidedAtMs(), nowMs) ?? Infinity)
  const decisionAgeMs = roles.length === 0 ? Infinity : Math.max(0, ...decisionAges)
  const { ok, message, isStandby } = deps.standing()
  const ofSeats = {
    roles: rolesFacet(deps),
    signers: signersFacet(deps),
    service: serviceFacet(roles),
    kms: kmsFacet(roles),
    decision: facet(
      decisionAgeMs <= DECISION_MS_MAX,
      Number.isFinite(decisionAgeMs)
        ? `last decision ${duration(decisionAgeMs)} ago; ${duration(DECISION_MS_MAX)} is the limit`
        : 'no decision yet',
    ),
  }
  const none = facet(true, 'no seat is held')
  const standby = { roles: none, signers: none, service: none, kms: none, decision: none }
  return {
    journal: facet(true, `${liveOf(deps).length} workflows live`),
    seats: facet(ok, message),
    ...(isStandby ? standby : ofSeats),
    nodes: nodesFacet(deps),
    feed: facet(feed !== 'down', feed),
    control: facet(!control.killed && !control.paused, controlText(control)),
  }
}

function controlText({ killed, paused, isUnreadable }: Control): string {
  if (isUnreadable) return 'killed: the directory of this keeper cannot be read'
  return killed ? 'killed' : paused ? 'paused' : 'free'
}

function rolesFacet(deps: HealthDeps): Facet {
  const not = rolesOf(deps).flatMap(({ agent: { role }, state }) => {
    if (state.type === 'up') return []
    return [state.type === 'opening' ? `${role} is being opened` : `${role} is down: ${state.reason.message}`]
  })
  const count = rolesOf(deps).length
  if (count === 0) return facet(false, 'none is open yet')
  return facet(not.length === 0, not.length > 0 ? not.join(' ') : `${count} at work`)
}

function signersFacet(deps: HealthDeps): Facet {
  const addresses = deps.terms().flatMap(({ records }) => records.addresses)
  const doubts = addresses.flatMap((signer) =>
    reasonsOf(signer, deps).map((reason) => {
      const { check, message, seen } = reason
      return `${signer} is SAFE (${check}): ${message} Seen: ${seen}. Fix: ${wayOut(signer, reason)}`
    }),
  )
  const ofFleet = deps.terms().flatMap((term) => term.safe()?.message ?? [])
  if (ofFleet.length > 0) doubts.push(...ofFleet, 'See `rolekeeper safe`.')
  if (doubts.length > 0) return facet(false, doubts.join(' '))
  return deps.nodes() === undefined
    ? facet(false, 'not compared with the chain yet')
    : facet(true, 'none is SAFE')
}

/** What the keys of the roles at work last said: where no role works, none was heard. */
function kmsFacet(roles: readonly RoleAtWork[]): Facet {
  if (roles.length === 0) return facet(false, 'no key is open')
  const failing = roles.map(({ vitals }) => vitals.key()?.said ?? 'ok').find((said) => said !== 'ok')
  return facet(failing === undefined, failing ?? 'no key fails')
}

/** What the service was when it was last read says nothing once reading it fails. */
function serviceFacet(roles: readonly RoleAtWork[]): Facet {
  for (const { duty } of roles) {
    const error = duty.failing()?.error
    if (error instanceof RolekeeperError && error.code.startsWith('service.')) {
      return facet(false, `${error.code}: ${error.shortMessage}`)
    }
  }
  const seen = roles.map(({ duty }) => duty.lastSeen())
  const fresh = seen.length > 0 && seen.every((each) => each?.freshness.ok === true)
  const stale = seen.find((each) => each?.freshness.ok === false)?.freshness.message
  return facet(fresh, stale ?? (fresh ? 'fresh' : 'not read yet'))
}

function nodesFacet(deps: HealthDeps): Facet {
  const reason = deps.waitsFor()
  if (reason !== null) return facet(false, `not followed yet: ${reason.message}`)
  const slotAgeMs = oldestOpenMs(liveOf(deps), deps.clock.nowMs())
  const slots = `oldest open nonce ${duration(slotAgeMs)}; ${duration(OPEN_MS_MAX)} is stuck`
  const nodes = deps.nodes()
  const health = nodes?.health() ?? []
  const left = health
    .filter(({ state }) => state !== 'ok')
    .map(({ node, state, blocksBehind }) => `${node} is ${state}, ${blocksBehind ?? 'unknown'} blocks behind`)
  const usable = health.filter(({ state }) => state !== 'down' && state !== 'other_fork').length
  const missingMs = deps.clock.nowMs() - (nodes?.quorumMissingSinceMs() ?? deps.clock.nowMs())
  const missing =
    missingMs > NO_QUORUM_MS_MAX ? [`too few agree on a newer block for ${duration(missingMs)}`] : []
  const ok = slotAgeMs <= OPEN_MS_MAX && usable >= (nodes?.agree ?? 0) && missing.length === 0
  return facet(ok, [...missing, ...left, slots].join('; '))
}
