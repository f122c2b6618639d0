import { readFileSync } from 'node:fs'
import { otherAmountsIn } from '../../../config/comment-amounts.ts'
import { loadWithIncludes } from '../../../config/include.ts'
import type { Path } from '../../../config/yaml.ts'
import { membersOf } from '../../../guard/policy/compare/difference.ts'
import { isHealthy } from '../../../guard/sanity/price.ts'
import { exactUsd, parseAmount, USD } from '../../../units.ts'
import type { RolePolicy } from '../../policy/role-policy.ts'
import { type Finding, failed, passed, warned } from '../finding.ts'
import type { World } from '../world.ts'

type Judged = Pick<RolePolicy, 'agent' | 'policy' | 'ruleset'>

const WAD = 10n ** 18n
const USD_MICROS = 1_000_000n
/** A price moves so far in a bad week; further is a slip, or another token's. */
const NOTICED_TIMES = 3n
const WRONG_TIMES = 10n

/** Judge every amount of a policy that the world contradicts. Throws what reading the policy's files throws. */
export function judgePolicy(
  judged: Judged,
  world: Pick<World, 'prices' | 'references' | 'sizeUsdMicros'>,
): readonly Finding[] {
  return [
    ...judgePrices(judged, world),
    ...judgeNative(judged, world),
    ...judgeLimits(judged, world),
    ...judgeComments(judged),
  ]
}

/** A round amount near another: what a person would write. */
function nearText(micros: bigint): string {
  const power = 10n ** BigInt(Math.max(0, String(micros).length - 2))
  return exactUsd((micros / power) * power)
}

/** What leaves counts by `limits.prices`: one that is too low lets more leave than the limits say. */
function judgePrices(
  { agent: { role, policy: file }, policy }: Judged,
  { prices }: Pick<World, 'prices'>,
): readonly Finding[] {
  const { pricesUsdMicros } = policy.limits
  const findings = Object.entries(pricesUsdMicros).flatMap(([symbol, stated]): readonly Finding[] => {
    const real = prices.get(symbol)
    if (real === undefined || real === 0n) return []
    const twin = [...prices].find(([other, price]) => other !== symbol && isNear(price, stated))
    const swapped = twin === undefined ? '' : `; that is near the price of ${twin[0]}`
    const message = `limits.prices.${symbol} is ${exactUsd(stated)}, and the oracle says ${exactUsd(real)}${swapped}.`
    const fix = `write ${symbol}: "${nearText(real)}" into ${file}, or a little less.`
    const wrong = { code: 'prices.implausible', message, fix }
    if (stated * WRONG_TIMES <= real) return [failed('prices', role, wrong)]
    // Too much is counted, which refuses what should pass.
    const isNoticed = stated * NOTICED_TIMES <= real || stated >= real * NOTICED_TIMES
    return isNoticed ? [warned('prices', role, wrong)] : []
  })
  const known = Object.keys(pricesUsdMicros).filter((symbol) => prices.has(symbol))
  return findings.length > 0
    ? findings
    : [
        passed(
          'prices',
          role,
          known.length === 0 ? 'none is known outside.' : `${known.join(', ')} agree with the oracles.`,
        ),
      ]
}

const isNear = (one: bigint, other: bigint): boolean => one * 3n <= other * 4n && other * 3n <= one * 4n

/** A place in a policy that says what one native coin is worth. */
type NativePlace = { readonly path: string; readonly value: unknown }

function nativePlaces(value: unknown, path: Path): readonly NativePlace[] {
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, member]) =>
    key === 'nativePrice'
      ? [{ path: [...path, key].join('.'), value: member }]
      : nativePlaces(member, [...path, key]),
  )
}

/** By this name units call the native coin; a wrapped one of it, or the sandbox's, is worth the same. */
const COIN = /^[a-z]{0,2}W?ETH$/
/** No chain whose coin is called ETH has one for less. */
const COIN_USD_MICROS_MIN = USD_MICROS

const amountIn = (text: unknown): bigint | null => {
  const parsed = parseAmount(String(text), USD)
  return parsed.ok ? parsed.amount : null
}

