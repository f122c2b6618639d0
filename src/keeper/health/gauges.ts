import type { Gauges } from '../../ops/metrics.ts'
import type { Role } from '../../service/contract/roles.ts'
import { isHeld } from '../../workflow/workflow.ts'
import { ageMs, atWork, type HealthDeps, liveOf, oldestOpenMs, reasonsOf, rolesOf } from './looked-at.ts'
import { readUsed, type Used } from './used.ts'

/** Read every gauge, now. */
export async function readGauges(deps: HealthDeps): Promise<Gauges> {
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
