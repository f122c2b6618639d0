import { usedOfAllowances } from '../../guard/limits/allowances.ts'
import {
  BUDGETS_MS,
  type BudgetState,
  budgetStates,
  type Cap,
  type UsedParts,
  usedOfLimits,
} from '../../guard/limits/budget.ts'
import type { Journal, Spent } from '../../journal/journal.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { RoleAtWork } from '../role/role.ts'
import type { HealthDeps } from './keeper-view.ts'

/** What of the limits is used, of each role and of all roles together. */
export type LimitUse = {
  readonly ofRole: (
    role: Role,
    atWork: readonly Pick<RoleAtWork, 'vitals'>[],
  ) => { readonly budgets: UsedParts; readonly allowances: UsedParts }
  /** How each rolling budget of a role stands: of its limits, and of its strategy. */
  readonly statesOf: (
    role: Role,
    atWork: readonly Pick<RoleAtWork, 'vitals' | 'duties'>[],
  ) => readonly BudgetState[]
  readonly ofCap: UsedParts
  readonly statesOfCap: readonly BudgetState[]
}

/** Read what a keeper has used of its limits by now, by the one journal that all of its seats share. */
export const usedNow = ({
  terms,
  cap,
  clock,
}: Pick<HealthDeps, 'terms' | 'cap' | 'clock'>): Promise<LimitUse> =>
  readUsed(terms()[0]?.records.journal, cap, clock.nowMs())

/** Read what of the limits is used; empty where the journal does not answer, which other figures say. */
export async function readUsed(
  journal: Pick<Journal, 'spending'> | undefined,
  cap: Cap | undefined,
  nowMs: number,
): Promise<LimitUse> {
  const edgesMs = BUDGETS_MS.map((windowMs) => nowMs - windowMs)
  const rows = (await journal?.spending(null, edgesMs, '').catch(() => undefined))?.rows
  if (rows === undefined)
    return {
      ofRole: () => ({ budgets: {}, allowances: {} }),
      statesOf: () => [],
      ofCap: {},
      statesOfCap: [],
    }
  const live = rows.filter(({ shadow }) => shadow !== true)
  return {
    ofRole: (role, atWork) =>
      usedBy(
        atWork,
        rows.filter((row) => row.role === role),
        nowMs,
      ),
    statesOf: (role, atWork) =>
      atWork.flatMap(({ vitals: { counts, limits }, duties }) => [
        ...budgetStates(
          limits,
          rows.filter((row) => row.role === role && counts(row)),
          nowMs,
        ),
        ...duties().budgets,
      ]),
    ofCap: cap === undefined ? {} : usedOfLimits(cap, live, nowMs),
    statesOfCap: cap === undefined ? [] : budgetStates(withoutReverts(cap), live, nowMs),
  }
}

/** Reverts are counted by role alone. */
const withoutReverts = ({ perHour, perDay }: Cap) => ({
  perHour: { ...perHour, revertsMax: 0 },
  perDay: { ...perDay, revertsMax: 0 },
})

/** Of several policies of a role, that which has the least left says. */
function usedBy(atWork: readonly Pick<RoleAtWork, 'vitals'>[], rows: readonly Spent[], nowMs: number) {
  const used = atWork.map(({ vitals: { counts, limits, allowances, lossUsed } }) => {
    const own = rows.filter(counts)
    return {
      budgets: { ...usedOfLimits(limits, own, nowMs), ...lossUsed() },
      allowances: usedOfAllowances(allowances, own, nowMs),
    }
  })
  return {
    budgets: mostOf(used.map(({ budgets }) => budgets)),
    allowances: mostOf(used.map(({ allowances }) => allowances)),
  }
}

function mostOf(parts: readonly UsedParts[]): UsedParts {
  const names = new Set(parts.flatMap((each) => Object.keys(each)))
  return Object.fromEntries(
    [...names].map((name) => [name, Math.max(...parts.map((each) => each[name] ?? 0))]),
  )
}
