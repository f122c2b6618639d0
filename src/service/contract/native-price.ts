import { z } from 'zod'
import { contractName, positiveUsdMicros, seconds, settings } from './yaml-scalars.ts'

/** Where the worth of one native coin is read, and within which bounds it is believed. */
const readPrice = settings({
  /** A name in deployment.contracts, with an oracle's `read()`: US dollars for one whole native coin. */
  contract: contractName,
  /** Oldest price to go by, by the source's own time. */
  ageSMax: seconds(0, 86_400),
  priceUsdMicrosMin: positiveUsdMicros(),
  /** What it counts as too while it is not read, is too old, or lies outside of these. */
  priceUsdMicrosMax: positiveUsdMicros(),
}).refine((band) => band.priceUsdMicrosMin <= band.priceUsdMicrosMax, {
  path: ['priceMin'],
  error: 'expected no more than priceMax',
})

/** What one whole native coin is worth: read from an oracle, or taken to be so much. */
export const nativePrice = () =>
  z.union([positiveUsdMicros(), readPrice], {
    error: 'expected contract, ageMax, priceMin and priceMax, or an amount like "3,000 USD"',
  })
export type NativePrice = z.output<ReturnType<typeof nativePrice>>
