import { z } from 'zod'
import { bps, opaque, text } from './resources.ts'
import { addr, optional, ts, uintString } from './scalars.ts'
import { vaultFees } from './vault-resources.ts'

/** Source: service API, "Deployment". */
export const deploymentResource = z.object({
  chainId: z.number().int(),
  network: text,
  protocolVersion: optional(text),
  deploymentNamespace: optional(text),
  deploymentStartBlock: optional(z.number().int()),
  contracts: optional(z.record(z.string(), z.unknown())),
  generatedAt: optional(ts),
})

/** Source: service API, "Network". */
export const networkResource = z.object({
  chainId: z.number().int(),
  name: text,
  protocolVersion: optional(text),
  status: text,
})

/** Assumed: an active artifact and where it is deployed. Source: service API, "Versioning", rule 4. */
export const contractResource = z.object({ abi: z.array(opaque).max(1_000), address: addr })

/** Source: service API, "Message". */
export const messageResource = z.object({
  id: text,
  senderWorkspace: optional(text),
  senderWalletAddress: optional(addr),
  senderEntityId: optional(text),
  senderLabel: optional(text),
  subject: optional(text),
  body: optional(z.string().max(20_000)),
  createdAt: optional(ts),
  expiresAt: optional(ts),
  readAt: optional(ts),
})
export type MessageResource = z.infer<typeof messageResource>

/** Source: service API, "Allocation intelligence item". */
export const allocationIntelligenceResource = z.object({
  id: text,
  profileId: optional(text),
  status: optional(text),
  action: optional(text),
  targetVaultAddress: optional(addr),
  targetMarketAddress: optional(addr),
  amountAssets: optional(uintString),
  confidenceBps: optional(bps),
  policyVersion: optional(text),
  modelVersion: optional(text),
  projectionStatus: optional(text),
  txHash: optional(text),
  createdAt: optional(ts),
})
export type AllocationIntelligenceResource = z.infer<typeof allocationIntelligenceResource>

/** Source: service API, "Wrapper". */
export const wrapperResource = z.object({
  id: text,
  chainId: z.number().int(),
  address: addr,
  managerId: optional(text),
  vaultId: optional(text),
  resellerAddress: optional(addr),
  shareClass: optional(text),
  name: optional(text),
  symbol: optional(text),
  totalAssets: optional(uintString),
  totalSupply: optional(uintString),
})

export type WrapperResource = z.infer<typeof wrapperResource>

/** Assumed: an organisation or a person that takes part, and the wallet that it is known by; one of no name has that as id. */
export const entityResource = z.object({
  id: text,
  kind: text,
  name: text,
  walletAddress: optional(addr),
  status: text,
})
export type EntityResource = z.infer<typeof entityResource>

/**
 * Assumed: a program that lets a partner offer a vault, `vault:partner`; `status` is submitted, approved, rejected or, with a
 * channel, active.
 */
export const partnerProgramResource = z.object({
  id: text,
  vaultId: optional(text),
  name: text,
  status: text,
})
export type PartnerProgramResource = z.infer<typeof partnerProgramResource>

/** Assumed: a vault's fees as they stand; the members of its `feeAccruals`. Assets in base units. */
export const feeResource = vaultFees.extend({
  id: text,
  chainId: z.number().int(),
  vaultId: text,
  vaultAddress: addr,
})
export type FeeResource = z.infer<typeof feeResource>
