import { z } from 'zod'

const digits = (unit: string) =>
  z.string().regex(/^(0|[1-9][0-9]{0,77})$/, `expected ${unit} as quoted digits, without sign, point or unit`)

/** A limit of any size in a unit, as bigint. Pure. */
export const amount = (unit: string) => digits(unit).transform(BigInt)

/** A limit within bounds in a unit, as a number. Pure. */
export const count = (unit: string, min: number, max: number) =>
  digits(unit)
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error: `allowed: ${min} to ${max} ${unit}` })
