import { EXIT_TERM_KINDS } from '../../src/service/contract/workflow-inputs.ts'
import type { VaultState } from './chain-reader.ts'
import type { RedemptionRequest } from './vault-book.ts'

type ExitTerms = VaultState['exitTerms']

/** Name the kind of a vault's exit terms, as the contract numbers them. Pure. */
export const exitTermKind = ({ kind }: ExitTerms) => EXIT_TERM_KINDS[kind] ?? null

/** Say from which unix second a request made at `atS` may be paid, as the contract does. Pure. */
export function dueAtS(terms: ExitTerms, atS: number): number {
  const interval = Number(terms.intervalSeconds)
  switch (exitTermKind(terms)) {
    case 'notice':
      return atS + Number(terms.noticeSeconds)
    case 'interval':
      return (Math.floor(atS / interval) + 1) * interval
    case 'maturity':
      return Math.max(atS, Number(terms.maturityTimestamp))
    default:
      return atS
  }
}

/** Say from which unix second a request may be paid: by the looser of its own terms and today's. Pure. */
export const requestDueAtS = (terms: ExitTerms, request: RedemptionRequest): number =>
  Math.min(request.dueAtS, dueAtS(terms, request.requestedAtS))

/** Say whether a holder may be paid in the second in which it asks. Pure. */
export const paysAtOnce = ({ exitTerms, mobility, blockTimestamp }: VaultState): boolean =>
  mobility.redeemFreezeReason === '' && dueAtS(exitTerms, Number(blockTimestamp)) <= Number(blockTimestamp)

/** Return the idle assets that the redemption queue does not need, in base units. Pure. */
export const freeAssets = ({ idleAssets, queuedAssets }: VaultState): bigint =>
  idleAssets > queuedAssets ? idleAssets - queuedAssets : 0n
