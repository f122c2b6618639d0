import type { Stop } from './stop.ts'

/** Longer numbers are no price. */
const NUMBER = /^([0-9]{1,60})(?:\.([0-9]{1,60}))?$/

/**
 * Read a decimal number exactly, without a float on the way. Pure.
 * @param text digits with or without a point; it counts units of 10^-`decimals`.
 * @param wanted decimals of the result; what is smaller is cut off.
 * @returns units of 10^-`wanted`, or why it is no number of this kind: `source_negative` or `source_not_number`.
 */
export function parseDecimal(text: string, decimals: number, wanted: number): bigint | Stop {
  if (text.startsWith('-')) return { check: 'source_negative', message: 'It says a negative number.' }
  const found = NUMBER.exec(text)
  if (found === null) return { check: 'source_not_number', message: 'It says no decimal number.' }
  const [, whole = '', fraction = ''] = found
  return (BigInt(whole + fraction) * 10n ** BigInt(wanted)) / 10n ** BigInt(fraction.length + decimals)
}
