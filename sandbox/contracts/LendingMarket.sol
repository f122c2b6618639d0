// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC4626} from "@openzeppelin/contracts/interfaces/IERC4626.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {EligibilityRegistry} from "./EligibilityRegistry.sol";
import {KinkedRateModel} from "./KinkedRateModel.sol";
import {PriceOracle} from "./PriceOracle.sol";

/// @title One isolated market: one loan asset against one collateral asset, funded by vault partitions.
/// @dev Amounts are base units. Debt is kept as shares per vault and borrower; a share is worth `borrowIndexRay` / 1e27
/// base units and the index only grows. What a borrower owes rounds up, what a vault holds rounds down. Balances are
/// counted, never read from the tokens, so a direct transfer changes nothing. Tokens are plain ERC-20: no fee on
/// transfer, no rebasing.
contract LendingMarket is Ownable, ReentrancyGuardTransient {
    using SafeERC20 for IERC20Metadata;

    struct Terms {
        IERC20Metadata loanAsset;
        IERC20Metadata collateralAsset;
        PriceOracle oracle;
        KinkedRateModel rateModel;
        EligibilityRegistry registry;
        uint16 lltvBps;
        uint16 liquidationThresholdBps;
        uint16 closeFactorBps;
        uint16 liquidationBonusBps;
        uint64 claimDelaySeconds;
    }

    struct Partition {
        bool listed;
        uint256 cash;
        uint256 debtShares;
        uint256 badDebt;
    }

    struct Debt {
        uint256 shares;
        uint256 principal;
    }

    struct Claim {
        address liquidator;
        address recipient;
        address vault;
        address borrower;
        uint256 collateralAssets;
        uint64 settleableAt;
        bool settled;
    }

    uint256 private constant WAD = 1e18;
    uint256 private constant RAY = 1e27;
    uint256 private constant BPS = 10_000;
    uint8 private constant ORACLE_HEALTHY = 1;
    bytes32 private constant LIQUIDATE = "liquidate";

    /// @notice Partitions at most: a borrower's total debt is a sum over all of them.
    uint256 public constant VAULTS_MAX = 8;

    IERC20Metadata public immutable loanAsset;
    IERC20Metadata public immutable collateralAsset;
    PriceOracle public immutable oracle;
    KinkedRateModel public immutable rateModel;
    EligibilityRegistry public immutable registry;
    uint16 public immutable lltvBps;
    uint16 public immutable liquidationThresholdBps;
    uint16 public immutable closeFactorBps;
    uint16 public immutable liquidationBonusBps;
    uint64 public immutable claimDelaySeconds;
    uint256 private immutable _loanUnit;
    uint256 private immutable _collateralUnit;

    bool public paused;
    /// @notice When on, only wallets that the registry authorizes for "liquidate" here may liquidate.
    bool public liquidatorGate;
    uint256 public totalCash;
    uint256 public totalDebtShares;
    uint256 public totalBadDebt;

    uint256 private _indexRay = RAY;
    uint64 private _accruedAt;
    address[] private _vaults;
    mapping(address vault => Partition) private _partitions;
    mapping(address vault => mapping(address borrower => Debt)) private _debts;
    mapping(address borrower => uint256) private _collateral;
    uint256 private _lastClaimId;
    mapping(uint256 claimId => Claim) private _claims;
    mapping(address liquidator => uint256[]) private _openClaims;
    mapping(uint256 claimId => uint256) private _openClaimIndex;

    event VaultAdded(address indexed vault);
    event Supplied(address indexed vault, uint256 assets);
    event Withdrawn(address indexed vault, uint256 assets);
    event CollateralDeposited(address indexed borrower, uint256 assets);
    event CollateralWithdrawn(address indexed borrower, uint256 assets);
    event Borrowed(address indexed vault, address indexed borrower, uint256 assets, uint256 shares);
    event Repaid(
        address indexed vault, address indexed borrower, address indexed payer, uint256 assets, uint256 shares
    );
    event Liquidated(
        uint256 indexed claimId,
        address indexed vault,
        address indexed borrower,
        address liquidator,
        address recipient,
        uint256 repayAssets,
        uint256 collateralSeized,
        uint256 badDebtAssets
    );
    event ClaimSettled(
        uint256 indexed claimId, address indexed liquidator, address indexed recipient, uint256 collateralAssets
    );
    /// @notice A write-off, inside a liquidation too.
    event BadDebtRealized(address indexed vault, address indexed borrower, uint256 assets);
    event Accrued(uint256 indexRay, uint256 ratePerSecond);
    event PausedSet(bool paused);
    event LiquidatorGateSet(bool on);

    error TermsOutOfRange();
    error VaultNotListed(address vault);
    error VaultAlreadyListed(address vault);
    error VaultsFull();
    error VaultAssetMismatch(address vault);
    error ZeroAmount();
    error ZeroRecipient();
    error RoundsToZeroShares(uint256 assets);
    error InsufficientCash(uint256 assets, uint256 cash);
    error InsufficientCollateral(uint256 assets, uint256 collateral);
    error AboveLltv(uint256 debt, uint256 limit);
    error MarketPaused();
    error OracleNotHealthy(uint8 state);
    error NotLiquidatable(uint256 healthFactorWad);
    error LiquidatorNotAuthorized(address liquidator);
    error DeadlinePassed(uint256 deadline, uint256 nowSeconds);
    error RepayAboveCloseFactor(uint256 repayAssets, uint256 limit);
    error CollateralOutBelowMin(uint256 collateralOut, uint256 minCollateralOut);
    error ClaimNotYours(uint256 claimId);
    error ClaimAlreadySettled(uint256 claimId);
    error ClaimNotYetSettleable(uint256 claimId, uint256 settleableAt);
    error CollateralRemains(uint256 collateral);
    error NoDebt();

    constructor(Terms memory terms, address owner_) Ownable(owner_) {
        if (
            address(terms.loanAsset) == address(terms.collateralAsset) || terms.lltvBps == 0
                || terms.lltvBps > terms.liquidationThresholdBps || terms.closeFactorBps == 0
                || terms.closeFactorBps > BPS
                // A healthy enough position must come out of a liquidation healthier, so the bonus has to fit in.
                || uint256(terms.liquidationThresholdBps) * (BPS + terms.liquidationBonusBps) > BPS * BPS
        ) revert TermsOutOfRange();
        loanAsset = terms.loanAsset;
        collateralAsset = terms.collateralAsset;
        oracle = terms.oracle;
        rateModel = terms.rateModel;
        registry = terms.registry;
        lltvBps = terms.lltvBps;
        liquidationThresholdBps = terms.liquidationThresholdBps;
        closeFactorBps = terms.closeFactorBps;
        liquidationBonusBps = terms.liquidationBonusBps;
        claimDelaySeconds = terms.claimDelaySeconds;
        uint8 loanDecimals = terms.loanAsset.decimals();
        uint8 collateralDecimals = terms.collateralAsset.decimals();
        if (loanDecimals > 18 || collateralDecimals > 18) revert TermsOutOfRange();
        _loanUnit = 10 ** loanDecimals;
        _collateralUnit = 10 ** collateralDecimals;
        _accruedAt = uint64(block.timestamp);
    }

    // The owner lists vaults and sets the switches.

    /// @notice Lists a vault of the same asset, which may then supply.
    function addVault(address vault) external onlyOwner {
        if (_partitions[vault].listed) revert VaultAlreadyListed(vault);
        if (_vaults.length == VAULTS_MAX) revert VaultsFull();
        if (IERC4626(vault).asset() != address(loanAsset)) revert VaultAssetMismatch(vault);
        _partitions[vault].listed = true;
        _vaults.push(vault);
        emit VaultAdded(vault);
    }

    /// @notice Stops borrowing, collateral withdrawal and liquidation; never repayment, deposit or settlement.
    function setPaused(bool paused_) external onlyOwner {
        paused = paused_;
        emit PausedSet(paused_);
    }

    /// @notice Turns the liquidators' eligibility check on or off.
    function setLiquidatorGate(bool on) external onlyOwner {
        liquidatorGate = on;
        emit LiquidatorGateSet(on);
    }

    // Vaults fund their own partition.

    /// @notice Pulls `assets` from the calling vault into its partition.
    function supply(uint256 assets) external nonReentrant {
        Partition storage part = _listed(msg.sender);
        if (assets == 0) revert ZeroAmount();
        _accrue();
        part.cash += assets;
        totalCash += assets;
        emit Supplied(msg.sender, assets);
        loanAsset.safeTransferFrom(msg.sender, address(this), assets);
    }

    /// @notice Sends `assets` of the calling vault's cash back to it.
    function withdraw(uint256 assets) external nonReentrant {
        Partition storage part = _listed(msg.sender);
        if (assets == 0) revert ZeroAmount();
        _accrue();
        _takeCash(part, assets);
        emit Withdrawn(msg.sender, assets);
        loanAsset.safeTransfer(msg.sender, assets);
    }

    // Borrowers.

    /// @notice Pulls `assets` of collateral from the caller, for all its debts here.
    function depositCollateral(uint256 assets) external nonReentrant {
        if (assets == 0) revert ZeroAmount();
        _collateral[msg.sender] += assets;
        emit CollateralDeposited(msg.sender, assets);
        collateralAsset.safeTransferFrom(msg.sender, address(this), assets);
    }

    /// @notice Returns `assets` of collateral to the caller, whose debt must stay within the LLTV.
    function withdrawCollateral(uint256 assets) external nonReentrant {
        if (paused) revert MarketPaused();
        if (assets == 0) revert ZeroAmount();
        uint256 held = _collateral[msg.sender];
        if (assets > held) revert InsufficientCollateral(assets, held);
        uint256 indexRay = _accrue();
        _collateral[msg.sender] = held - assets;
        _requireWithinLltv(msg.sender, indexRay);
        emit CollateralWithdrawn(msg.sender, assets);
        collateralAsset.safeTransfer(msg.sender, assets);
    }

    /// @notice Lends `assets` of one vault's cash to the caller, whose debt must stay within the LLTV.
    function borrow(address vault, uint256 assets) external nonReentrant returns (uint256 shares) {
        if (paused) revert MarketPaused();
        Partition storage part = _listed(vault);
        if (assets == 0) revert ZeroAmount();
        uint256 indexRay = _accrue();
        _takeCash(part, assets);
        shares = Math.mulDiv(assets, RAY, indexRay, Math.Rounding.Ceil);
        part.debtShares += shares;
        totalDebtShares += shares;
        Debt storage debt = _debts[vault][msg.sender];
        debt.shares += shares;
        debt.principal += assets;
        _requireWithinLltv(msg.sender, indexRay);
        emit Borrowed(vault, msg.sender, assets, shares);
        loanAsset.safeTransfer(msg.sender, assets);
    }

    /// @notice Repays up to `assets` of a borrower's debt to one vault; never more than the debt.
    /// @return repaid What was pulled from the caller.
    function repay(address vault, address borrower, uint256 assets) external nonReentrant returns (uint256 repaid) {
        uint256 indexRay = _accrue();
        uint256 owed = _owed(vault, borrower, indexRay);
        if (owed == 0) revert NoDebt();
        repaid = Math.min(assets, owed);
        if (repaid == 0) revert ZeroAmount();
        uint256 shares = _payDown(vault, borrower, repaid, indexRay);
        emit Repaid(vault, borrower, msg.sender, repaid, shares);
        loanAsset.safeTransferFrom(msg.sender, address(this), repaid);
    }

    // Liquidators.

    /// @notice Repays part of an unhealthy borrower's debt to one vault and escrows the seized collateral as a claim.
    /// @param repayAssets Pulled exactly. At most the close factor's share of the debt to this vault, rounded up; the
    /// whole debt when that share is too small to burn a debt share.
    /// @param minCollateralOut Reverts when less would be seized.
    /// @param recipient Where the claim's settlement sends the collateral.
    /// @param deadline Last second at which this may run.
    function liquidate(
        address vault,
        address borrower,
        uint256 repayAssets,
        uint256 minCollateralOut,
        address recipient,
        uint256 deadline
    ) external nonReentrant returns (uint256 claimId, uint256 collateralSeized) {
        if (block.timestamp > deadline) revert DeadlinePassed(deadline, block.timestamp);
        if (paused) revert MarketPaused();
        if (recipient == address(0)) revert ZeroRecipient();
        if (repayAssets == 0) revert ZeroAmount();
        if (liquidatorGate && !registry.isAuthorized(msg.sender, LIQUIDATE, address(this))) {
            revert LiquidatorNotAuthorized(msg.sender);
        }
        uint256 badDebtAssets;
        (collateralSeized, badDebtAssets) = _seize(vault, borrower, repayAssets);
        if (collateralSeized < minCollateralOut) revert CollateralOutBelowMin(collateralSeized, minCollateralOut);
        claimId = _openClaim(vault, borrower, recipient, collateralSeized);
        emit Liquidated(
            claimId, vault, borrower, msg.sender, recipient, repayAssets, collateralSeized, badDebtAssets
        );
        loanAsset.safeTransferFrom(msg.sender, address(this), repayAssets);
    }

    /// @notice Sends a claim's collateral to its recipient: once, by its liquidator, after the delay.
    function settleLiquidationClaim(uint256 claimId) external nonReentrant {
        Claim storage item = _claims[claimId];
        if (item.liquidator != msg.sender) revert ClaimNotYours(claimId);
        if (item.settled) revert ClaimAlreadySettled(claimId);
        if (block.timestamp < item.settleableAt) revert ClaimNotYetSettleable(claimId, item.settleableAt);
        item.settled = true;
        _closeClaim(claimId);
        emit ClaimSettled(claimId, msg.sender, item.recipient, item.collateralAssets);
        collateralAsset.safeTransfer(item.recipient, item.collateralAssets);
    }

    /// @notice Writes off the debt to one vault of a borrower who has no collateral left. Anyone may call it.
    function realizeBadDebt(address vault, address borrower) external nonReentrant returns (uint256 badDebtAssets) {
        if (_collateral[borrower] != 0) revert CollateralRemains(_collateral[borrower]);
        badDebtAssets = _writeOff(vault, borrower, _accrue());
        if (badDebtAssets == 0) revert NoDebt();
    }

    // Views, all with interest as of this block.

    function borrowIndexRay() public view returns (uint256 indexRay) {
        (indexRay,) = _accrued();
    }

    /// @notice What the vaults are owed together, rounded down.
    function totalDebt() public view returns (uint256) {
        return Math.mulDiv(totalDebtShares, borrowIndexRay(), RAY);
    }

    function utilizationWad() public view returns (uint256) {
        return _utilizationWad(borrowIndexRay());
    }

    /// @notice The rate at this block's utilization, as a wad a second.
    function borrowRatePerSecond() public view returns (uint256) {
        return rateModel.borrowRatePerSecond(utilizationWad());
    }

    /// @notice What lenders earn on cash and debt together, as a wad a second; there is no reserve.
    function supplyRatePerSecond() external view returns (uint256) {
        return Math.mulDiv(borrowRatePerSecond(), utilizationWad(), WAD);
    }

    function vaults() external view returns (address[] memory) {
        return _vaults;
    }

    function partition(address vault)
        public
        view
        returns (uint256 cash, uint256 debtAssets, uint256 badDebtAssets)
    {
        Partition storage part = _partitions[vault];
        return (part.cash, Math.mulDiv(part.debtShares, borrowIndexRay(), RAY), part.badDebt);
    }

    function badDebtOf(address vault) external view returns (uint256) {
        return _partitions[vault].badDebt;
    }

    /// @notice What a vault's partition is worth: its cash and what its borrowers owe it.
    function allocatedAssets(address vault) external view returns (uint256) {
        (uint256 cash, uint256 debtAssets,) = partition(vault);
        return cash + debtAssets;
    }

    function debtOf(address vault, address borrower) external view returns (uint256) {
        return _owed(vault, borrower, borrowIndexRay());
    }

    function debtSharesOf(address vault, address borrower) external view returns (uint256) {
        return _debts[vault][borrower].shares;
    }

    /// @notice Borrowed less repaid, never below zero.
    function principalOf(address vault, address borrower) external view returns (uint256) {
        return _debts[vault][borrower].principal;
    }

    function totalDebtOf(address borrower) public view returns (uint256) {
        return _totalOwed(borrower, borrowIndexRay());
    }

    function collateralOf(address borrower) external view returns (uint256) {
        return _collateral[borrower];
    }

    /// @notice Collateral value × liquidation threshold / debt as a wad at the last price, whatever its state.
    function healthFactorWad(address borrower) public view returns (uint256) {
        (uint256 priceWad,,,) = oracle.read();
        return _healthFactorWad(borrower, priceWad, borrowIndexRay());
    }

    function isLiquidatable(address borrower) external view returns (bool) {
        (,,, uint8 state) = oracle.read();
        return state == ORACLE_HEALTHY && healthFactorWad(borrower) < WAD;
    }

    /// @notice What the borrower may still borrow by its collateral; zero unless the oracle is healthy. One share's
    /// worth is kept back, so that borrowing exactly this cannot fail by rounding. Cash is another limit.
    function maxBorrowable(address borrower) external view returns (uint256) {
        (uint256 priceWad,,, uint8 state) = oracle.read();
        if (state != ORACLE_HEALTHY) return 0;
        uint256 indexRay = borrowIndexRay();
        uint256 spoken = _totalOwed(borrower, indexRay) + Math.ceilDiv(indexRay, RAY);
        uint256 limit = _borrowLimit(borrower, priceWad);
        return limit > spoken ? limit - spoken : 0;
    }

    /// @notice A liquidator's unsettled claims, in no order.
    function openClaims(address liquidator) external view returns (uint256[] memory) {
        return _openClaims[liquidator];
    }

    /// @notice The collateral of a liquidator's unsettled claims together.
    function openClaimAssets(address liquidator) external view returns (uint256 assets) {
        uint256[] storage open = _openClaims[liquidator];
        for (uint256 index = 0; index < open.length; index++) assets += _claims[open[index]].collateralAssets;
    }

    function claim(uint256 claimId)
        external
        view
        returns (
            address liquidator,
            address recipient,
            address vault,
            address borrower,
            uint256 collateralAssets,
            uint64 settleableAt,
            bool settled
        )
    {
        Claim storage item = _claims[claimId];
        return (
            item.liquidator,
            item.recipient,
            item.vault,
            item.borrower,
            item.collateralAssets,
            item.settleableAt,
            item.settled
        );
    }

    // Interest.

    function _utilizationWad(uint256 indexRay) private view returns (uint256) {
        uint256 debt = Math.mulDiv(totalDebtShares, indexRay, RAY);
        return debt == 0 ? 0 : Math.mulDiv(debt, WAD, debt + totalCash);
    }

    /// @dev The index as of now: simple interest since the last accrual, at the rate its utilization gave.
    function _accrued() private view returns (uint256 indexRay, uint256 ratePerSecond) {
        uint256 elapsed = block.timestamp - _accruedAt;
        if (elapsed == 0) return (_indexRay, 0);
        ratePerSecond = rateModel.borrowRatePerSecond(_utilizationWad(_indexRay));
        indexRay = _indexRay + Math.mulDiv(_indexRay, ratePerSecond * elapsed, WAD, Math.Rounding.Ceil);
    }

    function _accrue() private returns (uint256 indexRay) {
        uint256 ratePerSecond;
        (indexRay, ratePerSecond) = _accrued();
        if (_accruedAt == block.timestamp) return indexRay;
        _indexRay = indexRay;
        _accruedAt = uint64(block.timestamp);
        emit Accrued(indexRay, ratePerSecond);
    }

    // Debt and cash.

    function _listed(address vault) private view returns (Partition storage part) {
        part = _partitions[vault];
        if (!part.listed) revert VaultNotListed(vault);
    }

    function _takeCash(Partition storage part, uint256 assets) private {
        if (assets > part.cash) revert InsufficientCash(assets, part.cash);
        part.cash -= assets;
        totalCash -= assets;
    }

    function _owed(address vault, address borrower, uint256 indexRay) private view returns (uint256) {
        return Math.mulDiv(_debts[vault][borrower].shares, indexRay, RAY, Math.Rounding.Ceil);
    }

    function _totalOwed(address borrower, uint256 indexRay) private view returns (uint256 assets) {
        for (uint256 i = 0; i < _vaults.length; i++) assets += _owed(_vaults[i], borrower, indexRay);
    }

    /// @dev Books a payment that will be pulled: the whole debt burns every share, so no remainder is left behind.
    function _payDown(address vault, address borrower, uint256 assets, uint256 indexRay)
        private
        returns (uint256 shares)
    {
        Debt storage debt = _debts[vault][borrower];
        bool whole = assets == _owed(vault, borrower, indexRay);
        shares = whole ? debt.shares : Math.mulDiv(assets, RAY, indexRay);
        if (shares == 0) revert RoundsToZeroShares(assets);
        debt.principal = whole ? 0 : Math.saturatingSub(debt.principal, assets);
        _burnShares(vault, debt, shares);
        _partitions[vault].cash += assets;
        totalCash += assets;
    }

    function _burnShares(address vault, Debt storage debt, uint256 shares) private {
        debt.shares -= shares;
        _partitions[vault].debtShares -= shares;
        totalDebtShares -= shares;
    }

    function _writeOff(address vault, address borrower, uint256 indexRay) private returns (uint256 badDebtAssets) {
        badDebtAssets = _owed(vault, borrower, indexRay);
        if (badDebtAssets == 0) return 0;
        Debt storage debt = _debts[vault][borrower];
        debt.principal = 0;
        _burnShares(vault, debt, debt.shares);
        _partitions[vault].badDebt += badDebtAssets;
        totalBadDebt += badDebtAssets;
        emit BadDebtRealized(vault, borrower, badDebtAssets);
    }

    // Price and health.

    function _healthyPriceWad() private view returns (uint256) {
        (uint256 priceWad,,, uint8 state) = oracle.read();
        if (state != ORACLE_HEALTHY) revert OracleNotHealthy(state);
        return priceWad;
    }

    function _collateralValue(address borrower, uint256 priceWad) private view returns (uint256) {
        return Math.mulDiv(_collateral[borrower], priceWad * _loanUnit, _collateralUnit * WAD);
    }

    function _borrowLimit(address borrower, uint256 priceWad) private view returns (uint256) {
        return Math.mulDiv(_collateralValue(borrower, priceWad), lltvBps, BPS);
    }

    function _requireWithinLltv(address borrower, uint256 indexRay) private view {
        uint256 limit = _borrowLimit(borrower, _healthyPriceWad());
        uint256 owed = _totalOwed(borrower, indexRay);
        if (owed > limit) revert AboveLltv(owed, limit);
    }

    function _healthFactorWad(address borrower, uint256 priceWad, uint256 indexRay) private view returns (uint256) {
        uint256 owed = _totalOwed(borrower, indexRay);
        if (owed == 0) return type(uint256).max;
        return Math.mulDiv(_collateralValue(borrower, priceWad) * liquidationThresholdBps, WAD, owed * BPS);
    }

    // Liquidation.

    function _seize(address vault, address borrower, uint256 repayAssets)
        private
        returns (uint256 collateralSeized, uint256 badDebtAssets)
    {
        uint256 priceWad = _healthyPriceWad();
        uint256 indexRay = _accrue();
        uint256 health = _healthFactorWad(borrower, priceWad, indexRay);
        if (health >= WAD) revert NotLiquidatable(health);
        uint256 limit = _closeLimit(_owed(vault, borrower, indexRay), indexRay);
        if (repayAssets > limit) revert RepayAboveCloseFactor(repayAssets, limit);
        _payDown(vault, borrower, repayAssets, indexRay);

        uint256 held = _collateral[borrower];
        collateralSeized = Math.min(held, _collateralFor(repayAssets, priceWad));
        _collateral[borrower] = held - collateralSeized;
        if (held == collateralSeized) badDebtAssets = _writeOff(vault, borrower, indexRay);
    }

    /// @dev Without the second case a debt of one share could never be liquidated: half of it burns none.
    function _closeLimit(uint256 owed, uint256 indexRay) private view returns (uint256) {
        uint256 part = Math.mulDiv(owed, closeFactorBps, BPS, Math.Rounding.Ceil);
        return part * RAY < indexRay ? owed : part;
    }

    function _collateralFor(uint256 repayAssets, uint256 priceWad) private view returns (uint256) {
        return Math.mulDiv(
            repayAssets * (BPS + liquidationBonusBps), _collateralUnit * WAD, priceWad * _loanUnit * BPS
        );
    }

    function _openClaim(address vault, address borrower, address recipient, uint256 collateralAssets)
        private
        returns (uint256 claimId)
    {
        claimId = ++_lastClaimId;
        uint64 settleableAt = uint64(block.timestamp) + claimDelaySeconds;
        _claims[claimId] = Claim(msg.sender, recipient, vault, borrower, collateralAssets, settleableAt, false);
        _openClaimIndex[claimId] = _openClaims[msg.sender].length;
        _openClaims[msg.sender].push(claimId);
    }

    /// @dev Moves the last open claim into the closed one's place.
    function _closeClaim(uint256 claimId) private {
        uint256[] storage open = _openClaims[msg.sender];
        uint256 index = _openClaimIndex[claimId];
        uint256 lastId = open[open.length - 1];
        open[index] = lastId;
        _openClaimIndex[lastId] = index;
        open.pop();
        delete _openClaimIndex[claimId];
    }
}
