import { type ManagerPolicy, managerPolicy } from '../../../agents/asset-manager/policy.ts'
import { type LiquidatorPolicy, liquidatorPolicy } from '../../../agents/liquidator/policy.ts'
import { type RfqBidderPolicy, rfqBidderPolicy } from '../../../agents/rfq-bidder/policy.ts'
import { shippedPolicyOf } from '../../support/policies.ts'
import { TOKENS } from '../../support/tokens.ts'

/** The strategies that are judged: as they are shipped, with what a world's operator states of it. */

const ofLiquidator = liquidatorPolicy(TOKENS).parse(shippedPolicyOf('liquidator').strategy)
/** The liquidator's, in worlds whose markets have no second price. */
export const shippedLiquidator = (changes: Partial<LiquidatorPolicy> = {}): LiquidatorPolicy => ({
  ...ofLiquidator,
  secondPrice: 'none',
  ...changes,
})

export const SHIPPED_BIDDER: RfqBidderPolicy = rfqBidderPolicy(TOKENS).parse(
  shippedPolicyOf('rfq-bidder').strategy,
)

/** The asset manager's, which declares nothing. */
export const SHIPPED_MANAGER: ManagerPolicy = {
  bidding: managerPolicy(TOKENS).parse(shippedPolicyOf('asset-manager').strategy).bidding,
  declared: { vaults: [], funds: [], channelPolicies: [], mobility: [], vaultSettings: [] },
}
