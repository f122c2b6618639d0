import { type Hex, hexToString, keccak256, parseAbi, stringToHex } from 'viem'

/** Views of a recovery fund. Amounts are base units of its quote asset, times Unix seconds. */
export const FUND_VIEWS = parseAbi([
  'function manager() view returns (address)',
  'function idleAssets() view returns (uint256)',
  'function reservedAssets() view returns (uint256)',
  'function netAssets() view returns (uint256)',
  'function epochId() view returns (uint256)',
  'function channelPolicy(bytes32 channel) view returns (bool enabled, uint256 maxAssetsPerEpoch, uint16 maxPriceBps, uint16 maxPositionBps)',
  'function usedAssets(uint256 epochId, bytes32 channel) view returns (uint256)',
  'function reservationAt(address house, bytes32 positionId) view returns (uint256)',
  'function reservation(uint256 reservationId) view returns (uint8 status, address house, uint256 lotId, uint256 epochId, uint256 assets)',
  'function appraise(address asset, uint256 amount, address market) view returns (uint256 assets)',
])

/** Views of a house that offers distressed positions to funds. */
export const HOUSE_VIEWS = parseAbi([
  'struct LotTerms { bytes32 positionId; bytes32 lane; address market; address borrower; address asset; uint256 amount; address quoteAsset; uint256 reserveAssets; uint64 closesAt; }',
  'struct Lot { LotTerms terms; address seller; uint8 state; address bestBidder; uint256 bestAssets; }',
  'function lot(uint256 lotId) view returns (Lot)',
])

/** What a market that vaults lend to owes and holds; base units of its loan asset. */
export const MARKET_VIEWS = parseAbi([
  'function totalBadDebt() view returns (uint256)',
  'function totalDebt() view returns (uint256)',
  'function totalCash() view returns (uint256)',
])

/** Views of who may hold a vault's shares. */
export const MOBILITY_VIEWS = parseAbi([
  'function transferProfile() view returns (uint8)',
  'function shareMobilityPaused() view returns (bool)',
  'function restoreAfter() view returns (uint64)',
  'function mobilityEpoch() view returns (uint64)',
  'function pauseReason() view returns (string)',
  'function trustedRecipients() view returns (address[])',
  'function hasRole(bytes32 role, address account) view returns (bool)',
])

/** A reservation that waits in a bid, as a fund's contract numbers it. */
export const RESERVATION_ACTIVE = 1
/** A lot that takes bids until its close, as a house's contract numbers it. */
export const LOT_OPEN = 1
/** The role that governs a vault's mobility. */
export const MANAGER_ROLE: Hex = keccak256(stringToHex('MANAGER_ROLE'))

/** Write short ASCII as contracts hold it: 32 bytes, padded with zeros at the end. Pure. */
export const wordOf = (text: string): Hex => stringToHex(text, { size: 32 })

/** Read short ASCII that a contract holds in 32 bytes; anything else comes out as the word itself. Pure. */
export function textOf(word: Hex): string {
  const text = hexToString(word, { size: 32 })
  return /^[\x20-\x7e]{1,32}$/.test(text) ? text : word
}
