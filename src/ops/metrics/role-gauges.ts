import { Gauge, type Registry } from 'prom-client'
import type { Role } from '../../service/contract/roles.ts'

/** How a role stands at this moment. */
export type RoleFigures = {
  readonly role: Role
  /** It decides nothing and owes nothing: what is said of that is absent. */
  readonly isByHand: boolean
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
  /** How late it is with what it should do; 0 where it is not. */
  readonly dutyLateMs: number
  /** How many things it is late with. */
  readonly dutyLate: number
  /** Until something is due next; null where nothing is known to be. */
  readonly nextDueMs: number | null
  /** Since the time that its last report is of, the oldest of several; null of a role that makes none. */
  readonly reportAgeMs: number | null
  /** Since it last acted; null: never. */
  readonly lastActAgeMs: number | null
  /** What is due and left alone, by the rule that leaves it: millionths of a US dollar. */
  readonly leftUsdMicros: Readonly<Record<string, bigint>>
  readonly marketsArmed: number
  readonly marketsUnarmed: number
  /** Part of each rolling budget that is used, 1 being all. */
  readonly budgets: Readonly<Record<string, number>>
  /** The same of each of `limits.allowances`, by its place there. */
  readonly allowances: Readonly<Record<string, number>>
}

type RoleGauges = ReturnType<typeof createRoleGauges>

/** Register the gauges of each role. */
export function createRoleGauges(registry: Registry) {
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Gauge({ name: `rolekeeper_${name}`, help, labelNames, registers: [registry] })
  return {
    safe: gauge('signers_safe', 'Signers that are SAFE, by the reason.', ['role', 'check']),
    up: gauge('role_up', '1 while the role works; 0 while it is down or being opened.', ['role']),
    live: gauge('workflows_live', 'Workflows that have not ended.', ['role']),
    held: gauge('workflows_held', 'Workflows that wait for a person.', ['role']),
    slotsOpen: gauge('slots_open', 'Nonces taken that have not landed.', ['role']),
    slotAge: gauge('slot_age_seconds', 'Age of the oldest nonce that has not landed.', ['role']),
    decisionAge: gauge('decision_age_seconds', 'Time since the last decision.', ['role']),
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
    dutyLate: gauge('duty_late', 'Things that a role should have done by now.', ['role']),
    dutyLateFor: gauge('duty_late_seconds', 'How late a role is with the oldest of them.', ['role']),
    nextDue: gauge(
      'next_due_seconds',
      'Time until a role is due next; absent where nothing is known to be.',
      ['role'],
    ),
    reportAge: gauge(
      'report_age_seconds',
      'Time since what the last report is of, the oldest of several; absent where none was made.',
      ['role'],
    ),
    lastAct: gauge('last_act_age_seconds', 'Time since a role last acted.', ['role']),
    left: gauge('left_alone_dollars', 'What is due and left alone, by the rule that leaves it.', [
      'role',
      'check',
    ]),
    markets: gauge('markets', 'Markets by whether the units were proven.', ['role', 'armed']),
    budgets: gauge('budget_used_ratio', 'Part of a rolling budget that is used.', ['role', 'budget']),
    allowances: gauge(
      'allowance_used_ratio',
      'Part of an allowance that is used, by its place in the policy.',
      ['role', 'allowance'],
    ),
  }
}

/** Show how each role stands now. */
export function setRoleGauges(gauges: RoleGauges, roles: readonly RoleFigures[]): void {
  const {
    safe: safeBy,
    budgets: budgetsBy,
    allowances: allowancesBy,
    approvalExpires,
    nextDue,
    reportAge,
    left,
  } = gauges
  for (const each of [safeBy, budgetsBy, allowancesBy, approvalExpires, nextDue, reportAge, left])
    each.reset()
  for (const { role, budgets, allowances, safe, inventory, ...figures } of roles) {
    for (const [check, signers] of Object.entries(safe)) gauges.safe.set({ role, check }, signers)
    gauges.up.set({ role }, Number(figures.up))
    gauges.live.set({ role }, figures.workflowsLive)
    gauges.held.set({ role }, figures.workflowsHeld)
    gauges.slotsOpen.set({ role }, figures.slotsOpen)
    gauges.slotAge.set({ role }, figures.slotAgeMs / 1_000)
    if (!figures.isByHand) setDuty(gauges, role, figures)
    // A gauge is a float: good to watch a balance by, not to reckon with.
    gauges.balance.set(
      { role },
      figures.nativeBalanceWei === null ? Number.NaN : Number(figures.nativeBalanceWei) / 1e18,
    )
    gauges.lastAct.set({ role }, seconds(figures.lastActAgeMs))
    gauges.runway.set({ role }, figures.gasRunwayWorkflows ?? Number.NaN)
    gauges.exposure.set({ role }, Number(figures.exposureUsdMicros) / 1e6)
    for (const [token, held] of Object.entries(inventory)) gauges.inventory.set({ role, token }, held)
    const { approvalExpiresMs } = figures
    if (approvalExpiresMs !== null) approvalExpires.set({ role }, approvalExpiresMs / 1_000)
    for (const [budget, used] of Object.entries(budgets)) gauges.budgets.set({ role, budget }, used)
    for (const [allowance, used] of Object.entries(allowances)) {
      gauges.allowances.set({ role, allowance }, used)
    }
  }
}

/** Show what a role decides, and how late it is with what it owes. */
function setDuty(
  gauges: RoleGauges,
  role: Role,
  figures: Pick<
    RoleFigures,
    | 'decisionAgeMs'
    | 'marketsArmed'
    | 'marketsUnarmed'
    | 'dutyLate'
    | 'dutyLateMs'
    | 'nextDueMs'
    | 'reportAgeMs'
    | 'leftUsdMicros'
  >,
): void {
  gauges.decisionAge.set({ role }, seconds(figures.decisionAgeMs))
  gauges.markets.set({ role, armed: 'yes' }, figures.marketsArmed)
  gauges.markets.set({ role, armed: 'no' }, figures.marketsUnarmed)
  gauges.dutyLate.set({ role }, figures.dutyLate)
  gauges.dutyLateFor.set({ role }, figures.dutyLateMs / 1_000)
  if (figures.nextDueMs !== null) gauges.nextDue.set({ role }, figures.nextDueMs / 1_000)
  if (figures.reportAgeMs !== null) gauges.reportAge.set({ role }, figures.reportAgeMs / 1_000)
  for (const [check, usdMicros] of Object.entries(figures.leftUsdMicros))
    gauges.left.set({ role, check }, Number(usdMicros) / 1e6)
}

/** What is not known is NaN, which Prometheus keeps apart from 0. */
export const seconds = (ms: number | null) => (ms === null ? Number.NaN : ms / 1_000)
