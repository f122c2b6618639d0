import { z } from 'zod'

/** Whole digits only: YAML is read without types, so that no amount passes through a float. */
const DIGITS = /^(0|[1-9][0-9]{0,77})$/

const shown = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value))

const digits = (unit: string) =>
  z
    .string({ error: (issue) => `${shown(issue.input)} is not ${unit}. Fix: write quoted digits.` })
    .regex(DIGITS, {
      error: (issue) =>
        `${shown(issue.input)} is not ${unit}. Fix: write whole digits, without sign, point or unit.`,
    })

/** An amount in a unit, without an upper limit of its own. */
const amount = (unit: string) => digits(unit).transform(BigInt)

/** A small whole number from 0 to `max`. */
const count = (unit: string, max: number) =>
  digits(unit)
    .transform(Number)
    .refine((value) => value <= max, {
      error: (issue) => `${shown(issue.input)} ${unit} is above ${max}. Fix: lower it.`,
    })

const bps = () => count('basis points', 10_000)

/** A token by its symbol in the pinned deployment; the service's own symbols are never looked up here. */
const pinnedSymbol = z.string().regex(/^[A-Za-z0-9._-]{1,20}$/, {
  error: (issue) => `${shown(issue.input)} is not a token's symbol. Fix: use a symbol of deployment.assets.`,
})

const named = <T extends z.ZodType>(schema: T, what: string) =>
  z.record(pinnedSymbol, schema).refine((entries) => Object.keys(entries).length > 0, {
    error: `no ${what} is listed, so nothing could ever be done. Fix: list at least one.`,
  })

const loan = z
  .strictObject({
    /** Outside of this band the loan asset's dollar price is not believed; every budget is counted by it. */
    priceUsdMicrosMin: amount('millionths of a US dollar').refine((value) => value > 0n, {
      error: 'a price of 0 cannot be believed. Fix: name the lowest price you would act on.',
    }),
    priceUsdMicrosMax: amount('millionths of a US dollar'),
  })
  .refine((band) => band.priceUsdMicrosMin <= band.priceUsdMicrosMax, {
    path: ['priceUsdMicrosMin'],
    error: ({ input }) => contradiction(input, 'priceUsdMicrosMin', 'priceUsdMicrosMax'),
  })

const collateral = z.strictObject({
  /** Most of this collateral to hold, counting balance, open claims and what is in flight; base units. */
  inventoryAssetsMax: amount('base units of the collateral'),
  /** What a sale is expected to lose whatever its size. */
  exitHaircutBaseBps: bps(),
  /** What it loses more for each million dollars sold at once. */
  exitHaircutPerMillionUsdBps: bps(),
})

const gas = z.strictObject({
  /** Expected gas of an approval and a liquidation together. */
  liquidateGas: amount('gas'),
  /** Expected gas of settling the claim. */
  settleGas: amount('gas'),
  /** Added to the head's base fee, for the tip and for blocks to come. */
  baseFeeHeadroomBps: count('basis points', 100_000),
  /** What one whole native coin is taken to be worth. */
  nativePriceUsdMicros: amount('millionths of a US dollar'),
})

function contradiction(input: unknown, lower: string, upper: string): string {
  const value = (key: string) =>
    typeof input === 'object' && input !== null ? String(Reflect.get(input, key)) : 'unknown'
  return `${lower} ${value(lower)} is above ${upper} ${value(upper)}. Fix: lower the one or raise the other.`
}

/**
 * The liquidator's strategy, as policies/liquidator.yaml states it under `strategy`. Strict: an unknown key is
 * refused. Amounts are decimal strings; US dollars are in millionths.
 */
export const liquidatorPolicy = z
  .strictObject({
    loans: named(loan, 'loan asset'),
    collaterals: named(collateral, 'collateral'),
    /** Most to repay in one liquidation. */
    repayUsdMicrosMax: amount('millionths of a US dollar'),
    /** Least expected profit, after haircut and gas. */
    profitUsdMicrosMin: amount('millionths of a US dollar'),
    /** How much less collateral than expected is still accepted. */
    slippageBps: count('basis points', 9_999),
    /** Oldest price to act on, by the source's own time. */
    priceAgeSMax: count('seconds', 86_400),
    /** How far the service's price and our own reading of the oracle may lie apart. */
    priceDivergenceBpsMax: bps(),
    gas,
  })
  .refine((policy) => policy.profitUsdMicrosMin < policy.repayUsdMicrosMax, {
    path: ['profitUsdMicrosMin'],
    error: ({ input }) => contradiction(input, 'profitUsdMicrosMin', 'repayUsdMicrosMax'),
  })
export type LiquidatorPolicy = z.infer<typeof liquidatorPolicy>
