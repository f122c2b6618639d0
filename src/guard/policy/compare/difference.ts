import { BLOCKS, DURATION, GAS, NATIVE, NUMBER, PERCENT, parseAmount, USD } from '../../../units.ts'

/** What a change lets through: more than before, less, or nobody can say. */
export type Direction = 'wider' | 'narrower' | 'unknown'

/** One difference of two policies: where, and what each says there as its file writes it; null where it says nothing. */
export type Difference = {
  readonly path: string
  readonly direction: Direction
  readonly was: string | null
  readonly is: string | null
}

/** A mapping of a file: every scalar is text. */
export type Members = Readonly<Record<string, unknown>>

/** Whether more of a setting lets more through, or less. */
export type Sense = 'more' | 'less'

/** Compare two amounts of which more, or less, lets less through; null where they are the same amount. Pure. */
export function directionOf(was: string, is: string, narrower: Sense): Direction | null {
  const [before, after] = [amountOf(was), amountOf(is)]
  if (before === null || after === null || before.of !== after.of) return 'unknown'
  if (before.amount === after.amount) return null
  return after.amount > before.amount === (narrower === 'more') ? 'narrower' : 'wider'
}

const QUANTITIES = { usd: USD, native: NATIVE, part: PERCENT, time: DURATION, gas: GAS, blocks: BLOCKS }
/** A token has at most so many decimals, and a number of a file at most so many digits behind its point. */
const FINEST = 10n ** 36n

const AMOUNT = new RegExp(`^${NUMBER} (\\S{1,32})$`)

/** How much a text of a file says, and of what: amounts of the same compare, whatever their units. Null for no amount. */
function amountOf(text: string): { readonly of: string; readonly amount: bigint } | null {
  if (/^-?[0-9]{1,78}$/.test(text)) return { of: 'count', amount: BigInt(text) }
  const [, unit] = AMOUNT.exec(text) ?? []
  if (unit === undefined) return null
  const [of, units] = Object.entries(QUANTITIES).find(([, each]) => each.has(unit)) ?? [
    `token ${unit}`,
    new Map([[unit, FINEST]]),
  ]
  const parsed = parseAmount(text, units)
  return parsed.ok ? { of, amount: parsed.amount } : null
}

/** Write a value of a file on one line. Pure. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The members of a mapping; none where it is no mapping. Pure. */
export const membersOf = (value: unknown): Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : {}

/** The mappings of a list; none where it is no list. Pure. */
export const listOf = (value: unknown): readonly Members[] =>
  Array.isArray(value) ? value.map(membersOf) : []

/** Each key of two maps, with what both have there. Pure. */
export const eachOf = <T>(was: ReadonlyMap<string, T>, is: ReadonlyMap<string, T>) =>
  [...new Set([...is.keys(), ...was.keys()])].map((key) => [key, was.get(key), is.get(key)] as const)

/** Make the difference of two values that say less and less: null says nothing at all. Empty where both say the same. Pure. */
export function differ(
  path: string,
  was: unknown,
  is: unknown,
  direction: Direction | null,
): readonly Difference[] {
  const textOrNull = (value: unknown) => (value === undefined || value === null ? null : textOf(value))
  const [old, now] = [textOrNull(was), textOrNull(is)]
  return direction === null || old === now ? [] : [{ path, direction, was: old, is: now }]
}

/** Compare two sets of which a larger one lets more through, or less. Pure. */
export function ofSets(was: readonly string[], is: readonly string[], narrower: Sense): Direction | null {
  const [isMore, isLess] = [is.some((each) => !was.includes(each)), was.some((each) => !is.includes(each))]
  if (isMore && isLess) return 'unknown'
  if (!isMore && !isLess) return null
  return isMore === (narrower === 'more') ? 'narrower' : 'wider'
}
