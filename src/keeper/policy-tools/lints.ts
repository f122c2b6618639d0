import { nearest } from '../../config/check.ts'
import type { YamlFile } from '../../config/yaml.ts'
import { type Weakness, weaknessesIn } from '../../guard/policy/lints.ts'
import { sanityOf } from '../../guard/sanity/by-role.ts'
import { contradictionsIn, slackIn } from '../../guard/sanity/contradictions.ts'
import { counted, type Denomination, duration, exactNative, exactTokens, exactUsd } from '../../units.ts'
import type { RolePolicy } from '../policy/role-policy.ts'
import { declaredLints } from './declared-lints.ts'
import { type Codes, misnamedIn, venuesWithout } from './functions.ts'

/** A policy that loads, with what it was compiled to. */
type Compiled = Pick<RolePolicy, 'policy' | 'ruleset' | 'approval'>

/** Find what in a policy binds nothing, or less than it says. Pure. */
export const lintsOf = ({ value }: YamlFile, compiled: Compiled, codes: Codes): readonly Weakness[] => [
  ...misnamedIn(compiled.policy.guard, compiled.ruleset.deployment, codes),
  ...venuesWithout(
    compiled.policy.guard,
    sanityOf(compiled.ruleset.role).contracts?.(compiled.policy.guard.sanity) ?? [],
    compiled.ruleset.deployment,
    codes,
  ),
  ...weaknessesIn(compiled.policy.guard, compiled.ruleset),
  ...contradictionsIn(
    value,
    sanityOf(compiled.ruleset.role).strategy ?? [],
    compiled.ruleset.deployment.assets,
  ).map(({ path, problem, fix }) => ({ path: path.split('.'), problem: `${path}: ${problem}`, fix })),
  ...slackIn(value, sanityOf(compiled.ruleset.role).strategy ?? [], compiled.ruleset.deployment.assets),
  ...unknownTokens(value, compiled.ruleset.deployment.assets),
  ...declaredLints(compiled.policy.strategy, compiled.policy.guard.sanity, compiled.ruleset.deployment),
  ...sharedSources(compiled),
  ...idleDays(compiled),
  ...idleApprovals(compiled),
  ...idleLifetime(compiled),
  ...idleFees(compiled),
  ...slips(compiled),
]

/** Where entries go by a token, or by a pair of them. */
const BY_TOKEN = [
  ...['limits.prices', 'strategy.loans', 'strategy.collaterals', 'strategy.secondPrice', 'strategy.exits'],
  ...['strategy.assets', 'strategy.quotes', 'strategy.bidding.assets', 'strategy.bidding.quoteAssets'],
  ...['guard.sanity.assets', 'guard.sanity.exits', 'guard.sanity.inventoryMax', 'guard.sanity.escrowMax'],
]

/** What is said of a token that is not there holds of nothing: most likely its symbol is mistyped. */
function unknownTokens(value: unknown, assets: readonly Denomination[]): readonly Weakness[] {
  const known = assets.map(({ symbol }) => symbol)
  return BY_TOKEN.flatMap((place) => {
    const path = place.split('.')
    const entries = path.reduce<unknown>((node, part) => Reflect.get(Object(node), part), value)
    if (entries === null || typeof entries !== 'object') return []
    return Object.keys(entries).flatMap((key) => {
      const symbol = key.split('/').find((each) => !known.includes(each))
      if (symbol === undefined) return []
      const near = nearest(symbol, known)
      return {
        path: [...path, key],
        problem: `${place}.${key}: ${symbol} is no token of deployment.assets, so it binds nothing`,
        fix: `write ${near ?? 'one that is there'}, or remove it; there are ${known.join(', ')}`,
      }
    })
  })
}

/** A second source has one price: that of another token bears nothing out, and nothing of this one would ever be done. */
function sharedSources({ policy: { guard }, ruleset: { role } }: Compiled): readonly Weakness[] {
  const named = sanityOf(role).contracts?.(guard.sanity) ?? []
  const sources = named.flatMap(([place, name]) => {
    const [, token] = /^\w+\.([^/.]+).*\.referenceContract$/.exec(place) ?? []
    return token === undefined ? [] : [{ place, name, token }]
  })
  return sources.flatMap(({ place, name, token }) => {
    const other = sources.find((each) => each.name === name && each.token !== token)
    return other === undefined
      ? []
      : [
          {
            path: ['guard', 'sanity', ...place.split('.')],
            problem: `guard.sanity.${place} is ${name}, which prices ${other.token} at guard.sanity.${other.place}: one of them is refused each time`,
            fix: `name a second source of ${token}`,
          },
        ]
  })
}

