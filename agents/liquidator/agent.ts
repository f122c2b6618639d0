import type { Agent, LiquidatorSeen } from '../agent.ts'
import { assess } from './assess.ts'
import { decide } from './decide.ts'
import { type LiquidatorPolicy, liquidatorPolicy } from './policy.ts'

/** The liquidator: repays the debt of positions whose health fell below 1, and settles what it seized. */
export const liquidator: Agent<LiquidatorPolicy, LiquidatorSeen> = {
  role: 'liquidator',
  watches: {
    collections: ['markets', 'credit-facilities', 'positions', 'liquidation-recovery', 'eligibility'],
    eventTypes: [
      'oracles.updated',
      'markets.updated',
      'positions.updated',
      'credit.facilities.updated',
      'liquidation.recovery.updated',
      'eligibility.updated',
      'workflow.liquidate.updated',
      'workflow.settleLiquidationClaim.updated',
    ],
  },
  workflowTypes: ['role.liquidator.liquidate', 'role.liquidator.settleLiquidationClaim'],
  policy: liquidatorPolicy,
  decide,
  assess,
  secondPrices: ({ secondPrice }) =>
    secondPrice === 'none' ? [] : [...new Set(Object.values(secondPrice).map(({ contract }) => contract))],
  prices: ({ markets }) =>
    markets.flatMap(({ id, oracle, collateralSymbol, loanSymbol }) =>
      oracle === null
        ? []
        : [{ id, symbol: `${collateralSymbol ?? '?'}/${loanSymbol ?? '?'}`, priceWad: oracle.priceWad }],
    ),
}
