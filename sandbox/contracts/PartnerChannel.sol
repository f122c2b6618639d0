// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC4626} from "@openzeppelin/contracts/interfaces/IERC4626.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {LendingVault} from "./LendingVault.sol";

/// @title A partner's way into one vault: an ERC-4626 wrapper of the vault's shares, with the partner's fees and cap.
/// @dev All that it holds is vault shares, so a share of it is a claim on vault shares, and assets are what the vault
/// says of them: rounding in vault shares keeps others' claims from ever shrinking by who comes or leaves. Both fees are
/// paid by new shares that the channel itself keeps until the reseller claims them; `totalSupply` counts those that are
/// due, so every conversion tells the price after fees. The vault must pay at once for the channel to.
contract PartnerChannel is ERC4626, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;
    using Math for uint256;

    struct Setup {
        address vault;
        string name;
        string symbol;
        /// The registry that this channel says it belongs to.
        address directory;
        /// Earns the fees.
        address reseller;
        /// Blocks accounts.
        address curator;
        string shareClass;
        uint16 resellerFeeBps;
        uint16 borrowerFeeBps;
        uint256 capAssets;
    }

    /// @dev What has been charged since the last accrual, in vault shares and in shares, and the mark after it.
    struct DueFees {
        uint256 resellerPart;
        uint256 borrowerPart;
        uint256 resellerShares;
        uint256 borrowerShares;
        uint256 highWaterMark;
    }

    uint256 private constant WAD = 1e18;
    uint256 private constant BPS = 10_000;
    /// @dev Shares carry six decimals more than the vault's, and stand beside one virtual vault share: inflating the
    /// price of an empty channel costs an attacker a million times what it could take.
    uint8 private constant EXTRA_DECIMALS = 6;
    uint256 private constant VIRTUAL_SHARES = 10 ** EXTRA_DECIMALS;

    /// @notice 5 % a year.
    uint16 public constant RESELLER_FEE_BPS_MAX = 500;
    /// @notice 20 % of the gain.
    uint16 public constant BORROWER_FEE_BPS_MAX = 2_000;

    IERC4626 public immutable vault;
    address public immutable directory;
    address public immutable reseller;
    address public immutable curator;
    /// @notice Of all that the channel holds, a year.
    uint16 public immutable resellerFeeBps;
    /// @notice Of what its vault shares gain above the highest price that was charged on.
    uint16 public immutable borrowerFeeBps;
    /// @notice What deposits may bring the channel's assets to.
    uint256 public immutable capAssets;
    /// @dev So many vault shares that their worth is the vault's price as a wad: 1e18 where a whole share is a whole asset.
    uint256 private immutable _probeShares;
    uint8 private immutable _offset;

    string public shareClass;
    /// @notice Shares that the reseller ever claimed.
    uint256 public feeSharesClaimed;
    /// @notice Assets that the reseller ever claimed of the borrower fee.
    uint256 public borrowerFeeClaimed;

    uint256 private _highWaterMark;
    uint256 private _feesAccruedAt;
    uint256 private _feeShares;
    uint256 private _borrowerFeeShares;
    mapping(address account => bool) private _blocked;

    event ChannelCreated(
        address indexed directory, address indexed vault, address indexed reseller, address curator
    );
    event BlockedSet(address indexed account, bool blocked);
    event FeesAccrued(uint256 resellerAssets, uint256 borrowerAssets, uint256 shares);
    event FeeSharesClaimed(uint256 shares, address recipient);
    event BorrowerFeeClaimed(uint256 assets, address recipient);

    error FeeAboveCap(uint256 feeBps, uint256 capBps);
    error CapOutOfRange(uint256 capAssets);
    error ZeroAccount();
    error NotCurator(address account);
    error NotReseller(address account);
    error ReceiverRefused(address receiver);
    error AccountBlocked(address account);
    error SharesBelowMin(uint256 shares, uint256 minShares);
    error AssetsBelowMin(uint256 assets, uint256 minAssets);
    error AboveFeeShares(uint256 shares, uint256 feeShares);
    error NothingToClaim();

    constructor(Setup memory setup)
        ERC4626(IERC20(IERC4626(setup.vault).asset()))
        ERC20(setup.name, setup.symbol)
    {
        emit ChannelCreated(setup.directory, setup.vault, setup.reseller, setup.curator);
        if (setup.resellerFeeBps > RESELLER_FEE_BPS_MAX) {
            revert FeeAboveCap(setup.resellerFeeBps, RESELLER_FEE_BPS_MAX);
        }
        if (setup.borrowerFeeBps > BORROWER_FEE_BPS_MAX) {
            revert FeeAboveCap(setup.borrowerFeeBps, BORROWER_FEE_BPS_MAX);
        }
        // More than there can be of any asset would let conversions overflow.
        if (setup.capAssets == 0 || setup.capAssets > type(uint128).max) revert CapOutOfRange(setup.capAssets);
        if (setup.reseller == address(0) || setup.curator == address(0)) revert ZeroAccount();
        vault = IERC4626(setup.vault);
        directory = setup.directory;
        reseller = setup.reseller;
        curator = setup.curator;
        shareClass = setup.shareClass;
        resellerFeeBps = setup.resellerFeeBps;
        borrowerFeeBps = setup.borrowerFeeBps;
        capAssets = setup.capAssets;
        uint8 offset = IERC4626(setup.vault).decimals() - IERC20Metadata(asset()).decimals();
        _offset = offset + EXTRA_DECIMALS;
        _probeShares = WAD * 10 ** offset;
        _highWaterMark = IERC4626(setup.vault).convertToAssets(WAD * 10 ** offset);
        _feesAccruedAt = block.timestamp;
    }

    // The curator blocks.

    /// @notice Blocks an account, or lets it go on; the channel's own address stands for everybody. Nothing moves to,
    /// from or by who is blocked, and fees still accrue.
    function setBlocked(address account, bool blocked) external {
        if (msg.sender != curator) revert NotCurator(msg.sender);
        if (account == address(0)) revert ZeroAccount();
        _blocked[account] = blocked;
        emit BlockedSet(account, blocked);
    }

    // Holders come and leave.

    /// @notice Deposits for at least `minShares`.
    function depositNow(uint256 assets, address receiver, uint256 minShares) external returns (uint256 shares) {
        shares = deposit(assets, receiver);
        if (shares < minShares) revert SharesBelowMin(shares, minShares);
    }

    /// @notice Redeems shares of the caller for at least `minAssets`.
    function redeemNow(uint256 shares, address receiver, uint256 minAssets) external returns (uint256 assets) {
        assets = redeem(shares, receiver, msg.sender);
        if (assets < minAssets) revert AssetsBelowMin(assets, minAssets);
    }

    /// @notice Puts what shares of the caller stand for into the vault's redemption queue, which pays `receiver` by the vault's
    /// terms: the way out where it does not pay at once. Whoever is blocked from then on is paid all the same.
    function requestNow(uint256 shares, address receiver) external nonReentrant returns (uint256 requestId) {
        _requireReceiver(receiver);
        _accrueFees();
        uint256 vaultShares = shares.mulDiv(_claimed(), totalSupply() + VIRTUAL_SHARES);
        _burn(msg.sender, shares);
        requestId = LendingVault(address(vault)).requestWithdrawal(vaultShares, receiver);
    }

    // The reseller claims.

    /// @notice Gives shares that the yearly fee earned to `recipient`.
    function claimFeeShares(uint256 shares, address recipient) external nonReentrant {
        _requireReseller(recipient);
        _accrueFees();
        if (shares == 0) revert NothingToClaim();
        if (shares > _feeShares) revert AboveFeeShares(shares, _feeShares);
        _feeShares -= shares;
        feeSharesClaimed += shares;
        emit FeeSharesClaimed(shares, recipient);
        _transfer(address(this), recipient, shares);
    }

    /// @notice Redeems all that the borrower fee earned, for at least `minAssets`, and pays `recipient`.
    function claimBorrowerFee(address recipient, uint256 minAssets) external nonReentrant returns (uint256 assets) {
        _requireReseller(recipient);
        _accrueFees();
        uint256 shares = _borrowerFeeShares;
        assets = previewRedeem(shares);
        if (assets == 0) revert NothingToClaim();
        if (assets < minAssets) revert AssetsBelowMin(assets, minAssets);
        _borrowerFeeShares = 0;
        borrowerFeeClaimed += assets;
        emit BorrowerFeeClaimed(assets, recipient);
        _burn(address(this), shares);
        vault.withdraw(assets, recipient, address(this));
    }

    // Views.

    function isBlocked(address account) external view returns (bool) {
        return _blocked[account];
    }

    /// @notice Shares that the reseller can claim, those that are due and not minted included.
    function feeShares() external view returns (uint256) {
        return _feeShares + _dueFees().resellerShares;
    }

    /// @notice Assets that the reseller can claim of the borrower fee, what is due included.
    function borrowerFeeAssets() external view returns (uint256) {
        return convertToAssets(_borrowerFeeShares + _dueFees().borrowerShares);
    }

    /// @inheritdoc ERC4626
    function totalAssets() public view override returns (uint256) {
        return vault.convertToAssets(_vaultShares());
    }

    /// @notice Shares that exist, with those of the fees that are due.
    function totalSupply() public view override(ERC20, IERC20) returns (uint256) {
        DueFees memory due = _dueFees();
        return ERC20.totalSupply() + due.resellerShares + due.borrowerShares;
    }

    /// @inheritdoc ERC4626
    function maxDeposit(address receiver) public view override returns (uint256) {
        if (_blocked[address(this)] || _blocked[receiver]) return 0;
        uint256 most = Math.min(capAssets.saturatingSub(totalAssets()), vault.maxDeposit(address(this)));
        // Room for less than the vault takes at once is room for nothing.
        return most < LendingVault(address(vault)).minDepositAssets() ? 0 : most;
    }

    /// @inheritdoc ERC4626
    function maxMint(address receiver) public view override returns (uint256) {
        return previewDeposit(maxDeposit(receiver));
    }

    /// @inheritdoc ERC4626
    function maxWithdraw(address owner) public view override returns (uint256) {
        if (_blocked[address(this)] || _blocked[owner]) return 0;
        return Math.min(previewRedeem(balanceOf(owner)), vault.maxWithdraw(address(this)));
    }

    /// @inheritdoc ERC4626
    function maxRedeem(address owner) public view override returns (uint256) {
        if (_blocked[address(this)] || _blocked[owner]) return 0;
        uint256 held = balanceOf(owner);
        uint256 free = vault.maxRedeem(address(this));
        (uint256 all, uint256 claimed) = (totalSupply() + VIRTUAL_SHARES, _claimed());
        return held.mulDiv(claimed, all) <= free ? held : free.mulDiv(all, claimed);
    }

    function _decimalsOffset() internal view override returns (uint8) {
        return _offset;
    }

    function _convertToShares(uint256 assets, Math.Rounding rounding) internal view override returns (uint256) {
        uint256 vaultShares =
            rounding == Math.Rounding.Floor ? vault.previewDeposit(assets) : vault.previewWithdraw(assets);
        return vaultShares.mulDiv(totalSupply() + VIRTUAL_SHARES, _claimed(), rounding);
    }

    function _convertToAssets(uint256 shares, Math.Rounding rounding) internal view override returns (uint256) {
        uint256 vaultShares = shares.mulDiv(_claimed(), totalSupply() + VIRTUAL_SHARES, rounding);
        return rounding == Math.Rounding.Floor ? vault.previewRedeem(vaultShares) : vault.previewMint(vaultShares);
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares)
        internal
        override
        nonReentrant
    {
        _requireOpen(caller);
        _accrueFees();
        super._deposit(caller, receiver, assets, shares);
        IERC20(asset()).forceApprove(address(vault), assets);
        vault.deposit(assets, address(this));
    }

    /// @dev The assets of so many shares cost the channel no more vault shares than those stand for.
    function _withdraw(address caller, address receiver, address owner, uint256 assets, uint256 shares)
        internal
        override
        nonReentrant
    {
        _requireOpen(caller);
        _requireReceiver(receiver);
        _accrueFees();
        if (caller != owner) _spendAllowance(owner, caller, shares);
        _burn(owner, shares);
        emit Withdraw(caller, receiver, owner, assets, shares);
        vault.withdraw(assets, receiver, address(this));
    }

    /// @dev Shares that the channel itself holds are its fees': nobody sends it others.
    function _update(address from, address to, uint256 value) internal override {
        if (to == address(this)) revert ERC20InvalidReceiver(to);
        _requireOpen(address(this));
        _requireOpen(msg.sender);
        _requireOpen(from);
        _requireOpen(to);
        super._update(from, to, value);
    }

    function _accrueFees() private {
        DueFees memory due = _dueFees();
        _feesAccruedAt = block.timestamp;
        _highWaterMark = due.highWaterMark;
        uint256 shares = due.resellerShares + due.borrowerShares;
        if (shares == 0) return;
        _feeShares += due.resellerShares;
        _borrowerFeeShares += due.borrowerShares;
        emit FeesAccrued(
            vault.convertToAssets(due.resellerPart), vault.convertToAssets(due.borrowerPart), shares
        );
        // Past the override: a blocked channel's fees accrue too.
        ERC20._update(address(0), address(this), shares);
    }

    /// @dev Counted in vault shares, the second fee on what the first left. A channel that nobody holds charges nobody.
    function _dueFees() private view returns (DueFees memory due) {
        due.highWaterMark = Math.max(_highWaterMark, vault.convertToAssets(_probeShares));
        uint256 supply = ERC20.totalSupply();
        if (supply == 0) return due;
        uint256 held = _vaultShares();
        uint256 elapsed = block.timestamp - _feesAccruedAt;
        due.resellerPart = Math.min(held, held.mulDiv(resellerFeeBps * elapsed, BPS * 365 days));
        // Nothing where the price did not pass the mark.
        uint256 gain = (due.highWaterMark - _highWaterMark) * borrowerFeeBps;
        due.borrowerPart = (held - due.resellerPart).mulDiv(gain, due.highWaterMark * BPS);
        // So many that they stand for the fee's vault shares among all.
        uint256 left = held - due.resellerPart - due.borrowerPart + 1;
        due.resellerShares = due.resellerPart.mulDiv(supply + VIRTUAL_SHARES, left);
        due.borrowerShares = due.borrowerPart.mulDiv(supply + VIRTUAL_SHARES, left);
    }

    function _vaultShares() private view returns (uint256) {
        return vault.balanceOf(address(this));
    }

    /// @dev The vault shares that all shares stand for, the virtual one included.
    function _claimed() private view returns (uint256) {
        return _vaultShares() + 1;
    }

    function _requireReseller(address recipient) private view {
        if (msg.sender != reseller) revert NotReseller(msg.sender);
        if (recipient == address(0)) revert ZeroAccount();
        _requireReceiver(recipient);
    }

    /// @dev Assets of the channel itself would be nobody's: what it holds are vault shares.
    function _requireReceiver(address receiver) private view {
        if (receiver == address(this)) revert ReceiverRefused(receiver);
        _requireOpen(receiver);
    }

    function _requireOpen(address account) private view {
        if (_blocked[account]) revert AccountBlocked(account);
    }
}
