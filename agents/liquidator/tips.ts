import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Ended, Observation } from '../agent.ts'
import { BPS, ceilDiv, tokenUnit, WAD } from '../protocol/health.ts'
import type { Funds } from './funds.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { LiquidatorSeen } from './seen.ts'

/** Parts of what a liquidation brings that may go to who builds the block, basis points. */
const SHARES = [
  0, 50, 100, 150, 200, 350, 500, 750, 1_000, 1_500, 2_000, 2_500, 3_500, 4_500, 5_500, 7_000, 9_000,
] as const
/** What is believed before any race weighs as much as so many. */
const PRIOR_RACES = 4
/** How often nobody is there: the tip that all pay is enough. */
const ALONE = 0.5
/** Rounds in which what is known in part is spread by what is believed. */
const ROUNDS = 30
/** What brought a smaller part of what is at stake says nothing of it. */
const LIKE_PART = 10n

/** Which shares win a race, as far as it is known: the first that does lies between these two, of `SHARES` and one beyond. */
type Race = { readonly from: number; readonly to: number }

/**
 * Choose the part of what a liquidation brings to tip: where winning it is worth most, by the races of late. A win at a part
 * shows that rivals gave less, a loss that one gave more, and a rival's own liquidation what it gave. Pure.
 * @param given by rivals who were first, parts of what theirs brought, basis points.
 * @param mostBps the policy's most.
 */
export function shareToTip(recent: readonly Ended[], given: readonly number[], mostBps: number): number {
  const races = [...recent.flatMap((ended) => raceOf(ended, given.length > 0) ?? []), ...given.map(seenOf)]
  const first = spread(races)
  let [best, worth, chance] = [0, 0, 0]
  for (const [index, shareBps] of SHARES.entries()) {
    chance += first[index] ?? 0
    const kept = chance * (1 - shareBps / Number(BPS))
    if (shareBps <= mostBps && kept > worth) [best, worth] = [shareBps, kept]
  }
  return best
}

/** What a rival's liquidation brought, and what part of that it gave, basis points. */
type RivalTip = { readonly broughtUsdMicros: bigint; readonly shareBps: number }

/**
 * Say what part of what theirs brought rivals gave, beside what all tip, were our gas theirs. Pure. What brought nothing by the
 * policy's own haircut says nothing.
 */
export function sharesGiven(
  { rivals, markets, chain }: Pick<Observation<LiquidatorSeen>, 'rivals' | 'markets' | 'chain'>,
  { liquidation }: Pick<Funds, 'liquidation'>,
  { collaterals, gas: { liquidateGas } }: LiquidatorPolicy,
): readonly RivalTip[] {
  return rivals.flatMap(({ marketAddress, repayAssets, tipWei }) => {
    const market = markets.find(({ address }) => address === marketAddress)
    const { liquidationBonusBps, loanPriceUsdMicros = null, loanDecimals = null } = market ?? {}
    const terms = collaterals[market?.collateralSymbol ?? '']
    if (liquidationBonusBps == null || loanPriceUsdMicros === null || loanDecimals === null) return []
    if (terms === undefined) return []
    const seized = BPS + BigInt(liquidationBonusBps)
    const kept = (seized * (BPS - BigInt(terms.exitHaircutBaseBps))) / BPS - BPS
    const repaid = (repayAssets * loanPriceUsdMicros) / tokenUnit(loanDecimals)
    const broughtUsdMicros = (repaid * kept) / BPS - liquidation.usdMicros
    const beside = tipWei - chain.priorityFeePerGasWei
    const givenUsdMicros = (beside * liquidateGas * liquidation.nativeUsdMicros) / WAD
    if (broughtUsdMicros <= 0n || beside < 0n) return []
    return [{ broughtUsdMicros, shareBps: Number((givenUsdMicros * BPS) / broughtUsdMicros) }]
  })
}

