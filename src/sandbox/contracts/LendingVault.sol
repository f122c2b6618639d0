// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {EnumerableSet} from "@openzeppelin/contracts/utils/structs/EnumerableSet.sol";
import {LendingMarket} from "./LendingMarket.sol";

/// @title An ERC-4626 vault that lends its assets to markets, each under a cap.
/// @dev Withdrawals are paid from idle assets alone; the allocator keeps enough of them. Bad debt in a market lowers
/// `totalAssets` at once and so the share price. Shares carry six decimals more than the asset, so inflating the
/// share price of an empty vault costs an attacker a million times what it could take.
contract LendingVault is ERC4626, AccessControl, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;
    using EnumerableSet for EnumerableSet.AddressSet;

    bytes32 public constant ALLOCATOR_ROLE = keccak256("ALLOCATOR_ROLE");
    /// @notice Markets at most: `totalAssets` is a sum over all of them.
    uint256 public constant MARKETS_MAX = 16;

    EnumerableSet.AddressSet private _markets;
    /// @notice The most that allocation may bring a market to; interest may carry it further.
    mapping(address market => uint256) public cap;

    event CapSet(address indexed market, uint256 capAssets);
    event Allocated(address indexed market, uint256 assets);
    event Deallocated(address indexed market, uint256 assets);

    error MarketAssetMismatch(address market);
    error MarketsFull();
    error MarketNotListed(address market);
    error AboveCap(uint256 allocatedAssets, uint256 capAssets);

    constructor(IERC20 asset_, string memory name_, string memory symbol_, address admin, address allocator)
        ERC4626(asset_)
        ERC20(name_, symbol_)
    {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(ALLOCATOR_ROLE, allocator);
    }

    /// @notice Caps a market, and lists it on first use. A cap of zero unlists a market that holds nothing.
    function setCap(address market, uint256 capAssets) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (address(LendingMarket(market).loanAsset()) != asset()) revert MarketAssetMismatch(market);
        cap[market] = capAssets;
        if (capAssets > 0) _markets.add(market);
        else if (LendingMarket(market).allocatedAssets(address(this)) == 0) _markets.remove(market);
        if (_markets.length() > MARKETS_MAX) revert MarketsFull();
        emit CapSet(market, capAssets);
    }

    /// @notice Moves idle assets into a market, up to its cap.
    function allocate(address market, uint256 assets) external onlyRole(ALLOCATOR_ROLE) nonReentrant {
        if (!_markets.contains(market)) revert MarketNotListed(market);
        uint256 allocated = LendingMarket(market).allocatedAssets(address(this)) + assets;
        if (allocated > cap[market]) revert AboveCap(allocated, cap[market]);
        emit Allocated(market, assets);
        IERC20(asset()).forceApprove(market, assets);
        LendingMarket(market).supply(assets);
    }

    /// @notice Moves a market's cash back to idle.
    function deallocate(address market, uint256 assets) external onlyRole(ALLOCATOR_ROLE) nonReentrant {
        if (!_markets.contains(market)) revert MarketNotListed(market);
        emit Deallocated(market, assets);
        LendingMarket(market).withdraw(assets);
    }

    function markets() external view returns (address[] memory) {
        return _markets.values();
    }

    /// @notice Assets in the vault itself, which withdrawals are paid from.
    function idleAssets() public view returns (uint256) {
        return IERC20(asset()).balanceOf(address(this));
    }

    /// @inheritdoc ERC4626
    function totalAssets() public view override returns (uint256 assets) {
        assets = idleAssets();
        for (uint256 i = 0; i < _markets.length(); i++) {
            assets += LendingMarket(_markets.at(i)).allocatedAssets(address(this));
        }
    }

    /// @inheritdoc ERC4626
    function maxWithdraw(address owner) public view override returns (uint256) {
        return Math.min(super.maxWithdraw(owner), idleAssets());
    }

    /// @inheritdoc ERC4626
    function maxRedeem(address owner) public view override returns (uint256) {
        return Math.min(super.maxRedeem(owner), _convertToShares(idleAssets(), Math.Rounding.Floor));
    }

    function _decimalsOffset() internal pure override returns (uint8) {
        return 6;
    }
}
