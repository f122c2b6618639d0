import type { Clock } from '../clock.ts'
import type { Journal } from '../journal/journal.ts'
import type { Control } from '../ops/control.ts'
import type { Gauges } from '../ops/metrics.ts'
import type { Facet, Readiness } from '../ops/server.ts'
import type { Feed } from '../service/events/feed.ts'
import { isHeld, type Workflow } from '../workflow/workflow.ts'
import type { RoleAtWork } from './role.ts'

/** What a running keeper is looked at by. */
export type HealthDeps = {
  readonly clock: Clock
  readonly journal: Pick<Journal, 'reservations'>
  readonly feed: Feed
  readonly roles: readonly Pick<RoleAtWork, 'role' | 'duty' | 'vitals'>[]
  readonly live: () => readonly Workflow[]
  readonly control: () => Control
  readonly sweptAtMs: () => number | null
}

const HOUR_MS = 3_600_000
/** A decision older than this many milliseconds is four sweeps missed. */
const DECISION_AGE_MS_MAX = 20_000
/** An open nonce of this age is stuck, whatever the fees. */
const SLOT_AGE_MS_MAX = 60_000

const ageMs = (atMs: number | null, nowMs: number) => (atMs === null ? null : nowMs - atMs)

const oldestOpenMs = (workflows: readonly Workflow[], nowMs: number): number => {
  const ages = workflows
    .flatMap((workflow) => workflow.slots)
    .filter((slot) => slot.state === 'open')
    .map((slot) => nowMs - (slot.attempts[0]?.orderedAtMs ?? nowMs))
  return Math.max(0, ...ages)
}

async function budgets(
  { role, vitals }: Pick<RoleAtWork, 'role' | 'vitals'>,
  deps: HealthDeps,
): Promise<Readonly<Record<string, number>>> {
  const all = await deps.journal.reservations(role, deps.clock.nowMs() - HOUR_MS)
  const rows = all.filter(vitals.counts)
  const { perHour } = vitals.limits
  const part = (used: bigint, max: bigint) => (max === 0n ? 1 : Number((used * 10_000n) / max) / 10_000)
  return {
    usd_per_hour: part(
      rows.reduce((sum, row) => sum + row.usdMicros, 0n),
      perHour.usdMicrosMax,
    ),
    gas_per_hour: part(
      rows.reduce((sum, row) => sum + row.gasWei, 0n),
      perHour.gasWeiMax,
    ),
    reverts_per_hour: part(BigInt(rows.filter((row) => row.reverted).length), BigInt(perHour.revertsMax)),
  }
}

/** Read every gauge, now. */
export async function readGauges(deps: HealthDeps): Promise<Gauges> {
  const nowMs = deps.clock.nowMs()
  const feed = deps.feed.state()
  const lags = deps.roles
    .map(({ duty }) => duty.lastSeen()?.freshness.ageMs ?? null)
    .filter((age) => age !== null)
  const live = deps.live()
  return {
    control: deps.control(),
    feed: { mode: feed.mode, messageAgeMs: ageMs(feed.lastMessageAtMs, nowMs) },
    sweepAgeMs: ageMs(deps.sweptAtMs(), nowMs),
    serviceLagMs: lags.length === 0 ? null : Math.max(...lags),
    roles: await Promise.all(
      deps.roles.map(async (role) => {
        const mine = live.filter((workflow) => workflow.role === role.role)
        const seen = role.duty.lastSeen()
        return {
          role: role.role,
          workflowsLive: mine.length,
          workflowsHeld: mine.filter(isHeld).length,
          slotsOpen: mine.flatMap(({ slots }) => slots).filter(({ state }) => state === 'open').length,
          slotAgeMs: oldestOpenMs(mine, nowMs),
          decisionAgeMs: ageMs(role.duty.lastDecidedAtMs(), nowMs),
          nativeBalanceWei: seen?.nativeBalanceWei ?? null,
          marketsArmed: role.vitals.arming()?.armed ?? 0,
          marketsUnarmed: role.vitals.arming()?.unarmed ?? 0,
          budgets: await budgets(role, deps),
        }
      }),
    ),
  }
}

const facet = (ok: boolean, message: string): Facet => ({ ok, message })

/** Say whether every part does its work, by what it last did and not by whether it runs. */
export function readReadiness(deps: HealthDeps): Readiness {
  const nowMs = deps.clock.nowMs()
  const control = deps.control()
  const feed = deps.feed.state()
  const seen = deps.roles.map(({ duty }) => duty.lastSeen())
  const fresh = seen.every((each) => each?.freshness.ok === true)
  const stale = seen.find((each) => each?.freshness.ok === false)?.freshness.message
  const decisionAges = deps.roles.map(
    ({ duty }) => ageMs(duty.lastDecidedAtMs(), nowMs) ?? Number.POSITIVE_INFINITY,
  )
  const decisionAgeMs = Math.max(0, ...decisionAges)
  const slotAgeMs = oldestOpenMs(deps.live(), nowMs)
  const kms = deps.roles.map((role) => role.vitals.kmsOutcome()).find((outcome) => outcome !== 'ok')
  return {
    journal: facet(true, `${deps.live().length} workflows live`),
    service: facet(fresh, stale ?? (fresh ? 'fresh' : 'not read yet')),
    nodes: facet(
      slotAgeMs <= SLOT_AGE_MS_MAX,
      `oldest open nonce ${slotAgeMs} ms; ${SLOT_AGE_MS_MAX} ms is stuck`,
    ),
    kms: facet(kms === undefined, kms ?? 'last signature ok'),
    feed: facet(feed.mode !== 'down', feed.mode),
    decision: facet(
      decisionAgeMs <= DECISION_AGE_MS_MAX,
      `last decision ${decisionAgeMs} ms ago; ${DECISION_AGE_MS_MAX} ms is the limit`,
    ),
    control: facet(
      !control.killed && !control.paused,
      control.killed ? 'killed' : control.paused ? 'paused' : 'free',
    ),
  }
}
