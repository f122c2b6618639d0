/**
 * What a role shows of what it sees: rows for people, in texts that carry their units, with the few numbers that a page
 * draws or sorts by. `check` and `message` are what the last decision said of the subject; null where it said nothing.
 */

/** What was decided of a subject the last time. */
export type Judged = { readonly check: string | null; readonly message: string | null }

/** All that a borrower owes in one market, the nearest to liquidation first. */
export type PositionRow = Judged & {
  /** The market and the borrower; what was decided is about each of its debts. */
  readonly subject: string
  /** For people, for example `sBTC/sUSD`. */
  readonly market: string
  readonly borrower: string
  /** Null where it is not known; below 1 it may be liquidated. */
  readonly health: number | null
  readonly debt: string
  readonly debtUsd: number | null
  /** Collateral is one for all of the debts. */
  readonly collateral: string
  /** Of one collateral token, in the loan token: the oracle's, and that below which it may be liquidated. */
  readonly price: string
  readonly liquidatedBelow: string
  /** Whom it is owed to, where that are several. */
  readonly debts: readonly { readonly vault: string; readonly debt: string }[]
}

/** What a vault has in one market, and what it is to have there. Parts are of all that the vault has. */
export type AllocationRow = Judged & {
  readonly subject: string
  readonly vault: string
  readonly market: string
  readonly held: string
  readonly target: string
  readonly heldPart: number
  readonly targetPart: number
  /** Null where no cap is known. */
  readonly capPart: number | null
}

/** One report: what the oracle has, and what its sources say now within the band that they are believed in. */
export type NavRow = Judged & {
  readonly subject: string
  /** Null where none was accepted yet. */
  readonly reported: string | null
  readonly reportedAtS: number | null
  readonly reportedValue: number | null
  readonly nextDueAtS: number | null
  /** Around the median of the sources: who lies outside does not count. */
  readonly bandMin: number | null
  readonly bandMax: number | null
  /** How many must agree, and how far apart, for people. */
  readonly rule: string
  readonly sources: readonly {
    readonly source: string
    /** Null where it states nothing that is known. */
    readonly text: string | null
    readonly value: number | null
    readonly asOfS: number | null
    /** Why it counts for nothing; null where it speaks. */
    readonly check: string | null
  }[]
}

/** Something that is bid for, with the bids that are shown, the highest first. */
export type LotRow = Judged & {
  readonly subject: string
  readonly venue: 'rfq' | 'auction' | 'acquisition'
  readonly what: string
  readonly reserve: string
  readonly reserveAmount: number
  readonly closesAtS: number
  readonly status: string
  /** The most that we would bid, where the last decision came so far. */
  readonly limit: string | null
  readonly limitAmount: number | null
  readonly bids: readonly {
    readonly who: string
    readonly ours: boolean
    readonly text: string
    readonly amount: number
    readonly status: string
  }[]
}

/** What one role shows; what it does not see is absent. */
export type Board = {
  readonly positions?: readonly PositionRow[]
  readonly allocations?: readonly AllocationRow[]
  readonly navs?: readonly NavRow[]
  readonly lots?: readonly LotRow[]
}

/** A price to announce when it changes. */
export type PriceSeen = { readonly id: string; readonly symbol: string; readonly priceWad: bigint }

/** More rows than these are not looked at by anybody: those that come first are shown. */
export const ROWS_MAX = 100

/** Order lots: what closes first before all, and what is closed last, the newest first. Pure. */
export const byClosing =
  (nowS: number) =>
  (one: LotRow, other: LotRow): number => {
    const [isOver, isOtherOver] = [one.closesAtS <= nowS, other.closesAtS <= nowS]
    if (isOver !== isOtherOver) return isOver ? 1 : -1
    return isOver ? other.closesAtS - one.closesAtS : one.closesAtS - other.closesAtS
  }

/** A decision, as far as it is shown. */
type Decided = {
  readonly proposals: readonly { readonly subject: string; readonly summary: string }[]
  readonly passedOver: readonly {
    readonly subject: string
    readonly check: string
    readonly message: string
  }[]
}

/** Find what a decision said of a subject, by the first of these names that it said anything of. Pure. */
export function judgedBy({ proposals, passedOver }: Decided): (...subjects: readonly string[]) => Judged {
  const judgements = new Map<string, Judged>()
  for (const { subject, check, message } of passedOver) judgements.set(subject, { check, message })
  for (const { subject, summary } of proposals)
    judgements.set(subject, { check: 'proposed', message: summary })
  return (...subjects) =>
    subjects.map((subject) => judgements.get(subject)).find((found) => found !== undefined) ?? {
      check: null,
      message: null,
    }
}