/**
 * Create what says how much a liquidation that brings so much tips. Pure. By those of rivals alone that brought a tenth of it at
 * least: whoever gives half of a few dollars away would have us give half of thousands.
 */
export function createShares(
  given: readonly RivalTip[],
  recent: readonly Ended[],
  mostBps: number,
): (profitUsdMicros: bigint) => { readonly shareBps: number; readonly rivals: number } {
  const known = new Map<number, number>()
  return (profitUsdMicros) => {
    const like = given.filter(({ broughtUsdMicros }) => broughtUsdMicros * LIKE_PART >= profitUsdMicros)
    const rivals = like.length
    // As many of them are always the same ones.
    const shares = like.map(({ shareBps }) => shareBps)
    const shareBps = known.get(rivals) ?? shareToTip(recent, shares, mostBps)
    known.set(rivals, shareBps)
    return { shareBps, rivals }
  }
}

/** A race of ours. One that was lost is known better by what the winner gave, where that is seen. */
function raceOf({ kind, state, check, offer }: Ended, isGivenSeen: boolean): Race | null {
  if (kind !== 'liquidate' || offer === undefined) return null
  const at = SHARES.findLastIndex((shareBps) => shareBps <= offer.shareBps)
  if (state === 'succeeded') return { from: 0, to: at }
  const isLost =
    state === 'reverted' || state === 'superseded' || (state === 'refused' && check === 'position_healthy')
  return isLost && !isGivenSeen ? { from: at + 1, to: SHARES.length } : null
}

function seenOf(givenBps: number): Race {
  const first = SHARES.findIndex((shareBps) => shareBps > givenBps)
  const at = first === -1 ? SHARES.length : first
  return { from: at, to: at }
}

/** How likely each share is the first that wins: what is known in part is spread as all is. Source: Turnbull's estimator. */
function spread(races: readonly Race[]): readonly number[] {
  // Where somebody is there, each part of what is at stake is as likely given as any other.
  const prior = [0, ...SHARES.slice(1), Number(BPS)].map((shareBps, index, all) =>
    index === 0 ? ALONE : ((1 - ALONE) * (shareBps - (all[index - 1] ?? 0))) / Number(BPS),
  )
  let chances: readonly number[] = prior
  for (let round = 0; round < ROUNDS; round += 1) {
    const weights = prior.map((chance) => chance * PRIOR_RACES)
    for (const { from, to } of races) {
      const all = chances.slice(from, to + 1).reduce((sum, chance) => sum + chance, 0)
      for (let at = from; at <= to; at += 1) weights[at] = (weights[at] ?? 0) + (chances[at] ?? 0) / all
    }
    chances = weights.map((weight) => weight / (races.length + PRIOR_RACES))
  }
  return chances
}

/** What a liquidation gives to be first, and what that costs. */
export type Tip = {
  readonly offer: NonNullable<Proposal['offer']>
  readonly usdMicros: bigint
  /** Rivals whose tips it was chosen by. */
  readonly rivals: number
}

/** Choose what a liquidation that brings so much gives to be first: nothing of its least profit. Spends `funds` in place. */
export function offerOf(
  profitUsdMicros: bigint,
  { shareBps, rivals }: { readonly shareBps: number; readonly rivals: number },
  funds: Funds,
  { profitUsdMicrosMin, gas: { liquidateGas } }: LiquidatorPolicy,
): Tip {
  const { nativeUsdMicros } = funds.liquidation
  const wanted = (profitUsdMicros * BigInt(shareBps)) / BPS
  const spare = profitUsdMicros - profitUsdMicrosMin
  const wei = least((least(wanted, spare) * WAD) / nativeUsdMicros, funds.nativeWei)
  const tipWei = wei / liquidateGas
  funds.nativeWei -= tipWei * liquidateGas
  return {
    offer: { tipWei, shareBps },
    rivals,
    usdMicros: ceilDiv(tipWei * liquidateGas * nativeUsdMicros, WAD),
  }
}

const least = (one: bigint, other: bigint) => (one < other ? one : other)
