import { plural, usd } from '../../src/readable.js'
import { counted } from '../../src/units.ts'
import { inputText } from '../../src/workflow/proposal.ts'
import type { Decision, InFlight, Observation } from '../agent.ts'
import { type Due, type OwnBudget, whyDue } from '../protocol/due.ts'
import { healthFactorWad, tokenUnit, WAD } from '../protocol/health.ts'
import { tokens } from '../protocol/text.ts'
import { HOUR_MS, hourRows } from './funds.ts'
import { facilitySubject, positionKey } from './judge.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { FacilitySeen, LiquidatorSeen, MarketSeen } from './seen.ts'
import { exitSubject } from './sell.ts'
import { claimSubject } from './settle.ts'

type Seen = Observation<LiquidatorSeen>

/** Rivals take what pays within a block or two; five of twelve seconds are a workflow from decision to block, twice. */
const DEBT_GRACE_MS = 60_000
/** Units are proved again every few minutes; in a market that stays unproved for a minute nobody is liquidated by us. */
const MARKET_GRACE_MS = 60_000
/** A claim is ours alone and loses nothing while it waits, but its collateral moves with the market. */
const CLAIM_GRACE_MS = 600_000
/** What was seized keeps the market's risk and fills the inventory, which ends liquidations; a venue may be thin for a while. */
const SALE_GRACE_MS = 3_600_000

/** What the policy wants left alone, what nobody can do, and what comes next by itself. */
const CHOSEN: ReadonlySet<string> = new Set([
  ...['profit_below_floor', 'others_bring_more', 'borrower_taken'],
  // Whoever was first, or the price: the next look decides again.
  ...['lost_race', 'price_moved', 'reverted_on_chain'],
  ...['collateral_not_allowed', 'loan_not_allowed', 'bad_debt_avoided', 'bad_debt_above_limit'],
  ...['market_paused', 'market_not_live', 'recovery_blocked', 'claim_not_worth_gas'],
])

/** What the liquidator owes: debt that can be liquidated, markets that it can judge, claims to settle, and sales. Pure. */
export function due(seen: Seen, decision: Decision, policy: LiquidatorPolicy): readonly Due[] {
  const known = { ...seen, passedOver: decision.passedOver }
  const markets = new Map(seen.markets.map((market) => [market.address, market]))
  const owes = (
    one: Omit<Due, 'message' | 'check' | 'chosen'>,
    isAbout: (workflow: Pick<InFlight, 'subject' | 'input'>) => boolean,
    otherwise: string,
  ): Due => {
    const why = whyDue(known, isAbout, [one.subject], otherwise)
    return { ...one, ...why, ...(CHOSEN.has(why.check ?? '') ? { chosen: true } : {}) }
  }
  const debts = seen.facilities
    .filter((facility) => isLiquidatable(facility, markets.get(facility.marketAddress)))
    .map((facility) => {
      const place = { what: 'liquidatable debt', subject: facilitySubject(facility), graceMs: DEBT_GRACE_MS }
      return owes(
        { ...place, sinceMs: null, ...worthOf(facility, markets.get(facility.marketAddress)) },
        isFor(facility),
        'It is under water and was proposed just now.',
      )
    })
  const claims = seen.claims.map((claim) => {
    const place = { what: 'claim to settle', subject: claimSubject(claim), graceMs: CLAIM_GRACE_MS }
    return owes(
      { ...place, sinceMs: claim.settleableAtS * 1_000 },
      ({ subject }) => subject === claimSubject(claim),
      'It can be settled and was proposed just now.',
    )
  })
  const sales = seen.exits
    .filter(({ held }) => held > 0n)
    .map((exit) => {
      const place = { what: 'sale', subject: exitSubject(exit), sinceMs: null, graceMs: SALE_GRACE_MS }
      const isSale = ({ subject }: Pick<InFlight, 'subject'>) => subject === exitSubject(exit)
      return owes(place, isSale, `What is held of ${exit.pair} is sold in parts.`)
    })
  return [...unjudged(seen, policy), ...debts, ...claims, ...sales]
}

const isFor =
  ({ marketAddress, borrower }: FacilitySeen) =>
  ({ input }: Pick<InFlight, 'input'>): boolean => {
    const [market, who] = [inputText(input, 'marketAddress'), inputText(input, 'borrowerAddress')]
    return (
      market !== undefined &&
      who !== undefined &&
      positionKey(market, who) === positionKey(marketAddress, borrower)
    )
  }

