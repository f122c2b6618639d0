import { membersOf } from '../../guard/policy/compare/difference.ts'
import type { Weakness } from '../../guard/policy/lints.ts'
import { BLOCKS, DURATION, exactUsd, GAS, NATIVE, PERCENT, parseAmount, percent, USD } from '../../units.ts'

/** So many times as much, or as little, is seldom meant; the next unit of time is twenty-four times the one before. */
const FAR_TIMES = 100
const FAR_TIMES_OF_TIME = 20

const WHOLE_BPS = 10_000
const WEI = 10n ** 18n

/** What a number of a policy counts, and how many of it. */
type Amount = { readonly of: Kind; readonly amount: number }
type Kind = keyof typeof QUANTITIES | 'count' | `token ${string}`

/** A number of a policy beside what the shipped policy says in its place, as an amount of the same. */
type Pair = {
  readonly path: readonly (string | number)[]
  readonly text: string
  readonly is: Amount
  readonly shipped: readonly { readonly text: string; readonly amount: number }[]
}

/** What of a policy says what a number may cost. */
type Exposure = {
  readonly limits: { readonly perWorkflow: { readonly usdMicrosMax: bigint } }
  readonly fees: { readonly maxFeePerGasWei: bigint; readonly nativePriceUsdMicros: bigint }
}

/**
 * Find numbers that are far from those of the shipped policy: a hundred times as much or as little, twenty times as long or as
 * short, nothing where it says something, or all of it where it says a part. Sums of money may be larger or smaller as what may be
 * moved is, and native coin as the dearest gas. What one lane, token or source says is compared with any of the shipped ones, in
 * dollars where the token is another. Pure.
 * @param value a policy as it is written.
 * @param shipped that of this release, of the same role.
 */
export function farNumbersIn(value: unknown, shipped: unknown, exposure: Exposure): readonly Weakness[] {
  const pairs = pairsIn(value, [shipped], [], createLikeness(value, shipped))
  const scales = { moved: scaleOf(pairs, isMoved), gas: scaleOf(pairs, isDearestGas) }
  return pairs.flatMap((pair) => {
    const { path, text, is, shipped } = pair
    const scale = scaleFor(pair, scales)
    if (shipped.some(({ amount }) => isNear(is, amount) || isNear(is, amount * scale))) return []
    const [nearest] = shipped.toSorted(
      (one, other) => distance(is.amount, one.amount) - distance(is.amount, other.amount) || 0,
    )
    if (nearest === undefined) return []
    const cost = costOf(path, is, nearest.amount, exposure)
    return [
      {
        path,
        problem: `${path.join('.')} is ${text}, and the shipped policy says ${nearest.text}${cost === null ? '' : `: ${cost}`}`,
        fix: `write what is meant, near ${nearest.text}; leave it if it is meant`,
      },
    ]
  })
}

const QUANTITIES = {
  USD,
  native: NATIVE,
  percent: PERCENT,
  time: DURATION,
  gas: GAS,
  blocks: BLOCKS,
} as const

const IN_TOKENS = /^([0-9][0-9,]*(?:\.[0-9]+)?) (\S+)$/

/** Read a text of a policy; of tokens whole ones. Null for what is no amount. */
function amountOf(text: string): Amount | null {
  if (/^[0-9]{1,78}$/.test(text)) return { of: 'count', amount: Number(text) }
  for (const [of, units] of Object.entries(QUANTITIES)) {
    const parsed = parseAmount(text, units)
    if (parsed.ok) return { of: of as keyof typeof QUANTITIES, amount: Number(parsed.amount) }
  }
  const [, number = '', symbol] = IN_TOKENS.exec(text) ?? []
  return symbol === undefined ? null : { of: `token ${symbol}`, amount: Number(number.replaceAll(',', '')) }
}

/** What of the two policies says whether tokens are alike: what each counts as, and which the shipped one names. */
type Likeness = {
  /** A shipped amount as so much of what another is of; null where nobody can say. */
  readonly as: (is: Amount, shipped: Amount) => number | null
  readonly isToken: (key: string) => boolean
}

function createLikeness(value: unknown, shipped: unknown): Likeness {
  const [own, theirs] = [pricesOf(value), pricesOf(shipped)]
  const named = new Set([...theirs.keys(), ...tokensIn(shipped)])
  return {
    as: (is, { of: from, amount }) => {
      if (is.of === from) return amount
      const areTokens = [is.of, from].every((of) => of.startsWith('token '))
      // Nothing is as little of any token.
      if (areTokens && (is.amount === 0 || amount === 0)) return amount
      const [price, theirPrice] = [own.get(symbolOf(is.of)), theirs.get(symbolOf(from))]
      return price === undefined || theirPrice === undefined ? null : (amount * theirPrice) / price
    },
    isToken: (key) => named.has(key),
  }
}

const symbolOf = (of: Kind): string => of.replace(/^token /, '')

/** What a whole token counts as in the limits, by its symbol. */
function pricesOf(policy: unknown): ReadonlyMap<string, number> {
  const prices = membersOf(membersOf(membersOf(policy).limits).prices)
  return new Map(
    Object.entries(prices).flatMap(([symbol, text]) => {
      const price = typeof text === 'string' ? amountOf(text) : null
      return price?.of === 'USD' && price.amount > 0 ? [[symbol, price.amount] as const] : []
    }),
  )
}

