import { type Checked, type Refusal, refuse } from '../../errors.ts'
import { native, plural, usd } from '../../readable.js'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import { amountText } from '../../units.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import type { StandingAllowance } from '../../workflow/workflow.ts'
import type { Limits } from '../policy/policy.ts'
import type { Ruleset } from '../ruleset.ts'

/** One claim of the past, as far as budgets count it. */
export type SpendRow = {
  readonly atMs: number
  readonly usdMicros: bigint
  readonly gasWei: bigint
  readonly reverted: boolean
  /** Absent in what an earlier release reserved: then it counts as of each type. */
  readonly workflowType?: WorkflowType
}

const HOUR_MS = 3_600_000
/** What is older counts in no budget. */
export const BUDGET_MS = 24 * HOUR_MS
/** A row counts in these windows where it is younger. */
export const BUDGETS_MS = [HOUR_MS, BUDGET_MS] as const

/**
 * Judge whether one more claim fits into the role's limits: its own, the last hour's and the last day's. A row counts
 * until it is a whole window old. Reverts count by type: lost races close no way out, and failed sales no way in. Pure.
 */
export function checkBudget<Row extends SpendRow>(options: {
  readonly reservations: readonly Row[]
  /** Which of them count beside it; absent: all. */
  readonly counts?: (row: Row) => boolean
  readonly ask: Pick<SpendRow, 'usdMicros' | 'gasWei' | 'workflowType'>
  readonly limits: Limits
  readonly nowMs: number
}): Checked<unknown> {
  const { ask, limits } = options
  const alone = overspent(WORKFLOW, ask, limits.perWorkflow)
  if (alone !== null) return alone
  for (const { key, name, spent } of windowsOf(options)) {
    const limit = limits[key]
    const over = overspent({ ...ROLE, name }, plus(ask, spent), limit)
    if (over !== null) return over
    const reverts = revertsOf(spent, ask.workflowType)
    if (reverts >= limit.revertsMax) {
      return refuse(
        `limit_${name}_reverts`,
        `${plural(reverts, 'transaction')}${ask.workflowType === undefined ? '' : ` of ${ask.workflowType}`} reverted in the last ${name}; the policy allows ${limit.revertsMax}. Fix: find out why, wait, or raise limits.${key}.revertsMax.`,
      )
    }
  }
  return { ok: true }
}

/** What all roles of a keeper together may move and cost in a rolling hour and day. */
export type Cap = {
  readonly perHour: { readonly usdMicrosMax: bigint; readonly gasWeiMax: bigint }
  readonly perDay: { readonly usdMicrosMax: bigint; readonly gasWeiMax: bigint }
}

/** Judge whether one more claim fits into the cap over all roles. `reservations` are those of all. Pure. */
export function checkCap<Row extends SpendRow>({
  cap,
  ...options
}: {
  readonly reservations: readonly Row[]
  readonly ask: Pick<SpendRow, 'usdMicros' | 'gasWei'>
  readonly cap: Cap
  readonly nowMs: number
}): Checked<unknown> {
  for (const { key, name, spent } of windowsOf(options)) {
    const over = overspent({ ...KEEPER, name }, plus(options.ask, spent), cap[key])
    if (over !== null) return over
  }
  return { ok: true }
}

/** What part of each limit is used, by the name that pages of figures give it; 1 is all. */
export type UsedParts = Readonly<Record<string, number>>

/** What part of a limit is used; of one that allows nothing, all. Pure. */
export const partOf = (used: bigint, most: bigint): number =>
  most === 0n ? 1 : Number((used * 10_000n) / most) / 10_000

/** What part of a role's limits, or of the cap over all, is used. Pure. */
export const usedOfLimits = (
  limits: Cap | Pick<Limits, keyof Cap>,
  reservations: readonly SpendRow[],
  nowMs: number,
): UsedParts =>
  Object.fromEntries(
    windowsOf({ reservations, nowMs }).flatMap(({ key, name, spent }) => {
      const { usdMicrosMax, gasWeiMax, ...more } = limits[key]
      return [
        [`usd_per_${name}`, partOf(spent.usdMicros, usdMicrosMax)],
        [`gas_per_${name}`, partOf(spent.gasWei, gasWeiMax)],
        ...('revertsMax' in more
          ? [[`reverts_per_${name}`, partOf(BigInt(mostReverts(spent)), BigInt(more.revertsMax))]]
          : []),
      ]
    }),
  )