function judgeNative(
  { agent: { role, policy: file } }: Judged,
  { prices, references }: Pick<World, 'prices' | 'references'>,
): readonly Finding[] {
  const known = [...prices].find(([symbol]) => COIN.test(symbol))
  return nativePlaces(loadWithIncludes(file).value, []).flatMap(({ path, value }) => {
    const members = membersOf(value)
    const [low, high] =
      typeof value === 'string'
        ? [amountIn(value), amountIn(value)]
        : [amountIn(members.priceMin), amountIn(members.priceMax)]
    if (low === null || high === null) return []
    const read = references.get(String(members.contract))
    const oracleUsdMicros =
      read === undefined || !isHealthy(read) ? undefined : (read.priceWad * USD_MICROS) / WAD
    const real = known?.[1] ?? oracleUsdMicros
    const written = low === high ? exactUsd(low) : `between ${exactUsd(low)} and ${exactUsd(high)}`
    const source = known === undefined ? `${String(members.contract)} says` : `the oracle of ${known[0]} says`
    const wrong = {
      code: 'prices.native_implausible',
      message: `${path} is ${written}, and ${real === undefined ? `no coin called ETH is worth less than ${exactUsd(COIN_USD_MICROS_MIN)}` : `${source} ${exactUsd(real)}`}.`,
      fix:
        real === undefined
          ? `write what one ETH is worth into ${file}, for example ${path}: "3,000 USD".`
          : low === high
            ? `write ${path.split('.').at(-1)}: "${nearText(real)}" at ${path} of ${file}.`
            : `write bounds around ${nearText(real)} at ${path} of ${file}.`,
    }
    // Gas that looks cheap is paid without end; one that looks dear only keeps it from acting.
    if (high < COIN_USD_MICROS_MIN || (real !== undefined && high * WRONG_TIMES <= real))
      return [failed('prices', role, wrong)]
    if (real === undefined) return []
    const isNoticed =
      low === high ? high * NOTICED_TIMES <= real || low >= real * NOTICED_TIMES : real < low || real > high
    return isNoticed ? [warned('prices', role, wrong)] : []
  })
}

/** How often all that there is may move in such a time before a limit is no limit. */
const TURNS = { perWorkflow: 2n, perHour: 20n, perDay: 200n } as const
const PERIODS = ['perWorkflow', 'perHour', 'perDay'] as const
/** A limit of so many times as much is a slip of zeros. */
const SLIP_TIMES = 5n

function judgeLimits(
  { agent: { role, policy: file }, policy }: Judged,
  { sizeUsdMicros: size }: Pick<World, 'sizeUsdMicros'>,
): readonly Finding[] {
  // The sandbox's day takes half a minute.
  const periods = policy.environment === 'sandbox' ? (['perWorkflow'] as const) : PERIODS
  if (size === null) return [passed('limits', role, 'what the vaults hold is not known, or nothing.')]
  const findings = periods.flatMap((period) => {
    const { usdMicrosMax: limit } = policy.limits[period]
    const bound = size * TURNS[period]
    if (limit <= bound) return []
    const message = `limits.${period}.movedMax is ${exactUsd(limit)}, and all vaults together hold ${exactUsd(size)}.`
    const fix = `write at most "${nearText(bound)}" there in ${file}, as much as you would lose of it at once.`
    const wrong = { code: 'limits.beyond_size', message, fix }
    return [limit >= bound * SLIP_TIMES ? failed('limits', role, wrong) : warned('limits', role, wrong)]
  })
  const { usdMicrosMax } = policy.limits.perWorkflow
  return findings.length > 0
    ? findings
    : [passed('limits', role, `${exactUsd(usdMicrosMax)} a workflow; the vaults hold ${nearText(size)}.`)]
}

/** Judge the comments of a policy's files against what stands beside them. Throws what reading throws. */
function judgeComments({ agent: { role, policy } }: Judged): readonly Finding[] {
  return loadWithIncludes(policy).files.flatMap((file) =>
    otherAmountsIn(readFileSync(file, 'utf8')).map(({ line, value, comment }) =>
      failed('policy', role, {
        code: 'policy.comment_contradicts',
        message: `${file}:${line}: it is "${value}", and the comment there says ${comment}.`,
        fix: `write "${comment.replace('$', '').replace(' USD', '')} USD" if the comment is right, or correct the comment.`,
      }),
    ),
  )
}
