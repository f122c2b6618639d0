import { membersOf } from '../guard/policy/difference.ts'
import type { Weakness } from '../guard/policy/lints.ts'
import {
  BLOCKS,
  type Denomination,
  DURATION,
  exactUsd,
  GAS,
  NATIVE,
  PERCENT,
  parseAmount,
  percent,
  type Units,
  USD,
  unitsOf,
} from '../units.ts'

/** So many times as much, or as little, is seldom meant; the next unit of time is twenty-four times the one before. */
const FAR_TIMES = 100
const FAR_TIMES_OF_TIME = 20

const WHOLE_BPS = 10_000
const WEI = 10n ** 18n

/** What a number of a policy counts, and how many of its smallest unit it is. */
type Amount = { readonly of: Kind; readonly amount: number }
type Kind = 'USD' | 'native' | 'percent' | 'time' | 'gas' | 'blocks' | 'count' | `token ${string}`

/** A number of a policy beside what the shipped policy says in its place. */
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
 * moved is. What one lane, token or source says is compared with any of the shipped ones. Pure.
 * @param value a policy as it is written.
 * @param shipped that of this release, of the same role.
 */
export function farNumbersIn(
  value: unknown,
  shipped: unknown,
  assets: readonly Denomination[],
  exposure: Exposure,
): readonly Weakness[] {
  const pairs = pairsIn(value, [shipped], [], kindsWith(assets))
  const scale = scaleOf(pairs)
  return pairs.flatMap(({ path, text, is, shipped }) => {
    if (shipped.some(({ amount }) => isNear(is, amount) || (isMoney(is) && isNear(is, amount * scale))))
      return []
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

const kindsWith = (assets: readonly Denomination[]): readonly (readonly [Kind, Units])[] => [
  ...([
    ['USD', USD],
    ['native', NATIVE],
    ['percent', PERCENT],
    ['time', DURATION],
    ['gas', GAS],
    ['blocks', BLOCKS],
  ] as const),
  ...assets.map((asset) => [`token ${asset.symbol}`, unitsOf([asset])] as const),
]

function amountOf(text: string, kinds: ReturnType<typeof kindsWith>): Amount | null {
  if (/^[0-9]{1,78}$/.test(text)) return { of: 'count', amount: Number(text) }
  for (const [of, units] of kinds) {
    const parsed = parseAmount(text, units)
    if (parsed.ok) return { of, amount: Number(parsed.amount) }
  }
  return null
}

/** What names things, and counts nothing. */
const NAMES = /^(version|id|type|typeId)$/

function pairsIn(
  value: unknown,
  beside: readonly unknown[],
  path: Pair['path'],
  kinds: ReturnType<typeof kindsWith>,
): readonly Pair[] {
  if (typeof value === 'string') {
    const is = amountOf(value, kinds)
    if (is === null) return []
    const shipped = beside.flatMap((text) => {
      const found = typeof text === 'string' ? amountOf(text, kinds) : null
      return found?.of === is.of ? [{ text: String(text), amount: found.amount }] : []
    })
    return shipped.length === 0 ? [] : [{ path, text: value, is, shipped }]
  }
  if (Array.isArray(value)) {
    const items = beside.flatMap((list) => (Array.isArray(list) ? list : []))
    return value.flatMap((item, index) => pairsIn(item, mostAlike(item, items), [...path, index], kinds))
  }
  return Object.entries(membersOf(value)).flatMap(([key, member]) =>
    NAMES.test(key) ? [] : pairsIn(member, underKey(beside.map(membersOf), key), [...path, key], kinds),
  )
}

/** Of the items of a list, those that share most of what an item says: its id, its token, its vault. */
function mostAlike(item: unknown, items: readonly unknown[]): readonly unknown[] {
  const said = Object.entries(membersOf(item))
  const sharedWith = (other: unknown) => {
    const members = membersOf(other)
    return said.filter(([key, text]) => typeof text === 'string' && members[key] === text).length
  }
  const most = Math.max(...items.map(sharedWith))
  return items.filter((each) => sharedWith(each) === most)
}

/** What stands under a key; under the name of a token, a lane or a source that the shipped policy lacks, what stands under its own. */
function underKey(beside: readonly Readonly<Record<string, unknown>>[], key: string): readonly unknown[] {
  const same = beside.flatMap((members) => (key in members ? [members[key]] : []))
  if (same.length > 0) return same
  const entries = beside.flatMap((members) => Object.values(members))
  const areAlike = entries.every((each) => typeof each === 'object' && !Array.isArray(each))
  return areAlike ? entries : []
}

const isMoney = ({ of }: Amount): boolean => of === 'USD' || of.startsWith('token ')

/**
 * By how much an owner is larger than the one of the shipped policy: as what may be moved in a workflow, an hour and a day differ.
 * The middle one, so that no slip in one of them passes for it.
 */
function scaleOf(pairs: readonly Pair[]): number {
  const ratios = pairs
    .filter(({ path }) => path[0] === 'limits' && path.at(-1) === 'movedMax')
    .flatMap(({ is, shipped }) => shipped.map(({ amount }) => is.amount / amount))
    .toSorted((one, other) => one - other)
  return ratios.length === 3 && ratios[1] !== undefined && ratios[1] > 0 ? ratios[1] : 1
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
