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
import {ExitTerms, ExitTermsLib} from "./ExitTerms.sol";
import {LendingMarket} from "./LendingMarket.sol";
import {ShareMobility} from "./ShareMobility.sol";

/// @title An ERC-4626 vault that lends its assets to markets, each under its caps, and lets holders leave by its terms.
/// @dev Whoever leaves is paid from idle assets alone; the buffer and the queue keep the allocator from lending them
/// all. Bad debt in a market lowers `totalAssets` at once and so the share price. Shares carry six decimals more than
/// the asset, so inflating the share price of an empty vault costs an attacker a million times what it could take.
contract LendingVault is ERC4626, ShareMobility, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;
    using EnumerableSet for EnumerableSet.AddressSet;
    using ExitTermsLib for ExitTerms;

    struct Setup {
        IERC20 asset;
        string name;
        string symbol;
        /// The registry that this vault says it belongs to.
        address directory;
        address owner;
        address allocator;
        address manager;
        uint16 liquidityBufferBps;
        ExitTerms exitTerms;
    }

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

    struct Request {
        address owner;
        address receiver;
        uint64 requestedAt;
        uint64 dueAt;
        uint256 shares;
        bool paid;
    }

    bytes32 public constant ALLOCATOR_ROLE = keccak256("ALLOCATOR_ROLE");
    /// @notice Markets at most: `totalAssets` is a sum over all of them.
    uint256 public constant MARKETS_MAX = 16;
    /// @notice Requests that one claim pays at most; `processQueue` works off what is ahead of them.
    uint256 public constant CLAIM_REQUESTS_MAX = 32;
    uint256 private constant BPS = 10_000;

    address public immutable directory;
    uint16 public liquidityBufferBps;
    bool public tighteningLocked;
    /// @notice The oldest request that is not paid; one past the newest when all are.
    uint256 public queueHead = 1;
    /// @notice One past the newest request.
    uint256 public queueEnd = 1;

    ExitTerms private _exitTerms;
    EnumerableSet.AddressSet private _markets;
    mapping(address market => Listing) private _listings;
    mapping(uint256 requestId => Request) private _requests;

    event VaultCreated(address indexed directory, address indexed owner, address asset);
    event ListingSet(
        address indexed market,
        bool approved,
        bool allocationEnabled,
        uint256 absoluteCapAssets,
        uint16 relativeCapBps
    );
    event LiquidityBufferSet(uint16 liquidityBufferBps);
    event ExitTermsSet(ExitTerms terms);
    event TighteningLocked();
    event Allocated(address indexed market, uint256 assets);
    event Deallocated(address indexed market, uint256 assets);
    event WithdrawalRequested(
        uint256 indexed requestId, address indexed owner, address receiver, uint256 shares, uint64 dueAt
    );
    event WithdrawalPaid(
        uint256 indexed requestId, address indexed owner, address receiver, uint256 shares, uint256 assets
    );

    error BpsOutOfRange(uint256 bps);
    error MarketAssetMismatch(address market);
    error MarketsFull();
    error MarketNotListed(address market);
    error MarketNotApproved(address market);
    error AllocationDisabled(address market);
    error AboveAbsoluteCap(uint256 allocatedAssets, uint256 capAssets);
    error AboveRelativeCap(uint256 allocatedAssets, uint256 capAssets);
    error BelowLiquidityBuffer(uint256 idleAssets, uint256 neededAssets);
    error EmptyReallocation();
    error ExitTermsLocked();
    error SharesBelowMin(uint256 shares, uint256 minShares);
    error SharesAboveMax(uint256 shares, uint256 maxShares);
    error ZeroAmount();
    error ZeroReceiver();
    error RequestNotFound(uint256 requestId);
    error RequestAlreadyPaid(uint256 requestId);
    error RequestNotDue(uint256 requestId, uint256 dueAt);
    error RequestNotFunded(uint256 requestId, uint256 neededAssets, uint256 idleAssets);
    error RequestTooFarBack(uint256 requestId, uint256 queueHead);

    constructor(Setup memory setup) ERC4626(setup.asset) ERC20(setup.name, setup.symbol) {
        // First, so that whoever follows the logs knows whose the others are.
        emit VaultCreated(setup.directory, setup.owner, address(setup.asset));
        setup.exitTerms.check();
        _grantRole(DEFAULT_ADMIN_ROLE, setup.owner);
        _grantRole(ALLOCATOR_ROLE, setup.allocator);
        _grantRole(MANAGER_ROLE, setup.manager);
        directory = setup.directory;
        _exitTerms = setup.exitTerms;
        emit ExitTermsSet(setup.exitTerms);
        _setLiquidityBuffer(setup.liquidityBufferBps);
    }

    // The owner lists markets and sets the terms.

    /// @notice Lists a market or changes its listing. One that is not approved and holds nothing is unlisted.
    function setListing(address market, Listing calldata next) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (address(LendingMarket(market).loanAsset()) != asset()) revert MarketAssetMismatch(market);
        _requireBps(next.relativeCapBps);
        _listings[market] = next;
        if (next.approved) _markets.add(market);
        else if (LendingMarket(market).allocatedAssets(address(this)) == 0) _markets.remove(market);
        if (_markets.length() > MARKETS_MAX) revert MarketsFull();
        emit ListingSet(
            market, next.approved, next.allocationEnabled, next.absoluteCapAssets, next.relativeCapBps
        );
    }

    /// @notice Sets the share of all assets that allocation leaves idle.
    function setLiquidityBuffer(uint16 bufferBps) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _setLiquidityBuffer(bufferBps);
    }

    /// @notice Changes when leavers are paid. Requests that wait keep their moment, or get an earlier one.
    function setExitTerms(ExitTerms calldata next) external onlyRole(DEFAULT_ADMIN_ROLE) {
        next.check();
        if (tighteningLocked && _exitTerms.tightens(next)) revert ExitTermsLocked();
        _exitTerms = next;
        emit ExitTermsSet(next);
    }

    /// @notice Lets the exit terms be loosened only, from now on.
    function lockTightening() external onlyRole(DEFAULT_ADMIN_ROLE) {
        tighteningLocked = true;
        emit TighteningLocked();
    }

    // The allocator moves assets between idle and the markets.

    /// @notice Moves idle assets into a market, up to its caps and down to the buffer.
    function allocate(address market, uint256 assets) external onlyRole(ALLOCATOR_ROLE) nonReentrant {
        _supply(market, assets);
        _requireBuffer();
    }

    /// @notice Moves a market's cash back to idle.
    function deallocate(address market, uint256 assets) external onlyRole(ALLOCATOR_ROLE) nonReentrant {
        _recall(market, assets);
    }

    /// @notice Moves assets between markets, all or nothing: every withdrawal, then every supply.
    function reallocate(Move[] calldata withdrawals, Move[] calldata supplies)
        external
        onlyRole(ALLOCATOR_ROLE)
        nonReentrant
    {
        if (withdrawals.length + supplies.length == 0) revert EmptyReallocation();
        for (uint256 i = 0; i < withdrawals.length; i++) {
            _recall(withdrawals[i].market, withdrawals[i].assets);
        }
        for (uint256 i = 0; i < supplies.length; i++) _supply(supplies[i].market, supplies[i].assets);
        if (supplies.length > 0) _requireBuffer();
    }

    // Holders come and leave.

    /// @notice Deposits for at least `minShares`.
    function depositNow(uint256 assets, address receiver, uint256 minShares) external returns (uint256 shares) {
        shares = deposit(assets, receiver);
        if (shares < minShares) revert SharesBelowMin(shares, minShares);
    }

    /// @notice Withdraws for at most `maxShares` of the caller, from idle assets that the queue does not need.
    function withdrawNow(uint256 assets, address receiver, uint256 maxShares) external returns (uint256 shares) {
        shares = withdraw(assets, receiver, msg.sender);
        if (shares > maxShares) revert SharesAboveMax(shares, maxShares);
    }

    /// @notice Puts shares of the caller into the redemption queue, which pays `receiver` when their turn has come.
    function requestWithdrawal(uint256 shares, address receiver) external returns (uint256 requestId) {
        _requireRedeemable();
        if (receiver == address(0) || receiver == address(this)) revert ZeroReceiver();
        if (convertToAssets(shares) == 0) revert ZeroAmount();
        requestId = queueEnd++;
        uint64 due = uint64(_exitTerms.dueAt(block.timestamp));
        _requests[requestId] = Request(msg.sender, receiver, uint64(block.timestamp), due, shares, false);
        emit WithdrawalRequested(requestId, msg.sender, receiver, shares, due);
        // Past the override, which is for shares that change hands.
        ERC20._update(msg.sender, address(this), shares);
    }

    /// @notice Pays a request, and those before it, to their receivers. Anyone may call it.
    function claimWithdrawal(uint256 requestId) external nonReentrant {
        if (requestId == 0 || requestId >= queueEnd) revert RequestNotFound(requestId);
        if (requestId < queueHead) revert RequestAlreadyPaid(requestId);
        if (requestId >= queueHead + CLAIM_REQUESTS_MAX) revert RequestTooFarBack(requestId, queueHead);
        while (queueHead <= requestId) {
            uint256 dueAt = _dueAt(queueHead);
            if (block.timestamp < dueAt) revert RequestNotDue(queueHead, dueAt);
            uint256 needed = convertToAssets(_requests[queueHead].shares);
            if (needed > idleAssets()) revert RequestNotFunded(queueHead, needed, idleAssets());
            _pay(needed);
        }
    }

    /// @notice Pays the oldest requests that are due and funded, `countMax` at most. Anyone may call it.
    function processQueue(uint256 countMax) external nonReentrant returns (uint256 count) {
        for (; count < countMax && queueHead < queueEnd && block.timestamp >= _dueAt(queueHead); count++) {
            uint256 needed = convertToAssets(_requests[queueHead].shares);
            if (needed > idleAssets()) break;
            _pay(needed);
        }
    }

    // Views.

    function markets() external view returns (address[] memory) {
        return _markets.values();
    }

    function listing(address market) external view returns (Listing memory) {
        return _listings[market];
    }

    function exitTerms() external view returns (ExitTerms memory) {
        return _exitTerms;
    }

    /// @notice A request; all zero where there is none. `dueAt` is by the looser of its terms and today's.
    function request(uint256 requestId) external view returns (Request memory item) {
        item = _requests[requestId];
        if (item.owner != address(0)) item.dueAt = uint64(_dueAt(requestId));
    }

    /// @notice Assets in the vault itself.
    function idleAssets() public view returns (uint256) {
        return IERC20(asset()).balanceOf(address(this));
    }

    /// @notice What the queued shares are worth now, rounded up.
    function queuedAssets() public view returns (uint256) {
        return _convertToAssets(balanceOf(address(this)), Math.Rounding.Ceil);
    }

    /// @notice Idle assets that the queue does not need.
    function freeAssets() public view returns (uint256) {
        return Math.saturatingSub(idleAssets(), queuedAssets());
    }

    /// @inheritdoc ERC4626
    function totalAssets() public view override returns (uint256 assets) {
        assets = idleAssets();
        for (uint256 i = 0; i < _markets.length(); i++) {
            assets += LendingMarket(_markets.at(i)).allocatedAssets(address(this));
        }
    }

    /// @inheritdoc ERC4626
    function maxDeposit(address receiver) public view override returns (uint256) {
        return shareMobilityPaused ? 0 : super.maxDeposit(receiver);
    }

    /// @inheritdoc ERC4626
    function maxMint(address receiver) public view override returns (uint256) {
        return shareMobilityPaused ? 0 : super.maxMint(receiver);
    }

    /// @inheritdoc ERC4626
    function maxWithdraw(address owner) public view override returns (uint256) {
        return _paysAtOnce() ? Math.min(convertToAssets(balanceOf(owner)), freeAssets()) : 0;
    }

    /// @inheritdoc ERC4626
    function maxRedeem(address owner) public view override returns (uint256) {
        return _paysAtOnce() ? Math.min(balanceOf(owner), convertToShares(freeAssets())) : 0;
    }

    /// @inheritdoc ERC4626
    function decimals() public view override(ERC20, ERC4626) returns (uint8) {
        return super.decimals();
    }

    function _decimalsOffset() internal pure override returns (uint8) {
        return 6;
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ShareMobility) {
        super._update(from, to, value);
    }

    function _paysAtOnce() private view returns (bool) {
        return !redemptionFrozen() && _exitTerms.dueAt(block.timestamp) <= block.timestamp;
    }

    function _dueAt(uint256 requestId) private view returns (uint256) {
        Request storage item = _requests[requestId];
        return Math.min(item.dueAt, _exitTerms.dueAt(item.requestedAt));
    }

    /// @dev The head of the queue, at the price of this moment.
    function _pay(uint256 assets) private {
        uint256 requestId = queueHead++;
        Request storage item = _requests[requestId];
        item.paid = true;
        emit WithdrawalPaid(requestId, item.owner, item.receiver, item.shares, assets);
        _withdraw(address(this), item.receiver, address(this), assets, item.shares);
    }

    function _setLiquidityBuffer(uint16 bufferBps) private {
        _requireBps(bufferBps);
        liquidityBufferBps = bufferBps;
        emit LiquidityBufferSet(bufferBps);
    }

    function _supply(address market, uint256 assets) private {
        if (!_markets.contains(market)) revert MarketNotListed(market);
        Listing storage terms = _listings[market];
        if (!terms.approved) revert MarketNotApproved(market);
        if (!terms.allocationEnabled) revert AllocationDisabled(market);
        uint256 allocated = LendingMarket(market).allocatedAssets(address(this)) + assets;
        if (allocated > terms.absoluteCapAssets) revert AboveAbsoluteCap(allocated, terms.absoluteCapAssets);
        uint256 relativeCap = Math.mulDiv(totalAssets(), terms.relativeCapBps, BPS);
        if (allocated > relativeCap) revert AboveRelativeCap(allocated, relativeCap);
        emit Allocated(market, assets);
        IERC20(asset()).forceApprove(market, assets);
        LendingMarket(market).supply(assets);
    }

    function _recall(address market, uint256 assets) private {
        if (!_markets.contains(market)) revert MarketNotListed(market);
        emit Deallocated(market, assets);
        LendingMarket(market).withdraw(assets);
    }

    function _requireBuffer() private view {
        uint256 buffer = Math.mulDiv(totalAssets(), liquidityBufferBps, BPS, Math.Rounding.Ceil);
        uint256 needed = buffer + queuedAssets();
        if (idleAssets() < needed) revert BelowLiquidityBuffer(idleAssets(), needed);
    }

    function _requireBps(uint256 bps) private pure {
        if (bps > BPS) revert BpsOutOfRange(bps);
    }
}
