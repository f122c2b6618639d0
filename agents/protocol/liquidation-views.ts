import { parseAbi } from 'viem'

/** What a market says of borrowers and of liquidation claims, and an oracle of its price; `guard.views` must name each. */
export const liquidationViews = parseAbi([
  'function read() view returns (uint256 priceWad, uint64 sourceAsOf, uint64 updatedAt, uint8 state)',
  'function openClaims(address liquidator) view returns (uint256[])',
  'function claim(uint256 claimId) view returns (address liquidator, address recipient, address vault, address borrower, uint256 collateralAssets, uint64 settleableAt, bool settled)',
  'function collateralOf(address borrower) view returns (uint256)',
  'function totalDebtOf(address borrower) view returns (uint256)',
  'function debtOf(address vault, address borrower) view returns (uint256)',
  'function debtSharesOf(address vault, address borrower) view returns (uint256)',
  'function healthFactorWad(address borrower) view returns (uint256)',
])

/** What a venue would pay for so much of a token. */
export const exitViews = parseAbi([
  'function quote(address tokenIn, uint256 assetsIn) view returns (uint256 assetsOut)',
])

/** What a token says of itself. Source: EIP-20. */
export const tokenViews = parseAbi(['function decimals() view returns (uint8)'])
