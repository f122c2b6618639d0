import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Ended } from '../agent.ts'
import { BPS, ceilDiv, WAD } from '../protocol/health.ts'
import type { Funds } from './funds.ts'
import type { LiquidatorPolicy } from './policy.ts'

/** Parts of what a liquidation brings that may go to who builds the block, basis points. */
const SHARES = [0, 100, 200, 500, 1_000, 2_000, 3_500, 5_000, 7_000, 9_000] as const
/** What is believed of each before any race weighs as much as so many. */
const PRIOR_RACES = 1
/** How often nobody is there: the tip that all pay is enough. */
const ALONE = 0.5

/** What was won and lost at a share. */
type Tally = { readonly shareBps: number; won: number; races: number }

/**
 * Choose the part of what a liquidation brings to tip: where winning it is worth most, by the races of late. A win at a part
 * shows that rivals gave less, a loss that one gave more; a larger part never wins less often. Pure.
 * @param mostBps the policy's most.
 */
export function shareToTip(recent: readonly Ended[], mostBps: number): number {
  const tallies = SHARES.filter((shareBps) => shareBps <= mostBps).map((shareBps): Tally => {
    const prior = ALONE + (1 - ALONE) * (shareBps / Number(BPS))
    return { shareBps, won: PRIOR_RACES * prior, races: PRIOR_RACES }
  })
  for (const { kind, state, check, offer } of recent) {
    if (kind !== 'liquidate' || offer === undefined) continue
    const isWon = state === 'succeeded'
    const isLost =
      state === 'reverted' || state === 'superseded' || (state === 'refused' && check === 'position_healthy')
    const tally = tallies.findLast(({ shareBps }) => shareBps <= offer.shareBps)
    if (tally === undefined || !(isWon || isLost)) continue
    tally.races += 1
    tally.won += isWon ? 1 : 0
  }
  const kept = (tally: Tally, chance: number) => chance * (1 - tally.shareBps / Number(BPS))
  const chances = ascending(tallies)
  const best = tallies.reduce((best, tally, index) => {
    const [mine = 0, other = 0] = [chances[index], chances[best]]
    return kept(tally, mine) > kept(tallies[best] as Tally, other) ? index : best
  }, 0)
  return tallies[best]?.shareBps ?? 0
}

/** The chances that fit best and never fall: neighbours that do are taken together. Source: pool adjacent violators. */
function ascending(tallies: readonly Tally[]): readonly number[] {
  const pools: { won: number; races: number; size: number }[] = []
  for (const { won, races } of tallies) {
    pools.push({ won, races, size: 1 })
    for (;;) {
      const [last, before] = [pools.at(-1), pools.at(-2)]
      if (last === undefined || before === undefined || before.won / before.races <= last.won / last.races)
        break
      pools.pop()
      before.won += last.won
      before.races += last.races
      before.size += last.size
    }
  }
  return pools.flatMap(({ won, races, size }) => Array.from({ length: size }, () => won / races))
}

/** What a liquidation gives to be first, and what that costs. */
export type Tip = { readonly offer: NonNullable<Proposal['offer']>; readonly usdMicros: bigint }

/** Choose what a liquidation that brings so much gives to be first: nothing of its least profit. Spends `funds` in place. */
export function offerOf(
  profitUsdMicros: bigint,
  shareBps: number,
  funds: Funds,
  { profitUsdMicrosMin, gas: { liquidateGas } }: LiquidatorPolicy,
): Tip {
  const { nativeUsdMicros } = funds.liquidation
  const wanted = (profitUsdMicros * BigInt(shareBps)) / BPS
  const spare = profitUsdMicros - profitUsdMicrosMin
  const wei = least((least(wanted, spare) * WAD) / nativeUsdMicros, funds.nativeWei)
  const tipWei = wei / liquidateGas
  funds.nativeWei -= tipWei * liquidateGas
  return { offer: { tipWei, shareBps }, usdMicros: ceilDiv(tipWei * liquidateGas * nativeUsdMicros, WAD) }
}

const least = (one: bigint, other: bigint) => (one < other ? one : other)
