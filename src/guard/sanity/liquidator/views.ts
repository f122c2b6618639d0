import { type Address, parseAbi } from 'viem'
import { z } from 'zod'
import { address, createView, uint, type View } from '../../reads/views.ts'

/** What a liquidation is judged by: its market and the market's oracle. */
export const LIQUIDATION_VIEWS = parseAbi([
  'function healthFactorWad(address borrower) view returns (uint256)',
  'function debtOf(address vault, address borrower) view returns (uint256)',
  'function collateralOf(address borrower) view returns (uint256)',
  'function closeFactorBps() view returns (uint16)',
  'function liquidationBonusBps() view returns (uint16)',
  'function paused() view returns (bool)',
  'function openClaimAssets(address liquidator) view returns (uint256)',
])
/** What a settlement is judged by: its market. */
export const CLAIM_VIEWS = parseAbi([
  'function claim(uint256 claimId) view returns (address liquidator, address recipient, address vault, address borrower, uint256 collateralAssets, uint64 settleableAt, bool settled)',
])
const view = createView(LIQUIDATION_VIEWS)
const viewClaim = createView(CLAIM_VIEWS)

/** Read a borrower's health factor as a wad. */
export const healthView = (market: Address, borrower: Address): View<bigint> =>
  view('healthFactorWad', market, [borrower], uint)

/** Read a borrower's debt to one vault, base units of the loan asset. */
export const debtView = (market: Address, vault: Address, borrower: Address): View<bigint> =>
  view('debtOf', market, [vault, borrower], uint)

/** Read a borrower's collateral, base units. */
export const collateralView = (market: Address, borrower: Address): View<bigint> =>
  view('collateralOf', market, [borrower], uint)

/** Read the part of a debt that one liquidation may repay, basis points. */
export const closeFactorView = (market: Address): View<bigint> => view('closeFactorBps', market, [], uint)

/** Read a liquidation's bonus, basis points. */
export const bonusView = (market: Address): View<bigint> => view('liquidationBonusBps', market, [], uint)

/** Read whether a market is paused. */
export const pausedView = (market: Address): View<boolean> => view('paused', market, [], z.boolean())

/** Read the collateral of a liquidator's unsettled claims in a market, base units. */
export const openClaimsView = (market: Address, liquidator: Address): View<bigint> =>
  view('openClaimAssets', market, [liquidator], uint)

/** A liquidation claim: who may settle it, who is paid, and from which chain second. */
type ClaimRead = {
  readonly liquidator: Address
  readonly recipient: Address
  readonly collateralAssets: bigint
  readonly settleableAtS: bigint
  readonly settled: boolean
}

/** Read a claim. */
export const claimView = (market: Address, claimId: bigint): View<ClaimRead> =>
  viewClaim(
    'claim',
    market,
    [claimId],
    z
      .tuple([address, address, address, address, uint, uint, z.boolean()])
      .transform(([liquidator, recipient, , , collateralAssets, settleableAtS, settled]) => ({
        liquidator,
        recipient,
        collateralAssets,
        settleableAtS,
        settled,
      })),
  )