/** How one rolling budget stands; texts for people, with their units. */
export type BudgetState = {
  /** As `UsedParts` has it, for example `reverts_per_hour`. */
  readonly name: string
  /** What refuses what does not fit into it any more. */
  readonly check: string
  readonly part: number
  readonly used: string
  readonly limit: string
  readonly left: string
  /** When the first of what counts in it is a whole window old, Unix milliseconds; null where nothing counts. */
  readonly freesAtMs: number | null
  /** Where its limit is set. */
  readonly setting: string
}

/** Say how each rolling budget of a role's limits stands; what allows nothing at all is none. Pure. */
export function budgetStates(
  limits: Pick<Limits, keyof Cap>,
  reservations: readonly SpendRow[],
  nowMs: number,
): readonly BudgetState[] {
  return windowsOf({ reservations, nowMs }).flatMap(({ key, name, spent }, index) => {
    const windowMs = BUDGETS_MS[index] ?? BUDGET_MS
    const { usdMicrosMax, gasWeiMax, revertsMax } = limits[key]
    const worst = worstType(spent)
    const ofWorst = worst === '' ? '' : ` of ${worst}`
    const isOfWorst = ({ reverted, workflowType }: SpendRow) => reverted && (workflowType ?? worst) === worst
    const budgets: readonly Rolling[] = [
      ['usd', 'movedMax', spent.usdMicros, usdMicrosMax, usd, (row) => row.usdMicros > 0n],
      ['gas', 'gasMax', spent.gasWei, gasWeiMax, native, (row) => row.gasWei > 0n],
      ['reverts', 'revertsMax', BigInt(mostReverts(spent)), BigInt(revertsMax), String, isOfWorst],
    ]
    return budgets.flatMap(([kind, setting, used, most, text, counts]) => {
      if (most === 0n) return []
      const times = reservations.filter((row) => row.atMs > nowMs - windowMs && counts(row))
      return {
        name: `${kind}_per_${name}`,
        check: `${ROLE.check}_${name}_${kind}`,
        part: partOf(used, most),
        used: text(used),
        left: text(most > used ? most - used : 0n),
        limit: kind === 'reverts' ? `${plural(most, 'revert')}${ofWorst}` : text(most),
        freesAtMs: times.length === 0 ? null : windowMs + Math.min(...times.map(({ atMs }) => atMs)),
        setting: `limits.${key}.${setting}`,
      }
    })
  })
}

/** A rolling budget: its kind, its setting, what is used of how much, how that is written, and what counts in it. */
type Rolling = readonly [
  kind: string,
  setting: string,
  used: bigint,
  most: bigint,
  text: (amount: bigint) => string,
  counts: (row: SpendRow) => boolean,
]

/** The type of which the most reverted; '' where none is known. */
const worstType = ({ reverts }: Reverts): string =>
  [...reverts].reduce<readonly [string, number]>(
    (most, [type, count]) => (type !== '' && count > most[1] ? [type, count] : most),
    ['', 0],
  )[0]

type Sum = Pick<SpendRow, 'usdMicros' | 'gasWei'>

/** How many reverted, by type; those of none that is known as ''. */
type Reverts = { readonly reverts: ReadonlyMap<string, number> }

const revertsOf = ({ reverts }: Reverts, type: WorkflowType | undefined): number =>
  type === undefined
    ? [...reverts.values()].reduce((sum, count) => sum + count, 0)
    : (reverts.get('') ?? 0) + (reverts.get(type) ?? 0)

/** Of the type of which the most reverted. */
const mostReverts = ({ reverts }: Reverts): number =>
  (reverts.get('') ?? 0) + Math.max(0, ...[...reverts].map(([type, count]) => (type === '' ? 0 : count)))

const plus = (one: Sum, other: Sum): Sum => ({
  usdMicros: one.usdMicros + other.usdMicros,
  gasWei: one.gasWei + other.gasWei,
})

