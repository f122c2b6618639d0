// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {EnumerableSet} from "@openzeppelin/contracts/utils/structs/EnumerableSet.sol";
import {LendingMarket} from "./LendingMarket.sol";
import {VaultFees} from "./VaultFees.sol";

/// @title The markets that a vault lends to, each under its caps, by its allocators' hands or by its routing.
/// @dev The buffer and what the redemption queue needs stay idle, whoever lends.
abstract contract VaultMarkets is VaultFees, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;
    using EnumerableSet for EnumerableSet.AddressSet;

    struct Listing {
        bool approved;
        bool allocationEnabled;
        uint16 relativeCapBps;
        uint256 absoluteCapAssets;
    }

    struct Move {
        address market;
        uint256 assets;
    }

    /// @notice Markets at most: `totalAssets` is a sum over all of them.
    uint256 public constant MARKETS_MAX = 16;

    uint16 public liquidityBufferBps;

    EnumerableSet.AddressSet private _markets;
    mapping(address market => Listing) private _listings;
    address[] private _routing;
    /// @dev Whether this transaction routed a deposit. Nothing leaves in the same one; what comes for longer counts as any deposit.
    bool internal transient _routed;

    event ListingSet(
        address indexed market,
        bool approved,
        bool allocationEnabled,
        uint256 absoluteCapAssets,
        uint16 relativeCapBps
    );
    /// @notice What it held for this vault is counted no more.
    event MarketWrittenOff(address indexed market);
    event RoutingSet(address[] marketsInOrder);
    event LiquidityBufferSet(uint16 liquidityBufferBps);
    event Allocated(address indexed market, uint256 assets);
    event Deallocated(address indexed market, uint256 assets);

    error BpsOutOfRange(uint256 bps);
    error MarketAssetMismatch(address market);
    error MarketsFull();
    error MarketAnswers(address market);
    error MarketNotListed(address market);
    error MarketNotApproved(address market);
    error AllocationDisabled(address market);
    error AboveAbsoluteCap(uint256 allocatedAssets, uint256 capAssets);
    error AboveRelativeCap(uint256 allocatedAssets, uint256 capAssets);
    error BelowLiquidityBuffer(uint256 idleAssets, uint256 neededAssets);
    error EmptyReallocation();
    error MarketRepeated(address market);

    // The owner lists markets.

    /// @notice Lists a market or changes its listing. One that is not approved and holds nothing is unlisted.
    function setListing(address market, Listing calldata next) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (address(LendingMarket(market).loanAsset()) != asset()) revert MarketAssetMismatch(market);
        _requireBps(next.relativeCapBps);
        _listings[market] = next;
        if (!next.approved) {
            if (LendingMarket(market).allocatedAssets(address(this)) == 0) _markets.remove(market);
        } else if (!_markets.contains(market)) {
            bool comesBack = LendingMarket(market).allocatedAssets(address(this)) > 0;
            if (comesBack) _accrueFeesIfAny();
            _markets.add(market);
            // What was written off was there before: it is no gain that a fee is charged on.
            if (comesBack) _raiseMarks();
        }
        if (_markets.length() > MARKETS_MAX) revert MarketsFull();
        emit ListingSet(
            market, next.approved, next.allocationEnabled, next.absoluteCapAssets, next.relativeCapBps
        );
    }

    /// @notice Unlists a market that no longer says what it holds for this vault, or says more than any asset has, which
    /// would stop the vault for good: whatever is there is written off. Listed again, it counts again.
    function writeOff(address market) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _requireListed(market);
        bytes memory asked = abi.encodeCall(LendingMarket(market).allocatedAssets, (address(this)));
        // Of what it answers no more is copied: it could be too much.
        (bool answers, bytes32 held,) = LowLevelCall.staticcallReturn64Bytes(market, asked);
        if (answers && LowLevelCall.returnDataSize() >= 32 && uint256(held) <= type(uint128).max) {
            revert MarketAnswers(market);
        }
        _markets.remove(market);
        delete _listings[market];
        emit MarketWrittenOff(market);
        emit ListingSet(market, false, false, 0, 0);
    }

    /// @notice Sets which markets a deposit is supplied to at once, the first as far as its caps allow, then the next. What
    /// none of them takes stays idle: that is the end of every route, and all of an empty one.
    function setRouting(address[] calldata marketsInOrder) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (marketsInOrder.length > MARKETS_MAX) revert MarketsFull();
        for (uint256 i = 0; i < marketsInOrder.length; i++) {
            _requireListed(marketsInOrder[i]);
            for (uint256 j = 0; j < i; j++) {
                if (marketsInOrder[j] == marketsInOrder[i]) revert MarketRepeated(marketsInOrder[i]);
            }
        }
        _routing = marketsInOrder;
        emit RoutingSet(marketsInOrder);
    }

    // The allocators, and the owner, move assets between idle and the markets.

    /// @notice Moves idle assets into a market, up to its caps and down to the buffer.
    function allocate(address market, uint256 assets) external onlyAllocator nonReentrant {
        _accrueFeesIfAny();
        _supply(market, assets);
        _requireBuffer();
    }

    /// @notice Moves a market's cash back to idle.
    function deallocate(address market, uint256 assets) external onlyAllocator nonReentrant {
        _accrueFeesIfAny();
        _recall(market, assets);
    }

    /// @notice Moves assets between markets, all or nothing: every withdrawal, then every supply.
    function reallocate(Move[] calldata withdrawals, Move[] calldata supplies) external onlyAllocator nonReentrant {
        if (withdrawals.length + supplies.length == 0) revert EmptyReallocation();
        _accrueFeesIfAny();
        for (uint256 i = 0; i < withdrawals.length; i++) {
            _recall(withdrawals[i].market, withdrawals[i].assets);
        }
        for (uint256 i = 0; i < supplies.length; i++) _supply(supplies[i].market, supplies[i].assets);
        if (supplies.length > 0) _requireBuffer();
    }

    // Views.

    function markets() external view returns (address[] memory) {
        return _markets.values();
    }

    function listing(address market) external view returns (Listing memory) {
        return _listings[market];
    }

    function routing() external view returns (address[] memory) {
        return _routing;
    }

    /// @notice What the queued shares are worth now, rounded up.
    function queuedAssets() public view returns (uint256) {
        return _convertToAssets(balanceOf(address(this)), Math.Rounding.Ceil);
    }

    function _allocatedAssets() internal view override returns (uint256 assets) {
        for (uint256 i = 0; i < _markets.length(); i++) {
            assets += LendingMarket(_markets.at(i)).allocatedAssets(address(this));
        }
    }

    function _setLiquidityBuffer(uint16 bufferBps) internal {
        _requireBps(bufferBps);
        liquidityBufferBps = bufferBps;
        emit LiquidityBufferSet(bufferBps);
    }

    /// @dev Supplies what was deposited, beyond buffer and queue, along the routing. A market that takes none is passed
    /// over: a deposit never fails by it.
    function _route(uint256 deposited) internal {
        if (_routing.length == 0) return;
        uint256 total = totalAssets();
        uint256 left = Math.min(deposited, Math.saturatingSub(idleAssets(), _neededIdle()));
        for (uint256 i = 0; i < _routing.length && left > 0; i++) {
            address market = _routing[i];
            uint256 assets = Math.min(left, _room(market, total));
            if (assets == 0) continue;
            IERC20(asset()).forceApprove(market, assets);
            try LendingMarket(market).supply(assets) {
                left -= assets;
                _routed = true;
                _markSupplied(assets);
                emit Allocated(market, assets);
            } catch {}
            // A market that did not take all keeps no claim on the rest.
            IERC20(asset()).forceApprove(market, 0);
        }
    }

    /// @dev What the routing may supply to a market.
    function _room(address market, uint256 total) private view returns (uint256) {
        Listing storage terms = _listings[market];
        if (!terms.approved || !terms.allocationEnabled || !_isOpen(market)) return 0;
        uint256 cap = Math.min(terms.absoluteCapAssets, Math.mulDiv(total, terms.relativeCapBps, BPS));
        return Math.saturatingSub(cap, LendingMarket(market).allocatedAssets(address(this)));
    }

    /// @dev A market that does not say so is passed over.
    function _isOpen(address market) private view returns (bool) {
        bytes memory asked = abi.encodeCall(LendingMarket(market).paused, ());
        (bool answers, bytes32 paused,) = LowLevelCall.staticcallReturn64Bytes(market, asked);
        return answers && LowLevelCall.returnDataSize() >= 32 && paused == 0;
    }

    function _supply(address market, uint256 assets) private {
        _requireListed(market);
        Listing storage terms = _listings[market];
        if (!terms.approved) revert MarketNotApproved(market);
        if (!terms.allocationEnabled) revert AllocationDisabled(market);
        uint256 allocated = LendingMarket(market).allocatedAssets(address(this)) + assets;
        if (allocated > terms.absoluteCapAssets) revert AboveAbsoluteCap(allocated, terms.absoluteCapAssets);
        uint256 relativeCap = Math.mulDiv(totalAssets(), terms.relativeCapBps, BPS);
        if (allocated > relativeCap) revert AboveRelativeCap(allocated, relativeCap);
        _markSupplied(assets);
        emit Allocated(market, assets);
        IERC20(asset()).forceApprove(market, assets);
        LendingMarket(market).supply(assets);
        IERC20(asset()).forceApprove(market, 0);
    }

    function _recall(address market, uint256 assets) private {
        _requireListed(market);
        _markRecalled(assets);
        emit Deallocated(market, assets);
        LendingMarket(market).withdraw(assets);
    }

    function _neededIdle() private view returns (uint256) {
        return Math.mulDiv(totalAssets(), liquidityBufferBps, BPS, Math.Rounding.Ceil) + queuedAssets();
    }

    function _requireBuffer() private view {
        uint256 needed = _neededIdle();
        if (idleAssets() < needed) revert BelowLiquidityBuffer(idleAssets(), needed);
    }

    function _requireListed(address market) private view {
        if (!_markets.contains(market)) revert MarketNotListed(market);
    }

    function _requireBps(uint256 bps) private pure {
        if (bps > BPS) revert BpsOutOfRange(bps);
    }
}
