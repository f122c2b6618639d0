import { type Address, type Hex, keccak256, parseAbi, stringToHex, zeroHash } from 'viem'
import { z } from 'zod'
import { address, createView, type Reads, uint, type View } from '../reads/views.ts'

/** What an act of a vault's owner is judged by: all that an owner sets, and who may do what. */
export const OWNERSHIP_VIEWS = parseAbi([
  'function owner() view returns (address)',
  'function pendingDefaultAdmin() view returns (address newAdmin, uint48 schedule)',
  'function feeConfig() view returns ((uint16 managementFeeBps, uint16 performanceFeeBps, uint16 borrowerManagerFeeBps, address recipient, address curatorRecipient))',
  'function liquidityBufferBps() view returns (uint16)',
  'function exitTerms() view returns ((uint8 kind, uint64 noticeSeconds, uint64 intervalSeconds, uint64 maturityTimestamp))',
  'function minDepositAssets() view returns (uint256)',
  'function maxDepositAssets() view returns (uint256)',
  'function routing() view returns (address[])',
  'function hasRole(bytes32 role, address account) view returns (bool)',
  'function listing(address market) view returns ((bool approved, bool allocationEnabled, uint16 relativeCapBps, uint256 absoluteCapAssets))',
])
/** What holders' acts are judged by: shares, their worth, and the redemption queue of a vault. */
export const HOLDER_VIEWS = parseAbi([
  'function asset() view returns (address)',
  'function totalAssets() view returns (uint256)',
  'function totalSupply() view returns (uint256)',
  'function convertToAssets(uint256 shares) view returns (uint256)',
  'function idleAssets() view returns (uint256)',
  'function redemptionFrozen() view returns (bool)',
  'function queueEnd() view returns (uint256)',
  'function request(uint256 requestId) view returns ((address owner, address receiver, uint64 requestedAt, uint64 dueAt, uint256 shares, bool paid))',
  'function transferProfile() view returns (uint8)',
  'function shareMobilityPaused() view returns (bool)',
  'function restoreAfter() view returns (uint64)',
  'function trustedRecipients() view returns (address[])',
])
const view = createView(OWNERSHIP_VIEWS)
const holder = createView(HOLDER_VIEWS)

/** The roles that a vault's owner grants, by the hashes of their names. */
export const VAULT_ROLE_IDS: Readonly<Record<'allocator' | 'manager' | 'curator', Hex>> = {
  allocator: keccak256(stringToHex('ALLOCATOR_ROLE')),
  manager: keccak256(stringToHex('MANAGER_ROLE')),
  curator: keccak256(stringToHex('CURATOR_ROLE')),
}

/** The same for people: as the contract names them, and who owns it. */
export const NAMED_ROLES: readonly { readonly name: string; readonly hash: string }[] = [
  { name: 'ALLOCATOR_ROLE', hash: VAULT_ROLE_IDS.allocator },
  { name: 'MANAGER_ROLE', hash: VAULT_ROLE_IDS.manager },
  { name: 'CURATOR_ROLE', hash: VAULT_ROLE_IDS.curator },
  { name: 'DEFAULT_ADMIN_ROLE', hash: zeroHash },
]

/** Read whether an account has a role of a vault. */
export const vaultRoleView = (vault: Address, role: Hex, account: Address): View<boolean> =>
  view('hasRole', vault, [role, account], z.boolean())

/** Read whether an account may move what a vault lends. */
export const allocatesView = (vault: Address, account: Address): View<boolean> =>
  vaultRoleView(vault, VAULT_ROLE_IDS.allocator, account)

/** Read who owns a vault. */
export const ownerView = (vault: Address): View<Address> => view('owner', vault, [], address)

const offerRead = z.tuple([address, uint]).transform(([to, fromS]) => ({ to, fromS }))

/** Read to whom a vault is offered, nobody being the zero address, and after which second of the chain it can be accepted. */
export const offerView = (vault: Address): View<z.output<typeof offerRead>> =>
  view('pendingDefaultAdmin', vault, [], offerRead)

const listingRead = z.object({
  approved: z.boolean(),
  allocationEnabled: z.boolean(),
  relativeCapBps: uint,
  absoluteCapAssets: uint,
})
/** A vault's terms for one of its markets. */
export type ListingRead = z.output<typeof listingRead>

