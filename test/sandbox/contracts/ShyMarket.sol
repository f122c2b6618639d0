// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

interface IToken {
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

/// @title A market that takes less than it was asked to, and would come for the rest later.
contract ShyMarket {
    IToken public immutable loanAsset;
    bool public constant paused = false;
    /// @notice Of what it is supplied with, basis points.
    uint256 public takenBps;
    mapping(address vault => uint256) public allocatedAssets;

    constructor(IToken loanAsset_) {
        loanAsset = loanAsset_;
    }

    function setTaken(uint256 bps) external {
        takenBps = bps;
    }

    function supply(uint256 assets) external {
        uint256 taken = (assets * takenBps) / 10_000;
        allocatedAssets[msg.sender] += taken;
        loanAsset.transferFrom(msg.sender, address(this), taken);
    }
}
