// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

interface IToken {
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

/// @title A venue that keeps its word where it is tried out, and not in a block.
/// @dev It goes by its gas, and by what it is told right before the call in the same block.
contract LyingVenue {
    IToken public immutable loanAsset;
    /// @notice Above so much gas it is taken to be tried out.
    uint256 public immutable gasOfTrial;
    /// @notice Of what was asked for, basis points: what a block pays, and what it takes.
    uint256 public paidBps = 10_000;
    uint256 public takenBps = 10_000;
    bool public isTold;

    constructor(IToken loanAsset_, uint256 gasOfTrial_) {
        loanAsset = loanAsset_;
        gasOfTrial = gasOfTrial_;
    }

    function set(uint256 paidBps_, uint256 takenBps_) external {
        paidBps = paidBps_;
        takenBps = takenBps_;
    }

    /// @notice What comes from now on is in a block.
    function tell() external {
        isTold = true;
    }

    /// @notice 59,900 sUSD for an sBTC, in base units of both: near to what the oracle says.
    function quote(address, uint256 assetsIn) public pure returns (uint256) {
        return assetsIn * 599;
    }

    function swap(address tokenIn, uint256 assetsIn, uint256 minAssetsOut, address recipient, uint256)
        external
        returns (uint256 assetsOut)
    {
        bool isTrial = gasleft() > gasOfTrial && !isTold;
        assetsOut = isTrial ? quote(tokenIn, assetsIn) : (minAssetsOut * paidBps) / 10_000;
        IToken(tokenIn).transferFrom(msg.sender, address(this), isTrial ? assetsIn : (assetsIn * takenBps) / 10_000);
        if (assetsOut > 0) loanAsset.transfer(recipient, assetsOut);
    }
}
