import { EXIT_TERM_KINDS } from '../../../src/service/contract/workflow-inputs.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import type { VaultState } from '../../indexer/chain-reader.ts'
import { exitTermKind } from '../../indexer/exit-terms.ts'

type ExitTerms = VaultState['exitTerms']

/** Exit terms as an input writes them: times in seconds, "0" where the kind does not use one. */
export type ExitTermsInput = Pick<
  WorkflowInput<'role.vault_owner.vaultSettingsUpdate'>,
  'exitTermKind' | 'noticeSeconds' | 'intervalSeconds' | 'maturityTimestamp'
>

/** The contract's longest notice and interval: a year. */
const TERM_SECONDS_MAX = 31_536_000n
const UINT64_MAX = 2n ** 64n - 1n

/** Read exit terms as the contract writes them. Pure. */
export const exitTermsOf = (input: ExitTermsInput): ExitTerms => ({
  kind: EXIT_TERM_KINDS.indexOf(input.exitTermKind),
  noticeSeconds: BigInt(input.noticeSeconds),
  intervalSeconds: BigInt(input.intervalSeconds),
  maturityTimestamp: BigInt(input.maturityTimestamp),
})

/** Whether two terms are the same in each figure. Pure. */
export const sameTerms = (some: ExitTerms, others: ExitTerms): boolean =>
  some.kind === others.kind &&
  some.noticeSeconds === others.noticeSeconds &&
  some.intervalSeconds === others.intervalSeconds &&
  some.maturityTimestamp === others.maturityTimestamp

/**
 * Say why a vault cannot get these terms at a unix second: the contract wants exactly the figure of the kind, within its
 * bounds. A maturity that has passed is terms of no kind, and refused, though the contract takes it. Pure.
 */
export function judgeTerms(terms: ExitTerms, nowS: number): readonly string[] {
  const { noticeSeconds, intervalSeconds, maturityTimestamp } = terms
  const kind = exitTermKind(terms)
  const figures = { notice: noticeSeconds, interval: intervalSeconds, maturity: maturityTimestamp }
  const fits = Object.entries(figures).every(([of, figure]) => figure > 0n === (of === kind))
  const bounded =
    noticeSeconds <= TERM_SECONDS_MAX &&
    intervalSeconds <= TERM_SECONDS_MAX &&
    maturityTimestamp <= UINT64_MAX
  if (!fits || !bounded) return ['exit_terms_out_of_range']
  return kind === 'maturity' && maturityTimestamp <= nowS ? ['maturity_passed'] : []
}

/** Whether somebody who waits would be paid later under other terms, as the contract sees it. Pure. */
export function tightens(terms: ExitTerms, next: ExitTerms): boolean {
  const kind = exitTermKind(next)
  if (kind === 'instant') return false
  if (next.kind !== terms.kind) return true
  if (kind === 'notice') return next.noticeSeconds > terms.noticeSeconds
  if (kind === 'maturity') return next.maturityTimestamp > terms.maturityTimestamp
  // Only a divisor keeps every end of an interval that someone may wait for.
  return terms.intervalSeconds % next.intervalSeconds !== 0n
}
