import type { Moment, Stop } from '../agent.ts'
import type { ReportPolicy } from './policy.ts'
import type { When } from './quorum.ts'
import type { FeeTerms } from './valuation.ts'

/** What fees are counted from, as the chain said; times are Unix seconds. */
export type Mark = {
  /** In units of the report's value. */
  readonly highWaterValue: bigint
  readonly accruesSinceS: number
  /** When it was last seen to be the mark. */
  readonly seenAtS: number
}

/** A payment makes one mark of another; more than these in one period are not told apart. */
const MARKS_MAX = 4

/** Add what was seen now to the marks that were seen before, oldest first. Pure. */
export function rememberMark(before: readonly Mark[], now: Mark | null): readonly Mark[] {
  const last = before.at(-1)
  if (now === null) return before
  const isSame = last?.highWaterValue === now.highWaterValue && last.accruesSinceS === now.accruesSinceS
  return [...(isSame ? before.slice(0, -1) : before), now].slice(-MARKS_MAX)
}

/** The terms of fees at a time, null where there are none. A mark that was not seen at or after that time is not known. */
export function termsAt(
  fees: ReportPolicy['fees'],
  marks: readonly Mark[],
  atS: number,
): FeeTerms | null | Stop {
  if (fees === undefined) return null
  const { mark, paidOut: _, highWaterValue, accruesSince, ...rates } = fees
  if (mark === undefined && highWaterValue !== undefined && accruesSince !== undefined) {
    if (accruesSince <= atS) return { ...rates, highWaterValue, accruesSinceS: accruesSince }
    const message = `The policy's fees accrue from ${accruesSince - atS} s after the valuation time.`
    return { check: 'fees_not_begun', message }
  }
  const found = marks.findLast(({ accruesSinceS }) => accruesSinceS <= atS)
  if (found !== undefined && found.seenAtS >= atS) return { ...rates, ...found }
  const message =
    'What the fees are counted from at the valuation time is not known: fees were paid out since, and nobody looked between.'
  return { check: 'fee_mark_not_known', message }
}

/** The times that a value is judged at; `waitS` is how long after its time newer values are waited for. Pure. */
export const whenOf = (
  { nowMs, chain }: Pick<Moment, 'nowMs' | 'chain'>,
  atS: number,
  terms: FeeTerms | Stop | null,
  waitS = 0,
): When => ({
  atS,
  waitUntilS: atS + waitS,
  nowS: Math.max(Math.floor(nowMs / 1_000), chain.timestampS),
  paidAtS: terms === null || 'check' in terms ? undefined : terms.accruesSinceS,
})
