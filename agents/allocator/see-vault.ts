import type { Address } from 'viem'
import type { MarketResource } from '../../src/service/contract/resources.ts'
import type { VaultResource } from '../../src/service/contract/vault-resources.ts'
import { EXIT_TERM_KINDS } from '../../src/service/contract/workflow-inputs.ts'
import type { Answer } from '../agent.ts'
import { ALLOCATOR_ROLE, marketViews, vaultViews } from '../protocol/lending-views.ts'
import type { Wave } from '../protocol/reading.ts'
import type { AllocationSeen, ExitSeen, RequestSeen, VaultBooks } from './seen.ts'

type Answers = readonly Answer[]

/** Of a longer queue the head is read, and what lies behind it counts as due. */
export const REQUESTS_MAX = 32n

/** Ask a vault for its books and its markets; null when one answer is missing: half of a vault says nothing. */
export function askVault(wave: Wave, address: Address, signer: Address) {
  const asset = wave.ask(vaultViews, address, 'asset', [])
  const totalAssets = wave.ask(vaultViews, address, 'totalAssets', [])
  const totalShares = wave.ask(vaultViews, address, 'totalSupply', [])
  const idleAssets = wave.ask(vaultViews, address, 'idleAssets', [])
  const queuedAssets = wave.ask(vaultViews, address, 'queuedAssets', [])
  const queueHead = wave.ask(vaultViews, address, 'queueHead', [])
  const queueEnd = wave.ask(vaultViews, address, 'queueEnd', [])
  const bufferBps = wave.ask(vaultViews, address, 'liquidityBufferBps', [])
  const markets = wave.ask(vaultViews, address, 'markets', [])
  const isAllocator = wave.ask(vaultViews, address, 'hasRole', [ALLOCATOR_ROLE, signer])
  const exitTerms = wave.ask(vaultViews, address, 'exitTerms', [])
  return (answers: Answers): { readonly books: VaultBooks; readonly markets: readonly Address[] } | null => {
    const terms = exitTerms(answers)
    const listed = markets(answers)
    const books = {
      asset: asset(answers),
      totalAssets: totalAssets(answers),
      totalShares: totalShares(answers),
      idleAssets: idleAssets(answers),
      queuedAssets: queuedAssets(answers),
      queueHead: queueHead(answers),
      queueEnd: queueEnd(answers),
      bufferBps: bufferBps(answers),
      isAllocator: isAllocator(answers),
    }
    if (terms === null || listed === null || !isWhole(books)) return null
    const exit = {
      kind: EXIT_TERM_KINDS[terms.kind] ?? null,
      noticeS: Number(terms.noticeSeconds),
      maturityS: Number(terms.maturityTimestamp),
    }
    return {
      books: { ...books, asset: lower(books.asset), exit, requests: null },
      markets: listed.map(lower),
    }
  }
}

type Whole<T> = { readonly [Key in keyof T]: NonNullable<T[Key]> }
const isWhole = <T extends object>(figures: T): figures is T & Whole<T> =>
  Object.values(figures).every((figure) => figure !== null)

/** Ask for the oldest requests of a vault's queue. */
export function askRequests(wave: Wave, address: Address, { queueHead, queueEnd }: VaultBooks) {
  const waiting = queueEnd - queueHead
  const count = Number(waiting < REQUESTS_MAX ? waiting : REQUESTS_MAX)
  const asked = Array.from({ length: count }, (_, index) =>
    wave.ask(vaultViews, address, 'request', [queueHead + BigInt(index)]),
  )
  return (answers: Answers): readonly RequestSeen[] | null => {
    const found = asked.map((read) => read(answers))
    if (!found.every((request) => request !== null)) return null
    return dueWithLater(found.map(({ dueAt, shares }) => ({ dueAtS: Number(dueAt), shares })))
  }
}

/** Tell when each request of a queue may be paid: with any behind it that is due, whether it is due itself or not. Pure. */
export const dueWithLater = (requests: readonly RequestSeen[]): readonly RequestSeen[] =>
  requests.map((request, index) => ({
    ...request,
    dueAtS: Math.min(...requests.slice(index).map(({ dueAtS }) => dueAtS)),
  }))

type AllocationReading = Pick<AllocationSeen, 'listing' | 'heldAssets' | 'cashAssets'>

/** Ask what a vault has in a market, and under which caps. */
export function askAllocation(wave: Wave, vault: Address, market: Address) {
  const listing = wave.ask(vaultViews, vault, 'listing', [market])
  const held = wave.ask(marketViews, market, 'allocatedAssets', [vault])
  const partition = wave.ask(marketViews, market, 'partition', [vault])
  return (answers: Answers): AllocationReading => ({
    listing: listing(answers),
    heldAssets: held(answers),
    cashAssets: partition(answers)?.[0] ?? null,
  })
}

/** Join it with what the service says: the vault's row has the switches, the market's the caps. Pure. */
export function allocationLook(
  vault: Address,
  market: Address,
  vaultRow: VaultResource | undefined,
  marketRow: MarketResource | undefined,
  reading: AllocationReading,
): AllocationSeen {
  const own = vaultRow?.allocations?.find((one) => one.marketAddress === market)
  const terms = marketRow?.allocators?.find((one) => one.vaultAddress === vault)
  const cap = terms?.absoluteCapAssets
  return {
    marketAddress: market,
    ...reading,
    listed: own?.listed ?? null,
    approved: own?.approved ?? null,
    allocationEnabled: own?.allocationEnabled ?? null,
    absoluteCapAssets: cap == null ? null : BigInt(cap),
    relativeCapBps: terms?.relativeCapBps ?? null,
  }
}

/** What the service says of how holders leave. Pure. */
export function exitSeen({ portfolioLiquidity: liquidity }: VaultResource): ExitSeen {
  const maturityMs =
    liquidity?.maturityTimestamp == null ? Number.NaN : Date.parse(liquidity.maturityTimestamp)
  const noticeS = liquidity?.noticeSeconds ?? ''
  return {
    kind: liquidity?.exitTermKind ?? null,
    noticeS: /^[0-9]{1,12}$/.test(noticeS) ? Number(noticeS) : null,
    maturityMs: Number.isNaN(maturityMs) ? null : maturityMs,
    durationCompatible: liquidity?.durationCompatible ?? null,
    stressCoverageStatus: liquidity?.stressCoverageStatus ?? null,
    unverifiedMarketCount: liquidity?.unverifiedMarketCount ?? null,
    blockedReason: liquidity?.blockedReason ?? null,
  }
}

const lower = (address: Address): Address => address.toLowerCase() as Address
