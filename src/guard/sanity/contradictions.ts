import {
  counted,
  type Denomination,
  DURATION,
  GAS,
  NATIVE,
  PERCENT,
  parseAmount,
  percent,
  type Units,
  USD,
  unitsOf,
} from '../../units.ts'
import type { StrategyBound } from './judgement.ts'

/** A setting of the strategy that asks for what another section refuses. */
export type Contradiction = {
  /** As a person writes it: `strategy.collaterals.sBTC.shareMax`. */
  readonly path: string
  readonly problem: string
  readonly fix: string
  /** Whether it is the role's own judgement that refuses. */
  readonly isSanity: boolean
}

type FoundContradiction = { readonly path: readonly string[]; readonly text: string }

/**
 * Find what a strategy may ask for and another section always refuses: the role would work, and nothing of it would ever be
 * signed. `file` is a policy as it is written. Pure.
 */
export function contradictionsIn(
  file: unknown,
  bounds: readonly StrategyBound[],
  assets: readonly Denomination[],
): readonly Contradiction[] {
  return pairsIn(file, bounds).flatMap(({ mine, is, to, limit }) => {
    if (is === 'same') return limit?.text === mine.text ? [] : [sayOther(mine, to, limit)]
    return limit === undefined || fits(mine.text, is, limit.text, assets) ? [] : [say(mine, is, limit)]
  })
}

/** A limit that lets through many times what the strategy asks for. */
export type Slack = Pick<Contradiction, 'problem' | 'fix'> & { readonly path: readonly string[] }

/** A limit is a little wider than what is asked for; by so many times it is most likely a slip. */
const TIMES = 10

/**
 * Find limits so many times as wide as the most that the strategy may ask for under them: they hold next to nothing. `file` is a
 * policy as it is written. Pure.
 */
export function slackIn(
  file: unknown,
  bounds: readonly StrategyBound[],
  assets: readonly Denomination[],
): readonly Slack[] {
  const own = bounds.filter(({ coversMore }) => coversMore !== true)
  const wide = pairsIn(file, own).flatMap(({ mine, is, limit }) =>
    limit === undefined || is === 'same' || is === 'leaves'
      ? []
      : [{ mine, limit, is, times: timesWider(mine.text, is, limit.text, assets) }],
  )
  return [...Map.groupBy(wide, ({ is, limit }) => `${is} ${limit.path.join('.')}`).values()].flatMap(
    (pairs) => {
      const [nearest] = pairs.toSorted((one, other) => one.times - other.times)
      if (nearest === undefined || nearest.times < TIMES) return []
      const { mine, limit, is, times } = nearest
      const size = Number.isFinite(times)
        ? `${counted(BigInt(Math.floor(times)), 'times')} as ${is === 'atMost' ? 'much' : 'little'} as`
        : 'which asks for nothing, beside'
      return {
        path: limit.path,
        problem: `${limit.path.join('.')} is ${limit.text}, ${size} ${mine.path.join('.')}, ${mine.text}: it lets through what the strategy never asks for`,
        fix: `write what is meant, near ${mine.text}`,
      }
    },
  )
}

/** By how many times a limit is wider than what is asked for; 1 where nothing is, or they are no amounts of the same. */
function timesWider(
  mine: string,
  is: 'atMost' | 'atLeast',
  limit: string,
  assets: readonly Denomination[],
): number {
  for (const units of unitsWith(assets)) {
    const [one, other] = [parseAmount(mine, units), parseAmount(limit, units)]
    if (!one.ok || !other.ok || one.amount === other.amount) continue
    if (is === 'atLeast') return Number(one.amount) / Number(other.amount)
    return one.amount === 0n ? 1 : Number(other.amount) / Number(one.amount)
  }
  return 1
}

const unitsWith = (assets: readonly Denomination[]): readonly Units[] => [
  ...[USD, PERCENT, DURATION, NATIVE, GAS],
  unitsOf(assets),
]

/** What a strategy states beside the limit of it that another section has; undefined where that has none. */
type Pair = Pick<StrategyBound, 'is' | 'to'> & {
  readonly mine: FoundContradiction
  readonly limit: FoundContradiction | undefined
}

function pairsIn(file: unknown, bounds: readonly StrategyBound[]): readonly Pair[] {
  const all = leavesOf(file, [])
  return bounds.flatMap(({ of, is, to, otherwise }) => {
    const section = to.split('.').slice(0, -1)
    const name = to.split('.').at(-1)
    const limits = orElse(
      all.filter(
        ({ path }) =>
          (name === '*' || path.at(-1) === name) && section.every((part, index) => path[index] === part),
      ),
      { path: to.split('.'), text: otherwise?.to },
    )
    const stated = orElse(
      all.filter(({ path }) => path[0] === 'strategy' && path.at(-1) === of),
      { path: ['strategy', of], text: otherwise?.of },
    )
    return stated.map((mine) => {
      // A limit of one lane or token is about settings of the same one.
      const limit = limits.find(({ path }) =>
        isWithin(path.slice(section.length, name === '*' ? undefined : -1), mine.path),
      )
      return { mine, is, to, limit }
    })
  })
}

/** What is said, or what counts where nothing is. */
const orElse = (
  found: readonly FoundContradiction[],
  { path, text }: { readonly path: readonly string[]; readonly text: string | undefined },
): readonly FoundContradiction[] => (found.length > 0 || text === undefined ? found : [{ path, text }])

function leavesOf(value: unknown, path: readonly string[]): readonly FoundContradiction[] {
  if (typeof value === 'string') return [{ path, text: value }]
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, member]) => leavesOf(member, [...path, key]))
}

const isWithin = ([first, ...rest]: readonly string[], path: readonly string[]): boolean =>
  first === undefined || (path.includes(first) && isWithin(rest, path.slice(path.indexOf(first) + 1)))

type Amount = Exclude<StrategyBound['is'], 'same'>

const WHOLE_BPS = 10_000n

function fits(mine: string, is: Amount, limit: string, assets: readonly Denomination[]): boolean {
  return unitsWith(assets).every((each) => {
    const [one, other] = [parseAmount(mine, each), parseAmount(limit, each)]
    if (!one.ok || !other.ok) return true
    if (is === 'leaves') return WHOLE_BPS - one.amount >= other.amount
    return is === 'atMost' ? one.amount <= other.amount : one.amount >= other.amount
  })
}

function sayOther(
  mine: FoundContradiction,
  to: string,
  limit: FoundContradiction | undefined,
): Contradiction {
  const there = limit === undefined ? `${to} has none for it` : `${limit.path.join('.')} ${limit.text}`
  return {
    path: mine.path.join('.'),
    problem: `it is ${mine.text}, and ${there}: what the strategy asks for is refused there`,
    fix: 'write the same in both',
    isSanity: to.startsWith('guard.'),
  }
}

function say(mine: FoundContradiction, is: Amount, limit: FoundContradiction): Contradiction {
  const [path, to] = [mine.path.join('.'), limit.path.join('.')]
  const wanted = {
    atMost: `at most ${limit.text}`,
    atLeast: `at least ${limit.text}`,
    leaves: leaving(limit),
  }
  return {
    path,
    problem: `it is ${mine.text}, and ${to} ${limit.text}: what the strategy asks for is refused there`,
    fix: `write ${wanted[is]}, or change ${to}`,
    isSanity: limit.path[0] === 'guard',
  }
}

function leaving({ text }: FoundContradiction): string {
  const parsed = parseAmount(text, PERCENT)
  return `at most ${parsed.ok ? percent(WHOLE_BPS - parsed.amount) : 'what leaves that'}`
}
