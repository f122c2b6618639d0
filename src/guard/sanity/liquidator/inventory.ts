import { refuse } from '../../../errors.ts'
import type { PinnedMarket } from '../../../service/contract/deployment.ts'
import { byToken, nonEmpty, pinnedSymbol, positiveAssets } from '../../../service/contract/yaml-scalars.ts'
import type { Denomination } from '../../../units.ts'
import { balanceView } from '../../reads/views.ts'
import { holdingOf, judgeHoldings, partsOf, readAll } from '../holdings.ts'
import { type JudgedCase, keysOf, unread } from '../judgement.ts'
import { openClaimsView } from './views.ts'

/** Most of each collateral that we hold and that unsettled claims of ours pay, together; base units by symbol. */
export const inventoryLimits = (pinned: readonly Denomination[]) =>
  byToken(pinned, nonEmpty(pinnedSymbol, positiveAssets(pinned), 'seized'))

/**
 * Ask what each key that shares the limit holds of a market's collateral and has in claims of every pinned market once a
 * bundle ran, after all of the signer's that is in flight. No list of the service's counts in it. Pure.
 */
export function askInventory(
  inventoryAssetsMax: Readonly<Record<string, bigint>>,
  { subject, after }: JudgedCase,
  { collateralAsset }: PinnedMarket,
) {
  const { deployment } = subject
  const asset = deployment.assets.find(({ address }) => address === collateralAsset)
  const markets = deployment.markets.filter((market) => market.collateralAsset === collateralAsset)
  const keys = keysOf(subject)
  const asked = keys.flatMap((signer) =>
    [
      balanceView(collateralAsset, signer),
      ...markets.map(({ address }) => openClaimsView(address, signer)),
    ].map((view) => ({ signer, read: after.ask(view) })),
  )
  return judgeHoldings(() => {
    const assetsMax = inventoryAssetsMax[asset?.symbol ?? '']
    if (assetsMax === undefined) {
      return refuse('asset_not_listed', 'guard.sanity.inventoryMax does not list what is seized.')
    }
    const known = readAll(asked)
    if (known === null) return unread('what we hold and claim')
    const limit = { check: 'inventory_above_limit', of: 'held or claimed', token: collateralAsset, assetsMax }
    return {
      ok: true,
      holdings: [
        holdingOf(
          limit,
          keys,
          partsOf(known, (assets) => assets),
        ),
      ],
    }
  }, deployment)
}
