import { native } from '../../units.ts'
import { type Finding, failed } from './finding.ts'
import type { World } from './world.ts'

/** Judge what a chain charges: what is counted nowhere would pass every limit. Pure. */
export function judgeCharges({ operatorFeeWei }: Pick<World, 'operatorFeeWei'>): readonly Finding[] {
  if (operatorFeeWei === null || operatorFeeWei === 0n) return []
  return [
    failed('gas', '', {
      code: 'chain.operator_fee',
      message: `The chain charges ${native(operatorFeeWei)} for a million gas beside gas and bytes (getOperatorFee); no limit and no account of ours counts it.`,
      fix: 'work on a chain without an operator fee.',
    }),
  ]
}
