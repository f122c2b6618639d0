// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title What a house or a desk needs of a fund that buys or sells a distressed position.
interface IRecoveryFund {
    function quoteAsset() external view returns (address);
    function manager() external view returns (address);

    /// @notice Called by an acquisition house when the fund won a lot: the fund has paid and has the asset.
    function recordHolding(
        bytes32 positionId,
        bytes32 lane,
        address asset,
        uint256 amount,
        uint256 transferPriceAssets,
        address market,
        address borrower
    ) external returns (uint256 holdingId);

    /// @notice Called by where the fund put a holding up, when it was sold: the proceeds are the fund's already.
    function recordDisposal(uint256 holdingId, uint256 proceedsAssets) external;

    /// @notice Called there when it was not sold: the asset is the fund's again already.
    function recordReturned(uint256 holdingId) external;
}

/// @title Where a fund bids for distressed positions.
interface IAcquisitionHouse {
    /// @notice The caller is the fund; the bid is pulled from it, and of a raise of its own leading bid the difference.
    function bid(uint256 lotId, uint256 assets) external;
}

/// @title Where a holding is put up for sale.
interface IHoldingSale {
    /// @notice The caller is the seller; the asset is pulled from it. `holdingId` means something to a fund alone.
    function open(
        uint256 holdingId,
        address asset,
        uint256 amount,
        address quoteAsset,
        uint256 reserveAssets,
        uint64 closesAt
    ) external returns (uint256 id);
}

/// @title Escrows one side of a trade, and tells the funds that take part what became of it.
/// @dev A notice that fails does not undo the trade: a fund that reverts must not lock up what others put in. It gets
/// a fixed amount of gas, and a caller that leaves less than that fails, so that nobody can starve a notice either.
abstract contract FundTrade {
    uint256 private constant NOTICE_GAS = 350_000;
    /// @notice The longest that an offer may be open or a bid bind, so that nothing is escrowed for good by mistake.
    uint256 public constant OPEN_SECONDS_MAX = 30 days;

    event FundNotTold(address indexed fund);

    error TermsOutOfRange();
    error NotEnoughGas();

    function _checkTerms(address asset, uint256 amount, address quoteAsset, uint256 reserveAssets, uint64 closesAt)
        internal
        view
    {
        if (
            asset == quoteAsset || amount == 0 || reserveAssets == 0 || closesAt <= block.timestamp
                || closesAt > block.timestamp + OPEN_SECONDS_MAX
        ) revert TermsOutOfRange();
    }

    function _tell(address fund, bytes memory notice) internal {
        // A call passes on all but a 64th of what is left.
        if (gasleft() < NOTICE_GAS + NOTICE_GAS / 63 + 5_000) revert NotEnoughGas();
        (bool told,) = fund.call{gas: NOTICE_GAS}(notice);
        if (!told) emit FundNotTold(fund);
    }
}
