import { usd } from '../../src/readable.js'
import type { Done, Gain, Observation } from '../agent.ts'
import { BPS, collateralValue, tokenUnit, WAD } from '../protocol/health.ts'
import { tokens } from '../protocol/text.ts'
import { nativeUsdMicros } from './funds.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { LiquidatorSeen } from './seen.ts'

/**
 * Assess a liquidation and its settlement together, from what really moved: the collateral at the oracle's price now,
 * less the policy's exit haircut of all that we hold and claim of it, less what was repaid and the gas of both. Nothing was
 * sold, so it is marked. Pure. Null while a price or a token of it is not known.
 */
export function assess(
  done: readonly Done[],
  seen: Observation<LiquidatorSeen>,
  policy: LiquidatorPolicy,
): Gain | null {
  const market = seen.markets.find(({ address }) => address === done[0]?.proposal.input.marketAddress)
  if (market === undefined) return null
  const { loanAsset, loanDecimals, loanSymbol, loanPriceUsdMicros } = market
  const { collateralAsset, collateralDecimals, collateralSymbol, oracle } = market
  if (loanAsset === null || loanDecimals === null || loanSymbol === null || loanPriceUsdMicros === null)
    return null
  if (collateralAsset === null || collateralDecimals === null || collateralSymbol === null) return null
  const terms = policy.collaterals[collateralSymbol]
  if (oracle === null || terms === undefined) return null

  const moved = (token: string) =>
    done
      .flatMap(({ realized }) => realized.tokens)
      .filter((change) => change.token === token)
      .reduce((sum, change) => sum + change.assets, 0n)
  const usdOf = (assets: bigint) => (assets * loanPriceUsdMicros) / tokenUnit(loanDecimals)
  const paidAssets = -moved(loanAsset)
  const receivedAssets = moved(collateralAsset)
  if (paidAssets <= 0n || receivedAssets <= 0n) return null
  const gasWei = done.reduce((sum, { realized }) => sum + realized.gasWei, 0n)
  const gasUsdMicros = (gasWei * nativeUsdMicros(seen, policy)) / WAD
  const worth = (assets: bigint) =>
    usdOf(collateralValue(assets, { priceWad: oracle.priceWad, loanDecimals, collateralDecimals }))
  const claimed = seen.claims.filter((claim) => claim.collateralAsset === collateralAsset)
  const valueUsdMicros = worth(receivedAssets)
  const heldUsdMicros = worth(
    claimed.reduce((sum, claim) => sum + claim.collateralAssets, seen.balances[collateralAsset] ?? 0n),
  )
  const soldUsdMicros = heldUsdMicros > valueUsdMicros ? heldUsdMicros : valueUsdMicros
  const perMillionBps = (BigInt(terms.exitHaircutPerMillionUsdBps) * soldUsdMicros) / 10n ** 12n
  const haircutBps = BigInt(terms.exitHaircutBaseBps) + perMillionBps
  const markedUsdMicros = (valueUsdMicros * (BPS - (haircutBps < BPS ? haircutBps : BPS))) / BPS
  const profitUsdMicros = markedUsdMicros - usdOf(paidAssets) - gasUsdMicros
  return {
    paid: tokens(paidAssets, loanDecimals, loanSymbol),
    received: tokens(receivedAssets, collateralDecimals, collateralSymbol),
    gas: usd(gasUsdMicros),
    profit: `${profitUsdMicros < 0n ? '' : '+'}${usd(profitUsdMicros)}`,
    profitUsdMicros,
    marked: true,
  }
}
