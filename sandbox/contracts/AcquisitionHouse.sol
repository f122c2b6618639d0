// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {FundTrade, IAcquisitionHouse, IRecoveryFund} from "./RecoverySeam.sol";

/// @title Sells distressed positions to recovery funds: the highest bid at the close wins, of equal ones the earliest.
/// @dev Holds each open lot's asset and its best bid, nothing else. Who is outbid is paid back at once rather than by
/// pull: a fund has no function to pull with, and its next bid needs the money. Tokens are plain ERC-20, whose
/// transfers a receiver cannot refuse: no fee on transfer, no rebasing.
contract AcquisitionHouse is IAcquisitionHouse, FundTrade, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    enum LotState {
        None,
        Open,
        Awarded,
        Unsold
    }

    struct LotTerms {
        bytes32 positionId;
        /// Short ASCII, left-aligned, such as "liquid".
        bytes32 lane;
        /// Where the position was, and whose it was.
        address market;
        address borrower;
        IERC20 asset;
        uint256 amount;
        IERC20 quoteAsset;
        uint256 reserveAssets;
        /// Seconds: bids are taken before it, the award is made from it on.
        uint64 closesAt;
    }

    struct Lot {
        LotTerms terms;
        address seller;
        LotState state;
        address bestBidder;
        uint256 bestAssets;
    }

    uint256 public lastLotId;
    mapping(uint256 lotId => Lot) private _lots;

    event LotOpened(uint256 indexed lotId, address indexed seller, LotTerms terms);
    event LotBid(uint256 indexed lotId, address indexed fund, uint256 assets);
    /// @notice Without a bid, `fund` and `assets` are zero and the seller has its asset back.
    event LotAwarded(uint256 indexed lotId, address indexed fund, uint256 assets);

    error LotNotOpen(uint256 lotId);
    error LotClosed(uint256 closesAt);
    error LotNotClosed(uint256 closesAt);
    error NotAFundOf(address quoteAsset);
    error BelowReserve(uint256 assets, uint256 reserveAssets);
    error BidTooLow(uint256 assets, uint256 bestAssets);

    /// @notice Puts a position up; its asset is pulled from the caller.
    function open(LotTerms calldata terms) external nonReentrant returns (uint256 lotId) {
        _checkTerms(
            address(terms.asset), terms.amount, address(terms.quoteAsset), terms.reserveAssets, terms.closesAt
        );
        lotId = ++lastLotId;
        Lot storage opened = _lots[lotId];
        opened.terms = terms;
        opened.seller = msg.sender;
        opened.state = LotState.Open;
        emit LotOpened(lotId, msg.sender, terms);
        terms.asset.safeTransferFrom(msg.sender, address(this), terms.amount);
    }

    /// @inheritdoc IAcquisitionHouse
    function bid(uint256 lotId, uint256 assets) external nonReentrant {
        Lot storage wanted = _openLot(lotId);
        LotTerms storage terms = wanted.terms;
        if (block.timestamp >= terms.closesAt) revert LotClosed(terms.closesAt);
        IERC20 quote = terms.quoteAsset;
        if (msg.sender.code.length == 0 || IRecoveryFund(msg.sender).quoteAsset() != address(quote)) {
            revert NotAFundOf(address(quote));
        }
        if (assets < terms.reserveAssets) revert BelowReserve(assets, terms.reserveAssets);
        (address outbid, uint256 owed) = (wanted.bestBidder, wanted.bestAssets);
        if (assets <= owed) revert BidTooLow(assets, owed);
        (wanted.bestBidder, wanted.bestAssets) = (msg.sender, assets);
        emit LotBid(lotId, msg.sender, assets);
        if (outbid == msg.sender) {
            quote.safeTransferFrom(msg.sender, address(this), assets - owed);
            return;
        }
        quote.safeTransferFrom(msg.sender, address(this), assets);
        if (owed > 0) quote.safeTransfer(outbid, owed);
    }

    /// @notice Closes a lot whose time has come: the seller is paid and the fund gets the asset; anyone may call it.
    function award(uint256 lotId) external nonReentrant {
        Lot storage closing = _openLot(lotId);
        LotTerms memory terms = closing.terms;
        if (block.timestamp < terms.closesAt) revert LotNotClosed(terms.closesAt);
        (address fund, uint256 assets) = (closing.bestBidder, closing.bestAssets);
        closing.state = fund == address(0) ? LotState.Unsold : LotState.Awarded;
        emit LotAwarded(lotId, fund, assets);
        if (fund == address(0)) {
            terms.asset.safeTransfer(closing.seller, terms.amount);
            return;
        }
        terms.quoteAsset.safeTransfer(closing.seller, assets);
        terms.asset.safeTransfer(fund, terms.amount);
        _tell(
            fund,
            abi.encodeCall(
                IRecoveryFund.recordHolding,
                (
                    terms.positionId,
                    terms.lane,
                    address(terms.asset),
                    terms.amount,
                    assets,
                    terms.market,
                    terms.borrower
                )
            )
        );
    }

    function lot(uint256 lotId) external view returns (Lot memory) {
        return _lots[lotId];
    }

    function _openLot(uint256 lotId) private view returns (Lot storage found) {
        found = _lots[lotId];
        if (found.state != LotState.Open) revert LotNotOpen(lotId);
    }
}
