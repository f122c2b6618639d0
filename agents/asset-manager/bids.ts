import type { Proposal } from '../../src/workflow/proposal.ts'
import { type Decision, type Moment, type PassedOver, passOver, type Stop } from '../agent.ts'
import { bidFor, type Candidate, candidateOf, withFee } from './bid.ts'
import { isFor, type Purse, purseOf, unreleased } from './exposure.ts'
import { judgeFund } from './fund.ts'
import { judgeLot } from './lot.ts'
import type { ManagerPolicy } from './policy.ts'
import type { LotSeen, ManagerSeen } from './seen.ts'

type Seen = Moment & ManagerSeen

/** One of our funds that could bid for a lot. */
type Choice = { readonly candidate: Candidate; readonly purse: Purse }

/** A lot with the funds that could bid for it, at least one. */
type BiddableLot = { readonly subject: string; readonly choices: readonly [Choice, ...Choice[]] }

/**
 * Choose the lots to bid for: the most gain for what is bid first, each by the first of our funds that can. Pure. At
 * most one bid a lot, whatever the number of funds.
 */
export function chooseBids(seen: Seen, policy: ManagerPolicy): Decision {
  const { purses, passedOver } = pursesOf(seen, policy)
  const wanted: BiddableLot[] = []
  // A lot that is over is still counted in what our funds hold; there is nothing to decide about it.
  for (const lot of seen.lots.filter(({ row }) => row.status === 'open')) {
    const choices = choicesFor(lot, purses, seen, policy)
    if ('check' in choices) passedOver.push(passOver(lot.row.id, choices))
    else wanted.push({ subject: lot.row.id, choices })
  }
  const proposals: Proposal[] = []
  for (const { subject, choices } of wanted.toSorted((one, other) => byGain(one, other, policy))) {
    const bid = firstBid(choices, seen, policy)
    if ('check' in bid) passedOver.push(passOver(subject, bid))
    else proposals.push(bid)
  }
  return { proposals, passedOver }
}

/** What each fund of ours can do, and why the others can do nothing. */
function pursesOf(seen: Seen, policy: ManagerPolicy) {
  const passedOver: PassedOver[] = []
  const purses: Purse[] = []
  for (const fund of seen.funds.filter(({ row }) => row.managerAddress === seen.signer)) {
    const waiting = unreleased(fund, seen)
    if (waiting !== null) passedOver.push(passOver(`fund:${fund.row.address}:reserved`, waiting))
    const judged = judgeFund(fund, seen, policy)
    const purse = 'check' in judged ? judged : purseOf(judged, seen)
    if ('check' in purse) passedOver.push(passOver(`fund:${fund.row.address}`, purse))
    else purses.push(purse)
  }
  return { purses, passedOver }
}

function choicesFor(
  lot: LotSeen,
  purses: readonly Purse[],
  seen: Seen,
  policy: ManagerPolicy,
): BiddableLot['choices'] | Stop {
  if (seen.inFlight.some((one) => isFor(one, lot.row))) {
    return { check: 'already_in_flight', message: 'A bid of ours for this lot is under way.' }
  }
  const judged = judgeLot(lot, seen, policy)
  if ('check' in judged) return judged
  const choices: Choice[] = []
  let refused: Stop | undefined
  for (const purse of purses) {
    const candidate = candidateOf(judged, purse, seen, policy.bidding)
    if (candidate === null) continue
    if ('check' in candidate) refused ??= candidate
    else choices.push({ candidate, purse })
  }
  const [first, ...others] = choices
  if (first !== undefined) return [first, ...others]
  const message = `None of our funds may buy in ${lot.row.quoteAssetAddress} now.`
  return refused ?? { check: 'no_fund', message }
}

/** The bid of the first fund that can; else what stops the first of them. */
function firstBid(
  [first, ...others]: BiddableLot['choices'],
  seen: Seen,
  policy: ManagerPolicy,
): Proposal | Stop {
  const bid = bidFor(first.candidate, first.purse, seen, policy.bidding)
  if (!('check' in bid)) return bid
  for (const { candidate, purse } of others) {
    const other = bidFor(candidate, purse, seen, policy.bidding)
    if (!('check' in other)) return other
  }
  return bid
}

/** Highest gain for each unit bid first; ties by name, so that they never move. */
function byGain(one: BiddableLot, other: BiddableLot, { bidding }: ManagerPolicy): number {
  const gainOf = ({ choices: [{ candidate }] }: BiddableLot) =>
    candidate.value.wonAssets - withFee(candidate.wantedAssets, bidding)
  const bidOf = ({ choices: [{ candidate }] }: BiddableLot) => candidate.wantedAssets
  const more = gainOf(other) * bidOf(one) - gainOf(one) * bidOf(other)
  if (more !== 0n) return more < 0n ? -1 : 1
  return one.subject < other.subject ? -1 : 1
}
