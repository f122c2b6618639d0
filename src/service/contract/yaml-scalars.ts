import { z } from 'zod'

/** YAML is read without types, so that no amount passes through a float: every value arrives as text. */
const digits = (unit: string) =>
  z
    .string()
    .regex(/^(0|[1-9][0-9]{0,77})$/, `expected ${unit} in decimal digits, without sign, point or unit`)

/** An amount in a unit, as bigint, without an upper limit but what a word of the chain holds. Pure. */
export const amount = (unit: string) =>
  digits(unit)
    .transform(BigInt)
    .refine((value) => value < 2n ** 256n, { error: `allowed: less than 2^256 ${unit}` })

/** An amount that is not 0. Pure. */
export const positive = (unit: string) =>
  amount(unit).refine((value) => value > 0n, { error: `expected ${unit} above 0` })

/** An amount of US dollars, in millionths. Pure. */
export const usdMicros = () => amount('millionths of a US dollar')

/** A whole number in a unit, within bounds. Pure. */
export const count = (unit: string, min: number, max: number) =>
  digits(unit)
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error: `allowed: ${min} to ${max} ${unit}` })

/** A whole number without a unit, within bounds: of the run configuration. Pure. */
export const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^[0-9]{1,15}$/, 'expected a whole number in decimal digits, without a unit')
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error: `allowed: ${min} to ${max}` })

/** Basis points; a whole is 10000. Pure. */
export const bps = (min = 0, max = 10_000) => count('basis points', min, max)

const NAME = /^[A-Za-z][A-Za-z0-9]{0,39}$/

/** A name that the run configuration gives: to a contract, or to a source. */
export const name = z.string().regex(NAME, 'expected letters and digits')

/** A contract by its name in the pinned deployment. */
export const contractName = z.string().regex(NAME, 'expected a name of deployment.contracts')

/** A token by its symbol in the pinned deployment; the service's own symbols are never looked up here. */
export const pinnedSymbol = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,20}$/, 'expected a symbol of deployment.assets')

/** A mapping of one entry at least; `done` names what could never be done without. Pure. */
export const nonEmpty = <T extends z.ZodType>(key: z.ZodType<string, string>, schema: T, done: string) =>
  z.record(key, schema).refine((entries) => Object.keys(entries).length > 0, {
    error: `expected at least one entry: with none, nothing could ever be ${done}`,
  })