function tokensIn(value: unknown): readonly string[] {
  if (typeof value === 'string') {
    const of = amountOf(value)?.of ?? ''
    return of.startsWith('token ') ? [symbolOf(of as Kind)] : []
  }
  return Object.values(Object(value)).flatMap(tokensIn)
}

/** What names things, and counts nothing. */
const NAMES = /^(version|id|type|typeId)$/

function pairsIn(
  value: unknown,
  beside: readonly unknown[],
  path: Pair['path'],
  likeness: Likeness,
): readonly Pair[] {
  if (typeof value === 'string') {
    const is = amountOf(value)
    if (is === null) return []
    const shipped = beside.flatMap((text) => {
      const found = typeof text === 'string' ? amountOf(text) : null
      const amount = found === null ? null : likeness.as(is, found)
      return amount === null ? [] : [{ text: String(text), amount }]
    })
    return shipped.length === 0 ? [] : [{ path, text: value, is, shipped }]
  }
  if (Array.isArray(value)) {
    const items = beside.flatMap((list) => (Array.isArray(list) ? list : []))
    return value.flatMap((item, index) => pairsIn(item, mostAlike(item, items), [...path, index], likeness))
  }
  const own = membersOf(value)
  // The price of one token says nothing of another's, but where each has only the one that it pays with.
  const arePrices = path.join('.') === 'limits.prices' && Object.keys(own).length > 1
  const asToken = arePrices ? () => false : likeness.isToken
  return Object.entries(own).flatMap(([key, member]) =>
    NAMES.test(key)
      ? []
      : pairsIn(member, underKey(beside.map(membersOf), key, asToken), [...path, key], likeness),
  )
}

/** Of the items of a list, those that share most of what an item says: its id, its token, its vault. */
function mostAlike(item: unknown, items: readonly unknown[]): readonly unknown[] {
  const entries = Object.entries(membersOf(item))
  const sharedWith = (other: unknown) => {
    const members = membersOf(other)
    return entries.filter(([key, text]) => typeof text === 'string' && members[key] === text).length
  }
  const most = Math.max(...items.map(sharedWith))
  return items.filter((each) => sharedWith(each) === most)
}

/** What stands under a key; under the name of a token, a lane or a source that the shipped policy lacks, what stands under its own. */
function underKey(
  beside: readonly Readonly<Record<string, unknown>>[],
  key: string,
  isToken: Likeness['isToken'],
): readonly unknown[] {
  const same = beside.flatMap((members) => (key in members ? [members[key]] : []))
  if (same.length > 0) return same
  const entries = beside.flatMap((members) => Object.entries(members))
  const areAlike = entries.every(([, each]) => typeof each === 'object' && !Array.isArray(each))
  const areOfTokens = entries.every(([name]) => isToken(name))
  return areAlike || areOfTokens ? entries.map(([, each]) => each) : []
}

const isMoney = ({ of }: Amount): boolean => of === 'USD' || of.startsWith('token ')
const isMoved = ({ path }: Pair): boolean => path[0] === 'limits' && path.at(-1) === 'movedMax'
const isDearestGas = ({ path }: Pair): boolean => path.join('.') === 'fees.maxFeePerGas'

/** By how much an owner's numbers of a kind are larger than the shipped ones: the middle one, so that no slip in one passes for it. */
function scaleOf(pairs: readonly Pair[], isOfKind: (pair: Pair) => boolean): number {
  const ratios = pairs
    .filter(isOfKind)
    .flatMap(({ is, shipped }) => shipped.map(({ amount }) => is.amount / amount))
    .toSorted((one, other) => one - other)
  const middle = ratios[Math.floor(ratios.length / 2)]
  return middle !== undefined && middle > 0 && Number.isFinite(middle) ? middle : 1
}

/** What an owner is measured by is measured by nothing. */
function scaleFor(pair: Pair, scales: { readonly moved: number; readonly gas: number }): number {
  if (isMoved(pair) || isDearestGas(pair)) return 1
  return isMoney(pair.is) ? scales.moved : pair.is.of === 'native' ? scales.gas : 1
}

function isNear({ of, amount }: Amount, shipped: number): boolean {
  if (amount === 0 || shipped === 0) return amount === shipped
  if (of === 'percent' && amount >= WHOLE_BPS && shipped < WHOLE_BPS) return false
  return distance(amount, shipped) < (of === 'time' ? FAR_TIMES_OF_TIME : FAR_TIMES)
}

const distance = (one: number, other: number): number => Math.max(one / other, other / one)

/** Say in dollars what lies between a number and the shipped one; null where that is no sum of money. */
function costOf(
  path: Pair['path'],
  { of, amount }: Amount,
  shipped: number,
  { limits, fees }: Exposure,
): string | null {
  const apart = Math.abs(amount - shipped)
  const moved = limits.perWorkflow.usdMicrosMax
  const inUsd = (wei: bigint) => exactUsd((wei * fees.nativePriceUsdMicros) / WEI)
  if (of === 'gas') return `at fees.maxFeePerGas that is ${inUsd(BigInt(apart) * fees.maxFeePerGasWei)} apart`
  if (of === 'native' && path.at(-1) === 'gasMax') return `that is ${inUsd(BigInt(apart))} apart`
  if (of !== 'percent' || moved === 0n || path[0] === 'fees') return null
  const bps = BigInt(Math.min(apart, WHOLE_BPS))
  return `${percent(bps)} of limits.perWorkflow.movedMax is ${exactUsd((moved * bps) / BigInt(WHOLE_BPS))}`
}
