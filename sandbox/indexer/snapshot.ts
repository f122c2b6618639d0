import type { Address } from 'viem'
import type { AssetResource } from '../../src/service/contract/resources.ts'
import type { Book } from './book.ts'
import type { CanonicalClaim, Snapshot } from './canonical.ts'
import type { BlockHeader } from './chain-reader.ts'
import { feeRow, wrapperRow } from './channel-rows.ts'
import { facilityRows, positionRows, recoveryRows } from './credit-rows.ts'
import { fundRows } from './fund-rows.ts'
import { marketRow } from './market-rows.ts'
import { assetRows, oracleRow } from './rows.ts'
import type { ChainState, MarketRead } from './state.ts'
import { tradeRows } from './trade-rows.ts'
import { vaultRow } from './vault-rows.ts'

/** Describe everything the service says as of one block, from the logs up to it and the state at it. Pure. */
export function snapshotOf(
  head: BlockHeader,
  book: Book,
  state: ChainState,
  known: { readonly chainId: number; readonly indexedAtMs: number },
): Snapshot {
  const { markets, vaults, channels, funds } = state
  const vaultName = (address: Address) =>
    vaults.find((vault) => vault.address === address)?.state.name ?? null
  const { chainId, indexedAtMs } = known
  const context = { chainId, blockNumber: String(head.number) }
  return {
    block: { number: head.number, hash: head.hash, timestampS: head.timestampS },
    indexedAtMs,
    assets: allAssets(markets, chainId),
    oracles: markets.map((market) => oracleRow(market.address, market.state)),
    markets: markets.map((market) => marketRow(market, vaults, context)),
    vaults: vaults.map((vault) => vaultRow(vault, markets, channels, context)),
    vaultReads: vaults,
    channels,
    wrappers: channels.map((channel) => wrapperRow(channel, vaults, context)),
    fees: vaults.map((vault) => feeRow(vault, channels, context)),
    facilities: markets.flatMap((market) => facilityRows(market, chainId)),
    positions: markets.flatMap((market) => positionRows(market, chainId)),
    recoveries: markets.flatMap((market) => recoveryRows(market, chainId)),
    eligibility: [...book.eligibility.values()],
    claims: claimsOf(book, markets),
    ...fundRows(funds, book.nav, vaultName, { ...context, nowS: head.timestampS }),
    ...tradeRows(book.trades, chainId, head.timestampS),
  }
}

/** Markets share assets; an asset that is borrowed in one and deposited in another keeps the price of a loan asset. */
function allAssets(markets: readonly MarketRead[], chainId: number): readonly AssetResource[] {
  const pairs = markets.map((market) => assetRows(market.state, chainId))
  const rows = [...pairs.map((pair) => pair.collateral), ...pairs.map((pair) => pair.loan)]
  return [...new Map(rows.map((row) => [row.id, row])).values()]
}

function claimsOf(book: Book, markets: readonly MarketRead[]): readonly CanonicalClaim[] {
  const delaysS = new Map(markets.map(({ address, state }) => [address, Number(state.claimDelaySeconds)]))
  return [...book.claims.values()].map(({ openedAtS, ...claim }) => ({
    ...claim,
    settleableAtS: openedAtS + (delaysS.get(claim.marketAddress) ?? 0),
  }))
}
