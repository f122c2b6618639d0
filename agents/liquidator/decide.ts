import { inputText } from '../../src/workflow/proposal.ts'
import type { Decision, InFlight, Observation, PassedOver } from '../agent.ts'
import { chooseAffordable } from './affordable.ts'
import { fundsOf } from './funds.ts'
import { type Candidate, facilitySubject, judge, positionKey } from './judge.ts'
import { judgeMarket } from './market.ts'
import type { LiquidatorPolicy } from './policy.ts'
import { type BackOffs, backOffsOf } from './races.ts'
import type { LiquidatorSeen } from './seen.ts'
import { exitSubject, sell } from './sell.ts'
import { claimSubject, settle } from './settle.ts'

/**
 * Decide what to liquidate, which claims to settle and what to sell, and say of everything else why not. Pure.
 * Liquidations come first, the most profitable for what is repaid at the head: a claim waits without loss. It asks to
 * look again when a claim can be settled or a lost race has been waited for.
 */
export function decide(seen: Observation<LiquidatorSeen>, policy: LiquidatorPolicy): Decision {
  if (!seen.freshness.ok) return passAllOver(seen)
  const funds = fundsOf(seen, policy)
  const busy = busyWith(seen.inFlight)
  const backOffs = backOffsOf(seen.recent, seen.nowMs, policy)
  const markets = new Map(
    seen.markets.map((market) => [market.address, judgeMarket(market, seen, policy, funds.inventoryKnown)]),
  )
  const candidates: Candidate[] = []
  const passedOver: PassedOver[] = []
  for (const facility of seen.facilities) {
    const judged = judge(
      facility,
      markets.get(facility.marketAddress),
      policy,
      busy,
      backOffs,
      seen.experience,
    )
    if ('check' in judged) passedOver.push(judged)
    else candidates.push(judged)
  }
  const liquidations = chooseAffordable(candidates, funds, seen, policy)
  const proposals = [...liquidations.proposals]
  passedOver.push(...liquidations.passedOver)
  for (const claim of seen.claims) {
    const settlement = settle(claim, seen, busy, funds, policy)
    if ('check' in settlement) passedOver.push(settlement)
    else proposals.push(settlement)
  }
  for (const exit of seen.exits) {
    const sale = sell(exit, markets.get(exit.marketAddress), seen, policy, { busy, backOffs, funds })
    if (sale === null) continue
    if ('check' in sale) passedOver.push(sale)
    else proposals.push(sale)
  }
  const times = [...claimTimes(seen), ...backOffTimes(backOffs)]
  return { proposals, passedOver, ...(times.length === 0 ? {} : { lookAgainAtMs: Math.min(...times) }) }
}

/** When the claims that cannot be settled yet can be, by our clock. */
const claimTimes = ({ claims, chain, nowMs }: Observation<LiquidatorSeen>): readonly number[] =>
  claims
    .filter(({ settleableAtS }) => settleableAtS > chain.timestampS)
    .map(({ settleableAtS }) => nowMs + (settleableAtS - chain.timestampS) * 1_000)

const backOffTimes = ({ subjects, markets }: BackOffs): readonly number[] =>
  [...subjects.values(), ...markets.values()].map(({ untilMs }) => untilMs)

function passAllOver({ freshness, facilities, claims, exits }: Observation<LiquidatorSeen>): Decision {
  const subjects = [
    ...facilities.map(facilitySubject),
    ...claims.map(claimSubject),
    ...exits.map(exitSubject),
  ]
  const check = 'observation_not_fresh'
  const reason = { ageMs: freshness.ageMs }
  return {
    proposals: [],
    passedOver: subjects.map((subject) => ({ subject, check, message: freshness.message, reason })),
  }
}

/** Subjects of workflows under way, and positions that one of them liquidates: nothing is proposed twice. */
function busyWith(inFlight: readonly InFlight[]): ReadonlySet<string> {
  return new Set(
    inFlight.flatMap(({ subject, input }) => {
      const marketAddress = inputText(input, 'marketAddress')
      const borrowerAddress = inputText(input, 'borrowerAddress')
      return marketAddress === undefined || borrowerAddress === undefined
        ? [subject]
        : [subject, positionKey(marketAddress, borrowerAddress)]
    }),
  )
}
