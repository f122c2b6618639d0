const WAD_DECIMALS = 18

/** Say that other instances of a fleet have older records, by their names. Pure. */
export const elsewhere = (names: readonly string[]) =>
  `What ended long ago is in the archives of ${names.join(', ')}, each on its machine.\n`

/**
 * Write a figure that is times 10^18, with thousands apart and cut (not rounded: 0.99999 is not 1) after `decimals`.
 * Pure.
 */
export function wad(text: string, decimals: number): string {
  const digits = text.padStart(WAD_DECIMALS + 1, '0')
  const whole = digits.slice(0, -WAD_DECIMALS).replace(/^0+(?=\d)/, '')
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${digits.slice(-WAD_DECIMALS).slice(0, decimals)}`
}