/** Add up what counts of the last hour, and of the last day. A day may hold a hundred thousand rows: once over them. */
function windowsOf<Row extends SpendRow>({
  reservations,
  counts,
  nowMs,
}: {
  readonly reservations: readonly Row[]
  readonly counts?: (row: Row) => boolean
  readonly nowMs: number
}) {
  const lastHour = { usdMicros: 0n, gasWei: 0n, reverts: new Map<string, number>() }
  const before = { usdMicros: 0n, gasWei: 0n }
  const ofDay = new Map<string, number>()
  for (const row of reservations) {
    if (row.atMs <= nowMs - BUDGET_MS || counts?.(row) === false) continue
    const isOfHour = row.atMs > nowMs - HOUR_MS
    const sum = isOfHour ? lastHour : before
    sum.usdMicros += row.usdMicros
    sum.gasWei += row.gasWei
    if (!row.reverted) continue
    for (const reverts of isOfHour ? [lastHour.reverts, ofDay] : [ofDay]) {
      reverts.set(row.workflowType ?? '', (reverts.get(row.workflowType ?? '') ?? 0) + 1)
    }
  }
  const lastDay = { ...plus(lastHour, before), reverts: ofDay }
  return [
    { key: 'perHour', name: 'hour', spent: lastHour },
    { key: 'perDay', name: 'day', spent: lastDay },
  ] as const
}

/** Whose limit it is, for its check and its text. */
type Whose = { readonly check: string; readonly name: string; readonly by: string; readonly where: string }

const ROLE = { check: 'limit', by: '', where: 'the policy' }
const WORKFLOW = { ...ROLE, name: 'workflow' }
const KEEPER = { check: 'limit_all', by: ' by all roles', where: 'the run configuration' }

function overspent(
  { check, name, by, where }: Whose,
  sum: Sum,
  limit: { readonly usdMicrosMax: bigint; readonly gasWeiMax: bigint },
) {
  if (sum.usdMicros > limit.usdMicrosMax) {
    return refuse(
      `${check}_${name}_usd`,
      `With this one, ${usd(sum.usdMicros)} would move in one ${name}${by}; ${where} allows ${usd(limit.usdMicrosMax)}. Fix: wait, or raise limits.`,
    )
  }
  if (sum.gasWei > limit.gasWeiMax) {
    return refuse(
      `${check}_${name}_gas`,
      `With this one, gas of one ${name}${by} could cost ${native(sum.gasWei)}; ${where} allows ${native(limit.gasWeiMax)}. Fix: wait, or raise limits.`,
    )
  }
  return null
}

/**
 * Judge a workflow's exposure with what others could still take by allowances that stand; a pair that it approves anew
 * counts once, and another token than its own counts at the policy's price. Pure.
 */
export function checkStanding(
  exposure: Proposal['exposure'],
  standing: readonly StandingAllowance[],
  approvals: readonly StandingAllowance[],
  { limits, deployment }: Pick<Ruleset, 'limits' | 'deployment'>,
): Refusal | null {
  // What moves nothing out adds no exposure: a settlement need not wait for a revocation.
  if (exposure.assets === 0n) return null
  let usdMicros = exposure.usdMicros
  for (const { token, spender, assets } of standing) {
    const isReplaced = approvals.some((approval) => approval.token === token && approval.spender === spender)
    if (isReplaced) continue
    if (token === exposure.token?.toLowerCase()) {
      usdMicros += (assets * exposure.usdMicros) / exposure.assets
      continue
    }
    const asset = deployment.assets.find(({ address }) => address === token)
    const price = asset === undefined ? undefined : limits.pricesUsdMicros[asset.symbol]
    if (asset === undefined || price === undefined) {
      return refuse(
        'standing_unpriced',
        `${spender} may still take ${amountText(assets, token, deployment)}, which limits.prices does not price. Fix: revoke it, or price it.`,
      )
    }
    usdMicros += (assets * price) / 10n ** BigInt(asset.decimals)
  }
  const limit = limits.perHour.usdMicrosMax
  if (usdMicros <= limit) return null
  return refuse(
    'limit_standing',
    `With allowances that still stand, ${usd(usdMicros)} are exposed; the policy allows ${usd(limit)}. Fix: revoke what is not needed any more.`,
  )
}
