import type { Address } from 'viem'
import { usd } from '../../readable.js'
import { exactTokens } from '../../units.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import type { Note } from '../../workflow/workflow.ts'
import { BUDGET_MS } from '../limits/budget.ts'
import type { Approval } from './approval.ts'

/** One claim of the past, as far as approvals count it. */
export type PassedRow = {
  readonly atMs: number
  readonly usdMicros: bigint
  readonly out?: { readonly token: Address; readonly assets: bigint }
  readonly approved?: true
}

/** What a role's workflows moved over the last 24 hours, and what of it no person approved. */
export type Day = {
  readonly usdMicros: bigint
  readonly unapproved: {
    readonly usdMicros: bigint
    /** What left us, base units by lower-case address. */
    readonly assets: ReadonlyMap<Address, bigint>
  }
}

/** Add up what a role's workflows moved over the last 24 hours; a row counts until it is as old as that. Pure. */
export function dayOf(rows: readonly PassedRow[], nowMs: number): Day {
  let [usdMicros, unapproved] = [0n, 0n]
  const assets = new Map<Address, bigint>()
  for (const row of rows) {
    if (row.atMs <= nowMs - BUDGET_MS) continue
    usdMicros += row.usdMicros
    if (row.approved === true) continue
    unapproved += row.usdMicros
    if (row.out !== undefined) assets.set(row.out.token, (assets.get(row.out.token) ?? 0n) + row.out.assets)
  }
  return { usdMicros, unapproved: { usdMicros: unapproved, assets } }
}

/**
 * Say why a person is asked about what adds up: with this, more than the policy lets pass in 24 hours would have moved that
 * nobody approved. Null when nobody is. Pure.
 */
export function whyAskOfDay(
  { token, assets, usdMicros }: Proposal['exposure'],
  { aboveAssets, aboveUsdMicrosPerDay }: Pick<Approval, 'aboveAssets' | 'aboveUsdMicrosPerDay'>,
  { unapproved }: Day,
): Note | null {
  const address = token?.toLowerCase() as Address | undefined
  const limit = address === undefined ? undefined : aboveAssets.get(address)
  const before = address === undefined ? 0n : (unapproved.assets.get(address) ?? 0n)
  if (limit?.perDay !== undefined && assets > 0n && before + assets > limit.perDay) {
    const [sum, allowed] = [before + assets, limit.perDay].map((each) => exactTokens(each, limit.asset))
    const message = `With this, ${sum} would leave us in 24 h that nobody approved; the policy asks above ${allowed}.`
    return { check: 'approval_adds_up_assets', message }
  }
  const sum = unapproved.usdMicros + usdMicros
  if (aboveUsdMicrosPerDay === undefined || usdMicros === 0n || sum <= aboveUsdMicrosPerDay) return null
  const message = `With this, ${usd(sum)} would move in 24 h that nobody approved; the policy asks above ${usd(aboveUsdMicrosPerDay)}.`
  return { check: 'approval_adds_up_usd', message }
}

/** Say what a role's workflows add up to over 24 hours with one more. Pure. */
export const showDay = ({ usdMicros: more }: Proposal['exposure'], { usdMicros, unapproved }: Day): string =>
  `${usd(usdMicros + more)} in 24 h with this one, ${usd(unapproved.usdMicros + more)} of it not approved by anybody yet`
