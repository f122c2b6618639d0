import { z } from 'zod'

/** YAML is read without types, so that no amount passes through a float: every value arrives as text. */
const digits = (unit: string) =>
  z
    .string()
    .regex(/^(0|[1-9][0-9]{0,77})$/, `expected ${unit} in decimal digits, without sign, point or unit`)

/** An amount in a unit, without an upper limit of its own but what a word of the chain holds. */
export const amount = (unit: string) =>
  digits(unit)
    .transform(BigInt)
    .refine((value) => value < 2n ** 256n, { error: `allowed: less than 2^256 ${unit}` })

/** A small whole number within bounds. */
export const count = (unit: string, max: number, min = 0) =>
  digits(unit)
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error: `allowed: ${min} to ${max} ${unit}` })

export const bps = (max = 10_000, min = 0) => count('basis points', max, min)

/** Yes or no; YAML gives it as text. */
export const flag = z.enum(['true', 'false']).transform((text) => text === 'true')

/** A token by its symbol in the pinned deployment; the service's own symbols are never looked up here. */
export const pinnedSymbol = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,20}$/, 'expected a symbol of deployment.assets')
