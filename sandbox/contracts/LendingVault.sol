// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {ExitTerms, ExitTermsLib} from "./ExitTerms.sol";
import {ShareMobility} from "./ShareMobility.sol";
import {VaultFees} from "./VaultFees.sol";
import {VaultMarkets} from "./VaultMarkets.sol";
import {VaultOrigin} from "./VaultOrigin.sol";
import {VaultRoles} from "./VaultRoles.sol";

/// @title An ERC-4626 vault that lends its assets to markets, each under its caps, and lets holders leave by its terms.
/// @dev Whoever leaves is paid from idle assets alone; the buffer and the queue keep the allocator from lending them
/// all. Bad debt in a market lowers `totalAssets` at once and so the share price. Shares carry six decimals more than
/// the asset, so inflating the share price of an empty vault costs an attacker a million times what it could take.
contract LendingVault is VaultOrigin, ShareMobility, VaultMarkets {
    using ExitTermsLib for ExitTerms;

    struct Setup {
        IERC20 asset;
        string name;
        string symbol;
        address directory;
        address owner;
        address allocator;
        address manager;
        uint16 liquidityBufferBps;
        ExitTerms exitTerms;
    }

    struct Request {
        address owner;
        address receiver;
        uint64 requestedAt;
        uint64 dueAt;
        uint256 shares;
        bool paid;
    }

    /// @notice Requests that one claim pays at most; `processQueue` works off what is ahead of them.
    uint256 public constant CLAIM_REQUESTS_MAX = 32;

    bool public tighteningLocked;
    /// @notice The least that one deposit is.
    uint256 public minDepositAssets;
    /// @notice The most that one deposit is; zero means no such limit.
    uint256 public maxDepositAssets;
    /// @notice The oldest request that is not paid; one past the newest when all are.
    uint256 public queueHead = 1;
    /// @notice One past the newest request.
    uint256 public queueEnd = 1;

    ExitTerms private _exitTerms;
    mapping(uint256 requestId => Request) private _requests;

    event ExitTermsSet(ExitTerms terms);
    event TighteningLocked();
    event DepositLimitsSet(uint256 minDepositAssets, uint256 maxDepositAssets);
    event WithdrawalRequested(
        uint256 indexed requestId, address indexed owner, address receiver, uint256 shares, uint64 dueAt
    );
    event WithdrawalPaid(
        uint256 indexed requestId, address indexed owner, address receiver, uint256 shares, uint256 assets
    );

    error ExitTermsLocked();
    error DepositLimitsOutOfRange(uint256 minAssets, uint256 maxAssets);
    error DepositBelowMin(uint256 assets, uint256 minAssets);
    error SharesBelowMin(uint256 shares, uint256 minShares);
    error SharesAboveMax(uint256 shares, uint256 maxShares);
    error ZeroAmount();
    error ZeroReceiver();
    error RequestNotFound(uint256 requestId);
    error RequestAlreadyPaid(uint256 requestId);
    error RequestNotDue(uint256 requestId, uint256 dueAt);
    error RequestNotFunded(uint256 requestId, uint256 neededAssets, uint256 idleAssets);
    error RequestTooFarBack(uint256 requestId, uint256 queueHead);

    constructor(Setup memory setup)
        VaultOrigin(setup.directory, setup.owner, address(setup.asset))
        VaultRoles(setup.owner)
        ERC4626(setup.asset)
        ERC20(setup.name, setup.symbol)
    {
        setup.exitTerms.check();
        _grantRole(ALLOCATOR_ROLE, setup.allocator);
        _grantRole(MANAGER_ROLE, setup.manager);
        _exitTerms = setup.exitTerms;
        emit ExitTermsSet(setup.exitTerms);
        _setLiquidityBuffer(setup.liquidityBufferBps);
    }

    // The owner sets the terms.

    /// @notice Sets the share of all assets that lending leaves idle, when leavers are paid, and how much one deposit
    /// is. Requests that wait keep their moment, or get an earlier one.
    /// @param maxAssets Zero means no such limit.
    function setSettings(uint16 bufferBps, ExitTerms calldata next, uint256 minAssets, uint256 maxAssets)
        external
        onlyRole(DEFAULT_ADMIN_ROLE)
    {
        next.check();
        if (tighteningLocked && _exitTerms.tightens(next)) revert ExitTermsLocked();
        if (maxAssets != 0 && minAssets > maxAssets) revert DepositLimitsOutOfRange(minAssets, maxAssets);
        _setLiquidityBuffer(bufferBps);
        _exitTerms = next;
        emit ExitTermsSet(next);
        minDepositAssets = minAssets;
        maxDepositAssets = maxAssets;
        emit DepositLimitsSet(minAssets, maxAssets);
    }

    /// @notice Lets the exit terms be loosened only, from now on.
    function lockTightening() external onlyRole(DEFAULT_ADMIN_ROLE) {
        tighteningLocked = true;
        emit TighteningLocked();
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
    /// @dev Those before it need not be due: they were, by the looser terms that made this one due, and terms that were
    /// tightened since must not keep this one waiting behind them.
    function claimWithdrawal(uint256 requestId) external nonReentrant {
        if (requestId == 0 || requestId >= queueEnd) revert RequestNotFound(requestId);
        if (requestId < queueHead) revert RequestAlreadyPaid(requestId);
        if (requestId >= queueHead + CLAIM_REQUESTS_MAX) revert RequestTooFarBack(requestId, queueHead);
        uint256 dueAt = _dueAt(requestId);
        if (block.timestamp < dueAt) revert RequestNotDue(requestId, dueAt);
        while (queueHead <= requestId) {
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

    function exitTerms() external view returns (ExitTerms memory) {
        return _exitTerms;
    }

    /// @notice A request; all zero where there is none. `dueAt` is by the looser of its terms and today's.
    function request(uint256 requestId) external view returns (Request memory item) {
        item = _requests[requestId];
        if (item.owner != address(0)) item.dueAt = uint64(_dueAt(requestId));
    }

    /// @notice Idle assets that the queue does not need.
    function freeAssets() public view returns (uint256) {
        return Math.saturatingSub(idleAssets(), queuedAssets());
    }

    /// @inheritdoc ERC4626
    function maxDeposit(address) public view override returns (uint256) {
        if (shareMobilityPaused) return 0;
        return maxDepositAssets == 0 ? type(uint256).max : maxDepositAssets;
    }

    /// @inheritdoc ERC4626
    function maxMint(address receiver) public view override returns (uint256) {
        uint256 assets = maxDeposit(receiver);
        // A limit that no deposit can reach is none, and its conversion might overflow.
        return assets > type(uint128).max ? type(uint256).max : convertToShares(assets);
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

    /// @inheritdoc VaultFees
    function totalSupply() public view override(ERC20, VaultFees) returns (uint256) {
        return VaultFees.totalSupply();
    }

    function _decimalsOffset() internal pure override returns (uint8) {
        return 6;
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ShareMobility) {
        super._update(from, to, value);
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares)
        internal
        override
        nonReentrant
    {
        if (assets < minDepositAssets) revert DepositBelowMin(assets, minDepositAssets);
        // Also where nothing is charged: who buys at this price pays no later fee for the way back to it.
        _accrueFees();
        super._deposit(caller, receiver, assets, shares);
        _route(assets);
    }

    function _withdraw(address caller, address receiver, address owner, uint256 assets, uint256 shares)
        internal
        override
    {
        // Assets that are here for one transaction must not move idle ones into a market.
        if (_routed) revert ReentrancyGuardReentrantCall();
        _accrueFeesIfAny();
        super._withdraw(caller, receiver, owner, assets, shares);
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
}
