// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {VaultRoles} from "./VaultRoles.sol";

/// @title What a vault charges its holders, in shares of its own.
/// @dev Three fees. Management: a part of all assets a year. Borrower manager: a part of the interest that borrowers
/// owe. Performance: a part of what the assets gained over what the high-water mark says of them, after the two others.
/// They accrue before whatever moves assets, at the rates that held until then, and are paid by new shares; a transfer
/// between holders needs no accrual, since what is due dilutes both alike. `totalSupply` counts the shares that are due,
/// so every conversion tells the price after fees, and minting them changes no price. Fee assets round down, marks up.
abstract contract VaultFees is ERC4626, VaultRoles {
    struct FeeConfig {
        uint16 managementFeeBps;
        uint16 performanceFeeBps;
        uint16 borrowerManagerFeeBps;
        /// Paid the management and performance fees.
        address recipient;
        /// Paid the borrower manager fee.
        address curatorRecipient;
    }

    /// @dev What has been charged since the last accrual, and where the marks stand after it.
    struct DueFees {
        uint256 managementAssets;
        uint256 performanceAssets;
        uint256 borrowerManagerAssets;
        uint256 recipientShares;
        uint256 curatorShares;
        uint256 highWaterMark;
        uint256 interestMark;
    }

    uint256 private constant WAD = 1e18;
    uint256 internal constant BPS = 10_000;

    /// @notice 5 % a year.
    uint16 public constant MANAGEMENT_FEE_BPS_MAX = 500;
    /// @notice 30 % of the gain.
    uint16 public constant PERFORMANCE_FEE_BPS_MAX = 3_000;
    /// @notice 20 % of the borrowers' interest.
    uint16 public constant BORROWER_MANAGER_FEE_BPS_MAX = 2_000;

    /// @notice The highest price after fees that was charged on, or that shares were bought at before any fee was set, in
    /// assets a share with the decimals of each taken off, as a wad: 1e18 at first, when 10^decimals() shares are one whole
    /// asset. It never falls. As of the last accrual.
    uint256 public highWaterMark = WAD;

    FeeConfig private _feeConfig;
    uint256 private _feesAccruedAt;
    /// @dev The most that the markets held for this vault, moved with what it supplies and recalls: interest is what
    /// rises above it, and a loss is made good before interest is charged on again.
    uint256 private _interestMark;
    uint256 private _managementAssets;
    uint256 private _performanceAssets;
    uint256 private _borrowerManagerAssets;

    event FeeConfigSet(uint16 managementFeeBps, uint16 performanceFeeBps, address recipient);
    event CuratorFeeSet(uint16 borrowerManagerFeeBps, address recipient);
    event FeesAccrued(
        uint256 managementAssets, uint256 performanceAssets, uint256 borrowerManagerAssets, uint256 shares
    );

    error FeeAboveCap(uint256 feeBps, uint256 capBps);
    error FeeRecipientRefused(address recipient);

    /// @notice Sets the owner's fees, from now on. What was gained before is charged at the old ones.
    function setFeeConfig(uint16 managementFeeBps, uint16 performanceFeeBps, address recipient)
        external
        onlyRole(DEFAULT_ADMIN_ROLE)
    {
        if (managementFeeBps > MANAGEMENT_FEE_BPS_MAX) revert FeeAboveCap(managementFeeBps, MANAGEMENT_FEE_BPS_MAX);
        if (performanceFeeBps > PERFORMANCE_FEE_BPS_MAX) {
            revert FeeAboveCap(performanceFeeBps, PERFORMANCE_FEE_BPS_MAX);
        }
        _requireRecipient(managementFeeBps + performanceFeeBps, recipient);
        _accrueFees();
        _feeConfig.managementFeeBps = managementFeeBps;
        _feeConfig.performanceFeeBps = performanceFeeBps;
        _feeConfig.recipient = recipient;
        emit FeeConfigSet(managementFeeBps, performanceFeeBps, recipient);
    }

    /// @notice Sets what is charged of borrowers' interest, from now on.
    function setCuratorFee(uint16 borrowerManagerFeeBps, address recipient) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (borrowerManagerFeeBps > BORROWER_MANAGER_FEE_BPS_MAX) {
            revert FeeAboveCap(borrowerManagerFeeBps, BORROWER_MANAGER_FEE_BPS_MAX);
        }
        _requireRecipient(borrowerManagerFeeBps, recipient);
        _accrueFees();
        _feeConfig.borrowerManagerFeeBps = borrowerManagerFeeBps;
        _feeConfig.curatorRecipient = recipient;
        emit CuratorFeeSet(borrowerManagerFeeBps, recipient);
    }

    /// @notice Mints the shares of the fees that are due. Anyone may call it; no price changes.
    function accrueFees() external {
        _accrueFeesIfAny();
    }

    function feeConfig() external view returns (FeeConfig memory) {
        return _feeConfig;
    }

    /// @notice All fees ever charged, each in assets at its moment, what is due and not minted included.
    function accruedFees()
        external
        view
        returns (uint256 managementAssets, uint256 performanceAssets, uint256 borrowerManagerAssets)
    {
        DueFees memory due = _dueFeesIfAny();
        return (
            _managementAssets + due.managementAssets,
            _performanceAssets + due.performanceAssets,
            _borrowerManagerAssets + due.borrowerManagerAssets
        );
    }

    /// @notice Shares that exist, with those of the fees that are due.
    function totalSupply() public view virtual override(ERC20, IERC20) returns (uint256) {
        DueFees memory due = _dueFeesIfAny();
        return ERC20.totalSupply() + due.recipientShares + due.curatorShares;
    }

    /// @notice Assets in the vault itself.
    function idleAssets() public view returns (uint256) {
        return IERC20(asset()).balanceOf(address(this));
    }

    /// @inheritdoc ERC4626
    function totalAssets() public view override returns (uint256) {
        return idleAssets() + _allocatedAssets();
    }

    /// @dev What the markets hold for this vault.
    function _allocatedAssets() internal view virtual returns (uint256);

    /// @dev A vault without fees is spared the sums, but where shares are bought and where a fee is set.
    function _accrueFeesIfAny() internal {
        if (_chargesFees()) _accrueFees();
    }

    function _markSupplied(uint256 assets) internal {
        _interestMark += assets;
    }

    /// @dev Without fees the mark knows no interest, and more may come back than it stands at.
    function _markRecalled(uint256 assets) internal {
        _interestMark = Math.saturatingSub(_interestMark, assets);
    }

    /// @dev Takes what is there as charged on, without a charge.
    function _raiseMarks() internal {
        uint256 allocated = _allocatedAssets();
        uint256 unit = 10 ** _decimalsOffset();
        uint256 price = Math.mulDiv(
            idleAssets() + allocated + 1, WAD * unit, ERC20.totalSupply() + unit, Math.Rounding.Ceil
        );
        _interestMark = Math.max(_interestMark, allocated);
        highWaterMark = Math.max(highWaterMark, price);
    }

    function _accrueFees() internal {
        DueFees memory due = _dueFees();
        _feesAccruedAt = block.timestamp;
        highWaterMark = due.highWaterMark;
        _interestMark = due.interestMark;
        if (due.managementAssets + due.performanceAssets + due.borrowerManagerAssets == 0) return;
        _managementAssets += due.managementAssets;
        _performanceAssets += due.performanceAssets;
        _borrowerManagerAssets += due.borrowerManagerAssets;
        emit FeesAccrued(
            due.managementAssets,
            due.performanceAssets,
            due.borrowerManagerAssets,
            due.recipientShares + due.curatorShares
        );
        // Past the override, which is for shares that change hands.
        if (due.recipientShares > 0) ERC20._update(address(0), _feeConfig.recipient, due.recipientShares);
        if (due.curatorShares > 0) ERC20._update(address(0), _feeConfig.curatorRecipient, due.curatorShares);
    }

    function _dueFeesIfAny() private view returns (DueFees memory due) {
        if (_chargesFees()) due = _dueFees();
    }

    function _dueFees() private view returns (DueFees memory due) {
        uint256 allocated = _allocatedAssets();
        uint256 assets = idleAssets() + allocated;
        uint256 unit = 10 ** _decimalsOffset();
        // As ERC-4626 converts here: one virtual asset, and virtual shares. A vault that nobody holds charges nobody.
        uint256 shares = ERC20.totalSupply() + unit;
        if (shares > unit) _charge(due, assets, allocated, shares, unit);
        shares += due.recipientShares + due.curatorShares;
        due.interestMark = Math.max(_interestMark, allocated);
        due.highWaterMark =
            Math.max(highWaterMark, Math.mulDiv(assets + 1, WAD * unit, shares, Math.Rounding.Ceil));
    }

    /// @dev Each fee is taken of what the one before it left, so together they are never more than the assets.
    function _charge(DueFees memory due, uint256 assets, uint256 allocated, uint256 shares, uint256 unit)
        private
        view
    {
        FeeConfig storage config = _feeConfig;
        uint256 elapsed = block.timestamp - _feesAccruedAt;
        uint256 left = assets;
        due.managementAssets =
            Math.min(left, Math.mulDiv(assets, config.managementFeeBps * elapsed, BPS * 365 days));
        left -= due.managementAssets;
        uint256 interest = Math.saturatingSub(allocated, _interestMark);
        due.borrowerManagerAssets = Math.min(left, Math.mulDiv(interest, config.borrowerManagerFeeBps, BPS));
        left -= due.borrowerManagerAssets;
        uint256 marked = Math.mulDiv(highWaterMark, shares, WAD * unit, Math.Rounding.Ceil);
        due.performanceAssets =
            Math.mulDiv(Math.saturatingSub(left + 1, marked), config.performanceFeeBps, BPS);
        left -= due.performanceAssets;
        // So many that they are worth the fee at the price that they leave.
        due.recipientShares =
            Math.mulDiv(due.managementAssets + due.performanceAssets, shares, left + 1);
        due.curatorShares = Math.mulDiv(due.borrowerManagerAssets, shares, left + 1);
    }

    function _chargesFees() private view returns (bool) {
        FeeConfig storage config = _feeConfig;
        return config.managementFeeBps + config.performanceFeeBps + config.borrowerManagerFeeBps > 0;
    }

    /// @dev Shares that the vault itself holds are those of the redemption queue.
    function _requireRecipient(uint256 feeBps, address recipient) private view {
        if (recipient == address(this) || (feeBps > 0 && recipient == address(0))) {
            revert FeeRecipientRefused(recipient);
        }
    }
}
