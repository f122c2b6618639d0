import { type Address, type Hex, zeroAddress } from 'viem'
import type { Book } from './book.ts'
import type {
  ChainReader,
  ChannelState,
  FacilityState,
  MarketState,
  Pair,
  VaultState,
} from './chain-reader.ts'
import type { ChannelEntry } from './channel-book.ts'
import type { FundEntry } from './fund-book.ts'
import type { FundRead } from './fund-rows.ts'
import type { VaultEntry } from './vault-book.ts'

/** A market at one block, with everyone who has debt or collateral in it. */
export type MarketRead = {
  readonly address: Address
  readonly state: MarketState
  /** A row for each borrower and each vault that ever lent to it, while there is debt or collateral. */
  readonly facilities: readonly FacilityState[]
}

/** A vault at one block, with what its logs say. */
export type VaultRead = {
  readonly address: Address
  readonly state: VaultState
  readonly entry: VaultEntry
}

/** A partner channel at one block, with what its logs say. */
export type ChannelRead = {
  readonly address: Address
  readonly state: ChannelState
  readonly entry: ChannelEntry
}

/** What the contracts say at one block. */
export type ChainState = {
  readonly markets: readonly MarketRead[]
  /** Without those that do not answer. */
  readonly vaults: readonly VaultRead[]
  /** Without those that do not answer. */
  readonly channels: readonly ChannelRead[]
  /** Without those that do not answer. */
  readonly funds: readonly FundRead[]
}

/**
 * Read every market, vault, channel, facility and fund at one block, in one wave of calls. Throws `indexer.node` when the block is
 * not on the chain any more, and `indexer.no_deployment`.
 */
export async function readState(
  reader: Pick<ChainReader, 'market' | 'facilities' | 'vault' | 'channel' | 'fund'>,
  marketAddresses: readonly Address[],
  book: Book,
  at: Hex,
): Promise<ChainState> {
  const [markets, vaults, channels, funds] = await Promise.all([
    Promise.all(
      marketAddresses.map(async (address) => {
        const [state, rows] = await Promise.all([
          reader.market(address, at),
          reader.facilities(address, pairsOf(book, address), at),
        ])
        const alive = rows.filter((row) => row.debtShares > 0n || row.collateralAssets > 0n)
        return { address, state, facilities: alive }
      }),
    ),
    Promise.all(
      [...book.vaults].map(async ([address, entry]) => {
        const state = await reader.vault(address, at)
        return state === null ? [] : [{ address, state, entry }]
      }),
    ),
    Promise.all(
      [...book.channels].map(async ([address, entry]) => {
        const state = await reader.channel(address, at)
        return state === null ? [] : [{ address, state, entry }]
      }),
    ),
    Promise.all([...book.funds].map(([address, entry]) => readFund(reader, address, entry, at))),
  ])
  return { markets, vaults: vaults.flat(), channels: channels.flat(), funds: funds.flat() }
}

async function readFund(
  reader: Pick<ChainReader, 'fund'>,
  address: Address,
  entry: FundEntry,
  at: Hex,
): Promise<readonly FundRead[]> {
  const alive = [...entry.holdings.values()].filter(({ disposed }) => disposed === null)
  const ids = alive.map(({ holdingId }) => holdingId)
  const state = await reader.fund(address, ids.map(BigInt), at)
  if (state === null) return []
  const appraised = state.appraisals.map(({ known, assets }) => (known ? assets : null))
  const appraisals = new Map(ids.map((id, index) => [id, appraised[index] ?? null]))
  return [{ address, state, entry, appraisals }]
}

/** A borrower without a lender is read as one of no vault, for its collateral. */
function pairsOf(book: Book, market: Address): readonly Pair[] {
  return [...(book.borrowers.get(market) ?? [])].flatMap(([borrower, vaults]) =>
    vaults.size === 0
      ? [{ vault: zeroAddress, borrower }]
      : [...vaults].map((vault) => ({ vault, borrower })),
  )
}
