import { tokens as amount } from '../../src/readable.js'
import { amountText, decimal as exactly, type Tokens } from '../../src/units.ts'

/** Write a whole number with thousands separators. Pure. */
const grouped = (digits: string) => digits.replace(/\B(?=(\d{3})+$)/g, ',')

/** Write a number of 10^-`decimals` parts with `places` digits after the point, cut off. Pure. */
export function decimal(value: bigint, decimals: number, places: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0')
  const whole = grouped(digits.slice(0, digits.length - decimals))
  const fraction = digits
    .slice(digits.length - decimals)
    .padEnd(places, '0')
    .slice(0, places)
  return `${value < 0n ? '−' : ''}${whole}${places > 0 ? `.${fraction}` : ''}`
}

/** Write a token amount for people. Pure. */
export const tokens = (assets: bigint, decimals: number, symbol: string): string =>
  amount(assets, { symbol, decimals })

/** Write base units of a token by its address for people; of one that is not pinned, as base units. Pure. */
export const assetsText = (assets: bigint, token: string | undefined, pinned: Tokens): string =>
  amountText(assets, token, pinned, amount)

/** Write a price that is times 10^18, exactly. Pure. */
export const priceText = (priceWad: bigint): string => exactly(priceWad, 18)

/** Write basis points as per cent with two places. Pure. */
export const percent = (bps: bigint): string => `${decimal(bps, 2, 2)} %`
