import { type Refusal, refuse } from '../../errors.ts'
import type { PinnedMarket } from '../../service/contract/deployment.ts'
import { byToken, nonEmpty, pinnedSymbol, positiveAssets } from '../../service/contract/yaml-scalars.ts'
import { type Denomination, tokens } from '../../units.ts'
import { balanceView } from '../views.ts'
import { type About, unread } from './judgement.ts'
import { openClaimsView } from './liquidator-views.ts'

/** Most of each collateral that we hold and that unsettled claims of ours pay, together; base units by symbol. */
export const inventoryLimits = (pinned: readonly Denomination[]) =>
  byToken(pinned, nonEmpty(pinnedSymbol, positiveAssets(pinned), 'seized'))

/**
 * Ask what we hold of a market's collateral and have in claims of every pinned market once a bundle ran, after all of ours
 * that is in flight. The answer refuses where that passes the limit: no list of the service's counts in it. Pure.
 */
export function askInventory(
  inventoryAssetsMax: Readonly<Record<string, bigint>>,
  { subject, after }: About,
  { collateralAsset }: PinnedMarket,
): () => Refusal | null {
  const { deployment, self } = subject
  const asset = deployment.assets.find(({ address }) => address === collateralAsset)
  const parts = [
    balanceView(collateralAsset, self),
    ...deployment.markets
      .filter((market) => market.collateralAsset === collateralAsset)
      .map(({ address }) => openClaimsView(address, self)),
  ].map((view) => after.ask(view))
  return () => {
    const limit = inventoryAssetsMax[asset?.symbol ?? '']
    if (asset === undefined || limit === undefined) {
      return refuse('asset_not_listed', 'guard.sanity.inventoryMax does not list what is seized.')
    }
    let held = 0n
    for (const part of parts) {
      const assets = part()
      if (assets === null) return unread('what we hold and claim')
      held += assets
    }
    if (held <= limit) return null
    return refuse(
      'inventory_above_limit',
      `With this liquidation ${tokens(held, asset)} would be held or claimed, as the chain counts it; the policy allows ${tokens(limit, asset)}.`,
    )
  }
}
