// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {FundTrade, IHoldingSale, IRecoveryFund} from "./RecoverySeam.sol";
import {Commitments} from "./Commitments.sol";

/// @title Sells holdings by open ascending auction.
/// @dev Holds each open lot's asset, its best bid, and what outbid bidders could not be paid. They are paid back at once,
/// and withdraw what their token refused them then, so that no bid depends on a transfer to someone else. A bid shortly
/// before the close moves the close on, up to a limit. Tokens are plain ERC-20: no fee on transfer, no rebasing.
contract RecoveryAuction is IHoldingSale, FundTrade, Commitments, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    enum LotState {
        None,
        Open,
        Sold,
        Unsold
    }

    struct Lot {
        address seller;
        LotState state;
        /// Seconds: bids are taken before it, the lot is settled from it on.
        uint64 closesAt;
        /// The latest that bids may move the close to.
        uint64 closesAtMax;
        /// Whether the seller is told of the outcome.
        bool sellerIsContract;
        uint256 holdingId;
        IERC20 asset;
        uint256 amount;
        IERC20 quoteAsset;
        uint256 reserveAssets;
        address bestBidder;
        uint256 bestAssets;
    }

    uint256 private constant BPS = 10_000;

    /// @notice How much a bid must be above the best one, of which it is a part; at least one base unit.
    uint256 public immutable minIncrementBps;
    /// @notice Seconds that are left, at the least, after a bid; and by how many in all the close may move.
    uint64 public immutable extensionSeconds;
    uint64 public immutable extensionSecondsMax;

    uint256 public lastLotId;
    mapping(uint256 lotId => Lot) private _lots;
    /// @notice What a bidder who was outbid on a lot could not be paid back at once.
    mapping(uint256 lotId => mapping(address bidder => uint256)) public owedAssets;

    event AuctionOpened(
        uint256 indexed lotId,
        address indexed seller,
        uint256 holdingId,
        address asset,
        uint256 amount,
        address quoteAsset,
        uint256 reserveAssets,
        uint64 closesAt
    );
    /// @notice From this bid on the close is `closesAt`, and another bid is `leastNextAssets` at least.
    event AuctionBid(
        uint256 indexed lotId, address indexed bidder, uint256 assets, uint64 closesAt, uint256 leastNextAssets
    );
    event AuctionWithdrawn(uint256 indexed lotId, address indexed bidder, uint256 assets);
    /// @notice Without a bid, `winner` and `assets` are zero and the seller has its asset back.
    event AuctionSettled(uint256 indexed lotId, address indexed winner, uint256 assets);

    error LotNotOpen(uint256 lotId);
    error LotClosed(uint256 closesAt);
    error LotNotClosed(uint256 closesAt);
    error BelowReserve(uint256 assets, uint256 reserveAssets);
    error BelowIncrement(uint256 assets, uint256 leastAssets);
    error NothingOwed(uint256 lotId, address bidder);

    constructor(uint256 minIncrementBps_, uint64 extensionSeconds_, uint64 extensionSecondsMax_) {
        if (minIncrementBps_ > BPS || extensionSeconds_ > extensionSecondsMax_) revert TermsOutOfRange();
        minIncrementBps = minIncrementBps_;
        extensionSeconds = extensionSeconds_;
        extensionSecondsMax = extensionSecondsMax_;
    }

    /// @inheritdoc IHoldingSale
    function open(
        uint256 holdingId,
        address asset,
        uint256 amount,
        address quoteAsset,
        uint256 reserveAssets,
        uint64 closesAt
    ) external nonReentrant returns (uint256 lotId) {
        _checkTerms(asset, amount, quoteAsset, reserveAssets, closesAt);
        lotId = ++lastLotId;
        _lots[lotId] = Lot({
            seller: msg.sender,
            state: LotState.Open,
            closesAt: closesAt,
            closesAtMax: closesAt + extensionSecondsMax,
            sellerIsContract: msg.sender.code.length > 0,
            holdingId: holdingId,
            asset: IERC20(asset),
            amount: amount,
            quoteAsset: IERC20(quoteAsset),
            reserveAssets: reserveAssets,
            bestBidder: address(0),
            bestAssets: 0
        });
        emit AuctionOpened(lotId, msg.sender, holdingId, asset, amount, quoteAsset, reserveAssets, closesAt);
        IERC20(asset).safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Bids; the best bidder raising its own bid pays only the difference.
    function bid(uint256 lotId, uint256 assets) external nonReentrant {
        Lot storage wanted = _openLot(lotId);
        if (block.timestamp >= wanted.closesAt) revert LotClosed(wanted.closesAt);
        if (assets < wanted.reserveAssets) revert BelowReserve(assets, wanted.reserveAssets);
        (address outbid, uint256 best) = (wanted.bestBidder, wanted.bestAssets);
        if (outbid != address(0) && assets < _leastAfter(best)) revert BelowIncrement(assets, _leastAfter(best));
        bool raises = outbid == msg.sender;
        if (outbid != address(0) && !raises) owedAssets[lotId][outbid] += best;
        (wanted.bestBidder, wanted.bestAssets) = (msg.sender, assets);
        _commit(msg.sender, wanted.asset, wanted.quoteAsset, raises ? assets - best : assets);
        if (!raises) {
            _mayWin(msg.sender, wanted.asset, wanted.quoteAsset, wanted.amount);
            if (outbid != address(0)) _cannotWin(outbid, wanted.asset, wanted.quoteAsset, wanted.amount);
        }
        uint256 extended = Math.min(block.timestamp + extensionSeconds, wanted.closesAtMax);
        if (extended > wanted.closesAt) wanted.closesAt = uint64(extended);
        emit AuctionBid(lotId, msg.sender, assets, wanted.closesAt, _leastAfter(assets));
        wanted.quoteAsset.safeTransferFrom(msg.sender, address(this), raises ? assets - best : assets);
        if (outbid != address(0) && !raises) _payBack(lotId, outbid);
    }

    /// @notice Pays the caller what it was outbid with on a lot and is still owed.
    function withdraw(uint256 lotId) external nonReentrant {
        uint256 assets = owedAssets[lotId][msg.sender];
        if (assets == 0) revert NothingOwed(lotId, msg.sender);
        delete owedAssets[lotId][msg.sender];
        emit AuctionWithdrawn(lotId, msg.sender, assets);
        Lot storage left = _lots[lotId];
        _release(msg.sender, left.asset, left.quoteAsset, assets);
        left.quoteAsset.safeTransfer(msg.sender, assets);
    }

    /// @notice Closes a lot whose time has come: the seller is paid and the winner gets the asset; anyone may call it.
    function settle(uint256 lotId) external nonReentrant {
        Lot storage closing = _openLot(lotId);
        if (block.timestamp < closing.closesAt) revert LotNotClosed(closing.closesAt);
        (address winner, uint256 assets) = (closing.bestBidder, closing.bestAssets);
        bool sold = winner != address(0);
        closing.state = sold ? LotState.Sold : LotState.Unsold;
        emit AuctionSettled(lotId, winner, assets);
        if (sold) {
            _release(winner, closing.asset, closing.quoteAsset, assets);
            _cannotWin(winner, closing.asset, closing.quoteAsset, closing.amount);
        }
        if (sold) closing.quoteAsset.safeTransfer(closing.seller, assets);
        closing.asset.safeTransfer(sold ? winner : closing.seller, closing.amount);
        if (!closing.sellerIsContract) return;
        _tell(
            closing.seller,
            sold
                ? abi.encodeCall(IRecoveryFund.recordDisposal, (closing.holdingId, assets))
                : abi.encodeCall(IRecoveryFund.recordReturned, (closing.holdingId))
        );
    }

    function lot(uint256 lotId) external view returns (Lot memory) {
        return _lots[lotId];
    }

    function _payBack(uint256 lotId, address bidder) private {
        uint256 assets = owedAssets[lotId][bidder];
        delete owedAssets[lotId][bidder];
        Lot storage left = _lots[lotId];
        _release(bidder, left.asset, left.quoteAsset, assets);
        if (left.quoteAsset.trySafeTransfer(bidder, assets)) {
            emit AuctionWithdrawn(lotId, bidder, assets);
        } else {
            owedAssets[lotId][bidder] = assets;
            _commit(bidder, left.asset, left.quoteAsset, assets);
        }
    }

    function _leastAfter(uint256 best) private view returns (uint256) {
        return best + Math.max(1, Math.mulDiv(best, minIncrementBps, BPS, Math.Rounding.Ceil));
    }

    function _openLot(uint256 lotId) private view returns (Lot storage found) {
        found = _lots[lotId];
        if (found.state != LotState.Open) revert LotNotOpen(lotId);
    }
}
