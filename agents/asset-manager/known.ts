import type { Address } from 'viem'
import type { Answer } from '../agent.ts'

/** Reads its figures from a wave's answers; null where one of them is not known. */
export type Reader<T> = (answers: readonly Answer[]) => T | null

type KnownFigures<T> = { readonly [K in keyof T]: NonNullable<T[K]> }

/** Whether every figure is known. Pure. */
export const isKnown = <T extends Readonly<Record<string, unknown>>>(
  figures: T,
): figures is T & KnownFigures<T> => Object.values(figures).every((figure) => figure !== null)

/** Write an address in lower case, as everything of ours is: decoded ones come in mixed case. Pure. */
export function lower<T extends Address | null>(address: T): T | Address {
  return address === null ? address : `0x${address.slice(2).toLowerCase()}`
}
