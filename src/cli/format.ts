const WAD_DECIMALS = 18

/** Shorten an address or hash to its ends. Pure. */
export const shortHex = (text: string) =>
  /^0x[0-9a-f]{20,}$/i.test(text) ? `${text.slice(0, 6)}…${text.slice(-4)}` : text

/** Shorten a subject, `market:vault:borrower` or another list, to market and borrower. Pure. */
export function shortSubject(subject: string, marketSymbol?: string): string {
  const parts = subject.split(':')
  const market = marketSymbol ?? shortHex(parts[0] ?? '')
  const last = parts.length > 1 ? shortHex(parts.at(-1) ?? '') : ''
  return `${market} ${last}`.trim()
}

/** Say that other instances of a fleet have older records, by their names. Pure. */
export const elsewhere = (names: readonly string[]) =>
  `What ended long ago is in the archives of ${names.join(', ')}, each on its machine.\n`

/** Write a duration in the unit that reads best. Pure. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return ms < 60_000 ? `${(ms / 1_000).toFixed(2)} s` : `${(ms / 60_000).toFixed(1)} min`
}

/**
 * Write a figure that is times 10^18, with thousands apart and cut (not rounded: 0.99999 is not 1) after `decimals`.
 * Pure.
 */
export function wad(text: string, decimals: number): string {
  const digits = text.padStart(WAD_DECIMALS + 1, '0')
  const whole = digits.slice(0, -WAD_DECIMALS).replace(/^0+(?=\d)/, '')
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${digits.slice(-WAD_DECIMALS).slice(0, decimals)}`
}

/** Write US dollars from millionths, with their sign. Pure. */
export function usd(micros: string): string {
  const value = BigInt(micros)
  const cents = ((value < 0n ? -value : value) + 5_000n) / 10_000n
  const whole = String(cents / 100n).replace(/\B(?=(\d{3})+$)/g, ',')
  return `${value < 0n ? '-' : '+'}$${whole}.${String(cents % 100n).padStart(2, '0')}`
}
