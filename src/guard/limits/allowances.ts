import { type Checked, type Refusal, refuse } from '../../errors.ts'
import { span, usd } from '../../readable.js'
import { type Uses, type UseTotals, usedBy } from '../../workflow/uses.ts'
import type { Allowance, UseKind } from '../policy/allowances.ts'
import { BUDGET_MS, partOf, type UsedParts } from './budget.ts'

/** One claim of the past, or those of a minute, as far as allowances count them. */
type UsingRow = {
  readonly atMs: number
  readonly usdMicros: bigint
  readonly uses?: Uses
  readonly used?: ReadonlyMap<string, UseTotals>
}

/** A use of the past. */
type Use = UseTotals & { readonly atMs: number }

type Past = readonly { readonly atMs: number; readonly used: ReadonlyMap<string, UseTotals> }[]

const MINUTE_MS = 60_000

/**
 * Judge whether one more claim fits into the allowances of what it is about. All of it counts against each market,
 * counterparty and function that its calls are about, and what is about one that is not known against every one of its
 * kind. The claims of a day say all: an allowance is whole where none used it, and what came back longer than a day ago
 * is not counted, so that a day never moves more than it refills. Pure.
 */
export function checkAllowances({
  allowances,
  rows,
  ask,
  nowMs,
}: {
  readonly allowances: readonly Allowance[]
  readonly rows: readonly UsingRow[]
  readonly ask: Omit<UsingRow, 'atMs'>
  readonly nowMs: number
}): Checked<unknown> {
  if (allowances.length === 0) return { ok: true }
  const past = pastOf(rows, nowMs)
  const asked = usedBy(ask)
  for (const allowance of allowances) {
    const { of } = allowance
    const unknown = usesOf(['', of], past)
    for (const [name, known] of judgedBy(allowance, asked, past)) {
      const uses = inOrder(known, unknown)
      const calls = callsOf([`${of} ${name}`, of, ''], asked)
      const refusal = judge(allowance, name, { uses, calls, nowMs, usdMicros: ask.usdMicros })
      if (refusal !== null) return refusal
    }
  }
  return { ok: true }
}

/**
 * What part of each allowance is used, by its place in the policy; where each market, counterparty or function has one of its
 * own, of that which has the least left. Pure.
 */
export function usedOfAllowances(
  allowances: readonly Allowance[],
  rows: readonly UsingRow[],
  nowMs: number,
): UsedParts {
  const past = allowances.length === 0 ? [] : pastOf(rows, nowMs)
  const partUsed = (allowance: Allowance, uses: readonly Use[]) => {
    if ('callsMax' in allowance) {
      return partOf(BigInt(callsSince(uses, nowMs - allowance.perMs)), BigInt(allowance.callsMax))
    }
    const { mostUsdMicros } = allowance
    return partOf(mostUsdMicros - leftOf(allowance, uses, nowMs), mostUsdMicros)
  }
  return Object.fromEntries(
    allowances.map((allowance) => {
      const unknown = usesOf(['', allowance.of], past)
      const parts = [...judgedBy(allowance, OF_ANY, past).values()].map((known) =>
        partUsed(allowance, inOrder(known, unknown)),
      )
      return [allowance.path, Math.max(...parts)]
    }),
  )
}

/** What may be about anything. */
const OF_ANY: ReadonlyMap<string, UseTotals> = new Map([['', { usdMicros: 0n, calls: 0 }]])

/** The claims of a day. Those of a minute may be one row: to the end of its minute each, or until now. */
const pastOf = (rows: readonly UsingRow[], nowMs: number): Past =>
  rows
    .filter(({ atMs }) => atMs > nowMs - BUDGET_MS)
    .map((row) => ({ atMs: Math.min(nowMs, endOfMinute(row.atMs)), used: usedBy(row) }))

const inOrder = (known: readonly Use[], unknown: readonly Use[]): readonly Use[] =>
  [...known, ...unknown].toSorted((one, other) => one.atMs - other.atMs)

const callsSince = (uses: readonly Use[], sinceMs: number): number =>
  uses.reduce((sum, { atMs, calls }) => (atMs > sinceMs ? sum + calls : sum), 0)

const endOfMinute = (atMs: number) => (Math.floor(atMs / MINUTE_MS) + 1) * MINUTE_MS

