import type { Address } from 'viem'
import type { Checked, Refusal } from '../../errors.ts'
import type { Approval } from '../../guard/approval/approval.ts'
import { checkAllowances } from '../../guard/limits/allowances.ts'
import { BUDGETS_MS, type Cap, checkBudget, checkCap } from '../../guard/limits/budget.ts'
import type { Ruleset } from '../../guard/ruleset.ts'
import { checkHoldings } from '../../guard/sanity/holdings.ts'
import type { Journal, Reservation } from '../../journal/journal.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { isLimitedWith } from '../policy/shared-limits.ts'
import { checkAsked } from './approval-hold.ts'

/** What one agent's claims are judged by. */
type BudgetDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'spending' | 'ofRole'>
  readonly ruleset: Pick<Ruleset, 'limits' | 'allowances' | 'sharing' | 'deployment'>
  readonly approval: Approval
  /** Signers whose limits are others. */
  readonly apart: readonly Address[]
  /** Over all roles; absent: each has its own limits alone. */
  readonly cap?: Cap | undefined
}

/** What is about to claim. */
type Claiming = Pick<Workflow, 'role' | 'signer' | 'clearance'>

/**
 * Judge by the rolling budgets of an agent's policy, its allowances, and what is not asked about yet, and by the cap over
 * all roles: beside what the workflow that asks has reserved already. One that is about to claim is judged, too, by what it
 * comes to on chain.
 * @returns the revision as of which there is room.
 */
export const createBudget =
  ({ nowMs, journal, ruleset, approval, apart, cap }: BudgetDeps) =>
  async (ask: Reservation, claiming?: Claiming): Promise<Checked<{ readonly revision: string }>> => {
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
    const over = claiming === undefined ? null : await checkUnderWay(claiming, { journal, ruleset })
    return over ?? { ok: true, revision }
  }

const OK = { ok: true } as const

/**
 * Judge what a claim comes to on chain beside what other keys have claimed meanwhile that share its limits. Asked after the
 * budget was read: what another key claims from then on outdates its revision.
 */
async function checkUnderWay(
  { role, signer, clearance }: Claiming,
  { journal, ruleset }: Pick<BudgetDeps, 'journal' | 'ruleset'>,
): Promise<Refusal | null> {
  const { holdings = [] } = clearance ?? {}
  if (holdings.length === 0 || (ruleset.sharing ?? []).length < 2) return null
  const others = (await journal.ofRole(role)).filter((each) => each.signer !== signer)
  return checkHoldings(holdings, others, ruleset.deployment)
}
