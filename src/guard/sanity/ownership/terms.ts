import { EXIT_TERM_KINDS } from '../../../service/contract/workflow-inputs.ts'
import { downTo, type Field, fieldOf } from '../loosening.ts'
import type { VaultSetup } from '../vault-views.ts'

type Terms = Pick<VaultSetup, 'bufferBps' | 'exitTerms' | 'minDepositAssets' | 'maxDepositAssets'>
type Exit = VaultSetup['exitTerms']

/** As the contract numbers them. */
export const TERMS: readonly string[] = EXIT_TERM_KINDS

/** What a vault's terms would become, field by field: looser is what keeps less idle, pays later or lets more in. Pure. */
export function termFields(was: Terms, wanted: Terms): readonly Field[] {
  const [from, to] = [was.exitTerms, wanted.exitTerms]
  const kindOf = ({ kind }: Exit) => TERMS[Number(kind)] ?? kind
  return [
    downTo('liquidityBufferBps', was.bufferBps, wanted.bufferBps),
    fieldOf('exitTermKind', kindOf(from), kindOf(to), paysLater(from, to)),
    fieldOf('noticeSeconds', from.noticeSeconds, to.noticeSeconds, false),
    fieldOf('intervalSeconds', from.intervalSeconds, to.intervalSeconds, false),
    fieldOf('maturityTimestamp', from.maturityTimestamp, to.maturityTimestamp, false),
    downTo('minDepositAssets', was.minDepositAssets, wanted.minDepositAssets),
    fieldOf(
      'maxDepositAssets',
      was.maxDepositAssets,
      wanted.maxDepositAssets,
      // 0: no such limit.
      was.maxDepositAssets !== 0n &&
        (wanted.maxDepositAssets === 0n || wanted.maxDepositAssets > was.maxDepositAssets),
    ),
  ]
}

/** Whether some holder could be paid later, as the contract tells it: another kind counts so, unless it is instant. */
function paysLater(from: Exit, to: Exit): boolean {
  switch (TERMS[Number(to.kind)]) {
    case 'instant':
      return false
    case 'notice':
      return to.kind !== from.kind || to.noticeSeconds > from.noticeSeconds
    case 'maturity':
      return to.kind !== from.kind || to.maturityTimestamp > from.maturityTimestamp
    default:
      // Only a divisor keeps every end of an interval that someone may wait for; the contract takes none of 0.
      return (
        to.kind !== from.kind || to.intervalSeconds === 0n || from.intervalSeconds % to.intervalSeconds !== 0n
      )
  }
}