/** By our own reading where that may be believed, else by the service's word. */
function isLiquidatable(facility: FacilitySeen, market: MarketSeen | undefined): boolean {
  const { collateralAssets, positionDebtAssets: debtAssets, recovery } = facility
  const { oracle, loanDecimals, collateralDecimals, liquidationThresholdBps } = market ?? {}
  if (market?.armed.ok !== true || oracle == null || loanDecimals == null || collateralDecimals == null)
    return recovery?.liquidatable === true
  if (collateralAssets === null || debtAssets === null || liquidationThresholdBps == null)
    return recovery?.liquidatable === true
  const position = { collateralAssets, debtAssets, liquidationThresholdBps }
  const price = { priceWad: oracle.priceWad, loanDecimals, collateralDecimals }
  return debtAssets > 0n && healthFactorWad(position, price) < WAD
}

function worthOf(
  { debtAssets }: FacilitySeen,
  market: MarketSeen | undefined,
): Pick<Due, 'amount' | 'usdMicros'> {
  const { loanDecimals, loanSymbol, loanPriceUsdMicros } = market ?? {}
  if (debtAssets === null || loanDecimals == null || loanSymbol == null) return {}
  const amount = tokens(debtAssets, loanDecimals, loanSymbol)
  if (loanPriceUsdMicros == null) return { amount }
  return { amount, usdMicros: (debtAssets * loanPriceUsdMicros) / tokenUnit(loanDecimals) }
}

/** Markets of the deployment in which nothing can be judged: whoever is under water there is not seen. */
function unjudged({ markets, deployment }: Seen, { loans }: LiquidatorPolicy): readonly Due[] {
  return deployment.markets.flatMap(({ address }): readonly Due[] => {
    const market = markets.find((one) => one.address === address)
    const place = { what: 'market to judge', subject: address, sinceMs: null, graceMs: MARKET_GRACE_MS }
    if (market === undefined)
      return [{ ...place, check: 'market_unknown', message: `The service lists no market ${address}.` }]
    if (market.armed.ok || loans[market.loanSymbol ?? ''] === undefined) return []
    return [{ ...place, check: 'market_unarmed', message: market.armed.message }]
  })
}

/** How the strategy's budgets of the last hour stand. Pure. */
export function budgets(
  seen: Seen,
  { repayUsdMicrosPerHourMax, lostRace, gas }: LiquidatorPolicy,
): readonly OwnBudget[] {
  const { open, repaid, reverted } = hourRows(seen)
  const repaidUsd = [...open, ...repaid].reduce((sum, { exposure }) => sum + exposure.usdMicros, 0n)
  const lost = BigInt(reverted.length) * gas.liquidateGas
  const most = lostRace.revertedGasPerHourMax
  const part = (used: bigint, limit: bigint) => (limit === 0n ? 1 : Number((used * 10_000n) / limit) / 10_000)
  const frees = (rows: readonly { readonly endedAtMs: number }[]) =>
    rows.length === 0 ? null : HOUR_MS + Math.min(...rows.map(({ endedAtMs }) => endedAtMs))
  const positive = (value: bigint) => (value > 0n ? value : 0n)
  return [
    {
      name: 'repaid_per_hour',
      check: 'hour_limit_reached',
      setting: 'strategy.repayPerHourMax',
      part: part(repaidUsd, repayUsdMicrosPerHourMax),
      freesAtMs: frees(repaid),
      used: usd(repaidUsd),
      limit: usd(repayUsdMicrosPerHourMax),
      left: usd(positive(repayUsdMicrosPerHourMax - repaidUsd)),
    },
    {
      name: 'reverted_gas_per_hour',
      check: 'revert_budget_spent',
      setting: 'strategy.lostRace.revertedGasPerHourMax',
      // What is left for less than one try more is none.
      part: most - lost < gas.liquidateGas ? 1 : part(lost, most),
      freesAtMs: frees(reverted),
      used: `${counted(lost, 'gas')} (${plural(reverted.length, 'revert')})`,
      limit: counted(most, 'gas'),
      left: counted(positive(most - lost), 'gas'),
    },
  ]
}