/** Read a vault's terms for a market. */
export const listingView = (vault: Address, market: Address): View<ListingRead> =>
  view('listing', vault, [market], listingRead)

const feesRead = z.object({
  managementFeeBps: uint,
  performanceFeeBps: uint,
  borrowerManagerFeeBps: uint,
  recipient: address,
  curatorRecipient: address,
})
const termsRead = z.object({
  kind: uint,
  noticeSeconds: uint,
  intervalSeconds: uint,
  maturityTimestamp: uint,
})

/** All of a vault that its owner sets, but for listings and roles. Basis points, base units of its asset, seconds. */
export type VaultSetup = {
  readonly owner: Address
  /** To whom it is offered; the zero address where it is offered to nobody. */
  readonly offeredTo: Address
  readonly fees: z.output<typeof feesRead>
  readonly bufferBps: bigint
  readonly exitTerms: z.output<typeof termsRead>
  readonly minDepositAssets: bigint
  readonly maxDepositAssets: bigint
  readonly routing: readonly Address[]
}

/** Ask for all of a vault that its owner sets; null when a read has no answer. */
export function askSetup(reads: Reads, vault: Address): () => VaultSetup | null {
  const asked = {
    owner: reads.ask(ownerView(vault)),
    offer: reads.ask(offerView(vault)),
    fees: reads.ask(view('feeConfig', vault, [], feesRead)),
    bufferBps: reads.ask(view('liquidityBufferBps', vault, [], uint)),
    exitTerms: reads.ask(view('exitTerms', vault, [], termsRead)),
    minDepositAssets: reads.ask(view('minDepositAssets', vault, [], uint)),
    maxDepositAssets: reads.ask(view('maxDepositAssets', vault, [], uint)),
    routing: reads.ask(view('routing', vault, [], z.array(address))),
  }
  return () => {
    const [owner, offer, fees, bufferBps] = [asked.owner(), asked.offer(), asked.fees(), asked.bufferBps()]
    const [exitTerms, routing] = [asked.exitTerms(), asked.routing()]
    const [minDepositAssets, maxDepositAssets] = [asked.minDepositAssets(), asked.maxDepositAssets()]
    return owner === null ||
      offer === null ||
      fees === null ||
      bufferBps === null ||
      exitTerms === null ||
      routing === null ||
      minDepositAssets === null ||
      maxDepositAssets === null
      ? null
      : {
          owner,
          offeredTo: offer.to,
          fees,
          bufferBps,
          exitTerms,
          minDepositAssets,
          maxDepositAssets,
          routing,
        }
  }
}

/** Read what a vault lends. */
export const vaultAssetView = (vault: Address): View<Address> => holder('asset', vault, [], address)

/** Read a figure of a vault: base units of its asset, shares, a number of the queue, or a chain second. */
export const vaultFigureView = (
  vault: Address,
  name: 'totalAssets' | 'totalSupply' | 'idleAssets' | 'queueEnd' | 'transferProfile' | 'restoreAfter',
): View<bigint> => holder(name, vault, [], uint)

/** Read what shares are worth, base units of the vault's asset. */
export const sharesWorthView = (vault: Address, shares: bigint): View<bigint> =>
  holder('convertToAssets', vault, [shares], uint)

/** Read whether redemption is frozen, or whether shares stand still. */
export const vaultFlagView = (
  vault: Address,
  name: 'redemptionFrozen' | 'shareMobilityPaused',
): View<boolean> => holder(name, vault, [], z.boolean())

/** Read to whom shares may be transferred where only trusted recipients may have them. */
export const trustedView = (vault: Address): View<readonly Address[]> =>
  holder('trustedRecipients', vault, [], z.array(address))

const requestRead = z.object({
  owner: address,
  receiver: address,
  dueAt: uint,
  shares: uint,
  paid: z.boolean(),
})
/** A place in a vault's redemption queue; all zero where there is none. */
export type RequestRead = z.output<typeof requestRead>

/** Read a request of the redemption queue. */
export const requestView = (vault: Address, requestId: bigint): View<RequestRead> =>
  holder('request', vault, [requestId], requestRead)
