import { entityIdOf } from '../../service/contract/assumptions.ts'
import type { WorkflowInput } from '../../service/contract/workflow-types.ts'
import {
  by,
  type ChangesOf,
  changed,
  type ExpectedChange,
  type ExpectedField,
  is,
  movesOf,
  type Parties,
} from './expected-changes.ts'

const GROWS: ExpectedField = { counts: 'gte' }
const SHRINKS: ExpectedField = { counts: 'lte' }
const figure = (value: number | string): ExpectedField => is(String(BigInt(value)))
const named = (address: string): ExpectedField => is(address.toLowerCase())

const listingOf = (input: WorkflowInput<'role.vault_owner.attachMarketToVault'>): readonly ExpectedChange[] =>
  changed('vault_listing', entityIdOf(input.vaultAddress, input.marketAddress), {
    approved: is(true),
    allocationEnabled: is(input.allocationEnabled),
    absoluteCapAssets: figure(input.absoluteCapAssets),
    relativeCapBps: figure(input.relativeCapBps),
  })

const roleOf = (vault: string, role: string, account: string, granted: boolean): readonly ExpectedChange[] =>
  changed('vault_role', entityIdOf(vault, role, account), { granted: is(granted) })

function ownerOf(
  input: WorkflowInput<'role.vault_owner.vaultOwnerTransferUpdate'>,
  { self }: Parties,
): readonly ExpectedChange[] {
  const becomes = (fields: ExpectedChange['fields']) =>
    changed('vault_owner', entityIdOf(input.vaultAddress), fields)
  switch (input.action) {
    case 'offer':
      return becomes({ pendingOwnerAddress: named(input.newOwnerAddress) })
    case 'accept':
      return becomes({ ownerAddress: named(self), pendingOwnerAddress: is('') })
    case 'cancel':
      return becomes({ pendingOwnerAddress: is('') })
  }
}

/** Assumed: what an owner's workflows change, as in {@link CHANGES_BY_HAND}. */
const OF_OWNERS: readonly ChangesOf[] = [
  by('role.vault_owner.attachMarketToVault', listingOf),
  by('role.vault_owner.vaultCuratorCapsSettingsSave', listingOf),
  ...movesOf('vault_owner'),
  by('role.vault_owner.vaultAllocatorUpdate', ({ vaultAddress, allocatorAddress, granted }) =>
    roleOf(vaultAddress, 'allocator', allocatorAddress, granted),
  ),
  by('role.vault_owner.vaultRoleSettingsSave', ({ vaultAddress, role, accountAddress, granted }) =>
    roleOf(vaultAddress, role, accountAddress, granted),
  ),
  by('role.vault_owner.vaultFeeConfigUpdate', (input) =>
    changed('vault_fee_config', entityIdOf(input.vaultAddress), {
      managementFeeBps: figure(input.managementFeeBps),
      performanceFeeBps: figure(input.performanceFeeBps),
      recipientAddress: named(input.recipientAddress),
    }),
  ),
  by('role.vault_owner.vaultCuratorFeeSettingsSave', (input) =>
    changed('vault_fee_config', entityIdOf(input.vaultAddress), {
      borrowerManagerFeeBps: figure(input.borrowerManagerFeeBps),
      curatorRecipientAddress: named(input.recipientAddress),
    }),
  ),
  by('role.vault_owner.vaultOwnerTransferUpdate', ownerOf),
  by('role.vault_owner.vaultRoutingUpdate', ({ vaultAddress, marketAddresses }) =>
    changed('vault_routing', entityIdOf(vaultAddress), {
      marketAddresses: is(marketAddresses.map((market) => market.toLowerCase()).join(',')),
    }),
  ),
  by('role.vault_owner.vaultSettingsUpdate', (input) =>
    changed('vault_settings', entityIdOf(input.vaultAddress), {
      liquidityBufferBps: figure(input.liquidityBufferBps),
      exitTermKind: is(input.exitTermKind),
      noticeSeconds: figure(input.noticeSeconds),
      intervalSeconds: figure(input.intervalSeconds),
      maturityTimestamp: figure(input.maturityTimestamp),
      minDepositAssets: figure(input.minDepositAssets),
      maxDepositAssets: figure(input.maxDepositAssets),
    }),
  ),
  by('role.vault_owner.vaultManagementSettingsSave', (input) =>
    changed('vault_management_settings', entityIdOf(input.vaultAddress), {
      managerName: is(input.managerName),
      website: is(input.website),
      logoUrl: is(input.logoUrl),
    }),
  ),
  by('role.vault_owner.vaultOwnerSettingsSave', ({ vaultAddress, shareClass, riskScore }) =>
    changed('vault_owner_settings', entityIdOf(vaultAddress), {
      shareClass: is(shareClass),
      riskScore: figure(riskScore),
    }),
  ),
]

