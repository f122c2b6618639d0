import type { Address } from 'viem'
import { usd } from '../../src/readable.js'
import type { Proposal } from '../../src/workflow/proposal.ts'
import { BPS, ceilDiv, collateralWorth, tokenUnit, WAD } from '../protocol/health.ts'
import { badDebtAfter } from '../protocol/liquidation.ts'
import { decimal, tokens } from '../protocol/text.ts'
import { reasonOf, seizureGain } from './experience.ts'
import type { GasCost } from './funds.ts'
import type { Candidate } from './judge.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { Quote } from './size-search.ts'
import { health } from './text.ts'
import type { Tip } from './tips.ts'

/** How a size came about: its limit, how far above the set any other can be, and what its gas and its tip cost. */
type Sized = {
  readonly limitedBy: string
  readonly gapBps: number
  readonly gas: GasCost
  readonly tip: Tip
}

/**
 * Write the proposal to liquidate a candidate at a size, with every number that led to it. Pure.
 * The seized collateral goes to the signer. `occurrence` is shares and collateral by value: it changes when either
 * does, and does not move with interest.
 */
export function proposeLiquidation(
  candidate: Candidate,
  size: Quote,
  { limitedBy, gapBps, gas, tip }: Sized,
  signer: Address,
  policy: LiquidatorPolicy,
): Proposal {
  const { facility, market, figures, subject } = candidate
  const minCollateralAssets = leastCollateral(candidate, size, { gas, tip }, policy)
  const gainUsdMicros = size.profitUsdMicros - tip.usdMicros
  return {
    workflowType: 'role.liquidator.liquidate',
    kind: 'liquidate',
    subject,
    occurrence: `shares:${figures.debtShares},collateral:${figures.collateralAssets}`,
    input: {
      marketAddress: facility.marketAddress,
      vaultAddress: facility.vaultAddress,
      borrowerAddress: facility.borrower,
      repayAssets: String(size.repayAssets),
      minCollateralAssets: String(minCollateralAssets),
      recipientAddress: signer,
    },
    exposure: { token: market.loanAsset, assets: size.repayAssets, usdMicros: size.repayUsdMicros },
    gainUsdMicros,
    worthUsdMicros: size.profitUsdMicros + gas.usdMicros,
    said: seizureGain(market, facility.marketAddress, size),
    offer: tip.offer,
    urgent: true,
    summary: summaryOf(candidate, size, { gas, tip }, gainUsdMicros),
    reason: {
      limitedBy,
      setGapBps: gapBps,
      healthFactorWad: String(candidate.healthFactorWad),
      serviceHealthFactorWad: String(facility.serviceHealthFactorWad),
      priceWad: String(market.price.priceWad),
      servicePriceWad: String(market.servicePriceWad),
      secondPriceWad: String(market.secondPriceWad ?? 'none'),
      loanPriceUsdMicros: String(market.loanPriceUsdMicros),
      debtAssets: String(figures.debtAssets),
      positionDebtAssets: String(figures.positionDebtAssets),
      collateralAssets: String(figures.collateralAssets),
      liquidationThresholdBps: market.liquidationThresholdBps,
      closeFactorBps: market.closeFactorBps,
      liquidationBonusBps: market.liquidationBonusBps,
      repayAssets: String(size.repayAssets),
      repayUsdMicros: String(size.repayUsdMicros),
      seizeAssets: String(size.seizeAssets),
      minCollateralAssets: String(minCollateralAssets),
      seizeValueAssets: String(size.seizeValueAssets),
      bonusAssets: String(size.seizeValueAssets - size.repayAssets),
      haircutAssets: String(size.haircutAssets),
      haircutBps: Number(haircutBps(size)),
      ...reasonOf(candidate.learned),
      gas: String(gas.gas),
      gasWei: String(gas.wei),
      gasUsdMicros: String(gas.usdMicros),
      nativeUsdMicros: String(gas.nativeUsdMicros),
      gasAssets: String(size.gasAssets),
      tipWei: String(tip.offer.tipWei),
      tipShareBps: tip.offer.shareBps,
      rivals: tip.rivals,
      tipUsdMicros: String(tip.usdMicros),
      profitAssets: String(size.profitAssets),
      profitUsdMicros: String(size.profitUsdMicros),
      badDebtAssets: String(
        badDebtAfter(figures.debtAssets, size.repayAssets, figures.collateralAssets - size.seizeAssets),
      ),
      unpaidAssets: String(candidate.unpaidAssets),
      loanDecimals: market.loanDecimals,
      collateralDecimals: market.collateralDecimals,
    },
  }
}

/**
 * The collateral below which the call is to revert: what is due less slippage, and never so little that repayment, exit
 * haircut, gas as it is reserved, tip and the least profit are not in it.
 */
function leastCollateral(
  { market }: Candidate,
  { seizeAssets, repayAssets, haircutAssets }: Quote,
  { gas, tip }: Pick<Sized, 'gas' | 'tip'>,
  { slippageBps, profitUsdMicrosMin }: LiquidatorPolicy,
): bigint {
  const slipped = (seizeAssets * (BPS - BigInt(slippageBps))) / BPS
  const price = { ...market, priceWad: market.price.priceWad }
  const reserveUsdMicros = ceilDiv(gas.reserveWei * gas.nativeUsdMicros, WAD)
  const neededUsdMicros = reserveUsdMicros + tip.usdMicros + profitUsdMicrosMin
  const neededAssets = ceilDiv(neededUsdMicros * tokenUnit(market.loanDecimals), market.loanPriceUsdMicros)
  const paying = collateralWorth(repayAssets + haircutAssets + neededAssets, price)
  const least = paying > slipped ? paying : slipped
  return least < seizeAssets ? least : seizeAssets
}

const haircutBps = (size: Quote) => ceilDiv(size.haircutAssets * BPS, size.seizeValueAssets)

/** One line for the timeline: `health 0.987: repay 1,234.50 sUSD, seize 0.0213 sBTC (+5.00 %), …`. */
function summaryOf(
  { market, healthFactorWad }: Candidate,
  size: Quote,
  { gas, tip }: Pick<Sized, 'gas' | 'tip'>,
  gainUsdMicros: bigint,
): string {
  const bonusBps = ((size.seizeValueAssets - size.repayAssets) * BPS) / size.repayAssets
  const sign = bonusBps < 0n ? '' : '+'
  return [
    `health ${health(healthFactorWad)}: repay ${tokens(size.repayAssets, market.loanDecimals, market.loanSymbol)}`,
    `seize ${tokens(size.seizeAssets, market.collateralDecimals, market.collateralSymbol)} (${sign}${decimal(bonusBps, 2, 2)} %)`,
    `haircut ${decimal(haircutBps(size), 2, 2)} %`,
    `gas ${usd(gas.usdMicros)}`,
    ...(tip.usdMicros === 0n ? [] : [`tip ${usd(tip.usdMicros)}`]),
    `expect +${usd(gainUsdMicros)}`,
  ].join(', ')
}
