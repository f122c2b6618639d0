import type { Mutant } from './judgement.ts'

/** Deadly mistakes of every role; each has to fail its judgement. */
export const mutants: readonly Mutant[] = []
