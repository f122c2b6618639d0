import { RolekeeperError } from '../../../errors.ts'
import type { BudgetState } from '../../../guard/limits/budget.ts'
import type { Finding } from '../../../ops/facet.ts'
import type { Role } from '../../../service/contract/roles.ts'
import type { DutyState, IdleReason } from '../../role/duty-ledger.ts'

/** So many refusals one after the other, and nothing done between, are no race that others won. */
const REFUSED_IN_A_ROW = 5

/** What may be done later than so without being late loses nothing soon: somebody should look, and the keeper is ready. */
const URGENT_GRACE_MS_MAX = 600_000

/**
 * A role that decides: what it is late with, or what it did, and why it does nothing. Pure.
 * @param nameOf writes a subject as people do.
 */
export function dueFinding(state: DutyState, nameOf: (subject: string) => string): Finding {
  const where = { facet: 'duty', about: state.role } as const
  const [worst] = state.late
  if (worst === undefined) {
    const error = refusedError(state)
    return error === null
      ? { ...where, state: 'ok', message: quietText(state) }
      : { ...where, state: 'warning', error }
  }
  const { what, subject, amount, sinceMs, check, message } = worst
  const more = state.lateCount === 1 ? '' : `, and ${state.lateCount - 1} more`
  const thing = `${what}${amount === undefined ? '' : ` of ${amount}`}`
  const why = check === undefined ? message : `${check}: ${message}`
  return {
    ...where,
    state: state.late.some(({ graceMs }) => graceMs <= URGENT_GRACE_MS_MAX) ? 'failing' : 'warning',
    error: new RolekeeperError(
      'duty.late',
      `The ${state.role} is late with ${thing} (${nameOf(subject)}), due since ${timeOf(sinceMs)}${more}. ${why}`,
      {
        fix: `see \`rolekeeper explain ${nameOf(subject)}\` for the figures. Mend first what else is not well; where all else is, the rule that is named says what to do.`,
        facts: { role: state.role, check: check ?? 'none' },
        retry: 'later',
      },
    ),
  }
}

/** Everything that the role begins is refused: a service that answers what no policy allows, or a policy too narrow for it. */
function refusedError({ role, refusedSinceAct }: DutyState): RolekeeperError | null {
  const newest = refusedSinceAct.at(-1)
  if (newest === undefined || refusedSinceAct.length < REFUSED_IN_A_ROW) return null
  return new RolekeeperError(
    'duty.refused',
    `The last ${refusedSinceAct.length} workflows of the ${role} were refused, and none got as far as a nonce. The newest: ${newest.check}: ${newest.message}`,
    {
      fix: 'see `rolekeeper workflows list` and `rolekeeper explain` of one: what the service answered, and what the policy allows.',
      facts: { role, check: newest.check },
      retry: 'later',
    },
  )
}

/** Say what a role did last, or since when it did nothing, what is next, and the rules that keep it so. */
function quietText({
  actsSinceStart,
  lastActAtMs,
  startedAtMs,
  nextDueAtMs,
  nothingBecause,
}: DutyState): string {
  const last = lastActAtMs === null ? 'it never acted' : `it acted last at ${timeOf(lastActAtMs)}`
  const since =
    actsSinceStart === 0 ? `nothing done since the start at ${timeOf(startedAtMs)}; ${last}` : last
  const next = nextDueAtMs === null ? '' : `; next due at ${timeOf(nextDueAtMs)}`
  return `${since}${next}. ${nothingBecause.length === 0 ? 'There is nothing to look at.' : nothingBecause.map(becauseText).join(' ')}`
}

const becauseText = ({ check, message, count }: IdleReason) => `${count} × ${check}: ${message}`

/** From here on a budget is said before it is spent: in a run of reverts the last fifth is a minute. */
const NEARLY = 0.8

/**
 * Whether a role has budget left: it is spent where nothing is left of one, or where something that did not fit was left alone
 * for it; a smaller one might fit. Pure.
 * @param checks by which the role left anything alone of late.
 */
export function budgetFinding(
  role: Role,
  states: readonly BudgetState[],
  checks: ReadonlySet<string>,
): Finding {
  const where = { facet: 'budget', about: role } as const
  const [fullest] = states.toSorted((one, other) => other.part - one.part)
  const spent = states.find(({ part }) => part >= 1) ?? states.find(({ check }) => checks.has(check))
  if (spent !== undefined) return { ...where, state: 'failing', error: budgetError(role, 'spent', spent) }
  if (fullest === undefined) return { ...where, state: 'ok', message: 'not read yet' }
  if (fullest.part >= NEARLY)
    return { ...where, state: 'warning', error: budgetError(role, 'nearly_spent', fullest) }
  return { ...where, state: 'ok', message: `${fullest.name} is the fullest: ${usedText(fullest)}` }
}

const usedText = ({ used, limit }: BudgetState) => `${used} of ${limit}`

function budgetError(role: Role, how: 'spent' | 'nearly_spent', budget: BudgetState): RolekeeperError {
  const { name, left, freesAtMs, setting } = budget
  const frees =
    freesAtMs === null
      ? 'nothing counts in it: what was asked for is larger'
      : `some of it is free again at ${timeOf(freesAtMs)}`
  return new RolekeeperError(
    `budget.${how}`,
    `The ${role} has used ${usedText(budget)} (${name}); ${left} are left, and ${frees}.`,
    {
      fix: `see what used it with \`rolekeeper workflows list\`. It frees itself as that gets older; where that was right, raise ${setting} in its policy.`,
      facts: { role, check: name },
      retry: 'later',
    },
  )
}

const timeOf = (atMs: number): string => new Date(atMs).toISOString()
