import { z } from 'zod'
import { invariant } from '../../errors.ts'
import {
  BLOCKS,
  counted,
  type Denomination,
  DURATION,
  duration,
  GAS,
  NATIVE,
  NUMBER,
  PERCENT,
  parseAmount,
  percent,
  type Units,
  USD,
  unitsOf,
} from '../../units.ts'

type Quantity = { readonly units: Units; readonly example: string }

const FLOAT_EXACT = BigInt(Number.MAX_SAFE_INTEGER)
const escaped = (unit: string) => unit.replace(/[^A-Za-z0-9]/g, '\\$&')
const listed = (units: Units) => [...units.keys()].join(', ')

/** An amount with its unit, as bigint in the smallest one, as large as a word of the chain holds. Pure. */
const quantity = ({ units, example }: Quantity) => {
  const unit = units.size === 0 ? '\\S{1,32}' : `(?:${[...units.keys()].map(escaped).join('|')})`
  return z
    .string()
    .regex(new RegExp(`^${NUMBER} ${unit}$`), {
      error: `expected an amount with its unit (${listed(units)}), for example "${example}"`,
    })
    .transform((text, context) => {
      const parsed = parseAmount(text, units)
      if (parsed.ok && parsed.amount < 2n ** 256n) return parsed.amount
      const message = parsed.ok ? 'allowed: less than 2^256 of its smallest unit' : parsed.problem
      context.addIssue({ code: 'custom', message: `${message}; expected for example "${example}"` })
      return z.NEVER
    })
}

/** The same as a number, within bounds. `print` writes a bound. */
const bounded = (shape: Quantity, [min, max]: readonly [number, number], print: (value: number) => string) =>
  quantity(shape)
    .refine((value) => value >= BigInt(min) && value <= BigInt(max) && value <= FLOAT_EXACT, {
      error: `allowed: ${print(min)} to ${print(max)}`,
    })
    .transform(Number)

/** An amount of US dollars, in millionths. Pure. */
export const usdMicros = () => quantity({ units: USD, example: '1,000 USD' })

/** An amount of US dollars above 0, in millionths. Pure. */
export const positiveUsdMicros = () =>
  usdMicros().refine((value) => value > 0n, { error: 'expected more than 0 USD' })

/** An amount of the native coin, in wei. Pure. */
export const wei = () => quantity({ units: NATIVE, example: '0.02 ETH' })

/** An amount of gas. Pure. */
export const gasAmount = () => quantity({ units: GAS, example: '120,000 gas' })

/** An amount of gas above 0. Pure. */
export const positiveGas = () =>
  gasAmount().refine((value) => value > 0n, { error: 'expected more than 0 gas' })

/** Blocks of the chain, within bounds. Pure. */
export const blocks = (min: number, max: number) =>
  bounded({ units: BLOCKS, example: '3 blocks' }, [min, max], (value) => counted(value, 'blocks'))

/** A part of a whole, in basis points; a whole is 10000. Pure. */
export const bps = (min = 0, max = 10_000) =>
  bounded({ units: PERCENT, example: '1.25 %' }, [min, max], percent)

/** A length of time, in milliseconds, within bounds. Pure. */
export const milliseconds = (min: number, max: number) =>
  bounded({ units: DURATION, example: '20 s' }, [min, max], duration)

const SECONDS: Units = new Map(
  [...DURATION].flatMap(([unit, ms]) => (ms < 1_000n ? [] : [[unit, ms / 1_000n]])),
)
/** A length of time, in seconds, within bounds. Pure. */
export const seconds = (min: number, max: number) =>
  bounded({ units: SECONDS, example: '15 min' }, [min, max], (value) => duration(BigInt(value) * 1_000n))

/**
 * An amount of a token of the deployment, in its base units. Without any asset, as editors check it, no amount is
 * understood. Pure.
 */
export const assetAmount = (assets: readonly Denomination[]) =>
  quantity({ units: unitsOf(assets), example: `25 ${assets[0]?.symbol ?? 'sBTC'}` })

/** An amount of a token above 0. Pure. */
export const positiveAssets = (assets: readonly Denomination[]) =>
  assetAmount(assets).refine((value) => value > 0n, { error: 'expected more than 0' })

/**
 * Refuse amounts of another token than the one that they stand under: `symbolOf` says which that is, null for none.
 * Looks at the entry itself and one level below. Pure.
 */
