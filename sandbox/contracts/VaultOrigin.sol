// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title Where a vault says that it belongs, and whose it was at first.
/// @dev The first base of a vault, so that its event is the first of the deployment: whoever follows the logs knows
/// from it whose the others are.
abstract contract VaultOrigin {
    /// @notice The registry that this vault says it belongs to.
    address public immutable directory;

    event VaultCreated(address indexed directory, address indexed owner, address asset);

    constructor(address directory_, address owner_, address asset_) {
        directory = directory_;
        emit VaultCreated(directory_, owner_, asset_);
    }
}
