import type { Mutant } from './judgement.ts'
import { liquidatorMutants } from './liquidator-mutants.ts'
import { managerMutants } from './manager-mutants.ts'
import { navMutants } from './nav-mutants.ts'
import { rfqMutants } from './rfq-mutants.ts'

/** Deadly mistakes of every role; each has to fail its judgement. */
export const mutants: readonly Mutant[] = [
  ...liquidatorMutants,
  ...navMutants,
  ...managerMutants,
  ...rfqMutants,
]
