import type { Decision, InFlight, Moment } from '../agent.ts'
import { type Due, whyDue } from '../protocol/due.ts'
import { reconcile } from './declared/reconcile.ts'
import { isFor } from './exposure.ts'
import type { ManagerPolicy } from './policy.ts'
import type { LotSeen, ManagerSeen } from './seen.ts'

type Seen = Moment & ManagerSeen
type About = Omit<InFlight, 'held'>

/** Nothing is lost while a fund or a vault is not yet as declared; a quarter of an hour is a person's answer, and more. */
const DECLARED_GRACE_MS = 900_000
/** A pause keeps holders safe from what is happening now. */
const PAUSE_GRACE_MS = 60_000
/** A person has to act on chain: an hour is a working one. */
const BY_HAND_GRACE_MS = 3_600_000

/** What is done, what the policy wants left alone, and what others have to do. */
const CHOSEN: ReadonlySet<string> = new Set([
  ...[
    'before_last_call',
    'our_bid_leads',
    'lane_not_allowed',
    'colleague_bids',
    'seller_is_ours',
    'lot_closed',
  ],
  ...[
    'experience_against',
    'no_fund',
    'paused_by_another',
    'pause_stands',
    'as_declared',
    'loosening_not_allowed',
  ],
  // One step at a time: what it waits for is owed, and is late by itself.
  ...['waits_its_turn', 'offered_last', 'blocks_first'],
  // Each allows less than the least that leads.
  ...['above_our_limit', 'above_worth_once_won', 'not_funded', 'epoch_budget_used', 'above_channel_price'],
  ...['above_channel_position', 'above_position_limit', 'borrower_concentrated', 'market_concentrated'],
  'lane_concentrated',
  // Whoever feeds the oracle has to act.
  'oracle_not_healthy',
  // What could not be done in time was late before.
  'closes_too_soon',
])

/** What keeps a fund from any bid because its figures are not known, or not as they should be. */
const UNJUDGED: ReadonlySet<string> = new Set([
  ...['fund_not_read', 'not_manager', 'epoch_differs', 'funding_unknown', 'funding_deadline_unknown'],
  ...['holdings_unknown', 'quote_asset_differs', 'decimals_differ'],
])
/** What was deployed and is not in the run configuration yet: a person has to write it there. */
const TO_PIN: ReadonlySet<string> = new Set(['vault_not_pinned', 'channel_not_pinned'])
/** Lots that it could bid for close within minutes. */
const FUND_GRACE_MS = 120_000

/** What the asset manager owes: bids while they count, what is declared, and a fund's money that waits for a person. Pure. */
export function due(seen: Seen, { passedOver }: Decision, policy: ManagerPolicy): readonly Due[] {
  const known = { ...seen, passedOver }
  const owes = (one: Omit<Due, 'message'>, isAbout: (one: About) => boolean): Due => {
    const why = whyDue<About>(known, isAbout, [one.subject], 'It was proposed just now.')
    return { ...one, ...why, ...(CHOSEN.has(why.check ?? '') ? { chosen: true } : {}) }
  }
  const bids = seen.lots
    .filter(({ row }) => row.status === 'open')
    .map((lot) =>
      owes({ what: 'lot bid', subject: lot.row.id, ...closing(lot, policy, seen) }, (one) =>
        isFor(one, lot.row),
      ),
    )
  const declared = reconcile(seen, policy.declared)
    .filter(({ direction, outcome }) => direction !== 'none' || 'workflowType' in outcome)
    .map(({ subject, outcome }) => {
      const isPause = 'kind' in outcome && outcome.kind === 'pause'
      const place = { what: isPause ? 'pause' : 'declared change', subject, sinceMs: null }
      const graceMs = isPause ? PAUSE_GRACE_MS : DECLARED_GRACE_MS
      return owes({ ...place, graceMs }, (one) => one.subject === subject)
    })
  const byHand = (
    what: string,
    graceMs: number,
    isSo: (check: string) => boolean,
    of = 'fund:',
  ): readonly Due[] =>
    passedOver
      .filter(({ subject, check }) => subject.startsWith(of) && isSo(check))
      .map(({ subject, check, message }) => ({ what, subject, sinceMs: null, graceMs, check, message }))
  return [
    ...bids,
    ...declared,
    ...byHand('fund to judge', FUND_GRACE_MS, (check) => UNJUDGED.has(check)),
    ...byHand('release by hand', BY_HAND_GRACE_MS, (check) => check === 'reservation_not_released'),
    ...byHand('pin by hand', BY_HAND_GRACE_MS, (check) => TO_PIN.has(check), 'settings:'),
  ]
}

/** Of the time in which a bid counts and lands, half may go by; one that opened within it was not due before it was seen. */
function closing(
  { row }: LotSeen,
  { bidding: { lastCallS, closeMarginS } }: ManagerPolicy,
  { nowMs }: Pick<Seen, 'nowMs'>,
): Pick<Due, 'sinceMs' | 'untilMs' | 'graceMs'> {
  const closesAtMs = Date.parse(row.closesAt)
  const sinceMs = closesAtMs - lastCallS * 1_000
  return {
    sinceMs: sinceMs > nowMs ? sinceMs : null,
    untilMs: closesAtMs - closeMarginS * 1_000,
    graceMs: (lastCallS - closeMarginS) * 500,
  }
}
