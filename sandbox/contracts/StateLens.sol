// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {KinkedRateModel} from "./KinkedRateModel.sol";
import {LendingMarket} from "./LendingMarket.sol";
import {LendingVault} from "./LendingVault.sol";
import {PartnerChannel} from "./PartnerChannel.sol";
import {ExitTerms} from "./ExitTerms.sol";
import {TransferProfile} from "./ShareMobility.sol";

/// @title Whole snapshots in one call each, so that an indexer reads one block with few requests.
contract StateLens {
    struct Token {
        address token;
        string name;
        string symbol;
        uint8 decimals;
    }

    struct OracleRead {
        address oracle;
        uint256 priceWad;
        uint64 sourceAsOf;
        uint64 updatedAt;
        uint8 state;
    }

    struct RateModel {
        address rateModel;
        uint256 baseRatePerSecondWad;
        uint256 slope1PerSecondWad;
        uint256 slope2PerSecondWad;
        uint256 kinkWad;
    }

    struct PartitionState {
        address vault;
        uint256 cash;
        uint256 debtAssets;
        uint256 badDebtAssets;
    }

    struct MarketState {
        uint256 blockNumber;
        uint256 blockTimestamp;
        Token loanAsset;
        Token collateralAsset;
        OracleRead oracle;
        RateModel rateModel;
        address registry;
        address owner;
        uint16 lltvBps;
        uint16 liquidationThresholdBps;
        uint16 closeFactorBps;
        uint16 liquidationBonusBps;
        uint64 claimDelaySeconds;
        bool paused;
        bool liquidatorGate;
        uint256 borrowIndexRay;
        uint256 utilizationWad;
        uint256 borrowRatePerSecond;
        uint256 supplyRatePerSecond;
        uint256 totalDebt;
        uint256 totalCash;
        uint256 totalBadDebt;
        PartitionState[] partitions;
    }

    struct FacilityState {
        address vault;
        address borrower;
        uint256 principalAssets;
        uint256 debtAssets;
        uint256 debtShares;
        uint256 maxBorrowableAssets;
        uint256 healthFactorWad;
        uint256 collateralAssets;
        uint256 totalDebtAssets;
        bool liquidatable;
    }

    struct Allocation {
        address market;
        LendingVault.Listing listing;
        uint256 allocatedAssets;
        uint256 cashAssets;
    }

    struct Mobility {
        TransferProfile transferProfile;
        bool paused;
        uint64 restoreAfter;
        uint64 epoch;
        string pauseReason;
        string redeemFreezeReason;
        address[] trustedRecipients;
    }

    struct AccruedFees {
        uint256 managementAssets;
        uint256 performanceAssets;
        uint256 borrowerManagerAssets;
    }

    struct VaultState {
        uint256 blockNumber;
        uint256 blockTimestamp;
        Token asset;
        string name;
        string symbol;
        uint8 decimals;
        address directory;
        uint256 totalAssets;
        uint256 totalSupply;
        uint256 idleAssets;
        uint256 queuedAssets;
        uint256 queuedShares;
        uint256 queueHead;
        uint256 queueEnd;
        uint16 liquidityBufferBps;
        ExitTerms exitTerms;
        bool tighteningLocked;
        Mobility mobility;
        Allocation[] allocations;
        address owner;
        /// Whom the owner offered the vault to; zero for nobody.
        address pendingOwner;
        LendingVault.FeeConfig feeConfig;
        AccruedFees accruedFees;
        uint256 highWaterMark;
        address[] routing;
        uint256 minDepositAssets;
        uint256 maxDepositAssets;
    }

    struct ChannelState {
        uint256 blockNumber;
        uint256 blockTimestamp;
        address vault;
        Token asset;
        string name;
        string symbol;
        uint8 decimals;
        address directory;
        address reseller;
        address curator;
        string shareClass;
        uint16 resellerFeeBps;
        uint16 borrowerFeeBps;
        uint256 capAssets;
        /// Whether everybody is blocked.
        bool blocked;
        uint256 totalAssets;
        uint256 totalSupply;
        uint256 vaultShares;
        uint256 feeShares;
        uint256 borrowerFeeAssets;
        uint256 feeSharesClaimed;
        uint256 borrowerFeeClaimed;
    }

    error LengthMismatch(uint256 vaults, uint256 borrowers);

    /// @notice Everything a market says about itself at this block.
    function market(address market_) external view returns (MarketState memory state) {
        LendingMarket m = LendingMarket(market_);
        state.blockNumber = block.number;
        state.blockTimestamp = block.timestamp;
        state.loanAsset = _token(m.loanAsset());
        state.collateralAsset = _token(m.collateralAsset());
        state.oracle = _oracle(m);
        state.rateModel = _rateModel(m.rateModel());
        state.registry = address(m.registry());
        state.owner = m.owner();
        state.lltvBps = m.lltvBps();
        state.liquidationThresholdBps = m.liquidationThresholdBps();
        state.closeFactorBps = m.closeFactorBps();
        state.liquidationBonusBps = m.liquidationBonusBps();
        state.claimDelaySeconds = m.claimDelaySeconds();
        state.paused = m.paused();
        state.liquidatorGate = m.liquidatorGate();
        state.borrowIndexRay = m.borrowIndexRay();
        state.utilizationWad = m.utilizationWad();
        state.borrowRatePerSecond = m.borrowRatePerSecond();
        state.supplyRatePerSecond = m.supplyRatePerSecond();
        state.totalDebt = m.totalDebt();
        state.totalCash = m.totalCash();
        state.totalBadDebt = m.totalBadDebt();
        state.partitions = _partitions(m);
    }

    /// @notice The credit facilities of the pairs (vaults[i], borrowers[i]); a pair that never borrowed reads as zeros.
    function facilities(address market_, address[] calldata vaults, address[] calldata borrowers)
        external
        view
        returns (FacilityState[] memory states)
    {
        if (vaults.length != borrowers.length) revert LengthMismatch(vaults.length, borrowers.length);
        LendingMarket m = LendingMarket(market_);
        states = new FacilityState[](vaults.length);
        for (uint256 i = 0; i < vaults.length; i++) {
            (address vault_, address borrower) = (vaults[i], borrowers[i]);
            FacilityState memory state = states[i];
            state.vault = vault_;
            state.borrower = borrower;
            state.principalAssets = m.principalOf(vault_, borrower);
            state.debtAssets = m.debtOf(vault_, borrower);
            state.debtShares = m.debtSharesOf(vault_, borrower);
            state.maxBorrowableAssets = m.maxBorrowable(borrower);
            state.healthFactorWad = m.healthFactorWad(borrower);
            state.collateralAssets = m.collateralOf(borrower);
            state.totalDebtAssets = m.totalDebtOf(borrower);
            state.liquidatable = m.isLiquidatable(borrower);
        }
    }

    /// @notice Everything a vault says about itself at this block.
    function vault(address vault_) external view returns (VaultState memory state) {
        LendingVault v = LendingVault(vault_);
        state.blockNumber = block.number;
        state.blockTimestamp = block.timestamp;
        state.asset = _token(IERC20Metadata(v.asset()));
        state.name = v.name();
        state.symbol = v.symbol();
        state.decimals = v.decimals();
        state.totalAssets = v.totalAssets();
        state.totalSupply = v.totalSupply();
        state.idleAssets = v.idleAssets();
        state.directory = v.directory();
        state.queuedAssets = v.queuedAssets();
        state.queuedShares = v.balanceOf(vault_);
        state.queueHead = v.queueHead();
        state.queueEnd = v.queueEnd();
        state.liquidityBufferBps = v.liquidityBufferBps();
        state.exitTerms = v.exitTerms();
        state.tighteningLocked = v.tighteningLocked();
        state.mobility = _mobility(v);
        state.allocations = _allocations(v);
        state.owner = v.owner();
        (state.pendingOwner,) = v.pendingDefaultAdmin();
        state.feeConfig = v.feeConfig();
        state.accruedFees = _accruedFees(v);
        state.highWaterMark = v.highWaterMark();
        state.routing = v.routing();
        state.minDepositAssets = v.minDepositAssets();
        state.maxDepositAssets = v.maxDepositAssets();
    }

    /// @notice Everything a partner's channel says about itself at this block.
    function channel(address channel_) external view returns (ChannelState memory state) {
        PartnerChannel c = PartnerChannel(channel_);
        state.blockNumber = block.number;
        state.blockTimestamp = block.timestamp;
        state.vault = address(c.vault());
        state.asset = _token(IERC20Metadata(c.asset()));
        state.name = c.name();
        state.symbol = c.symbol();
        state.decimals = c.decimals();
        state.directory = c.directory();
        state.reseller = c.reseller();
        state.curator = c.curator();
        state.shareClass = c.shareClass();
        state.resellerFeeBps = c.resellerFeeBps();
        state.borrowerFeeBps = c.borrowerFeeBps();
        state.capAssets = c.capAssets();
        state.blocked = c.isBlocked(channel_);
        state.totalAssets = c.totalAssets();
        state.totalSupply = c.totalSupply();
        state.vaultShares = c.vault().balanceOf(channel_);
        state.feeShares = c.feeShares();
        state.borrowerFeeAssets = c.borrowerFeeAssets();
        state.feeSharesClaimed = c.feeSharesClaimed();
        state.borrowerFeeClaimed = c.borrowerFeeClaimed();
    }

    function _accruedFees(LendingVault v) private view returns (AccruedFees memory fees) {
        (fees.managementAssets, fees.performanceAssets, fees.borrowerManagerAssets) = v.accruedFees();
    }

    function _mobility(LendingVault v) private view returns (Mobility memory) {
        return Mobility(
            v.transferProfile(),
            v.shareMobilityPaused(),
            v.restoreAfter(),
            v.mobilityEpoch(),
            v.pauseReason(),
            v.redeemFreezeReason(),
            v.trustedRecipients()
        );
    }

    function _allocations(LendingVault v) private view returns (Allocation[] memory allocations) {
        address[] memory markets = v.markets();
        allocations = new Allocation[](markets.length);
        for (uint256 i = 0; i < markets.length; i++) {
            LendingMarket m = LendingMarket(markets[i]);
            (uint256 cash,,) = m.partition(address(v));
            allocations[i] = Allocation(markets[i], v.listing(markets[i]), m.allocatedAssets(address(v)), cash);
        }
    }

    function _token(IERC20Metadata token) private view returns (Token memory) {
        return Token(address(token), token.name(), token.symbol(), token.decimals());
    }

    function _oracle(LendingMarket m) private view returns (OracleRead memory) {
        (uint256 priceWad, uint64 sourceAsOf, uint64 updatedAt, uint8 state) = m.oracle().read();
        return OracleRead(address(m.oracle()), priceWad, sourceAsOf, updatedAt, state);
    }

    function _rateModel(KinkedRateModel model) private view returns (RateModel memory) {
        return RateModel(
            address(model),
            model.baseRatePerSecondWad(),
            model.slope1PerSecondWad(),
            model.slope2PerSecondWad(),
            model.kinkWad()
        );
    }

    function _partitions(LendingMarket m) private view returns (PartitionState[] memory states) {
        address[] memory vaults = m.vaults();
        states = new PartitionState[](vaults.length);
        for (uint256 i = 0; i < vaults.length; i++) {
            (uint256 cash, uint256 debtAssets, uint256 badDebtAssets) = m.partition(vaults[i]);
            states[i] = PartitionState(vaults[i], cash, debtAssets, badDebtAssets);
        }
    }
}
