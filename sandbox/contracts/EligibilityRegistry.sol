// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Who may do what, where: the list that a gated action asks.
contract EligibilityRegistry is Ownable {
    mapping(address wallet => mapping(bytes32 action => mapping(address scope => bool))) private _authorized;

    event AuthorizationSet(
        address indexed wallet,
        bytes32 indexed action,
        address indexed scope,
        bool authorized
    );

    constructor(address admin) Ownable(admin) {}

    /// @notice Grants or withdraws one action in one scope.
    /// @param action Short ASCII, left-aligned, such as "liquidate".
    /// @param scope The contract that asks, such as a market.
    function setAuthorization(address wallet, bytes32 action, address scope, bool authorized) external onlyOwner {
        _authorized[wallet][action][scope] = authorized;
        emit AuthorizationSet(wallet, action, scope, authorized);
    }

    /// @notice Whether `wallet` may do `action` in exactly `scope`; unknown means no.
    function isAuthorized(address wallet, bytes32 action, address scope) external view returns (bool) {
        return _authorized[wallet][action][scope];
    }
}
