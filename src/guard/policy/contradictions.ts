import {
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
import type { StrategyBound } from '../sanity/judgement.ts'

/** A setting of the strategy that asks for what another section refuses. */
export type Contradiction = {
  /** As a person writes it: `strategy.collaterals.sBTC.shareMax`. */
  readonly path: string
  readonly problem: string
  readonly fix: string
  /** Whether it is the role's own judgement that refuses. */
  readonly isSanity: boolean
}

type Found = { readonly path: readonly string[]; readonly text: string }

/**
 * Find what a strategy may ask for and another section always refuses: the role would work, and nothing of it would ever be
 * signed. `file` is a policy as it is written. Pure.
 */
export function contradictionsIn(
  file: unknown,
  bounds: readonly StrategyBound[],
  assets: readonly Denomination[],
): readonly Contradiction[] {
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
    return stated.flatMap((mine) => {
      // A limit of one lane or token is about settings of the same one.
      const limit = limits.find(({ path }) =>
        isWithin(path.slice(section.length, name === '*' ? undefined : -1), mine.path),
      )
      if (is === 'same') return limit?.text === mine.text ? [] : [sayOther(mine, to, limit)]
      return limit === undefined || fits(mine.text, is, limit.text, assets) ? [] : [say(mine, is, limit)]
    })
  })
}

/** What is said, or what counts where nothing is. */
const orElse = (
  said: readonly Found[],
  { path, text }: { readonly path: readonly string[]; readonly text: string | undefined },
): readonly Found[] => (said.length > 0 || text === undefined ? said : [{ path, text }])

function leavesOf(value: unknown, path: readonly string[]): readonly Found[] {
  if (typeof value === 'string') return [{ path, text: value }]
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, member]) => leavesOf(member, [...path, key]))
}

const isWithin = ([first, ...rest]: readonly string[], path: readonly string[]): boolean =>
  first === undefined || (path.includes(first) && isWithin(rest, path.slice(path.indexOf(first) + 1)))

type Amount = Exclude<StrategyBound['is'], 'same'>

const WHOLE_BPS = 10_000n

function fits(mine: string, is: Amount, limit: string, assets: readonly Denomination[]): boolean {
  const units: readonly Units[] = [USD, PERCENT, DURATION, NATIVE, GAS, unitsOf(assets)]
  return units.every((each) => {
    const [one, other] = [parseAmount(mine, each), parseAmount(limit, each)]
    if (!one.ok || !other.ok) return true
    if (is === 'leaves') return WHOLE_BPS - one.amount >= other.amount
    return is === 'atMost' ? one.amount <= other.amount : one.amount >= other.amount
  })
}

function sayOther(mine: Found, to: string, limit: Found | undefined): Contradiction {
  const there = limit === undefined ? `${to} has none for it` : `${limit.path.join('.')} ${limit.text}`
  return {
    path: mine.path.join('.'),
    problem: `it is ${mine.text}, and ${there}: what the strategy asks for is refused there`,
    fix: 'write the same in both',
    isSanity: to.startsWith('guard.'),
  }
}

function say(mine: Found, is: Amount, limit: Found): Contradiction {
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

function leaving({ text }: Found): string {
  const parsed = parseAmount(text, PERCENT)
  return `at most ${parsed.ok ? percent(WHOLE_BPS - parsed.amount) : 'what leaves that'}`
}
