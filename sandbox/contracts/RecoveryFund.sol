// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Initializable} from "@openzeppelin/contracts/proxy/utils/Initializable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {AcquisitionHouse} from "./AcquisitionHouse.sol";
import {FundFactory} from "./FundFactory.sol";
import {LendingMarket} from "./LendingMarket.sol";
import {NavOracle} from "./NavOracle.sol";
import {IHoldingSale, IRecoveryFund} from "./RecoverySeam.sol";

/// @title A fund that collects a quote asset in epochs, buys distressed positions with it, and sells them again.
/// @dev Quote assets are counted, never read from the token: escrowed (subscriptions of the open epoch and what an
/// epoch did not take), idle, reserved (in bids at acquisition houses), spent on holdings. What subscribers gave and
/// sales brought is idle, reserved or spent. What the tokens hold beyond that changes nothing. Carry, fee and
/// preferred return are terms that it states; it charges none of them.
contract RecoveryFund is ERC20, Initializable, ReentrancyGuardTransient, IRecoveryFund {
    using SafeERC20 for IERC20Metadata;

    struct Terms {
        string name;
        string symbol;
        IERC20Metadata quoteAsset;
        uint64 epochDurationSeconds;
        uint256 minSubscriptionAssets;
        uint256 maxSubscriptionAssets;
        uint16 carryRateBps;
        uint16 performanceFeeBps;
        uint16 preferredReturnBps;
    }

    /// @dev `closedAt` is zero while it is open. Amounts are base units of the quote asset, `shares` of the share.
    struct Epoch {
        uint64 openedAt;
        uint64 scheduledCloseAt;
        uint64 closedAt;
        uint64 postCloseFundingDeadline;
        uint256 depositedAssets;
        uint256 withdrawnAssets;
        uint256 scaleRay;
        uint256 shares;
    }

    struct ChannelPolicy {
        bool enabled;
        uint256 maxAssetsPerEpoch;
        uint16 maxPriceBps;
        uint16 maxPositionBps;
    }

    enum ReservationStatus {
        none,
        active,
        released,
        spent
    }

    struct Reservation {
        ReservationStatus status;
        AcquisitionHouse house;
        uint256 lotId;
        uint256 epochId;
        uint256 assets;
    }

    enum HoldingStatus {
        none,
        held,
        listed,
        disposed
    }

    struct Holding {
        HoldingStatus status;
        bytes32 lane;
        IERC20Metadata asset;
        uint256 amount;
        bytes32 positionId;
        uint256 transferPriceAssets;
        address market;
        address borrower;
        address venue;
    }

    enum Impairment {
        none,
        watch,
        impaired
    }

    bytes32 public constant ACQUISITION = "acquisition";
    bytes32 public constant AUCTION = "auction";
    bytes32 public constant RFQ = "rfq";
    bytes32 public constant LIQUID = "liquid";
    bytes32 public constant RESTRICTED = "restricted";

    bytes32 private constant NAV = "nav";
    bytes32 private constant SUBSCRIBE = "subscribe";
    bytes32 private constant MARKET = "market";
    uint256 private constant BPS = 10_000;
    uint256 private constant WAD = 1e18;
    uint256 private constant RAY = 1e27;
    uint8 private constant ORACLE_HEALTHY = 1;

    FundFactory public factory;
    NavOracle public navOracle;
    /// @inheritdoc IRecoveryFund
    address public manager;
    Terms private _terms;

    bool public fundReadinessApproved;
    bool public quoteAssetProfileApproved;
    bool public purchasesEnabled;
    /// @notice When on, only wallets that the registry authorizes for "subscribe" here may subscribe.
    bool public investorGate;
    Impairment public impairment;

    uint256 public idleAssets;
    uint256 public escrowedAssets;
    uint256 public reservedAssets;
    uint256 public spentAssets;

    /// @notice The newest epoch; zero before the first.
    uint256 public epochId;
    mapping(uint256 epochId => Epoch) private _epochs;
    mapping(uint256 epochId => mapping(address investor => uint256)) public subscriptionOf;

    mapping(bytes32 channel => ChannelPolicy) public channelPolicy;
    /// @notice What a channel used of its budget in an epoch.
    mapping(uint256 epochId => mapping(bytes32 channel => uint256)) public usedAssets;

    /// @dev What bids reserve and holdings cost, until released or disposed of: by lane, by market, by borrower in it.
    mapping(bytes32 key => uint256) private _concentrated;

    uint256 public lastReservationId;
    mapping(uint256 reservationId => Reservation) public reservation;
    /// @notice The newest reservation for a position at a house.
    mapping(address house => mapping(bytes32 positionId => uint256)) public reservationAt;

    uint256 public lastHoldingId;
    mapping(uint256 holdingId => Holding) private _holdings;
    mapping(IERC20Metadata asset => uint256) public heldAmount;

    event FundApprovalsSet(bool fundReadiness, bool quoteAssetProfile);
    event FundImpairmentSet(Impairment impairment);
    event FundInvestorGateSet(bool on);
    event FundManagerSet(address indexed manager);
    event PurchasesEnabledSet(bool enabled);
    event ChannelPolicySet(
        bytes32 indexed channel, bool enabled, uint256 maxAssetsPerEpoch, uint16 maxPriceBps, uint16 maxPositionBps
    );
    event EpochOpened(uint256 indexed epochId, uint64 scheduledCloseAt);
    event Subscribed(uint256 indexed epochId, address indexed investor, uint256 assets);
    event SubscriptionWithdrawn(uint256 indexed epochId, address indexed investor, uint256 assets);
    event EpochClosed(
        uint256 indexed epochId,
        uint256 acceptedAssets,
        uint256 scaleRay,
        uint256 shares,
        uint64 postCloseFundingDeadline
    );
    event SharesClaimed(uint256 indexed epochId, address indexed investor, uint256 shares, uint256 refundAssets);
    /// @notice A bid that waits at a house; a raised bid keeps its reservation.
    event AcquisitionReserved(
        uint256 indexed reservationId,
        uint256 indexed epochId,
        address indexed house,
        uint256 lotId,
        uint256 assets
    );
    event AcquisitionReleased(uint256 indexed reservationId, uint256 indexed epochId, uint256 assets);
    event HoldingRecorded(
        uint256 indexed holdingId,
        uint256 indexed epochId,
        uint256 reservationId,
        bytes32 positionId,
        bytes32 lane,
        address asset,
        uint256 amount,
        uint256 transferPriceAssets,
        address market,
        address borrower
    );
    event HoldingListed(
        uint256 indexed holdingId, bytes32 indexed channel, address venue, uint256 saleId, uint256 reserveAssets
    );
    event HoldingReturned(uint256 indexed holdingId);
    event HoldingDisposed(uint256 indexed holdingId, uint256 proceedsAssets);

    error TermsOutOfRange();
    error NotGovernance(address caller);
    error NotManager(address caller);
    error NotApproved();
    error FundImpaired();
    error EpochStillOpen(uint256 epochId);
    error EpochNotOpen(uint256 epochId);
    error EpochNotDue(uint256 epochId, uint256 scheduledCloseAt);
    error EpochNotClosed(uint256 epochId);
    error InvestorNotAuthorized(address investor);
    error BelowMinSubscription(uint256 assets, uint256 minAssets);
    error AboveSubscription(uint256 assets, uint256 subscribedAssets);
    error NothingToClaim(uint256 epochId, address investor);
    error PolicyOutOfRange();
    error UnknownChannel(bytes32 channel);
    error UnknownLane(bytes32 lane);
    error LaneNotForChannel(bytes32 lane, bytes32 channel);
    error VenueNotApproved(address venue, bytes32 channel);
    error PurchasesDisabled();
    error FundingDeadlinePassed(uint256 deadline, uint256 nowSeconds);
    error ChannelDisabled(bytes32 channel);
    error AboveEpochBudget(uint256 assets, uint256 maxAssets);
    error AbovePriceLimit(uint256 assets, uint256 maxAssets);
    error AbovePositionLimit(uint256 assets, uint256 maxAssets);
    error InsufficientIdle(uint256 assets, uint256 idleAssets);
    error MarketNotApproved(address market);
    error MarketMismatch(address market);
    error OracleNotHealthy(uint8 state);
    error BidNotAboveOwn(uint256 assets, uint256 ownAssets);
    error VenueTook(uint256 amount, uint256 expected);
    error ReservationNotActive(uint256 reservationId);
    error ReservationStillBid(uint256 reservationId);
    error NotReceived(uint256 surplus, uint256 expected);
    error HoldingNotHeld(uint256 holdingId);
    error HoldingNotListedHere(uint256 holdingId, address venue);

    modifier onlyGovernance() {
        if (msg.sender != factory.owner()) revert NotGovernance(msg.sender);
        _;
    }

    modifier onlyManager() {
        if (msg.sender != manager) revert NotManager(msg.sender);
        _;
    }

    constructor() ERC20("", "") {
        _disableInitializers();
    }

    /// @notice Makes a clone a fund; its creator is its factory, whose owner governs it.
    function initialize(Terms calldata terms_, address manager_, NavOracle navOracle_) external initializer {
        if (
            terms_.epochDurationSeconds == 0 || terms_.epochDurationSeconds > 365 days
                || terms_.minSubscriptionAssets == 0 || terms_.minSubscriptionAssets > terms_.maxSubscriptionAssets
                || terms_.carryRateBps > BPS || terms_.performanceFeeBps > BPS || terms_.preferredReturnBps > BPS
                || bytes(terms_.name).length == 0 || bytes(terms_.symbol).length == 0
                || terms_.quoteAsset.decimals() > 18
        ) revert TermsOutOfRange();
        factory = FundFactory(msg.sender);
        navOracle = navOracle_;
        manager = manager_;
        _terms = terms_;
    }

    /// @notice Says whether the fund is ready to take money, and whether its quote asset is.
    function setApprovals(bool fundReadiness, bool quoteAssetProfile) external onlyGovernance {
        fundReadinessApproved = fundReadiness;
        quoteAssetProfileApproved = quoteAssetProfile;
        emit FundApprovalsSet(fundReadiness, quoteAssetProfile);
    }

    function setImpairment(Impairment impairment_) external onlyGovernance {
        impairment = impairment_;
        emit FundImpairmentSet(impairment_);
    }

    function setInvestorGate(bool on) external onlyGovernance {
        investorGate = on;
        emit FundInvestorGateSet(on);
    }

    function setManager(address manager_) external onlyGovernance {
        manager = manager_;
        emit FundManagerSet(manager_);
    }

    /// @notice Opens the next epoch; it takes subscriptions until its scheduled close.
    /// @param durationSeconds At most what the terms say.
    function openEpoch(uint64 durationSeconds) external onlyGovernance {
        if (epochId != 0 && _epochs[epochId].closedAt == 0) revert EpochStillOpen(epochId);
        if (durationSeconds == 0 || durationSeconds > _terms.epochDurationSeconds) revert TermsOutOfRange();
        _checkApproved();
        epochId += 1;
        Epoch storage current = _epochs[epochId];
        current.openedAt = uint64(block.timestamp);
        current.scheduledCloseAt = uint64(block.timestamp) + durationSeconds;
        emit EpochOpened(epochId, current.scheduledCloseAt);
    }

    /// @notice Puts assets into the open epoch.
    function subscribe(uint256 assets) external nonReentrant {
        _checkApproved();
        Epoch storage current = _takingEpoch();
        if (investorGate && !factory.registry().isAuthorized(msg.sender, SUBSCRIBE, address(this))) {
            revert InvestorNotAuthorized(msg.sender);
        }
        uint256 subscribed = subscriptionOf[epochId][msg.sender] + assets;
        if (subscribed < _terms.minSubscriptionAssets) {
            revert BelowMinSubscription(subscribed, _terms.minSubscriptionAssets);
        }
        subscriptionOf[epochId][msg.sender] = subscribed;
        current.depositedAssets += assets;
        escrowedAssets += assets;
        emit Subscribed(epochId, msg.sender, assets);
        _terms.quoteAsset.safeTransferFrom(msg.sender, address(this), assets);
    }

    /// @notice Takes assets back out of the open epoch: all of them, or so that the least subscription stays.
    function withdrawSubscription(uint256 assets) external nonReentrant {
        Epoch storage current = _takingEpoch();
        uint256 subscribed = subscriptionOf[epochId][msg.sender];
        if (assets > subscribed) revert AboveSubscription(assets, subscribed);
        uint256 left = subscribed - assets;
        if (left != 0 && left < _terms.minSubscriptionAssets) {
            revert BelowMinSubscription(left, _terms.minSubscriptionAssets);
        }
        subscriptionOf[epochId][msg.sender] = left;
        current.withdrawnAssets += assets;
        escrowedAssets -= assets;
        emit SubscriptionWithdrawn(epochId, msg.sender, assets);
        _terms.quoteAsset.safeTransfer(msg.sender, assets);
    }

    /// @notice Ends the open epoch, by anyone once it is due: the fund takes its subscriptions, scaled down to the
    /// most that an epoch takes, for shares at the reported price; the first shares cost one whole quote asset.
    function closeEpoch() external {
        Epoch storage current = _openEpoch();
        if (block.timestamp < current.scheduledCloseAt) revert EpochNotDue(epochId, current.scheduledCloseAt);
        uint256 total = current.depositedAssets - current.withdrawnAssets;
        uint256 accepted = Math.min(total, _terms.maxSubscriptionAssets);
        current.closedAt = uint64(block.timestamp);
        current.postCloseFundingDeadline = uint64(block.timestamp) + _terms.epochDurationSeconds;
        current.scaleRay = total == 0 ? RAY : Math.mulDiv(accepted, RAY, total);
        (uint256 shareUnits, uint256 assetUnits) = _sharePrice();
        current.shares = Math.mulDiv(accepted, shareUnits, assetUnits);
        escrowedAssets -= accepted;
        idleAssets += accepted;
        // They wait here until each investor claims its part.
        _mint(address(this), current.shares);
        emit EpochClosed(epochId, accepted, current.scaleRay, current.shares, current.postCloseFundingDeadline);
    }

    /// @notice Pays out the caller's part of a closed epoch: shares, and the assets that the fund did not take. Both
    /// round down; what that leaves stays in the fund.
    function claimShares(uint256 epochId_) external nonReentrant {
        Epoch storage current = _epochs[epochId_];
        if (current.closedAt == 0) revert EpochNotClosed(epochId_);
        uint256 subscribed = subscriptionOf[epochId_][msg.sender];
        if (subscribed == 0) revert NothingToClaim(epochId_, msg.sender);
        subscriptionOf[epochId_][msg.sender] = 0;
        uint256 total = current.depositedAssets - current.withdrawnAssets;
        uint256 accepted = Math.min(total, _terms.maxSubscriptionAssets);
        uint256 shares = Math.mulDiv(subscribed, current.shares, total);
        uint256 refund = Math.mulDiv(subscribed, total - accepted, total);
        escrowedAssets -= refund;
        emit SharesClaimed(epochId_, msg.sender, shares, refund);
        _transfer(address(this), msg.sender, shares);
        _terms.quoteAsset.safeTransfer(msg.sender, refund);
    }

    function setPurchasesEnabled(bool enabled) external onlyManager {
        purchasesEnabled = enabled;
        emit PurchasesEnabledSet(enabled);
    }

    /// @notice Sets what may be done over a channel.
    /// @param maxAssetsPerEpoch Quote assets that its bids, or the reserves of its sales, may come to in one epoch.
    /// @param maxPriceBps A price, or a sale's reserve, as a share of the position's value at the market's price.
    /// @param maxPositionBps A price, or a sale's reserve, as a share of the fund's net assets.
    function setChannelPolicy(
        bytes32 channel,
        bool enabled,
        uint256 maxAssetsPerEpoch,
        uint16 maxPriceBps,
        uint16 maxPositionBps
    ) external onlyManager {
        if (channel != ACQUISITION && channel != AUCTION && channel != RFQ) revert UnknownChannel(channel);
        if (maxPriceBps > BPS || maxPositionBps > BPS) revert PolicyOutOfRange();
        channelPolicy[channel] = ChannelPolicy(enabled, maxAssetsPerEpoch, maxPriceBps, maxPositionBps);
        emit ChannelPolicySet(channel, enabled, maxAssetsPerEpoch, maxPriceBps, maxPositionBps);
    }

    /// @notice Bids for a lot with idle assets, or raises the fund's own bid.
    function bidAcquisition(AcquisitionHouse house, uint256 lotId, uint256 assets)
        external
        onlyManager
        nonReentrant
    {
        _checkPurchases();
        _checkVenue(address(house), ACQUISITION);
        AcquisitionHouse.LotTerms memory lot = house.lot(lotId).terms;
        if (lot.lane != LIQUID && lot.lane != RESTRICTED) revert UnknownLane(lot.lane);
        uint256 reservationId = _reservationFor(house, lotId, lot.positionId);
        Reservation storage reserved = reservation[reservationId];
        if (assets <= reserved.assets) revert BidNotAboveOwn(assets, reserved.assets);
        uint256 more = assets - reserved.assets;
        if (more > idleAssets) revert InsufficientIdle(more, idleAssets);
        usedAssets[reserved.epochId][ACQUISITION] -= reserved.assets;
        reserved.epochId = epochId;
        _usePolicy(ACQUISITION, assets, appraise(address(lot.asset), lot.amount, lot.market));

        reserved.assets = assets;
        idleAssets -= more;
        reservedAssets += more;
        _concentrate(lot.lane, lot.market, lot.borrower, more);
        emit AcquisitionReserved(reservationId, epochId, address(house), lotId, assets);
        uint256 before = _balance(_terms.quoteAsset);
        // The house has what the fund leads with: a raise of it moves only the difference.
        _terms.quoteAsset.forceApprove(address(house), more);
        house.bid(lotId, assets);
        uint256 taken = before - _balance(_terms.quoteAsset);
        if (taken != more) revert VenueTook(taken, more);
    }

    /// @notice Takes the money of a bid that was outbid back into the idle assets; anyone may call it.
    function releaseReservation(uint256 reservationId) external nonReentrant {
        if (reservation[reservationId].status != ReservationStatus.active) revert ReservationNotActive(reservationId);
        if (_isLeading(reservation[reservationId])) revert ReservationStillBid(reservationId);
        _release(reservationId);
    }

    /// @notice Puts a holding up at an open auction.
    function listAtAuction(IHoldingSale house, uint256 holdingId, uint256 reserveAssets, uint64 closesAt)
        external
        onlyManager
        nonReentrant
        returns (uint256 saleId)
    {
        if (_holdings[holdingId].lane == RESTRICTED) revert LaneNotForChannel(RESTRICTED, AUCTION);
        return _list(AUCTION, house, holdingId, reserveAssets, closesAt);
    }

    /// @notice Asks for quotes for a holding at a desk; the only way to sell a restricted one.
    function openRfq(IHoldingSale desk, uint256 holdingId, uint256 reserveAssets, uint64 closesAt)
        external
        onlyManager
        nonReentrant
        returns (uint256 saleId)
    {
        return _list(RFQ, desk, holdingId, reserveAssets, closesAt);
    }

    /// @inheritdoc IRecoveryFund
    /// @dev Only for the position of a bid that waits at the calling house.
    function recordHolding(
        bytes32 positionId,
        bytes32 lane,
        address asset,
        uint256 amount,
        uint256 transferPriceAssets,
        address market,
        address borrower
    ) external returns (uint256 holdingId) {
        uint256 reservationId = reservationAt[msg.sender][positionId];
        Reservation storage reserved = reservation[reservationId];
        if (reserved.status != ReservationStatus.active) revert ReservationNotActive(reservationId);
        if (transferPriceAssets != reserved.assets) revert VenueTook(transferPriceAssets, reserved.assets);
        reserved.status = ReservationStatus.spent;
        reservedAssets -= transferPriceAssets;
        spentAssets += transferPriceAssets;
        holdingId = ++lastHoldingId;
        _holdings[holdingId] = Holding(
            HoldingStatus.held,
            lane,
            IERC20Metadata(asset),
            amount,
            positionId,
            transferPriceAssets,
            market,
            borrower,
            address(0)
        );
        _take(IERC20Metadata(asset), amount);
        emit HoldingRecorded(
            holdingId,
            reserved.epochId,
            reservationId,
            positionId,
            lane,
            asset,
            amount,
            transferPriceAssets,
            market,
            borrower
        );
    }

    /// @inheritdoc IRecoveryFund
    function recordDisposal(uint256 holdingId, uint256 proceedsAssets) external {
        Holding storage sold = _listedHere(holdingId);
        sold.status = HoldingStatus.disposed;
        _spread(sold.lane, sold.market, sold.borrower, sold.transferPriceAssets);
        _checkReceived(_terms.quoteAsset, idleAssets + escrowedAssets, proceedsAssets);
        idleAssets += proceedsAssets;
        emit HoldingDisposed(holdingId, proceedsAssets);
    }

    /// @inheritdoc IRecoveryFund
    function recordReturned(uint256 holdingId) external {
        Holding storage back = _listedHere(holdingId);
        (back.status, back.venue) = (HoldingStatus.held, address(0));
        _take(back.asset, back.amount);
        emit HoldingReturned(holdingId);
    }

    /// @inheritdoc IRecoveryFund
    function quoteAsset() external view returns (address) {
        return address(_terms.quoteAsset);
    }

    function terms() external view returns (Terms memory) {
        return _terms;
    }

    function epoch(uint256 epochId_) external view returns (Epoch memory) {
        return _epochs[epochId_];
    }

    function holding(uint256 holdingId) external view returns (Holding memory) {
        return _holdings[holdingId];
    }

    /// @notice What the fund has reserved for and spent on positions like a lot's: of its lane, in its market, and of its
    /// borrower there. Bids count until they are released, outbid ones too.
    function concentrationAt(AcquisitionHouse house, uint256 lotId)
        external
        view
        returns (uint256 laneAssets, uint256 marketAssets, uint256 borrowerAssets)
    {
        AcquisitionHouse.LotTerms memory lot = house.lot(lotId).terms;
        bytes32[3] memory keys = _keysOf(lot.lane, lot.market, lot.borrower);
        return (_concentrated[keys[0]], _concentrated[keys[1]], _concentrated[keys[2]]);
    }

    /// @notice What the shares are worth by the last report of type "nav"; before one, one whole quote asset each.
    function netAssets() public view returns (uint256) {
        (uint256 shareUnits, uint256 assetUnits) = _sharePrice();
        return Math.mulDiv(totalSupply(), assetUnits, shareUnits);
    }

    /// @notice What an amount of a market's collateral is worth in the quote asset, at that market's healthy price.
    function appraise(address asset, uint256 amount, address market) public view returns (uint256 assets) {
        if (factory.kindOf(market) != MARKET) revert MarketNotApproved(market);
        LendingMarket place = LendingMarket(market);
        if (
            address(place.collateralAsset()) != asset || address(place.loanAsset()) != address(_terms.quoteAsset)
        ) revert MarketMismatch(market);
        (uint256 priceWad,,, uint8 state) = place.oracle().read();
        if (state != ORACLE_HEALTHY) revert OracleNotHealthy(state);
        uint256 unit = 10 ** IERC20Metadata(asset).decimals();
        return Math.mulDiv(amount, priceWad * 10 ** _terms.quoteAsset.decimals(), unit * WAD);
    }

    /// @inheritdoc ERC20
    function name() public view override returns (string memory) {
        return _terms.name;
    }

    /// @inheritdoc ERC20
    function symbol() public view override returns (string memory) {
        return _terms.symbol;
    }

    function _checkApproved() private view {
        if (!fundReadinessApproved || !quoteAssetProfileApproved) revert NotApproved();
        if (impairment == Impairment.impaired) revert FundImpaired();
    }

    function _checkPurchases() private view {
        _checkApproved();
        if (!purchasesEnabled) revert PurchasesDisabled();
        Epoch storage current = _epochs[epochId];
        if (current.openedAt == 0) revert EpochNotOpen(epochId);
        if (current.closedAt != 0 && block.timestamp > current.postCloseFundingDeadline) {
            revert FundingDeadlinePassed(current.postCloseFundingDeadline, block.timestamp);
        }
    }

    function _checkVenue(address venue, bytes32 channel) private view {
        if (factory.kindOf(venue) != channel) revert VenueNotApproved(venue, channel);
    }

    function _openEpoch() private view returns (Epoch storage current) {
        current = _epochs[epochId];
        if (current.openedAt == 0 || current.closedAt != 0) revert EpochNotOpen(epochId);
    }

    function _takingEpoch() private view returns (Epoch storage current) {
        current = _openEpoch();
        if (block.timestamp >= current.scheduledCloseAt) revert EpochNotOpen(epochId);
    }

    /// @dev So many base units of shares are worth so many of the quote asset, by the last report.
    function _sharePrice() private view returns (uint256 shareUnits, uint256 assetUnits) {
        uint256 quoteUnit = 10 ** _terms.quoteAsset.decimals();
        uint256 value = navOracle.latest(NAV).value;
        if (value == 0) return (10 ** decimals(), quoteUnit);
        return (10 ** (decimals() + navOracle.decimals()), value * quoteUnit);
    }

    /// @dev Checks the price of a position of this value against a channel's policy, and takes it from its budget.
    function _usePolicy(bytes32 channel, uint256 price, uint256 value) private {
        ChannelPolicy storage policy = channelPolicy[channel];
        if (!policy.enabled) revert ChannelDisabled(channel);
        uint256 used = usedAssets[epochId][channel] + price;
        if (used > policy.maxAssetsPerEpoch) revert AboveEpochBudget(used, policy.maxAssetsPerEpoch);
        uint256 priceLimit = Math.mulDiv(value, policy.maxPriceBps, BPS);
        if (price > priceLimit) revert AbovePriceLimit(price, priceLimit);
        uint256 positionLimit = Math.mulDiv(netAssets(), policy.maxPositionBps, BPS);
        if (price > positionLimit) revert AbovePositionLimit(price, positionLimit);
        usedAssets[epochId][channel] = used;
    }

    /// @dev The fund's bid that leads a lot, or a new one. A position is bid for in one lot at a time, because a house
    /// tells of an award by its position.
    function _reservationFor(AcquisitionHouse house, uint256 lotId, bytes32 positionId)
        private
        returns (uint256 reservationId)
    {
        reservationId = reservationAt[address(house)][positionId];
        Reservation storage last = reservation[reservationId];
        if (last.status == ReservationStatus.active) {
            if (_isLeading(last)) {
                if (last.lotId != lotId) revert ReservationStillBid(reservationId);
                return reservationId;
            }
            _release(reservationId);
        }
        reservationId = ++lastReservationId;
        reservationAt[address(house)][positionId] = reservationId;
        reservation[reservationId] = Reservation(ReservationStatus.active, house, lotId, epochId, 0);
    }

    function _concentrate(bytes32 lane, address market, address borrower, uint256 assets) private {
        bytes32[3] memory keys = _keysOf(lane, market, borrower);
        for (uint256 i = 0; i < keys.length; i++) {
            _concentrated[keys[i]] += assets;
        }
    }

    function _spread(bytes32 lane, address market, address borrower, uint256 assets) private {
        bytes32[3] memory keys = _keysOf(lane, market, borrower);
        for (uint256 i = 0; i < keys.length; i++) {
            _concentrated[keys[i]] -= assets;
        }
    }

    function _keysOf(bytes32 lane, address market, address borrower) private pure returns (bytes32[3] memory keys) {
        return [lane, bytes32(uint256(uint160(market))), keccak256(abi.encode(market, borrower))];
    }

    function _isLeading(Reservation storage reserved) private view returns (bool) {
        return reserved.house.lot(reserved.lotId).bestBidder == address(this);
    }

    function _release(uint256 reservationId) private {
        Reservation storage reserved = reservation[reservationId];
        uint256 assets = reserved.assets;
        reserved.status = ReservationStatus.released;
        usedAssets[reserved.epochId][ACQUISITION] -= assets;
        _checkReceived(_terms.quoteAsset, idleAssets + escrowedAssets, assets);
        reservedAssets -= assets;
        idleAssets += assets;
        // A house never changes the terms of a lot: what is given back is what was taken.
        AcquisitionHouse.LotTerms memory lot = reserved.house.lot(reserved.lotId).terms;
        _spread(lot.lane, lot.market, lot.borrower, assets);
        emit AcquisitionReleased(reservationId, reserved.epochId, assets);
    }

    function _list(bytes32 channel, IHoldingSale venue, uint256 holdingId, uint256 reserveAssets, uint64 closesAt)
        private
        returns (uint256 saleId)
    {
        Holding storage put = _holdings[holdingId];
        if (put.status != HoldingStatus.held) revert HoldingNotHeld(holdingId);
        _checkVenue(address(venue), channel);
        (IERC20Metadata asset, uint256 amount) = (put.asset, put.amount);
        _usePolicy(channel, reserveAssets, appraise(address(asset), amount, put.market));
        (put.status, put.venue) = (HoldingStatus.listed, address(venue));
        heldAmount[asset] -= amount;
        uint256 before = _balance(asset);
        asset.forceApprove(address(venue), amount);
        saleId = venue.open(holdingId, address(asset), amount, address(_terms.quoteAsset), reserveAssets, closesAt);
        uint256 taken = before - _balance(asset);
        if (taken != amount) revert VenueTook(taken, amount);
        emit HoldingListed(holdingId, channel, address(venue), saleId, reserveAssets);
    }

    function _listedHere(uint256 holdingId) private view returns (Holding storage listed) {
        listed = _holdings[holdingId];
        if (listed.status != HoldingStatus.listed || listed.venue != msg.sender) {
            revert HoldingNotListedHere(holdingId, msg.sender);
        }
    }

    function _take(IERC20Metadata asset, uint256 amount) private {
        _checkReceived(asset, heldAmount[asset], amount);
        heldAmount[asset] += amount;
    }

    function _checkReceived(IERC20Metadata token, uint256 known, uint256 more) private view {
        uint256 surplus = _balance(token) - known;
        if (surplus < more) revert NotReceived(surplus, more);
    }

    function _balance(IERC20Metadata token) private view returns (uint256) {
        return token.balanceOf(address(this));
    }
}
