import { type Address, hexToString } from 'viem'
import type { ActivityResource, EligibilityResource } from '../../src/service/contract/resources.ts'
import { activityOf } from './activity.ts'
import type { ActivityContext, ActivityEntry } from './activity-entry.ts'
import { type ChannelBook, EMPTY_CHANNEL_BOOK, foldChannels } from './channel-book.ts'
import { EMPTY_FUND_BOOK, type FundBook, foldFunds } from './fund-book.ts'
import { type IndexedLog, lower } from './logs.ts'
import { EMPTY_NAV_BOOK, foldNav, type NavBook } from './nav-book.ts'
import { EMPTY_TRADE_BOOK, foldTrades, type TradeBook } from './trade-book.ts'
import { EMPTY_VAULT_BOOK, foldVaults, type VaultBook } from './vault-book.ts'

/** A claim as the logs have it; when it may be settled follows from the market's delay. */
type ClaimEntry = {
  readonly marketAddress: Address
  readonly claimId: string
  readonly liquidator: Address
  readonly recipient: Address
  readonly vaultAddress: Address
  readonly borrowerAddress: Address
  readonly collateralAssets: string
  readonly openedAtS: number
  readonly settled: boolean
}

/** What the logs up to a block say: who to ask the contracts about, and what those no longer show. */
export type Book = {
  /** By market, everyone who deposited or borrowed there, with the vaults that ever lent to it. */
  readonly borrowers: ReadonlyMap<Address, ReadonlyMap<Address, ReadonlySet<Address>>>
  /** By `market:claim`, oldest first. */
  readonly claims: ReadonlyMap<string, ClaimEntry>
  /** By `wallet:action:scope`. */
  readonly eligibility: ReadonlyMap<string, EligibilityResource>
  /** What is on offer, and its bids. */
  readonly trades: TradeBook
  readonly vaults: VaultBook
  readonly channels: ChannelBook
  readonly funds: FundBook
  readonly nav: NavBook
  /** Oldest first, at most {@link ACTIVITY_MAX}. */
  readonly activity: readonly ActivityEntry[]
}

/** The newest activity that is kept: about half an hour of a busy sandbox. */
export const ACTIVITY_MAX = 5_000

/** Settled claims that are kept, so that its liquidator can still see it. */
export const SETTLED_CLAIMS_MAX = 1_000

export const EMPTY_BOOK: Book = {
  borrowers: new Map(),
  claims: new Map(),
  eligibility: new Map(),
  trades: EMPTY_TRADE_BOOK,
  vaults: EMPTY_VAULT_BOOK,
  channels: EMPTY_CHANNEL_BOOK,
  funds: EMPTY_FUND_BOOK,
  nav: EMPTY_NAV_BOOK,
  activity: [],
}

type OpenBook = {
  readonly borrowers: Map<Address, Map<Address, ReadonlySet<Address>>>
  readonly claims: Map<string, ClaimEntry>
  readonly eligibility: Map<string, EligibilityResource>
  readonly activity: ActivityEntry[]
}

/** What folding needs beside the logs. */
export type FoldContext = ActivityContext & {
  /** The deployment's contracts. Vaults, channels, funds and NAV oracles are added as they are created; others' logs are left out. */
  readonly emitters: ReadonlySet<Address>
}

/** Return the book with these logs added, in chain order. Pure: the given book stays as it is. */
export function foldLogs(book: Book, all: readonly IndexedLog[], context: FoldContext): Book {
  if (all.length === 0) return book
  const vaults = foldVaults(book.vaults, all)
  const { emitters } = context
  const channels = foldChannels(book.channels, all, {
    // Few logs are creations, so what the vaults were before one is worked out again for it.
    vaultsBefore: (index) => foldVaults(book.vaults, all.slice(0, index)),
    deployed: emitters,
  })
  const funds = foldFunds(book.funds, all, emitters)
  const nav = foldNav(book.nav, all, emitters)
  const known = [emitters, vaults, channels, funds, nav.assets]
  const logs = all.filter(({ address }) => known.some((some) => some.has(address)))
  const open: OpenBook = {
    borrowers: new Map([...book.borrowers].map(([market, vaults]) => [market, new Map(vaults)])),
    claims: new Map(book.claims),
    eligibility: new Map(book.eligibility),
    activity: [...book.activity],
  }
  for (const log of logs) {
    noteWhatChanged(open, log, context.chainId)
    const entry = activityOf(log, context, channels)
    if (entry !== null) open.activity.push(entry)
  }
  open.activity.splice(0, open.activity.length - ACTIVITY_MAX)
  forgetOldSettledClaims(open.claims)
  return { ...open, vaults, channels, funds, nav, trades: foldTrades(book.trades, logs) }
}

