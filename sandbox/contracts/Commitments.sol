// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

/// @title Counts what a venue holds of each bidder, so that a bidder's limits can be kept by one read each.
abstract contract Commitments {
    using SafeCast for uint256;

    struct Commitment {
        uint128 escrowAssets;
        uint128 winnableAmount;
    }

    mapping(address bidder => mapping(IERC20 asset => mapping(IERC20 quoteAsset => Commitment))) private _of;

    /// @notice What a bidder's bids for an asset have here that is not paid back, and what they may win between them.
    function commitments(address bidder, IERC20 asset, IERC20 quoteAsset)
        external
        view
        returns (uint256 escrowAssets, uint256 winnableAmount)
    {
        Commitment storage found = _of[bidder][asset][quoteAsset];
        return (found.escrowAssets, found.winnableAmount);
    }

    function _commit(address bidder, IERC20 asset, IERC20 quoteAsset, uint256 assets) internal {
        _of[bidder][asset][quoteAsset].escrowAssets += assets.toUint128();
    }

    function _release(address bidder, IERC20 asset, IERC20 quoteAsset, uint256 assets) internal {
        _of[bidder][asset][quoteAsset].escrowAssets -= assets.toUint128();
    }

    function _mayWin(address bidder, IERC20 asset, IERC20 quoteAsset, uint256 amount) internal {
        _of[bidder][asset][quoteAsset].winnableAmount += amount.toUint128();
    }

    function _cannotWin(address bidder, IERC20 asset, IERC20 quoteAsset, uint256 amount) internal {
        _of[bidder][asset][quoteAsset].winnableAmount -= amount.toUint128();
    }
}
