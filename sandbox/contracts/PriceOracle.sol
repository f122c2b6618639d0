// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";

/// @title The price of one collateral asset in one loan asset, with the state its feeder vouches for.
/// @dev The feeder publishes the state; age alone can only worsen it: a healthy price reads as stale once it is
/// older than `maxAgeSeconds`, so a feeder that stops cannot leave an old price in use.
contract PriceOracle is AccessControl {
    bytes32 public constant FEEDER_ROLE = keccak256("FEEDER_ROLE");

    uint8 public constant MISSING = 0;
    uint8 public constant HEALTHY = 1;
    uint8 public constant STALE = 2;
    uint8 public constant BLOCKED = 3;

    /// @notice Seconds after `updatedAt` from which a healthy price reads as stale.
    uint64 public immutable maxAgeSeconds;

    uint256 private _priceWad;
    uint64 private _sourceAsOf;
    uint64 private _updatedAt;
    uint8 private _state;

    event PriceSet(uint256 priceWad, uint64 sourceAsOf);
    event StateSet(uint8 state);

    error PriceOutOfRange(uint256 priceWad);
    error SourceInFuture(uint64 sourceAsOf, uint256 nowSeconds);
    error SourceWentBackwards(uint64 sourceAsOf, uint64 previousSourceAsOf);
    error UnknownState(uint8 state);
    error PriceNeverSet();

    constructor(address admin, address feeder, uint64 maxAgeSeconds_) {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(FEEDER_ROLE, feeder);
        maxAgeSeconds = maxAgeSeconds_;
    }

    /// @notice Publishes a price; the state stays as it is.
    /// @param priceWad Whole loan tokens for one whole collateral token, times 1e18. At most 2^128-1, which keeps
    /// every product a market forms with it within 256 bits.
    /// @param sourceAsOf When the source observed it, in seconds; never later than now or earlier than the last one.
    function setPrice(uint256 priceWad, uint64 sourceAsOf) external onlyRole(FEEDER_ROLE) {
        if (priceWad == 0 || priceWad > type(uint128).max) revert PriceOutOfRange(priceWad);
        if (sourceAsOf > block.timestamp) revert SourceInFuture(sourceAsOf, block.timestamp);
        if (sourceAsOf < _sourceAsOf) revert SourceWentBackwards(sourceAsOf, _sourceAsOf);
        _priceWad = priceWad;
        _sourceAsOf = sourceAsOf;
        _updatedAt = uint64(block.timestamp);
        emit PriceSet(priceWad, sourceAsOf);
    }

    /// @notice Publishes the state: 0 missing, 1 healthy, 2 stale, 3 blocked.
    function setState(uint8 state) external onlyRole(FEEDER_ROLE) {
        if (state > BLOCKED) revert UnknownState(state);
        if (state == HEALTHY && _priceWad == 0) revert PriceNeverSet();
        _state = state;
        emit StateSet(state);
    }

    /// @notice The last price, when its source saw it, when it was published, and the state as of this block.
    function read() external view returns (uint256 priceWad, uint64 sourceAsOf, uint64 updatedAt, uint8 state) {
        bool expired = _state == HEALTHY && block.timestamp > uint256(_updatedAt) + maxAgeSeconds;
        return (_priceWad, _sourceAsOf, _updatedAt, expired ? STALE : _state);
    }
}