type ChannelDeploy = WorkflowInput<'role.partner.partnerChannelDeploy'>
type Deposit = WorkflowInput<'role.partner.partnerWrapperDeposit'>
type Redeem = WorkflowInput<'role.partner.partnerWrapperRedeem'>

const deployed = ({ vaultAddress, resellerAddress, shareClass }: ChannelDeploy) =>
  changed('partner_channel_deployment', entityIdOf(vaultAddress, resellerAddress, shareClass), {
    count: GROWS,
  })

const deposited = ({ wrapperAddress, receiverAddress }: Deposit) =>
  changed('wrapper_position', entityIdOf(wrapperAddress, receiverAddress), { shares: GROWS })

const redeemed = ({ wrapperAddress }: Redeem, { self }: Parties) =>
  changed('wrapper_position', entityIdOf(wrapperAddress, self), { shares: SHRINKS })

const holds = (vault: string, wallet: string, shares: ExpectedField) =>
  changed('vault_position', entityIdOf(vault, wallet), { shares })

/** Assumed: what is done with channels and with shares changes, as in {@link CHANGES_BY_HAND}. */
const OF_OTHERS: readonly ChangesOf[] = [
  by('role.partner.partnerChannelDeploy', deployed),
  by('role.curator.partnerChannelDeploy', deployed),
  by('role.vault_manager.partnerChannelDeploy', deployed),
  by('role.partner.partnerWrapperDeposit', deposited),
  by('role.investor.partnerWrapperDeposit', deposited),
  by('role.partner.partnerWrapperRedeem', redeemed),
  by('role.investor.partnerWrapperRedeem', redeemed),
  by('role.partner.partnerFeeSharesClaim', ({ channelAddress }) =>
    changed('partner_fee_shares', entityIdOf(channelAddress), { claimedShares: GROWS }),
  ),
  by('role.partner.partnerBorrowerFeeClaim', ({ channelAddress }) =>
    changed('partner_borrower_fee', entityIdOf(channelAddress), { claimedAssets: GROWS }),
  ),
  by('role.partner.partnerSubmitApplication', ({ vaultAddress }, { self }) =>
    changed('partner_application', entityIdOf(vaultAddress, self), { status: is('submitted') }),
  ),
  by('role.curator.partnerChannelBlockedUpdate', ({ channelAddress, accountAddress, blocked }) =>
    changed('channel_block', entityIdOf(channelAddress, accountAddress), { blocked: is(blocked) }),
  ),
  by('role.curator.vaultMarketListingSave', ({ vaultAddress, marketAddress, listed }) =>
    changed('vault_market_listing', entityIdOf(vaultAddress, marketAddress), { listed: is(listed) }),
  ),
  by('role.asset_issuer.assetSubmissionRequestCreate', ({ assetAddress }) =>
    changed('asset_submission', entityIdOf(assetAddress), { status: is('submitted') }),
  ),
  by('role.lender.investorRequestRedeem', ({ vaultAddress }, { self }) => holds(vaultAddress, self, SHRINKS)),
  by('role.lender.investorFulfillRedeem', ({ vaultAddress, requestId }) =>
    changed('redemption_request', entityIdOf(vaultAddress, String(BigInt(requestId))), {
      status: is('paid'),
    }),
  ),
  by('role.lender.vaultShareMobilityInvestorAction', (input, { self }) =>
    input.action === 'transfer'
      ? [
          ...holds(input.vaultAddress, self, SHRINKS),
          ...holds(input.vaultAddress, input.recipientAddress, GROWS),
        ]
      : changed('vault_share_mobility', entityIdOf(input.vaultAddress), {
          shareMobilityPaused: is(false),
          mobilityEpoch: GROWS,
        }),
  ),
]

/**
 * Assumed: what the workflows of the roles that people work change, named by their input as `entityIdOf` says. A total or a
 * count is the service's own, from when it began to count: of those only the direction is ours.
 */
export const CHANGES_BY_HAND: readonly ChangesOf[] = [...OF_OWNERS, ...OF_OTHERS]
