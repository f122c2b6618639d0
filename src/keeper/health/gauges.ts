import type { Gauges } from '../../ops/metrics/gauges.ts'
import type { Role } from '../../service/contract/roles.ts'
import { isHeld, type Workflow } from '../../workflow/workflow.ts'
import { positionOf } from '../policy/role-policy.ts'
import type { RoleAtWork } from '../role/role.ts'
import { ageMs, atWork, type HealthDeps, liveOf, oldestOpenMs, reasonsOf, rolesOf } from './keeper-view.ts'
import type { LimitUse } from './limit-use.ts'

/** Read every gauge, now. @param used what of the limits is, as it was just read. */
export function readGauges(deps: HealthDeps, used: LimitUse): Omit<Gauges, 'facets'> {
  const monotonicMs = deps.clock.monotonicMs()
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
  return {
    control: deps.control(),
    feed: {
      mode: feed?.mode ?? 'down',
      messageAgeMs: ageMs(feed?.lastMessageAtMs ?? null, monotonicMs),
      connections: feed?.connections ?? 0,
    },
    diskFreeBytes: deps.diskFreeBytes(),
    audit: auditOf(deps, monotonicMs),
    nodes: deps.nodes()?.health() ?? [],
    quorumMissingMs: monotonicMs - (deps.nodes()?.quorumMissingSinceMs() ?? monotonicMs),
    sweepAgeMs: ageMs(deps.sweptAtMs(), monotonicMs),
    serviceLagMs: lags.length === 0 ? null : Math.max(...lags),
    ...(fleet === null ? {} : { fleet }),
    capUsed: used.ofCap,
    roles: [...names].map((name) => readRole(name, used, deps)),
  }
}

function auditOf({ kept }: Pick<HealthDeps, 'kept'>, monotonicMs: number): Gauges['audit'] {
  const { head, waitingSinceMs } = kept().audit
  return { records: head.seq, waitingMs: monotonicMs - (waitingSinceMs ?? monotonicMs) }
}

function readRole(name: Role, used: LimitUse, deps: HealthDeps): Gauges['roles'][number] {
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
    isByHand: places.length > 0 && places.every(({ agent }) => positionOf(agent).does.byHand === true),
    safe: safeOf(name, deps),
    up: places.length > 0 && places.every(({ state }) => state.type === 'up'),
    workflowsLive: mine.length,
    workflowsHeld: mine.filter(isHeld).length,
    slotsOpen: mine.flatMap(({ slots }) => slots).filter(({ state }) => state === 'open').length,
    slotAgeMs: oldestOpenMs(mine, nowMs),
    decisionAgeMs: decisionAges.length === 0 ? null : Math.max(...decisionAges),
    // Of several keys, the poorest.
    nativeBalanceWei: balancesWei.toSorted((a, b) => (a < b ? -1 : 1))[0] ?? null,
    ...dutyOf(keys, nowMs),
    gasRunwayWorkflows: runwayOf(keys),
    exposureUsdMicros: exposureOf(mine),
    inventory: inventoryOf(keys),
    approvalExpiresMs: expiresMs(mine, nowMs),
    marketsArmed: arming?.armed ?? 0,
    marketsUnarmed: arming?.unarmed ?? 0,
    ...used.ofRole(name, keys),
  }
}

/** How late a role is, by all of its keys: each owes the same, and the latest says. Pure. */
function dutyOf(keys: readonly Pick<RoleAtWork, 'duties'>[], nowMs: number) {
  const duties = keys.map((key) => key.duties())
  const next = duties.flatMap(({ nextDueAtMs }) => nextDueAtMs ?? [])
  const made = duties.flatMap(({ lastMadeAtMs }) => lastMadeAtMs ?? [])
  const acts = duties.flatMap(({ lastActAtMs }) => lastActAtMs ?? [])
  const [latest] = duties.toSorted((one, other) => other.lateMs - one.lateMs)
  return {
    dutyLateMs: latest?.lateMs ?? 0,
    dutyLate: latest?.lateCount ?? 0,
    leftUsdMicros: latest?.leftUsdMicros ?? {},
    reportAgeMs: made.length === 0 ? null : nowMs - Math.min(...made),
    nextDueMs: next.length === 0 ? null : Math.max(0, Math.min(...next) - nowMs),
    lastActAgeMs: acts.length === 0 ? null : nowMs - Math.max(...acts),
  }
}

/** How many workflows at the policy's most the poorest of several keys pays for; null where none was looked at. Pure. */
function runwayOf(keys: readonly Pick<RoleAtWork, 'duty' | 'vitals'>[]): number | null {
  const runways = keys.flatMap(({ duty, vitals }) => {
    const balanceWei = duty.lastSeen()?.nativeBalanceWei
    const { gasWeiMax } = vitals.limits.perWorkflow
    return balanceWei === undefined || gasWeiMax === 0n ? [] : [Number(balanceWei) / Number(gasWeiMax)]
  })
  return runways.length === 0 ? null : Math.min(...runways)
}

/** What of a role's workflows is under way; what is held or in shadow moves nothing. Pure. */
const exposureOf = (mine: readonly Workflow[]): bigint =>
  mine
    .filter((workflow) => workflow.shadow !== true && !isHeld(workflow))
    .reduce((total, { proposal }) => total + proposal.exposure.usdMicros, 0n)

/** What the signers of a role hold of the deployment's tokens, whole ones by symbol. Pure. */
function inventoryOf(keys: readonly Pick<RoleAtWork, 'duty'>[]): Readonly<Record<string, number>> {
  const held: Record<string, number> = {}
  for (const { duty } of keys) {
    const seen = duty.lastSeen()
    for (const { address, symbol, decimals } of seen?.deployment.assets ?? []) {
      const assets = seen?.balances[address]
      if (assets !== undefined) held[symbol] = (held[symbol] ?? 0) + Number(assets) / 10 ** decimals
    }
  }
  return held
}

/** Time until the first workflow that waits for a person expires; null where none waits. Pure. */
function expiresMs(mine: readonly Workflow[], nowMs: number): number | null {
  const untilMs = mine.filter(isHeld).flatMap(({ hold }) => hold?.untilMs ?? [])
  return untilMs.length === 0 ? null : Math.max(0, Math.min(...untilMs) - nowMs)
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
