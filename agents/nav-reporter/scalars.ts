import { z } from 'zod'

/** YAML is read without types, so that no amount passes through a float: every value arrives as text. */
const digits = (unit: string) =>
  z
    .string()
    .regex(/^(0|[1-9][0-9]{0,77})$/, `expected ${unit} in decimal digits, without sign, point or unit`)

/** An amount in a unit, without an upper limit of its own. */
export const amount = (unit: string) => digits(unit).transform(BigInt)
/** A small whole number from `min` to `max`. */
export const count = (unit: string, min: number, max: number) =>
  digits(unit)
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error: `allowed: ${min} to ${max} ${unit}` })
/** Basis points, for arithmetic. */
export const bps = (min: number, max: number) => count('basis points', min, max).transform(BigInt)
/** A value of one share. */
export const value = () => amount("units of 10^-decimals of the report's value")

/** A name of the run configuration: of deployment.contracts or of sources. */
export const name = z.string().regex(/^[A-Za-z][A-Za-z0-9]{0,39}$/, 'expected letters and digits')
