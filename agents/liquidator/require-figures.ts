import type { PassedOver } from '../agent.ts'

/** Figures of which none is null. */
export type KnownFigures<T> = { readonly [K in keyof T]: NonNullable<T[K]> }

/** Whether no figure is null. Pure. */
export const isKnown = <T extends object>(figures: T): figures is T & KnownFigures<T> =>
  Object.values(figures).every((value) => value !== null)

/** Refuse to act on figures of which some are null, and name those. Pure. */
export function missingFigures(figures: object): Pick<PassedOver, 'check' | 'message' | 'reason'> {
  const missing = Object.entries(figures).filter(([, value]) => value === null)
  const names = missing.map(([name]) => name).join(', ')
  return { check: 'missing_figures', message: `Not known: ${names}.`, reason: { missing: names } }
}
