import type { Mutant } from './judgement.ts'
import { rfqMutants } from './rfq-mutants.ts'

/** Deadly mistakes of every role; each has to fail its judgement. */
export const mutants: readonly Mutant[] = [...rfqMutants]
