import type { MarketResource } from '../../../src/service/contract/resources.ts'
import type { VaultState } from '../../indexer/chain-reader.ts'
import { same } from '../same.ts'

/** Assets to or from one market of a vault, in base units. */
export type Move = { readonly marketAddress: string; readonly assets: bigint }

const BPS = 10_000n

type Allocation = VaultState['allocations'][number]
/** What the moves so far leave of the vault; `allocated` and `cash` by market, as listed. */
type Books = {
  readonly state: VaultState
  readonly markets: readonly MarketResource[]
  idle: bigint
  readonly allocated: Map<Allocation, bigint>
  readonly cash: Map<Allocation, bigint>
}

/**
 * Say why a vault cannot make these moves, withdrawals first, as its contract would: at the judged block, without the
 * interest until the moves are mined. Empty means it can. Pure.
 */
export function judgeMoves(
  state: VaultState,
  markets: readonly MarketResource[],
  withdrawals: readonly Move[],
  supplies: readonly Move[],
): readonly string[] {
  if (withdrawals.length + supplies.length === 0) return ['reallocation_empty']
  const books: Books = {
    state,
    markets,
    idle: state.idleAssets,
    allocated: new Map(state.allocations.map((one) => [one, one.allocatedAssets])),
    cash: new Map(state.allocations.map((one) => [one, one.cashAssets])),
  }
  const reasons = [
    ...withdrawals.flatMap((move) => recall(books, move)),
    ...supplies.flatMap((move) => supply(books, move)),
  ]
  if (supplies.length > 0) reasons.push(...judgeIdle(books))
  return [...new Set(reasons)]
}

function recall(books: Books, { marketAddress, assets }: Move): readonly string[] {
  const one = listed(books, marketAddress)
  if (typeof one === 'string') return [one]
  const cash = books.cash.get(one) ?? 0n
  books.idle += assets
  books.cash.set(one, cash - assets)
  books.allocated.set(one, (books.allocated.get(one) ?? 0n) - assets)
  if (assets === 0n) return ['amount_is_zero']
  return assets > cash ? ['insufficient_market_liquidity'] : []
}

function supply(books: Books, { marketAddress, assets }: Move): readonly string[] {
  const one = listed(books, marketAddress)
  if (typeof one === 'string') return [one]
  const { approved, allocationEnabled, absoluteCapAssets, relativeCapBps } = one.listing
  const allocated = (books.allocated.get(one) ?? 0n) + assets
  books.idle -= assets
  books.allocated.set(one, allocated)
  const reasons: string[] = []
  if (assets === 0n) reasons.push('amount_is_zero')
  if (!approved) reasons.push('market_not_approved')
  if (!allocationEnabled) reasons.push('allocation_disabled')
  if (allocated > absoluteCapAssets) reasons.push('above_absolute_cap')
  if (allocated > (books.state.totalAssets * BigInt(relativeCapBps)) / BPS) reasons.push('above_relative_cap')
  return reasons
}

/** The vault's own listing of a market, or why there is none. */
function listed({ state, markets }: Books, marketAddress: string): Allocation | string {
  if (!markets.some(({ address }) => same(address, marketAddress))) return 'market_not_found'
  return state.allocations.find(({ market }) => same(market, marketAddress)) ?? 'market_not_listed'
}

/** What the assets in the vault must not fall below: the buffer, and what the queue needs. */
function judgeIdle({ state, idle }: Books): readonly string[] {
  if (idle < 0n) return ['insufficient_idle']
  const buffer = (state.totalAssets * BigInt(state.liquidityBufferBps) + BPS - 1n) / BPS
  return idle < buffer + state.queuedAssets ? ['below_liquidity_buffer'] : []
}
