/**
 * Amounts as people write and read them: `100,000 USD`, `25 sBTC`, `30 gwei`, `1.25 %`, `15 min`. Exact both ways, and
 * never without a unit; inside, an amount is a whole number of its smallest unit.
 */

/** How much each unit of a quantity is, in the smallest one. */
export type Units = ReadonlyMap<string, bigint>

/** A token by its symbol, and how many decimals a whole one has. */
export type Denomination = { readonly symbol: string; readonly decimals: number }

const SECOND = 1_000n

/** Millionths of a US dollar. */
export const USD: Units = new Map([['USD', 10n ** 6n]])
/** Wei of the native coin. */
export const NATIVE: Units = new Map([
  ['ETH', 10n ** 18n],
  ['gwei', 10n ** 9n],
  ['wei', 1n],
])
/** Basis points. */
export const PERCENT: Units = new Map([['%', 100n]])
/** Milliseconds. */
export const DURATION: Units = new Map([
  ['ms', 1n],
  ['s', SECOND],
  ['min', 60n * SECOND],
  ['h', 3_600n * SECOND],
  ['d', 86_400n * SECOND],
])
/** Gas, and blocks. */
export const GAS: Units = new Map([['gas', 1n]])
export const BLOCKS: Units = new Map([['blocks', 1n]])
/** Base units of each of these tokens. Pure. */
export const unitsOf = (assets: readonly Denomination[]): Units =>
  new Map(assets.map(({ symbol, decimals }) => [symbol, 10n ** BigInt(decimals)]))

/** How a number is written before its unit: groups of three are optional, and right where they are there. */
export const NUMBER = '(?:0|[1-9][0-9]{0,77}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,25})(?:\\.[0-9]{1,36})?'
const AMOUNT = new RegExp(`^(${NUMBER}) (\\S{1,32})$`)

/**
 * Parse `<number> <unit>`, exactly.
 * @returns the amount in the smallest unit, or what is wrong with the text. Pure.
 */
export function parseAmount(
  text: string,
  units: Units,
): { ok: true; amount: bigint } | { ok: false; problem: string } {
  const [, number = '', unit = ''] = AMOUNT.exec(text) ?? []
  if (number === '') return { ok: false, problem: 'it is not a number, a space and a unit' }
  const size = units.get(unit)
  if (size === undefined) return { ok: false, problem: `${unit} is no unit of it` }
  const [whole = '', fraction = ''] = number.replaceAll(',', '').split('.')
  const parts = 10n ** BigInt(fraction.length)
  const scaled = BigInt(whole + fraction) * size
  if (scaled % parts !== 0n) return { ok: false, problem: 'it is finer than its smallest unit' }
  return { ok: true, amount: scaled / parts }
}

/** Write base units as a decimal number with groups of three: `1,234.5`. Pure. */
export function decimal(amount: bigint, decimals: number): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=([0-9]{3})+$)/g, ',')
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return `${amount < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** Write a whole number with groups of three, and what it counts: `120,000 gas`. Pure. */
export const counted = (amount: bigint | number, unit: string): string =>
  `${decimal(BigInt(amount), 0)} ${unit}`

/** Write millionths of a US dollar. Pure. */
export const exactUsd = (micros: bigint): string => `${decimal(micros, 6)} USD`

/** Write base units of a token. Pure. */
export const exactTokens = (amount: bigint, { symbol, decimals }: Denomination): string =>
  `${decimal(amount, decimals)} ${symbol}`

/** A number of base units, where nobody knows what a whole one is. Pure. */
export const baseUnits = (amount: bigint): string =>
  counted(amount, amount === 1n || amount === -1n ? 'base unit' : 'base units')

/** Tokens by their addresses, lower case. */
export type Tokens = { readonly assets: readonly (Denomination & { readonly address: string })[] }

/** Write base units of a token by its address, exactly unless told how; of one that is not among these, as base units. Pure. */
export function amountText(
  amount: bigint,
  token: string | undefined,
  { assets }: Tokens,
  write: (amount: bigint, asset: Denomination) => string = exactTokens,
): string {
  const asset = assets.find(({ address }) => address === token?.toLowerCase())
  return asset === undefined ? `${baseUnits(amount)} of ${token ?? 'an unknown token'}` : write(amount, asset)
}

/** Write basis points. Pure. */
export const percent = (bps: bigint | number): string => `${decimal(BigInt(bps), 2)} %`

/** Write wei in the unit that suits them: a price of gas in gwei, a cost in ETH. Pure. */
export function exactNative(wei: bigint): string {
  if (wei === 0n || wei >= 10n ** 15n) return `${decimal(wei, 18)} ETH`
  return wei < 10n ** 6n ? counted(wei, 'wei') : `${decimal(wei, 9)} gwei`
}

/** Write milliseconds in the largest unit of which they are whole; of a fraction, the nearest. Pure. */
export function duration(ms: bigint | number): string {
  const whole = typeof ms === 'bigint' ? ms : BigInt(Math.round(ms))
  if (whole === 0n) return '0 s'
  const [unit, size] = [...DURATION].findLast(([, each]) => whole % each === 0n) ?? ['ms', 1n]
  return counted(whole / size, unit)
}

/** The last second that a date can say. */
const TIME_MAX_S = 8_640_000_000_000n

/** Write seconds since 1970 as a time. Pure. */
export function time(seconds: bigint | number): string {
  return seconds > TIME_MAX_S
    ? counted(seconds, 's since 1970')
    : new Date(Number(seconds) * 1_000).toISOString()
}