/** A limit of a day that 24 hours at their own limit do not reach. */
function idleDays({ policy: { limits } }: Compiled): readonly Weakness[] {
  const { perHour, perDay, loss } = limits
  const pairs = [
    { path: ['limits', 'perDay', 'movedMax'], hour: perHour.usdMicrosMax, day: perDay.usdMicrosMax },
    { path: ['limits', 'perDay', 'gasMax'], hour: perHour.gasWeiMax, day: perDay.gasWeiMax },
    {
      path: ['limits', 'perDay', 'revertsMax'],
      hour: BigInt(perHour.revertsMax),
      day: BigInt(perDay.revertsMax),
    },
    {
      path: ['limits', 'loss', 'perDay'],
      hour: loss?.perHourUsdMicros ?? 0n,
      day: loss?.perDayUsdMicros ?? 0n,
    },
  ]
  return pairs
    .filter(({ hour, day }) => day > 0n && day >= hour * 24n)
    .map(({ path }) => ({
      path,
      problem: `${path.join('.')} is no less than 24 times the hour's: it never binds`,
      fix: 'lower it to what a day may come to',
    }))
}

/** A person who is only asked about what the limits refuse anyway. */
function idleApprovals({ policy: { limits }, approval }: Compiled): readonly Weakness[] {
  const { perWorkflow, perDay, pricesUsdMicros } = limits
  const worths = [...approval.aboveAssets.values()].flatMap(({ asset, alone, perDay }) => {
    const price = pricesUsdMicros[asset.symbol]
    const worthOf = (assets: bigint) => ((price ?? 0n) * assets) / 10n ** BigInt(asset.decimals)
    const of = (key: string, assets: bigint | undefined, limit: 'perWorkflow' | 'perDay') =>
      price === undefined || assets === undefined
        ? []
        : [
            {
              path: ['approval', key, asset.symbol],
              amount: exactTokens(assets, asset),
              worth: worthOf(assets),
              limit,
            },
          ]
    return [...of('aboveAssets', alone, 'perWorkflow'), ...of('aboveAssetsPerDay', perDay, 'perDay')]
  })
  const dollars = [
    { path: ['approval', 'aboveUsd'], worth: approval.aboveUsdMicros, limit: 'perWorkflow' as const },
    { path: ['approval', 'aboveUsdPerDay'], worth: approval.aboveUsdMicrosPerDay, limit: 'perDay' as const },
  ].flatMap(({ worth, ...rest }) =>
    worth === undefined ? [] : [{ ...rest, worth, amount: exactUsd(worth) }],
  )
  const most = { perWorkflow: perWorkflow.usdMicrosMax, perDay: perDay.usdMicrosMax }
  return [...worths, ...dollars]
    .filter(({ worth, limit }) => most[limit] > 0n && worth >= most[limit])
    .map(({ path, amount, limit }) => ({
      path,
      problem: `${path.join('.')} is ${amount}, and limits.${limit}.movedMax ${exactUsd(most[limit])}: nobody is ever asked`,
      fix: 'lower it below that limit',
    }))
}

function idleLifetime({ policy: { freshness } }: Compiled): readonly Weakness[] {
  const { expiryMarginMs, lifetimeMsMax } = freshness
  if (expiryMarginMs < lifetimeMsMax) return []
  const problem = `freshness.expiryMargin is ${duration(expiryMarginMs)}, and lifetimeMax ${duration(lifetimeMsMax)}: nothing could ever be sent`
  return [{ path: ['freshness', 'expiryMargin'], problem, fix: 'lower it, or raise freshness.lifetimeMax' }]
}

/** No transaction takes less gas: what is offered for that much is held by another limit already. */
const GAS_LEAST = 21_000n

function idleFees({ policy: { fees, limits } }: Compiled): readonly Weakness[] {
  const { gasWeiMax } = limits.perWorkflow
  if (fees.maxFeePerGasWei * GAS_LEAST <= gasWeiMax) return []
  const problem = `fees.maxFeePerGas is ${exactNative(fees.maxFeePerGasWei)}, which for ${counted(GAS_LEAST, 'gas')} alone is more than limits.perWorkflow.gasMax, ${exactNative(gasWeiMax)}: it never binds`
  return [{ path: ['fees', 'maxFeePerGas'], problem, fix: 'lower it to the dearest gas that you would pay' }]
}

/** What loads, and keeps the role or its people from doing anything. */
function slips({ policy: { limits }, approval }: Compiled): readonly Weakness[] {
  const names = Object.keys(approval.approvers)
  return [
    ...(limits.loss?.perHourUsdMicros === 0n
      ? [
          {
            path: ['limits', 'loss', 'perHour'],
            problem: 'limits.loss.perHour is 0 USD: the first gas that is paid halts the role',
            fix: 'write what an hour may cost',
          },
        ]
      : []),
    ...(names.length > 0 && approval.quorum === names.length
      ? [
          {
            path: ['approval', 'quorum'],
            problem: `approval.quorum is ${approval.quorum} of ${names.length}: what one of them submits nobody can approve, as who submits does not`,
            fix: 'name one more in approval.approvers, or ask fewer',
          },
        ]
      : []),
  ]
}
