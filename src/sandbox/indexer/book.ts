import { type Address, hexToString, zeroAddress } from 'viem'
import type { EligibilityResource } from '../../service/resources.ts'
import { type ActivityContext, type ActivityEntry, activityOf } from './activity.ts'
import type { Pair } from './chain-reader.ts'
import { type IndexedLog, lower } from './logs.ts'

/** A claim as the logs tell it; when it may be settled follows from the market's delay. */
export type ClaimEntry = {
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

/** What the logs up to a block say: who to ask the contracts about, and what they no longer tell. */
export type Book = {
  /** By market: whoever deposited (paired with the zero address) or borrowed there. */
  readonly pairs: ReadonlyMap<Address, ReadonlyMap<string, Pair>>
  /** By `market:claim`, oldest first. */
  readonly claims: ReadonlyMap<string, ClaimEntry>
  /** By `wallet:action:scope`. */
  readonly eligibility: ReadonlyMap<string, EligibilityResource>
  /** Oldest first, at most {@link ACTIVITY_MAX}. */
  readonly activity: readonly ActivityEntry[]
}

/** The newest activity that is kept: about half an hour of a busy sandbox. */
export const ACTIVITY_MAX = 5_000
/** Settled claims that are kept, so that whoever settled one can still see it. */
export const SETTLED_CLAIMS_MAX = 1_000

export const EMPTY_BOOK: Book = {
  pairs: new Map(),
  claims: new Map(),
  eligibility: new Map(),
  activity: [],
}

type OpenBook = {
  readonly pairs: Map<Address, Map<string, Pair>>
  readonly claims: Map<string, ClaimEntry>
  readonly eligibility: Map<string, EligibilityResource>
  readonly activity: ActivityEntry[]
}

/** Return the book with these logs added, in chain order. Pure: the given book stays as it is. */
export function foldLogs(book: Book, logs: readonly IndexedLog[], context: ActivityContext): Book {
  if (logs.length === 0) return book
  const open: OpenBook = {
    pairs: new Map([...book.pairs].map(([market, pairs]) => [market, new Map(pairs)])),
    claims: new Map(book.claims),
    eligibility: new Map(book.eligibility),
    activity: [...book.activity],
  }
  for (const log of logs) {
    noteWhatChanged(open, log, context.chainId)
    const entry = activityOf(log, context)
    if (entry !== null) open.activity.push(entry)
  }
  open.activity.splice(0, open.activity.length - ACTIVITY_MAX)
  forgetOldSettledClaims(open.claims)
  return open
}

function noteWhatChanged(open: OpenBook, log: IndexedLog, chainId: number): void {
  const { event, address } = log
  switch (event.eventName) {
    case 'CollateralDeposited':
      notePair(open, address, { vault: zeroAddress, borrower: lower(event.args.borrower) })
      return
    case 'Borrowed':
      notePair(open, address, { vault: lower(event.args.vault), borrower: lower(event.args.borrower) })
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

/** Return the id of an eligibility row: `wallet:action:scope`. Pure. */
export const eligibilityId = (row: EligibilityResource): string =>
  `${row.walletAddress}:${row.actionType}:${row.scopeAddress}`

function notePair(open: OpenBook, market: Address, pair: Pair): void {
  const pairs = open.pairs.get(market) ?? new Map<string, Pair>()
  pairs.set(`${pair.vault}:${pair.borrower}`, pair)
  open.pairs.set(market, pairs)
}

function forgetOldSettledClaims(claims: Map<string, ClaimEntry>): void {
  const settled = [...claims].filter(([, claim]) => claim.settled)
  for (const [key] of settled.slice(0, Math.max(0, settled.length - SETTLED_CLAIMS_MAX))) claims.delete(key)
}
