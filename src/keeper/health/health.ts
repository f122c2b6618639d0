import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Control } from '../../ops/control.ts'
import type { Metrics } from '../../ops/metrics.ts'
import { type Facet, type OpsServer, type Readiness, startOpsServer } from '../../ops/server.ts'
import { wayOut } from '../../pipeline/transactions/safe.ts'
import { duration } from '../../units.ts'
import type { RoleAtWork } from '../role.ts'
import { readGauges } from './gauges.ts'
import { ageMs, atWork, type HealthDeps, liveOf, oldestOpenMs, reasonsOf, rolesOf } from './looked-at.ts'
import { DECISION_MS_MAX, NO_QUORUM_MS_MAX, OPEN_MS_MAX } from './lookout.ts'

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
