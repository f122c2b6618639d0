import { EXIT_TERM_KINDS } from '../../../src/service/contract/workflow-inputs.ts'
import type { TermFigures } from '../seen.ts'
import type { DeclaredExitTerms } from './declared-scalars.ts'
import {
  approach,
  type DeclaredSetting,
  figuresText,
  least,
  most,
  ofOwner,
  type SettingsAt,
} from './settings-step.ts'

/**
 * Compare what a vault keeps idle, when it pays holders, and how much one deposit is. Pure. They are one call: what is stricter
 * goes first, field by field, and all else stays as it is meanwhile.
 */
export function termSettings(at: SettingsAt, subject: string): readonly DeclaredSetting[] {
  if (at.declared.terms === undefined) return []
  return [ofOwner(`${subject}:terms`, termStep(at.declared.terms, at))]
}

type Terms = Omit<TermFigures, 'exitTermKind'> & DeclaredExitTerms
type Deposits = Pick<Terms, 'minDepositAssets' | 'maxDepositAssets'>

function termStep(
  declared: NonNullable<SettingsAt['declared']['terms']>,
  { vault }: Pick<SettingsAt, 'vault'>,
): DeclaredSetting['next'] {
  const { terms, tighteningLocked } = vault.settings
  const exitTermKind = EXIT_TERM_KINDS[terms.exitTermKind]
  if (exitTermKind === undefined) {
    const message = `The vault pays by terms of kind ${terms.exitTermKind}, which nobody here knows.`
    return { check: 'exit_terms_unknown', message }
  }
  const there: Terms = { ...terms, exitTermKind }
  const later = declared.exit !== undefined && paysLater(there, declared.exit)
  const isLocked = later && tighteningLocked
  const wanted: Terms = {
    liquidityBufferBps: declared.liquidityBufferBps ?? there.liquidityBufferBps,
    ...exitOf(isLocked ? there : (declared.exit ?? there)),
    ...(declared.minDepositAssets === undefined && declared.maxDepositAssets === undefined
      ? depositsOf(there)
      : {
          minDepositAssets: declared.minDepositAssets ?? there.minDepositAssets,
          maxDepositAssets: declared.maxDepositAssets ?? there.maxDepositAssets,
        }),
  }
  if (wanted.minDepositAssets > highest(wanted)) {
    const message = `A deposit would be ${wanted.minDepositAssets} base units at least and ${wanted.maxDepositAssets} at most. Fix: declare both.`
    return { check: 'deposit_limits_contradict', message }
  }
  const step = approach(there, wanted, {
    liquidityBufferBps: Math.max(there.liquidityBufferBps, wanted.liquidityBufferBps),
    ...exitOf(later ? there : wanted),
    ...stricterDeposits(there, wanted),
  })
  if (step === null) {
    if (!isLocked) return null
    const message =
      'Holders of this vault can no longer be made to wait longer. Fix: declare the terms that are there.'
    return { check: 'exit_terms_locked', message }
  }
  const { to } = step
  return {
    act: step.direction === 'stricter' ? 'tighten terms' : 'loosen terms',
    direction: step.direction,
    workflowType: 'role.vault_owner.vaultSettingsUpdate',
    input: {
      vaultAddress: vault.row.address,
      liquidityBufferBps: to.liquidityBufferBps,
      exitTermKind: to.exitTermKind,
      noticeSeconds: String(to.noticeSeconds),
      intervalSeconds: String(to.intervalSeconds),
      maturityTimestamp: String(to.maturityTimestamp),
      minDepositAssets: String(to.minDepositAssets),
      maxDepositAssets: String(to.maxDepositAssets),
    },
    from: figuresText(there),
    changes: step.changes,
  }
}

const exitOf = ({ exitTermKind, noticeSeconds, intervalSeconds, maturityTimestamp }: DeclaredExitTerms) => ({
  exitTermKind,
  noticeSeconds,
  intervalSeconds,
  maturityTimestamp,
})

/** Whether some holder could be paid later by the other terms, as the contract tells it. Pure. */
export function paysLater(there: DeclaredExitTerms, other: DeclaredExitTerms): boolean {
  if (other.exitTermKind === 'instant') return false
  if (other.exitTermKind !== there.exitTermKind) return true
  if (other.exitTermKind === 'notice') return other.noticeSeconds > there.noticeSeconds
  if (other.exitTermKind === 'maturity') return other.maturityTimestamp > there.maturityTimestamp
  // Only a divisor keeps every end of an interval that someone may wait for.
  return there.intervalSeconds % other.intervalSeconds !== 0
}

const depositsOf = ({ minDepositAssets, maxDepositAssets }: Deposits): Deposits => ({
  minDepositAssets,
  maxDepositAssets,
})

/** More than any deposit is: what a highest deposit of 0 says. */
const ANY = 2n ** 256n
const highest = ({ maxDepositAssets }: Deposits) => (maxDepositAssets === 0n ? ANY : maxDepositAssets)

/** What both let through; where that is nothing, the deposit of today that is nearest to what is wanted. */
function stricterDeposits(there: Deposits, wanted: Deposits): Deposits {
  const [lowest, top] = [there.minDepositAssets, highest(there)]
  const minDepositAssets = least(most(lowest, wanted.minDepositAssets), top)
  const max = most(least(top, highest(wanted)), lowest)
  return { minDepositAssets, maxDepositAssets: max === ANY ? 0n : max }
}
