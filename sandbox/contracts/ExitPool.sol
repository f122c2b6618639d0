// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title A constant-product pool of one collateral and one loan asset: where what was seized can be sold.
/// @dev Whoever holds the tokens provides what is in it, and nobody takes that back: it has no shares.
contract ExitPool {
    using SafeERC20 for IERC20;

    /// @notice What a swap pays the pool, in basis points of what comes in.
    uint256 public constant FEE_BPS = 5;

    IERC20 public immutable collateralAsset;
    IERC20 public immutable loanAsset;

    event Swapped(address indexed sender, address indexed recipient, address tokenIn, uint256 assetsIn, uint256 assetsOut);

    error UnknownToken(address token);
    error DeadlinePassed(uint256 deadline, uint256 nowSeconds);
    error AssetsOutBelowMin(uint256 assetsOut, uint256 minAssetsOut);

    constructor(IERC20 collateralAsset_, IERC20 loanAsset_) {
        collateralAsset = collateralAsset_;
        loanAsset = loanAsset_;
    }

    /// @notice What a swap of `assetsIn` would pay now, base units of the other token.
    function quote(address tokenIn, uint256 assetsIn) public view returns (uint256 assetsOut) {
        (IERC20 asset, IERC20 other) = _sides(tokenIn);
        uint256 effective = (assetsIn * (10_000 - FEE_BPS)) / 10_000;
        uint256 reserve = asset.balanceOf(address(this));
        if (effective == 0) return 0;
        return (other.balanceOf(address(this)) * effective) / (reserve + effective);
    }

    /// @notice Takes `assetsIn` of the sender and pays `recipient` what `quote` says, at least `minAssetsOut`.
    function swap(address tokenIn, uint256 assetsIn, uint256 minAssetsOut, address recipient, uint256 deadline)
        external
        returns (uint256 assetsOut)
    {
        if (block.timestamp > deadline) revert DeadlinePassed(deadline, block.timestamp);
        assetsOut = quote(tokenIn, assetsIn);
        if (assetsOut < minAssetsOut) revert AssetsOutBelowMin(assetsOut, minAssetsOut);
        (IERC20 asset, IERC20 other) = _sides(tokenIn);
        asset.safeTransferFrom(msg.sender, address(this), assetsIn);
        other.safeTransfer(recipient, assetsOut);
        emit Swapped(msg.sender, recipient, tokenIn, assetsIn, assetsOut);
    }

    function _sides(address tokenIn) private view returns (IERC20 asset, IERC20 other) {
        if (tokenIn == address(collateralAsset)) return (collateralAsset, loanAsset);
        if (tokenIn == address(loanAsset)) return (loanAsset, collateralAsset);
        revert UnknownToken(tokenIn);
    }
}
