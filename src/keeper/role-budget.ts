import type { Address } from 'viem'
import type { Checked } from '../errors.ts'
import { checkAllowances } from '../guard/allowances.ts'
import type { Approval } from '../guard/approval.ts'
import { BUDGETS_MS, type Cap, checkBudget, checkCap } from '../guard/budget.ts'
import type { Ruleset } from '../guard/ruleset.ts'
import type { Journal, Reservation } from '../journal/journal.ts'
import { isLimitedWith } from './apart.ts'
import { checkAsked } from './asking.ts'

/** What one agent's claims are judged by. */
type BudgetDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'spending'>
  readonly ruleset: Pick<Ruleset, 'limits' | 'allowances'>
  readonly approval: Approval
  /** Signers whose limits are others. */
  readonly apart: readonly Address[]
  /** Over all roles; absent: each has its own limits alone. */
  readonly cap?: Cap | undefined
}

/**
 * Judge by the rolling budgets of an agent's policy, its allowances, and what is not asked about yet, and by the cap over
 * all roles: beside what the workflow that asks has reserved already.
 * @returns the revision as of which there is room.
 */
export const createBudget =
  ({ nowMs, journal, ruleset, approval, apart, cap }: BudgetDeps) =>
  async (ask: Reservation): Promise<Checked<{ readonly revision: string }>> => {
    const atMs = nowMs()
    const edgesMs = BUDGETS_MS.map((windowMs) => atMs - windowMs)
    const role = cap === undefined ? ask.role : null
    const { rows, revision } = await journal.spending(role, edgesMs, ask.workflowId)
    const others = rows.filter((row) => row.shadow !== true && row.workflowId !== ask.workflowId)
    const own = others.filter((row) => row.role === ask.role && isLimitedWith(row, apart))
    const judged = { reservations: own, ask, nowMs: atMs }
    const checks = [
      () => checkBudget({ ...judged, limits: ruleset.limits }),
      () => checkAllowances({ rows: own, ask, allowances: ruleset.allowances, nowMs: atMs }),
      () => checkAsked(ask, own, approval, atMs),
      () => (cap === undefined ? OK : checkCap({ ...judged, reservations: others, cap })),
    ]
    for (const check of checks) {
      const checked = check()
      if (!checked.ok) return checked
    }
    return { ok: true, revision }
  }

const OK = { ok: true } as const
