import { native } from '../../../readable.js'
import { type Finding, failed } from '../finding.ts'
import type { World } from '../world.ts'

const ARBITRUM = failed('gas', '', {
  code: 'chain.arbitrum',
  message:
    "This is a chain of Arbitrum's kind: what the bytes of a transaction cost is part of its gas there, which no simulation of ours shows.",
  fix: 'work on a chain that charges gas alone, or as the OP stack does.',
})

const operatorFee = (wei: bigint) =>
  failed('gas', '', {
    code: 'chain.operator_fee',
    message: `The chain charges ${native(wei)} for a million gas beside gas and bytes (getOperatorFee); no limit and no account of ours counts it.`,
    fix: 'work on a chain without an operator fee.',
  })

/** Judge what a chain charges: what is counted nowhere would pass every limit. Pure. */
export const judgeCharges = ({
  operatorFeeWei,
  isArbitrum,
}: Pick<World, 'operatorFeeWei' | 'isArbitrum'>): readonly Finding[] => [
  ...(isArbitrum ? [ARBITRUM] : []),
  ...(operatorFeeWei === null || operatorFeeWei === 0n ? [] : [operatorFee(operatorFeeWei)]),
]
