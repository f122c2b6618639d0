// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {EnumerableSet} from "@openzeppelin/contracts/utils/structs/EnumerableSet.sol";
import {VaultRoles} from "./VaultRoles.sol";

enum TransferProfile {
    Open,
    TrustedRecipients,
    Frozen
}

/// @title Shares whose manager says to whom they may move.
/// @dev The profile governs shares that change hands: transfers, and deposits for somebody else. Depositing for
/// oneself and redeeming do not ask it. A pause stops transfers and deposits; redemption goes on unless the pause
/// names a reason to freeze it too. Anyone may end a pause once its time has passed.
abstract contract ShareMobility is ERC20, VaultRoles {
    using EnumerableSet for EnumerableSet.AddressSet;

    /// @notice The longest pause after which only its manager may restore.
    uint64 public constant PAUSE_SECONDS_MAX = 30 days;
    uint256 public constant REASON_BYTES_MAX = 64;
    uint256 public constant TRUSTED_RECIPIENTS_MAX = 64;

    TransferProfile public transferProfile;
    bool public shareMobilityPaused;
    /// @notice From this second on anyone may restore; zero while nothing is paused.
    uint64 public restoreAfter;
    /// @notice Counts the changes of any of these.
    uint64 public mobilityEpoch;
    string public pauseReason;
    /// @notice Redemption is frozen while this is not empty.
    string public redeemFreezeReason;

    EnumerableSet.AddressSet private _trusted;

    event TransferProfileSet(TransferProfile profile, uint64 mobilityEpoch);
    event TrustedRecipientSet(address indexed recipient, bool trusted, uint64 mobilityEpoch);
    event ShareMobilityPaused(
        uint64 restoreAfter, string reason, string redeemFreezeReason, uint64 mobilityEpoch
    );
    event ShareMobilityRestored(address indexed by, uint64 mobilityEpoch);

    error ShareMobilityIsPaused(uint64 restoreAfter);
    error ShareMobilityIsNotPaused();
    error RestoreAfterOutOfRange(uint64 restoreAfter, uint256 nowSeconds);
    error ReasonLengthOutOfRange();
    error TransfersFrozen();
    error RecipientNotTrusted(address recipient);
    error TrustedRecipientsFull();
    error RedemptionFrozen(string reason);

    /// @notice Pauses transfers and deposits, and redemption too where `freezeReason` is not empty.
    /// @param until Unix seconds, ahead, from which anyone may restore.
    function pauseShareMobility(uint64 until, string calldata reason, string calldata freezeReason)
        external
        onlyRole(MANAGER_ROLE)
    {
        if (shareMobilityPaused) revert ShareMobilityIsPaused(restoreAfter);
        if (until <= block.timestamp || until > block.timestamp + PAUSE_SECONDS_MAX) {
            revert RestoreAfterOutOfRange(until, block.timestamp);
        }
        if (
            bytes(reason).length == 0 || bytes(reason).length > REASON_BYTES_MAX
                || bytes(freezeReason).length > REASON_BYTES_MAX
        ) revert ReasonLengthOutOfRange();
        shareMobilityPaused = true;
        restoreAfter = until;
        pauseReason = reason;
        redeemFreezeReason = freezeReason;
        emit ShareMobilityPaused(until, reason, freezeReason, ++mobilityEpoch);
    }

    /// @notice Ends a pause: its manager at any time, anyone once its time has passed.
    function restoreShareMobility() external {
        if (!shareMobilityPaused) revert ShareMobilityIsNotPaused();
        if (block.timestamp < restoreAfter) _checkRole(MANAGER_ROLE);
        shareMobilityPaused = false;
        restoreAfter = 0;
        pauseReason = "";
        redeemFreezeReason = "";
        emit ShareMobilityRestored(msg.sender, ++mobilityEpoch);
    }

    function setTransferProfile(TransferProfile profile) external onlyRole(MANAGER_ROLE) {
        transferProfile = profile;
        emit TransferProfileSet(profile, ++mobilityEpoch);
    }

    function setTrustedRecipient(address recipient, bool trusted) external onlyRole(MANAGER_ROLE) {
        if (trusted) _trusted.add(recipient);
        else _trusted.remove(recipient);
        if (_trusted.length() > TRUSTED_RECIPIENTS_MAX) revert TrustedRecipientsFull();
        emit TrustedRecipientSet(recipient, trusted, ++mobilityEpoch);
    }

    function trustedRecipients() external view returns (address[] memory) {
        return _trusted.values();
    }

    function redemptionFrozen() public view returns (bool) {
        return bytes(redeemFreezeReason).length > 0;
    }

    function _requireRedeemable() internal view {
        if (redemptionFrozen()) revert RedemptionFrozen(redeemFreezeReason);
    }

    /// @dev Shares sent to the vault itself would be nobody's; the redemption queue takes its own past this.
    function _update(address from, address to, uint256 value) internal virtual override {
        if (to == address(0)) _requireRedeemable();
        else if (to == address(this)) revert ERC20InvalidReceiver(to);
        else _requireMovable(from == address(0) ? msg.sender : from, to);
        super._update(from, to, value);
    }

    function _requireMovable(address giver, address taker) private view {
        if (shareMobilityPaused) revert ShareMobilityIsPaused(restoreAfter);
        if (transferProfile == TransferProfile.Open || giver == taker) return;
        if (transferProfile == TransferProfile.Frozen) revert TransfersFrozen();
        if (!_trusted.contains(taker)) revert RecipientNotTrusted(taker);
    }
}
