import type { ExpectedGain } from '../../src/workflow/proposal.ts'
import { MEASURED_S, namesOf } from './experience.ts'
import type { OpenVault } from './judge-vault.ts'
import { meanRate } from './lane.ts'
import type { Targets } from './plan.ts'
import { toTokens, type VaultMarket } from './vault-markets.ts'

/**
 * What is said of a move for its first day, before experience changes anything: what is moved at the rates that hold then, more
 * than where it was. It is a part of what the supplied would earn at the rates that hold now. Nothing is said where only
 * withdrawals are. Pure.
 */
export function expectedGainOf(
  { look, horizonS, priceUsdMicros, decimals }: OpenVault,
  vaultMarkets: readonly VaultMarket[],
  targets: Targets,
): ExpectedGain | undefined {
  const forS = Math.min(MEASURED_S, horizonS)
  let [earned, supplied] = [0, 0]
  for (const [index, { lane, heldAssets, lastsMeasured }] of vaultMarkets.entries()) {
    const change = toTokens((targets[index] ?? heldAssets) - heldAssets, decimals)
    if (change === 0) continue
    const measured = { ...lane, lasts: lastsMeasured }
    earned += change * meanRate(measured, lane.held + change)
    supplied += Math.max(0, change) * meanRate(measured, lane.held)
  }
  const usdMicros = (rate: number) => BigInt(Math.round(rate * forS * Number(priceUsdMicros)))
  if (usdMicros(supplied) <= 0n) return undefined
  const into = vaultMarkets.filter(({ heldAssets }, index) => (targets[index] ?? heldAssets) > heldAssets)
  const of = namesOf(
    look.address,
    into.map(({ marketAddress }) => marketAddress),
  )
  return {
    of,
    worthUsdMicros: usdMicros(earned),
    markUsdMicros: usdMicros(supplied),
    earns: { vault: look.address, forS },
  }
}
