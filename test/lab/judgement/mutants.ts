import { allocatorMutants } from './allocator-mutants.ts'
import type { Mutant } from './judgement.ts'
import { liquidatorMutants } from './liquidator-mutants.ts'
import { managerMutants } from './manager-mutants.ts'
import { navMutants } from './nav-mutants.ts'
import { rfqMutants } from './rfq-mutants.ts'
import { judgeScenario } from './tally.ts'

/** Deadly mistakes of every role; each has to fail its judgement. */
export const mutants: readonly Mutant[] = [
  ...allocatorMutants,
  ...liquidatorMutants,
  ...navMutants,
  ...managerMutants,
  ...rfqMutants,
]

const SEEDS = [1, 2, 3]

/** Say which bounds of its figure a mutant breaks; empty where it passes for the role itself. */
export const foundOut = ({ judge, scenario, figure, seed }: Mutant): readonly string[] =>
  judgeScenario(judge, scenario, seed === undefined ? SEEDS : [seed]).find(
    (finding) => finding.figure === figure,
  )?.failures ?? []
