import { z } from 'zod'
import { address, bps, EXIT_TERM_KINDS, name, uintString, website } from './workflow-inputs.ts'

/** Assumed: members of `input` of what a vault's owner does, written as those of the other types. */

/** One market of a vault: attached with its caps, or with other caps. */
export const listingInput = z.strictObject({
  vaultAddress: address,
  marketAddress: address,
  absoluteCapAssets: uintString,
  relativeCapBps: bps,
  allocationEnabled: z.boolean(),
})

/** Who may move a vault's assets, or no longer. */
export const allocatorUpdateInput = z.strictObject({
  vaultAddress: address,
  allocatorAddress: address,
  granted: z.boolean(),
})

/** Roles of a vault beside its owner and its allocators. */
export const VAULT_ROLES = ['manager', 'curator'] as const

/** Who manages or curates a vault, or no longer. */
export const roleSettingsInput = z.strictObject({
  vaultAddress: address,
  role: z.enum(VAULT_ROLES),
  accountAddress: address,
  granted: z.boolean(),
})

/** What a vault charges its holders: a year's management of all assets, and of what a share gains above its highest price. */
export const feeConfigInput = z.strictObject({
  vaultAddress: address,
  managementFeeBps: bps,
  performanceFeeBps: bps,
  recipientAddress: address,
})

/** What a vault charges of the interest that borrowers pay it. */
export const curatorFeeInput = z.strictObject({
  vaultAddress: address,
  borrowerManagerFeeBps: bps,
  recipientAddress: address,
})

/** A vault's ownership passes in two steps: it is offered, and accepted by who was offered it; until then it can be cancelled. */
export const ownerTransferInput = z.discriminatedUnion('action', [
  z.strictObject({ vaultAddress: address, action: z.literal('offer'), newOwnerAddress: address }),
  z.strictObject({ vaultAddress: address, action: z.literal('accept') }),
  z.strictObject({ vaultAddress: address, action: z.literal('cancel') }),
])

/** Where a deposit goes at once, beyond the buffer: into these markets in this order, as far as their caps allow. */
export const routingInput = z.strictObject({
  vaultAddress: address,
  marketAddresses: z.array(address).max(16),
})

/** What a vault keeps idle, when holders are paid, and how much one deposit is. Times that its kind does not use are "0". */
export const vaultSettingsInput = z.strictObject({
  vaultAddress: address,
  liquidityBufferBps: bps,
  exitTermKind: z.enum(EXIT_TERM_KINDS),
  noticeSeconds: uintString,
  intervalSeconds: uintString,
  maturityTimestamp: uintString,
  minDepositAssets: uintString,
  maxDepositAssets: uintString,
})

/** How a vault's manager is shown. */
export const managementSettingsInput = z.strictObject({
  vaultAddress: address,
  managerName: name,
  website,
  logoUrl: website,
})

/** How a vault is classed; `riskScore` is 0 (least) to 100. */
export const ownerSettingsInput = z.strictObject({
  vaultAddress: address,
  shareClass: name,
  riskScore: z.number().int().min(0).max(100),
})
