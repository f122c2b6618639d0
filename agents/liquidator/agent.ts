import type { Agent } from '../agent.ts'
import { liquidationViews } from '../protocol/liquidation-views.ts'
import { arming } from './arming.ts'
import { assess } from './assess.ts'
import { board } from './board.ts'
import { decide } from './decide.ts'
import { budgets, due } from './duty.ts'
import { type LiquidatorPolicy, liquidatorPolicy } from './policy.ts'
import { type RiskBook, riskBook } from './risk-book.ts'
import { contractsOf, first, see } from './see.ts'
import type { LiquidatorSeen } from './seen.ts'

/** The liquidator: repays the debt of positions whose health fell below 1, settles what it seized, and sells it where it may. */
export const liquidator: Agent<LiquidatorPolicy, LiquidatorSeen, RiskBook> = {
  role: 'liquidator',
  watches: {
    collections: ['markets'],
    asked: ['credit-facilities', 'eligibility'],
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
  workflowTypes: [
    'role.liquidator.liquidate',
    'role.liquidator.settleLiquidationClaim',
    'own.liquidator.sell',
  ],
  races: true,
  policy: liquidatorPolicy,
  book: riskBook,
  arming,
  views: liquidationViews,
  first,
  see,
  decide,
  due,
  budgets,
  board,
  assess,
  contracts: contractsOf,
  prices: ({ markets }) =>
    markets.flatMap(({ id, oracle, collateralSymbol, loanSymbol }) =>
      oracle === null
        ? []
        : [{ id, symbol: `${collateralSymbol ?? '?'}/${loanSymbol ?? '?'}`, priceWad: oracle.priceWad }],
    ),
}
