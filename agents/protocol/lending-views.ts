import { keccak256, parseAbi, stringToHex } from 'viem'

/** Who may move a vault's assets between its markets. */
export const ALLOCATOR_ROLE = keccak256(stringToHex('ALLOCATOR_ROLE'))
/** Who keeps the lists of a vault's partner channels. */
export const CURATOR_ROLE = keccak256(stringToHex('CURATOR_ROLE'))

/** What a vault says of itself; amounts in base units of its asset. */
export const vaultViews = parseAbi([
  'function asset() view returns (address)',
  'function totalAssets() view returns (uint256)',
  'function totalSupply() view returns (uint256)',
  'function idleAssets() view returns (uint256)',
  'function queuedAssets() view returns (uint256)',
  'function queueHead() view returns (uint256)',
  'function queueEnd() view returns (uint256)',
  'function liquidityBufferBps() view returns (uint16)',
  'function markets() view returns (address[])',
  'function hasRole(bytes32 role, address account) view returns (bool)',
  'struct ExitTerms { uint8 kind; uint64 noticeSeconds; uint64 intervalSeconds; uint64 maturityTimestamp; }',
  'function exitTerms() view returns (ExitTerms)',
  'struct Listing { bool approved; bool allocationEnabled; uint16 relativeCapBps; uint256 absoluteCapAssets; }',
  'function listing(address market) view returns (Listing)',
  'struct Request { address owner; address receiver; uint64 requestedAt; uint64 dueAt; uint256 shares; bool paid; }',
  'function request(uint256 requestId) view returns (Request)',
])

/** What a vault's owner has set of it; amounts in base units of its asset, a highest deposit of 0 is none. */
export const vaultOwnerViews = parseAbi([
  'function asset() view returns (address)',
  'function totalAssets() view returns (uint256)',
  'function owner() view returns (address)',
  'function pendingDefaultAdmin() view returns (address newAdmin, uint48 schedule)',
  'function hasRole(bytes32 role, address account) view returns (bool)',
  'struct Listing { bool approved; bool allocationEnabled; uint16 relativeCapBps; uint256 absoluteCapAssets; }',
  'function listing(address market) view returns (Listing)',
  'struct FeeConfig { uint16 managementFeeBps; uint16 performanceFeeBps; uint16 borrowerManagerFeeBps; address recipient; address curatorRecipient; }',
  'function feeConfig() view returns (FeeConfig)',
  'function routing() view returns (address[])',
  'function liquidityBufferBps() view returns (uint16)',
  'struct ExitTerms { uint8 kind; uint64 noticeSeconds; uint64 intervalSeconds; uint64 maturityTimestamp; }',
  'function exitTerms() view returns (ExitTerms)',
  'function tighteningLocked() view returns (bool)',
  'function minDepositAssets() view returns (uint256)',
  'function maxDepositAssets() view returns (uint256)',
])

/** Which vaults a market's owner lets lend to it, and what one of them does; base units of its asset. */
export const marketVaultsView = parseAbi([
  'function vaults() view returns (address[])',
  'function allocatedAssets(address vault) view returns (uint256)',
])

/** What a partner's channel says of itself: an ERC-4626 wrapper of one vault; its cap in base units of that vault's asset. */
export const partnerChannelViews = parseAbi([
  'function vault() view returns (address)',
  'function reseller() view returns (address)',
  'function curator() view returns (address)',
  'function shareClass() view returns (string)',
  'function resellerFeeBps() view returns (uint16)',
  'function borrowerFeeBps() view returns (uint16)',
  'function capAssets() view returns (uint256)',
  'function isBlocked(address account) view returns (bool)',
])

/** What a market says of itself; amounts in base units of its loan asset, rates as wads a second. */
export const marketViews = parseAbi([
  'function paused() view returns (bool)',
  'function totalDebt() view returns (uint256)',
  'function totalCash() view returns (uint256)',
  'function totalBadDebt() view returns (uint256)',
  'function utilizationWad() view returns (uint256)',
  'function borrowRatePerSecond() view returns (uint256)',
  'function supplyRatePerSecond() view returns (uint256)',
  'function rateModel() view returns (address)',
  'function allocatedAssets(address vault) view returns (uint256)',
  'function partition(address vault) view returns (uint256 cash, uint256 debtAssets, uint256 badDebtAssets)',
])

/** The `state` of {@link oracleViews} for a price that its feeder vouches for. */
export const ORACLE_HEALTHY = 1

/** What an oracle says: whole loan tokens for one whole collateral token as a wad. */
export const oracleViews = parseAbi([
  'function read() view returns (uint256 priceWad, uint64 sourceAsOf, uint64 updatedAt, uint8 state)',
])

/** What a kinked rate model says, as wads. */
export const rateModelViews = parseAbi([
  'function baseRatePerSecondWad() view returns (uint256)',
  'function slope1PerSecondWad() view returns (uint256)',
  'function slope2PerSecondWad() view returns (uint256)',
  'function kinkWad() view returns (uint256)',
  'function borrowRatePerSecond(uint256 utilizationWad) view returns (uint256)',
])
