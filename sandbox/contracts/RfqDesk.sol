// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {FundTrade, IHoldingSale, IRecoveryFund} from "./RecoverySeam.sol";
import {Commitments} from "./Commitments.sol";

/// @title Sells holdings by request for quote: bidders answer with escrowed bids, and the best live one at the close wins.
/// @dev Holds each open request's asset and every bid that is neither cancelled, spent nor refunded. A bid that is
/// live at the close binds until the request is finalized, whenever it expires: whoever finalizes late finds the same
/// winner. Of equal ones the earliest placed or replaced wins. A request's book has few places, so that finalizing it
/// is cheap; a better bid takes the place of the worst. Tokens are plain ERC-20: no fee on transfer, no rebasing.
contract RfqDesk is IHoldingSale, FundTrade, Commitments, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    enum RfqState {
        None,
        Open,
        Sold,
        Unsold
    }

    /// A booked bid may win; one that lost its place, or its request, waits for its refund.
    enum BidState {
        None,
        Booked,
        Displaced,
        Cancelled,
        Won,
        Refunded
    }

    struct Rfq {
        address seller;
        RfqState state;
        /// Seconds: bids are taken, changed and cancelled before it, the request is finalized from it on.
        uint64 closesAt;
        /// Whether the seller is told of the outcome.
        bool sellerIsContract;
        uint256 holdingId;
        IERC20 asset;
        uint256 amount;
        IERC20 quoteAsset;
        uint256 reserveAssets;
        uint256 winningBidId;
    }

    struct Bid {
        address bidder;
        BidState state;
        /// Seconds: a bid that expires at the close or before cannot win, and is refundable from then on; one that
        /// expires later binds until the request is finalized.
        uint64 expiresAt;
        uint256 rfqId;
        uint256 assets;
        /// Counts placed and replaced bids: of equal bids the lowest wins.
        uint256 turn;
    }

    /// @notice Places in a request's book.
    uint256 public constant BIDS_MAX = 16;

    uint256 public lastRfqId;
    uint256 public lastBidId;
    uint256 private _lastTurn;
    mapping(uint256 rfqId => Rfq) private _rfqs;
    mapping(uint256 bidId => Bid) private _bids;
    mapping(uint256 rfqId => uint256[]) private _books;

    event RfqOpened(
        uint256 indexed rfqId,
        address indexed seller,
        uint256 holdingId,
        address asset,
        uint256 amount,
        address quoteAsset,
        uint256 reserveAssets,
        uint64 closesAt
    );
    event RfqBidPlaced(
        uint256 indexed rfqId, uint256 indexed bidId, address indexed bidder, uint256 assets, uint64 expiresAt
    );
    event RfqBidReplaced(
        uint256 indexed rfqId, uint256 indexed bidId, address indexed bidder, uint256 assets, uint64 expiresAt
    );
    event RfqBidCancelled(uint256 indexed rfqId, uint256 indexed bidId, address indexed bidder, uint256 assets);
    /// @notice A better bid took its place; it is refundable.
    event RfqBidDisplaced(uint256 indexed rfqId, uint256 indexed bidId, address indexed bidder, uint256 assets);
    event RfqRefundClaimed(uint256 indexed rfqId, uint256 indexed bidId, address indexed bidder, uint256 assets);
    /// @notice Without a bid live at the close all but `rfqId` are zero and the seller has its asset back.
    event RfqFinalized(uint256 indexed rfqId, uint256 indexed bidId, address indexed winner, uint256 assets);

    error RfqNotOpen(uint256 rfqId);
    error RfqClosed(uint256 closesAt);
    error RfqNotClosed(uint256 closesAt);
    error BelowReserve(uint256 assets, uint256 reserveAssets);
    error ExpiryOutOfRange(uint256 expiresAt);
    error BookFull(uint256 worstAssets);
    error BidNotYours(uint256 bidId);
    error BidNotBooked(uint256 bidId);
    error BidNotRefundable(uint256 bidId);

    /// @inheritdoc IHoldingSale
    function open(
        uint256 holdingId,
        address asset,
        uint256 amount,
        address quoteAsset,
        uint256 reserveAssets,
        uint64 closesAt
    ) external nonReentrant returns (uint256 rfqId) {
        _checkTerms(asset, amount, quoteAsset, reserveAssets, closesAt);
        rfqId = ++lastRfqId;
        _rfqs[rfqId] = Rfq({
            seller: msg.sender,
            state: RfqState.Open,
            closesAt: closesAt,
            sellerIsContract: msg.sender.code.length > 0,
            holdingId: holdingId,
            asset: IERC20(asset),
            amount: amount,
            quoteAsset: IERC20(quoteAsset),
            reserveAssets: reserveAssets,
            winningBidId: 0
        });
        emit RfqOpened(rfqId, msg.sender, holdingId, asset, amount, quoteAsset, reserveAssets, closesAt);
        IERC20(asset).safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Bids; the whole bid is pulled from the caller.
    function placeBid(uint256 rfqId, uint256 assets, uint64 expiresAt) external nonReentrant returns (uint256 bidId) {
        Rfq storage asked = _rfqTakingBids(rfqId);
        _checkBid(asked, assets, expiresAt);
        uint256[] storage bidIds = _books[rfqId];
        if (bidIds.length == BIDS_MAX) _displaceWorst(rfqId, bidIds, assets);
        bidId = ++lastBidId;
        bidIds.push(bidId);
        _bids[bidId] = Bid(msg.sender, BidState.Booked, expiresAt, rfqId, assets, ++_lastTurn);
        _commit(msg.sender, asked.asset, asked.quoteAsset, assets);
        _mayWin(msg.sender, asked.asset, asked.quoteAsset, asked.amount);
        emit RfqBidPlaced(rfqId, bidId, msg.sender, assets, expiresAt);
        asked.quoteAsset.safeTransferFrom(msg.sender, address(this), assets);
    }

    /// @notice Changes the caller's bid, an expired one too; the difference is pulled from it or paid back.
    function replaceBid(uint256 bidId, uint256 assets, uint64 expiresAt) external nonReentrant {
        Bid storage old = _ownBid(bidId);
        Rfq storage asked = _rfqTakingBids(old.rfqId);
        if (old.state != BidState.Booked) revert BidNotBooked(bidId);
        _checkBid(asked, assets, expiresAt);
        uint256 before = old.assets;
        (old.assets, old.expiresAt, old.turn) = (assets, expiresAt, ++_lastTurn);
        _release(msg.sender, asked.asset, asked.quoteAsset, before);
        _commit(msg.sender, asked.asset, asked.quoteAsset, assets);
        emit RfqBidReplaced(old.rfqId, bidId, msg.sender, assets, expiresAt);
        if (assets > before) asked.quoteAsset.safeTransferFrom(msg.sender, address(this), assets - before);
        else if (assets < before) asked.quoteAsset.safeTransfer(msg.sender, before - assets);
    }

    /// @notice Takes the caller's bid back and pays it out.
    function cancelBid(uint256 bidId) external nonReentrant {
        Bid storage own = _ownBid(bidId);
        Rfq storage asked = _rfqTakingBids(own.rfqId);
        if (own.state != BidState.Booked) revert BidNotBooked(bidId);
        own.state = BidState.Cancelled;
        _unbook(own.rfqId, bidId);
        _release(msg.sender, asked.asset, asked.quoteAsset, own.assets);
        _cannotWin(msg.sender, asked.asset, asked.quoteAsset, asked.amount);
        emit RfqBidCancelled(own.rfqId, bidId, msg.sender, own.assets);
        asked.quoteAsset.safeTransfer(msg.sender, own.assets);
    }

    /// @notice Pays the caller's bid out that cannot win: expired by the close, displaced, or of a finalized request.
    function claimRefund(uint256 bidId) external nonReentrant {
        Bid storage own = _ownBid(bidId);
        if (!_refundable(own)) revert BidNotRefundable(bidId);
        Rfq storage asked = _rfqs[own.rfqId];
        if (asked.state == RfqState.Open && own.state == BidState.Booked) {
            _unbook(own.rfqId, bidId);
            _cannotWin(msg.sender, asked.asset, asked.quoteAsset, asked.amount);
        }
        own.state = BidState.Refunded;
        _release(msg.sender, asked.asset, asked.quoteAsset, own.assets);
        emit RfqRefundClaimed(own.rfqId, bidId, msg.sender, own.assets);
        asked.quoteAsset.safeTransfer(msg.sender, own.assets);
    }

    /// @notice Closes a request whose time has come: the seller is paid and the winner gets the asset; anyone may call it.
    function finalize(uint256 rfqId) external nonReentrant {
        Rfq storage asked = _openRfq(rfqId);
        if (block.timestamp < asked.closesAt) revert RfqNotClosed(asked.closesAt);
        uint256[] storage bidIds = _books[rfqId];
        uint256 bidId = _bestOf(bidIds, asked.closesAt);
        for (uint256 i = 0; i < bidIds.length; i++) {
            _cannotWin(_bids[bidIds[i]].bidder, asked.asset, asked.quoteAsset, asked.amount);
        }
        Bid storage best = _bids[bidId];
        (address winner, uint256 assets) = (best.bidder, best.assets);
        bool sold = bidId != 0;
        if (sold) {
            (best.state, asked.winningBidId) = (BidState.Won, bidId);
            _release(winner, asked.asset, asked.quoteAsset, assets);
        }
        asked.state = sold ? RfqState.Sold : RfqState.Unsold;
        emit RfqFinalized(rfqId, bidId, winner, assets);
        if (sold) asked.quoteAsset.safeTransfer(asked.seller, assets);
        asked.asset.safeTransfer(sold ? winner : asked.seller, asked.amount);
        if (!asked.sellerIsContract) return;
        _tell(
            asked.seller,
            sold
                ? abi.encodeCall(IRecoveryFund.recordDisposal, (asked.holdingId, assets))
                : abi.encodeCall(IRecoveryFund.recordReturned, (asked.holdingId))
        );
    }

    function rfq(uint256 rfqId) external view returns (Rfq memory) {
        return _rfqs[rfqId];
    }

    function bid(uint256 bidId) external view returns (Bid memory) {
        return _bids[bidId];
    }

    /// @notice The bids that may win, in no order.
    function book(uint256 rfqId) external view returns (uint256[] memory) {
        return _books[rfqId];
    }

    /// @notice The bids that may win, whole; an expired one counts for nothing, but keeps its place.
    function bookedBids(uint256 rfqId) external view returns (Bid[] memory booked) {
        uint256[] storage bidIds = _books[rfqId];
        booked = new Bid[](bidIds.length);
        for (uint256 i = 0; i < booked.length; i++) {
            booked[i] = _bids[bidIds[i]];
        }
    }

    function refundable(uint256 bidId) external view returns (bool) {
        return _refundable(_bids[bidId]);
    }

    function _openRfq(uint256 rfqId) private view returns (Rfq storage found) {
        found = _rfqs[rfqId];
        if (found.state != RfqState.Open) revert RfqNotOpen(rfqId);
    }

    function _rfqTakingBids(uint256 rfqId) private view returns (Rfq storage found) {
        found = _openRfq(rfqId);
        if (block.timestamp >= found.closesAt) revert RfqClosed(found.closesAt);
    }

    function _ownBid(uint256 bidId) private view returns (Bid storage found) {
        found = _bids[bidId];
        if (found.bidder != msg.sender) revert BidNotYours(bidId);
    }

    function _checkBid(Rfq storage asked, uint256 assets, uint64 expiresAt) private view {
        if (assets < asked.reserveAssets) revert BelowReserve(assets, asked.reserveAssets);
        if (expiresAt <= block.timestamp || expiresAt > block.timestamp + OPEN_SECONDS_MAX) {
            revert ExpiryOutOfRange(expiresAt);
        }
    }

    function _refundable(Bid storage one) private view returns (bool) {
        if (one.state == BidState.Displaced) return true;
        if (one.state != BidState.Booked) return false;
        Rfq storage asked = _rfqs[one.rfqId];
        // From the close on a bid is what it was at the close.
        return asked.state != RfqState.Open || Math.min(block.timestamp, asked.closesAt) >= one.expiresAt;
    }

    /// @dev What a bid counts for at a time: an expired one for nothing.
    function _worth(Bid storage one, uint256 whenS) private view returns (uint256) {
        return whenS < one.expiresAt ? one.assets : 0;
    }

    /// @return bestId Zero when no bid is live then: there is no bid of that number, and what it holds is empty.
    function _bestOf(uint256[] storage bidIds, uint256 whenS) private view returns (uint256 bestId) {
        (uint256 most, uint256 turn) = (0, 0);
        for (uint256 i = 0; i < bidIds.length; i++) {
            Bid storage one = _bids[bidIds[i]];
            uint256 worth = _worth(one, whenS);
            if (worth > most || (worth == most && worth > 0 && one.turn < turn)) {
                (bestId, most, turn) = (bidIds[i], worth, one.turn);
            }
        }
    }

    function _displaceWorst(uint256 rfqId, uint256[] storage bidIds, uint256 assets) private {
        (uint256 place, uint256 least, uint256 turn) = (0, type(uint256).max, 0);
        for (uint256 i = 0; i < bidIds.length; i++) {
            Bid storage one = _bids[bidIds[i]];
            uint256 worth = _worth(one, block.timestamp);
            if (worth < least || (worth == least && one.turn > turn)) (place, least, turn) = (i, worth, one.turn);
        }
        if (assets <= least) revert BookFull(least);
        uint256 worstId = bidIds[place];
        Bid storage worst = _bids[worstId];
        worst.state = BidState.Displaced;
        Rfq storage asked = _rfqs[rfqId];
        _cannotWin(worst.bidder, asked.asset, asked.quoteAsset, asked.amount);
        emit RfqBidDisplaced(rfqId, worstId, worst.bidder, worst.assets);
        bidIds[place] = bidIds[bidIds.length - 1];
        bidIds.pop();
    }

    function _unbook(uint256 rfqId, uint256 bidId) private {
        uint256[] storage bidIds = _books[rfqId];
        uint256 last = bidIds.length - 1;
        for (uint256 i = 0; i < last; i++) {
            if (bidIds[i] == bidId) {
                bidIds[i] = bidIds[last];
                break;
            }
        }
        bidIds.pop();
    }
}
