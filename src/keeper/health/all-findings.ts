import type { Finding } from '../../ops/facet.ts'
import type { Role } from '../../service/contract/roles.ts'
import { chainFinding, gasFinding, nodeFindings } from './findings/chain.ts'
import { budgetFinding } from './findings/duty.ts'
import { noncesFinding } from './findings/nonces.ts'
import {
  clockFinding,
  controlFindings,
  diskFinding,
  journalFinding,
  outletFinding,
  seatsFinding,
} from './findings/process.ts'
import {
  approvalsFinding,
  dutyFinding,
  keyFinding,
  roleFinding,
  serviceFinding,
  signerFinding,
  streamFinding,
} from './findings/role.ts'
import { upkeepFindings } from './findings/upkeep.ts'
import { ageMs, atWork, type HealthDeps, liveOf, rolesOf } from './keeper-view.ts'
import type { Probes } from './probes.ts'

/** Find how every facet is, by what is known now: nothing is asked. */
export function findAll(deps: HealthDeps, probes: Probes): readonly Finding[] {
  const [nowMs, monotonicMs] = [deps.clock.nowMs(), deps.clock.monotonicMs()]
  const head = probes.head()
  const headAtMs = head === null ? null : head.timestampS * 1_000
  const live = liveOf(deps)
  return [
    ...controlFindings(deps.control()),
    journalFinding(probes.journalFailed(), live.length),
    diskFinding(deps, deps.diskFreeBytes()),
    ...deps.outlets.map((outlet) => outletFinding(outlet, monotonicMs)),
    clockFinding({ nowMs, headMs: headAtMs, servers: { 'the service': deps.behindServiceMs() } }),
    seatsFinding(deps.standing()),
    chainFinding(
      {
        nodes: deps.nodes(),
        waitsFor: deps.waitsFor(),
        unread: deps.terms().flatMap((term) => term.unread() ?? []),
        headAgeMs: ageMs(headAtMs, nowMs),
        headAgeMsMax: leastOf(atWork(deps).map(({ vitals }) => vitals.headAgeMsMax)),
      },
      monotonicMs,
    ),
    ...nodeFindings(deps.nodes()?.health() ?? [], monotonicMs),
    streamFinding(deps.feed()),
    ...(deps.standing().isStandby ? [] : findOfSeats(deps, probes)),
    approvalsFinding(live, nowMs),
    ...upkeepFindings(deps.kept(), monotonicMs),
  ]
}

const leastOf = (figures: readonly number[]) => (figures.length === 0 ? null : Math.min(...figures))

/** What is found of the roles, for as long as seats of them are held. */
function findOfSeats(deps: HealthDeps, probes: Probes): readonly Finding[] {
  const [nowMs, monotonicMs] = [deps.clock.nowMs(), deps.clock.monotonicMs()]
  const places = rolesOf(deps).map(({ agent, state }) => ({ role: agent.role, state }))
  const working = atWork(deps)
  const live = liveOf(deps)
  const terms = deps.terms()
  const names = [...new Set([...places.map(({ role }) => role), ...live.map(({ role }) => role)])]
  const signersOf = (name: Role) => [
    ...new Set([
      ...rolesOf(deps).flatMap(({ agent: { role, signer } }) => (role === name ? [signer.address] : [])),
      ...live.flatMap(({ role, signer }) => (role === name ? [signer] : [])),
    ]),
  ]
  const payers = terms.flatMap((term) => term.payers())
  return [
    serviceFinding(working),
    ...worst(working.map((role) => keyFinding(role, monotonicMs))),
    ...worst(payers.map((payer) => gasFinding(payer, probes.balanceWei(payer.signer)))),
    ...names.map((name) => signerFinding(name, signersOf(name), terms)),
    ...names.map((name) =>
      noncesFinding(
        name,
        live.filter(({ role }) => role === name),
        probes.head(),
        nowMs,
      ),
    ),
    ...worst(places.map(roleFinding)),
    ...worst(working.map((role) => dutyFinding(role, { nowMs, monotonicMs }))),
    ...worst(
      working.map((each) =>
        budgetFinding(each.role, probes.used()?.statesOf(each.role, [each]) ?? [], each.duties().checks),
      ),
    ),
  ]
}

const STATES: readonly Finding['state'][] = ['failing', 'warning', 'ok']

/** Of several keys of a role, the one that is worst off speaks. */
function worst(findings: readonly Finding[]): readonly Finding[] {
  const byRole = Map.groupBy(findings, ({ about }) => about)
  return [...byRole.values()].flatMap(
    (each) => each.toSorted((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state))[0] ?? [],
  )
}
