// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {AccessControlDefaultAdminRules} from
    "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";

/// @title Who may do what in a vault: one owner, and the roles that it grants.
/// @dev The owner is the holder of DEFAULT_ADMIN_ROLE. Ownership passes in two steps, by the owner's offer and the
/// other's acceptance one second later or after; until then nothing has changed. There is an owner always: it can
/// neither offer the vault to nobody nor give it up.
abstract contract VaultRoles is AccessControlDefaultAdminRules {
    bytes32 public constant ALLOCATOR_ROLE = keccak256("ALLOCATOR_ROLE");
    bytes32 public constant MANAGER_ROLE = keccak256("MANAGER_ROLE");
    bytes32 public constant CURATOR_ROLE = keccak256("CURATOR_ROLE");

    /// @dev The owner may do what the allocators do.
    modifier onlyAllocator() {
        if (msg.sender != owner()) _checkRole(ALLOCATOR_ROLE);
        _;
    }

    constructor(address owner_) AccessControlDefaultAdminRules(0, owner_) {}

    /// @dev The delay is none for good: a longer one would outlive its owner, and the longest could never be taken back.
    function _changeDefaultAdminDelay(uint48 newDelay) internal pure override {
        revert AccessControlEnforcedDefaultAdminDelay(newDelay);
    }

    function _rollbackDefaultAdminDelay() internal pure override {}

    /// @dev An offer to nobody would be the first step of giving the vault up.
    function _beginDefaultAdminTransfer(address newAdmin) internal override {
        if (newAdmin == address(0)) revert AccessControlInvalidDefaultAdmin(newAdmin);
        super._beginDefaultAdminTransfer(newAdmin);
    }
}
