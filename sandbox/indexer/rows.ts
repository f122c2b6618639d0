import { type Address, formatUnits } from 'viem'
import type { AssetResource } from '../../src/service/contract/resources.ts'
import type { MarketState } from './chain-reader.ts'
import { lower } from './logs.ts'

/** An oracle as the chain holds it. */
export type CanonicalOracle = {
  readonly address: Address
  readonly marketAddress: Address
  readonly priceWad: bigint
  readonly sourceAsOfS: number
  readonly updatedAtS: number
  readonly state: 'missing' | 'healthy' | 'stale' | 'blocked'
}

const SECONDS_PER_YEAR = 31_536_000

/** What the resources of one snapshot share. */
export type RowContext = { readonly chainId: number; readonly blockNumber: string }

/** Write a time in seconds since the epoch as ISO 8601; null for zero, which the contracts use for never. Pure. */
export const isoOrNull = (timeS: bigint | number): string | null =>
  Number(timeS) === 0 ? null : new Date(Number(timeS) * 1_000).toISOString()

/** Turn a rate a second (wad) into basis points a year, without compounding. Pure. */
export const aprBps = (ratePerSecondWad: bigint): number =>
  Math.round(Number(formatUnits(ratePerSecondWad, 18)) * SECONDS_PER_YEAR * 10_000)

/** Turn a rate a second (wad) into basis points a year, compounded by the second. Pure. */
export const apyBps = (ratePerSecondWad: bigint): number =>
  Math.round(Math.expm1(Number(formatUnits(ratePerSecondWad, 18)) * SECONDS_PER_YEAR) * 10_000)

const ORACLE_STATES = ['missing', 'healthy', 'stale', 'blocked'] as const

/** Describe a market's oracle. An unknown state of the contract counts as blocked. Pure. */
export function oracleRow(marketAddress: Address, state: MarketState): CanonicalOracle {
  const { oracle } = state
  return {
    address: lower(oracle.oracle),
    marketAddress,
    priceWad: oracle.priceWad,
    sourceAsOfS: Number(oracle.sourceAsOf),
    updatedAtS: Number(oracle.updatedAt),
    state: ORACLE_STATES[oracle.state] ?? 'blocked',
  }
}

type TokenPrice = { readonly priceUsd: string | null; readonly priceAsOf: string | null }

/** The sandbox's loan asset is a dollar by definition; nothing on its chain prices it. */
const ONE_DOLLAR: TokenPrice = { priceUsd: '1.00', priceAsOf: null }

/** Describe the two assets of a market, priced in dollars. An asset's id is its address in lower case. Pure. */
export function assetRows(
  state: MarketState,
  chainId: number,
): { readonly loan: AssetResource; readonly collateral: AssetResource } {
  const { priceWad, sourceAsOf } = state.oracle
  const price: TokenPrice =
    priceWad === 0n
      ? { priceUsd: null, priceAsOf: null }
      : { priceUsd: formatUnits(priceWad, 18), priceAsOf: isoOrNull(sourceAsOf) }
  return {
    loan: assetRow(state.loanAsset, chainId, ONE_DOLLAR),
    collateral: assetRow(state.collateralAsset, chainId, price),
  }
}

function assetRow(token: MarketState['loanAsset'], chainId: number, price: TokenPrice): AssetResource {
  const address = lower(token.token)
  return {
    id: address,
    chainId,
    address,
    symbol: token.symbol,
    name: token.name,
    decimals: token.decimals,
    ...price,
  }
}
