import { decimal } from '../protocol/text.ts'

/** Write a health factor with four places, cut off so that 0.9999 never reads as 1. Pure. */
export const health = (healthFactorWad: bigint): string => decimal(healthFactorWad, 18, 4)
