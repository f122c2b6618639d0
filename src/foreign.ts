/** The service's own texts are at most 200 characters long. */
const LENGTH_MAX = 200

/**
 * Make a text that others wrote safe to show: control characters become spaces; bidirectional and other invisible
 * characters, and what a terminal would act on, go; the rest is cut at `lengthMax` characters. Pure.
 */
export function foreign(text: string, lengthMax = LENGTH_MAX): string {
  const plain = text
    .slice(0, 4 * lengthMax)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{Cf}\p{Cs}\p{Co}]/gu, '')
    .trim()
  const letters = [...plain]
  return letters.length > lengthMax ? `${letters.slice(0, lengthMax - 1).join('')}…` : plain
}