/** Of what an allowance has to be judged, with what was used of it; the empty name stands for what nothing known was used of. */
function judgedBy(
  { of, name }: Allowance,
  asked: ReadonlyMap<string, UseTotals>,
  past: Past,
): ReadonlyMap<string, readonly Use[]> {
  const isUnknown = asked.has('') || asked.has(of)
  if (name === null && isUnknown) return new Map([['', []], ...usesByName(of, past)])
  const names = name === null ? namesIn(of, asked) : isUnknown || asked.has(`${of} ${name}`) ? [name] : []
  return new Map(names.map((each) => [each, usesOf([`${of} ${each}`], past)]))
}

const namesIn = (of: UseKind, used: ReadonlyMap<string, UseTotals>): readonly string[] =>
  [...used.keys()].flatMap((use) => (use.startsWith(`${of} `) ? [use.slice(of.length + 1)] : []))

/** What was used of everything of a kind that has a name, in one pass: a day may know thousands of borrowers. */
function usesByName(of: UseKind, past: Past): ReadonlyMap<string, readonly Use[]> {
  const found = new Map<string, Use[]>()
  for (const { atMs, used } of past) {
    for (const [use, { usdMicros, calls }] of used) {
      if (!use.startsWith(`${of} `)) continue
      const name = use.slice(of.length + 1)
      const uses = found.get(name) ?? []
      found.set(name, uses)
      uses.push({ atMs, usdMicros, calls })
    }
  }
  return found
}

function usesOf(names: readonly string[], past: Past): readonly Use[] {
  const found: Use[] = []
  for (const { atMs, used } of past) {
    for (const name of names) {
      const use = used.get(name)
      if (use !== undefined) found.push({ atMs, ...use })
    }
  }
  return found
}

const callsOf = (names: readonly string[], used: ReadonlyMap<string, UseTotals>): number =>
  names.reduce((sum, name) => sum + (used.get(name)?.calls ?? 0), 0)

function judge(
  allowance: Allowance,
  name: string,
  {
    uses,
    calls: asked,
    nowMs,
    usdMicros,
  }: {
    readonly uses: readonly Use[]
    readonly calls: number
    readonly nowMs: number
    readonly usdMicros: bigint
  },
): Refusal | null {
  const { of, perMs, path } = allowance
  const what = name === '' ? `a ${of} that is not known` : `${of} ${name}`
  if ('callsMax' in allowance) {
    const calls = callsSince(uses, nowMs - perMs) + asked
    if (calls <= allowance.callsMax) return null
    return refuse(
      'allowance_calls',
      `With this one, ${calls} calls of ${what} would be made in ${span(perMs)}; ${path} allows ${allowance.callsMax}. Fix: wait, or raise it.`,
    )
  }
  // What moves nothing is in no allowance's way.
  const left = leftOf(allowance, uses, nowMs)
  if (usdMicros === 0n || usdMicros <= left) return null
  const { mostUsdMicros, refillUsdMicros } = allowance
  return refuse(
    `allowance_${of}`,
    `${usd(usdMicros)} would move with ${what}; of ${path} ${usd(left)} are left, of ${usd(mostUsdMicros)} with ${usd(refillUsdMicros)} back in ${span(perMs)}. Fix: wait, or raise it.`,
  )
}

/** What of an allowance is left now, rounded down: a bucket that was empty a day ago, which is time enough to fill it. */
function leftOf(
  {
    mostUsdMicros: most,
    refillUsdMicros: refill,
    perMs,
  }: { readonly mostUsdMicros: bigint; readonly refillUsdMicros: bigint; readonly perMs: number },
  uses: readonly { readonly atMs: number; readonly usdMicros: bigint }[],
  nowMs: number,
): bigint {
  const per = BigInt(perMs)
  let [level, sinceMs] = [0n, nowMs - BUDGET_MS]
  // In parts of a millionth, so that nothing is lost between two uses.
  const flow = (atMs: number, out: bigint) => {
    const filled = level + refill * BigInt(atMs - sinceMs)
    level = (filled < most * per ? filled : most * per) - out * per
    sinceMs = atMs
  }
  for (const { atMs, usdMicros } of uses) flow(atMs, usdMicros)
  flow(nowMs, 0n)
  return level <= 0n ? 0n : level / per
}
