import { type Address, maxUint256 } from 'viem'
import { baseUnits, decimal, duration, exactTokens, percent, time } from '../../units.ts'
import { type ListIndexes, memberAt } from './paths.ts'
import type { Subject } from './references.ts'
import { asAddress } from './values.ts'

/** What a number is of: its name in a call or a request, and the reference that it is compared with. */
export type FigureOf = {
  readonly path: string
  readonly place?: ListIndexes
  readonly reference: string
  /** The token that the call approves; absent where it is no approval. */
  readonly approved?: Address | undefined
}

/** A limit of which 0 is none. */
const UNLIMITED = 'maxDepositAssets'

/** Write a number of a call or a request with its unit. Pure. */
export function figureText(
  value: bigint,
  { path, place = [], reference, approved }: FigureOf,
  subject: Subject,
): string {
  if (reference === '$deadline') return time(value)
  const member = reference.startsWith('$input.') ? reference.slice('$input.'.length) : path
  const name = member.slice(member.lastIndexOf('.') + 1)
  if (name === UNLIMITED && value === 0n) return 'no limit'
  const token = approved ?? tokenOf(reference, subject) ?? contextOf(member, place, subject)
  const asset = subject.deployment.assets.find(({ address }) => address === token)
  if (asset !== undefined)
    return value === maxUint256
      ? `unlimited ${asset.symbol} (2^256 − 1 base units)`
      : exactTokens(value, asset)
  if (name.endsWith('Bps')) return percent(value)
  if (name.endsWith('Seconds')) return duration(value * 1_000n)
  if (name.endsWith('Timestamp')) return value === 0n ? 'none' : time(value)
  const { decimals } = subject.input
  if (name === 'value' && typeof decimals === 'number')
    return exactTokens(value, { symbol: 'a share', decimals })
  if (/assets$|shares$/i.test(name)) return baseUnits(value)
  return name.endsWith('Id') ? String(value) : decimal(value, 0)
}

/** The token that an amount of the request is of by `guard.effects`. */
function tokenOf(reference: string, subject: Subject): Address | undefined {
  const { out = [], in: into = [], moves = [] } = subject.effects ?? {}
  const found =
    out.find(({ assetsMax }) => assetsMax.text === reference) ??
    into.find(({ assetsMin }) => assetsMin.text === reference) ??
    moves.find(({ assets }) => assets.text === reference)
  return reference.startsWith('$') ? asAddress(found?.token.resolve(subject)) : undefined
}

/** Its token where `guard.effects` does not say so: of the fund, of the market that it is of or beside, of the request, or of the vault. */
function contextOf(
  member: string,
  place: ListIndexes,
  { input, fund, vault, market: only, deployment }: Subject,
): Address | undefined {
  if (!/assets(perepoch)?$/i.test(member)) return undefined
  if (fund !== null) return fund.quoteAsset
  const beside = asAddress(memberAt(input, member.replace(/[^.]*$/, 'marketAddress'), place))
  const market = only ?? deployment.markets.find(({ address }) => address === beside)
  if (market !== undefined) return /collateral/i.test(member) ? market.collateralAsset : market.loanAsset
  return asAddress(input.quoteAssetAddress ?? input.baseAssetAddress ?? input.assetAddress) ?? vault?.asset
}
