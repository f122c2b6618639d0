/**
 * The seed of a story whose markets are neither paused nor with a stale oracle in the first ten minutes of `lively`: either
 * stops what an honest borrower, liquidator or keeper does, and a slow machine would meet it where a fast one does not.
 */
export const QUIET_SEED = 1595