function noteWhatChanged(open: OpenBook, log: IndexedLog, chainId: number): void {
  const { event, address } = log
  switch (event.eventName) {
    case 'CollateralDeposited':
      noteBorrower(open, address, lower(event.args.borrower), [])
      return
    case 'Borrowed':
      noteBorrower(open, address, lower(event.args.borrower), [lower(event.args.vault)])
      return
    case 'Liquidated': {
      const claimId = String(event.args.claimId)
      open.claims.set(`${address}:${claimId}`, {
        marketAddress: address,
        claimId,
        liquidator: lower(event.args.liquidator),
        recipient: lower(event.args.recipient),
        vaultAddress: lower(event.args.vault),
        borrowerAddress: lower(event.args.borrower),
        collateralAssets: String(event.args.collateralSeized),
        openedAtS: log.timestampS,
        settled: false,
      })
      return
    }
    case 'ClaimSettled': {
      const key = `${address}:${event.args.claimId}`
      const claim = open.claims.get(key)
      if (claim !== undefined) open.claims.set(key, { ...claim, settled: true })
      return
    }
    case 'AuthorizationSet': {
      const row: EligibilityResource = {
        chainId,
        walletAddress: lower(event.args.wallet),
        actionType: hexToString(event.args.action, { size: 32 }),
        scopeAddress: lower(event.args.scope),
        authorizationStatus: event.args.authorized ? 'authorized' : 'revoked',
      }
      open.eligibility.set(eligibilityId(row), row)
    }
  }
}

/** Return the activity of a market, a vault, both or all, newest first. Pure. */
export function activityIn(
  book: Book,
  filter: { readonly marketAddress?: Address; readonly vaultAddress?: Address } = {},
): readonly ActivityResource[] {
  const market = filter.marketAddress === undefined ? null : lower(filter.marketAddress)
  const vault = filter.vaultAddress === undefined ? null : lower(filter.vaultAddress)
  return book.activity
    .filter((entry) => market === null || entry.marketAddress === market)
    .filter((entry) => vault === null || entry.vaultAddress === vault)
    .map((entry) => entry.resource)
    .reverse()
}

/** Return the activity in the blocks after this one, oldest first. Pure. */
export const activityAfter = (book: Book, blockNumber: bigint): readonly ActivityEntry[] =>
  book.activity.filter(({ resource }) => BigInt(resource.blockNumber ?? 0) > blockNumber)

/** Return the id of an eligibility row: `wallet:action:scope`. Pure. */
export const eligibilityId = (row: EligibilityResource): string =>
  `${row.walletAddress}:${row.actionType}:${row.scopeAddress}`

function noteBorrower(open: OpenBook, market: Address, borrower: Address, lenders: readonly Address[]): void {
  const vaults = open.borrowers.get(market) ?? new Map<Address, ReadonlySet<Address>>()
  vaults.set(borrower, new Set([...(vaults.get(borrower) ?? []), ...lenders]))
  open.borrowers.set(market, vaults)
}

function forgetOldSettledClaims(claims: Map<string, ClaimEntry>): void {
  const settled = [...claims].filter(([, claim]) => claim.settled)
  for (const [key] of settled.slice(0, Math.max(0, settled.length - SETTLED_CLAIMS_MAX))) claims.delete(key)
}