function checkAmounts(symbol: string, entry: unknown, assets: readonly Denomination[]) {
  const texts = typeof entry === 'string' ? [[null, entry] as const] : Object.entries(entry ?? {})
  return texts.flatMap(([key, text]) => {
    const unit = typeof text === 'string' ? / (\S+)$/.exec(text)?.[1] : undefined
    if (unit === undefined || unit === symbol || !assets.some((asset) => asset.symbol === unit)) return []
    return [{ path: key === null ? [] : [key], message: `expected an amount of ${symbol}, not of ${unit}` }]
  })
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** A mapping by token, or by a pair that begins with it: amounts in an entry are of that token. Pure. */
export const byToken = <S extends z.ZodType>(assets: readonly Denomination[], entries: S) =>
  z.preprocess((raw, context) => {
    for (const [symbol, entry] of isMapping(raw) ? Object.entries(raw) : []) {
      for (const { path, message } of checkAmounts(symbol.split('/')[0] ?? '', entry, assets)) {
        context.addIssue({ code: 'custom', path: [symbol, ...path], message })
      }
    }
    return raw
  }, entries)

/** A mapping that names its token under `key`: its amounts are of that token. Pure. */
export const ofToken = <S extends z.ZodType>(assets: readonly Denomination[], key: string, entry: S) =>
  z.preprocess((raw, context) => {
    const symbol = isMapping(raw) ? raw[key] : undefined
    for (const issue of typeof symbol === 'string' ? checkAmounts(symbol, raw, assets) : []) {
      context.addIssue({ code: 'custom', ...issue })
    }
    return raw
  }, entry)

/** The words of a setting's name in our code that its value carries in a file. */
const UNIT_WORDS = /(?:UsdMicros|Bps|Seconds|Wei|Assets|Blocks|Ms|S)(?=[A-Z]|$)/

/** A setting's name in a file: as in our code, without its unit, because the value states it. Pure. */
const inFile = (name: string) => name.replace(UNIT_WORDS, '')

/**
 * A mapping of settings, strict: `repayUsdMicrosMax: usdMicros()` reads `repayMax: "100,000 USD"`. `names` are those
 * in files which are not simply the code's without the unit. Pure.
 */
export function settings<S extends z.ZodRawShape>(shape: S, names: Partial<Record<keyof S, string>> = {}) {
  const pairs = Object.keys(shape).map((code) => [names[code] ?? inFile(code), code] as const)
  const codeNames = Object.fromEntries(pairs)
  invariant(Object.keys(codeNames).length === pairs.length, 'two settings would have one name in the file')
  const file = Object.fromEntries(pairs.map(([name, code]) => [name, shape[code] as z.ZodType]))
  return z
    .strictObject(file)
    .transform(
      (values) =>
        Object.fromEntries(
          Object.entries(values).map(([name, value]) => [codeNames[name] ?? name, value]),
        ) as z.output<z.ZodObject<S, z.core.$strict>>,
    )
}

/** YAML is read without types, so that no amount passes through a float: every value arrives as text. */
const digits = (unit: string) =>
  z
    .string()
    .regex(/^(0|[1-9][0-9]{0,77})$/, `expected ${unit} in decimal digits, without sign, point or unit`)

/** A whole number that has no unit, as bigint: an argument, a value on chain. Pure. */
export const amount = (unit: string) =>
  digits(unit)
    .transform(BigInt)
    .refine((value) => value < 2n ** 256n, { error: `allowed: less than 2^256 ${unit}` })

/** How many there are of what has no unit, within bounds. Pure. */
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

const NAME = /^[A-Za-z][A-Za-z0-9]{0,39}$/

/** A name that the run configuration gives: to a contract, or to a source. */
export const name = z.string().regex(NAME, 'expected letters and digits')

/** A contract by its name in the pinned deployment. */
export const contractName = z.string().regex(NAME, 'expected a name of deployment.contracts')

/** A token by its symbol in the pinned deployment; the service's own symbols are never looked up here. */
export const pinnedSymbol = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,20}$/, 'expected a symbol of deployment.assets')

/** Two tokens by their symbols, collateral first: `sBTC/sUSD`. */
export const pair = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,20}\/[A-Za-z0-9._-]{1,20}$/, 'expected "collateral/loan" symbols')

/** A mapping of one entry at least; `done` names what could never be done without. Pure. */
export const nonEmpty = <T extends z.ZodType>(key: z.ZodType<string, string>, schema: T, done: string) =>
  z.record(key, schema).refine((entries) => Object.keys(entries).length > 0, {
    error: `expected at least one entry: with none, nothing could ever be ${done}`,
  })
