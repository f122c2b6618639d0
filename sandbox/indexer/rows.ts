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

/** Who says what an asset is worth, and which side of a market it is on; nobody and none while no market has it. */
type Use = {
  readonly usedAs: 'loan' | 'collateral' | null
  readonly pricedBy: 'definition' | 'oracle' | null
  readonly priceUsd: string | null
  readonly priceAsOf: string | null
}

/** Describe the two assets of a market, priced in dollars. An asset's id is its address in lower case. Pure. */
export function assetRows(
  state: MarketState,
  chainId: number,
): { readonly loan: AssetResource; readonly collateral: AssetResource } {
  const { priceWad, sourceAsOf } = state.oracle
  const priced = priceWad !== 0n
  return {
    // The sandbox's loan asset is a dollar by definition, at every block; nothing on its chain prices it.
    loan: assetRow(state.loanAsset, chainId, {
      usedAs: 'loan',
      pricedBy: 'definition',
      priceUsd: '1.00',
      priceAsOf: isoOrNull(state.blockTimestamp),
    }),
    collateral: assetRow(state.collateralAsset, chainId, {
      usedAs: 'collateral',
      pricedBy: 'oracle',
      priceUsd: priced ? formatUnits(priceWad, 18) : null,
      priceAsOf: priced ? isoOrNull(sourceAsOf) : null,
    }),
  }
}

/** Describe an asset that no market has. Pure. */
export const unusedAssetRow = (token: Token, chainId: number): AssetResource =>
  assetRow(token, chainId, { usedAs: null, pricedBy: null, priceUsd: null, priceAsOf: null })

type Token = MarketState['loanAsset']

function assetRow(token: Token, chainId: number, { usedAs, pricedBy, ...price }: Use): AssetResource {
  const address = lower(token.token)
  return {
    id: address,
    chainId,
    address,
    symbol: token.symbol,
    name: token.name,
    decimals: token.decimals,
    economicsTaxonomy: { usedAs, pricedBy },
    // Anyone may hold any token of the sandbox.
    kycRequired: false,
    ...price,
  }
}
