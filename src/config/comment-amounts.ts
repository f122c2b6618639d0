import { parseAmount, USD } from '../units.ts'

/** A comment that says another amount than what it stands beside, by a power of ten: one of them lost or gained zeros. */
export type OtherAmount = {
  /** From 1. */
  readonly line: number
  /** As they are written. */
  readonly value: string
  readonly comment: string
}

const COMMENT = /^((?:[^#"']|"[^"]*"|'[^']*')*?)(?:^|\s)#(.*)$/
const QUOTED = /["']([^"']+)["']/g
/** `$100,000` or `100,000 USD`. */
const DOLLARS = /\$\s?([\d,]*\d(?:\.\d+)?)(?!\s?[kKmMbB%])|(?<![\d.,])([\d,]*\d(?:\.\d+)?) USD/g

const amountsIn = (text: string): readonly { readonly text: string; readonly amount: bigint }[] =>
  [...text.matchAll(DOLLARS)].flatMap(([found, one, other]) => {
    const parsed = parseAmount(`${one ?? other} USD`, USD)
    return parsed.ok && parsed.amount > 0n ? [{ text: found.trim(), amount: parsed.amount }] : []
  })

const isPowerOfTen = (part: bigint, whole: bigint): boolean =>
  part !== whole && whole % part === 0n && /^10+$/.test(String(whole / part))

/**
 * Find comments whose dollars are those of the line, or of the line below, but for zeros. Only slips of zeros count: people
 * explain a limit by other amounts, and rarely by ten times of it. Pure.
 */
export function otherAmountsIn(text: string): readonly OtherAmount[] {
  const lines = text.split('\n').map((line) => {
    const [, code = line, comment = ''] = COMMENT.exec(line) ?? []
    return { code, comment }
  })
  let above: string[] = []
  return lines.flatMap(({ code, comment }, index) => {
    if (code.trim() === '') {
      above = comment === '' ? [] : [...above, comment]
      return []
    }
    const amounts = [...above, comment].flatMap(amountsIn)
    above = []
    const values = [...code.matchAll(QUOTED)].flatMap(([, value = '']) => dollarsOf(value))
    const same = amounts.some(({ amount }) => values.some((each) => each.amount === amount))
    const slip = amounts
      .flatMap((one) => values.map((each) => ({ one, each })))
      .find(({ one, each }) => isPowerOfTen(one.amount, each.amount) || isPowerOfTen(each.amount, one.amount))
    return same || slip === undefined
      ? []
      : [{ line: index + 1, value: slip.each.text, comment: slip.one.text }]
  })
}

function dollarsOf(text: string): readonly { readonly text: string; readonly amount: bigint }[] {
  const parsed = parseAmount(text, USD)
  return parsed.ok && parsed.amount > 0n ? [{ text, amount: parsed.amount }] : []
}
