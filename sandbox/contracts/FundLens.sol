// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {NavOracle} from "./NavOracle.sol";
import {RecoveryFund} from "./RecoveryFund.sol";

/// @title A whole recovery fund in one call, so that an indexer reads one block with few requests.
contract FundLens {
    /// @dev `known` is false where the position's market has no healthy price.
    struct Appraisal {
        bool known;
        uint256 assets;
    }

    struct FundState {
        RecoveryFund.Terms terms;
        uint8 quoteDecimals;
        address manager;
        NavOracle navOracle;
        uint8 navDecimals;
        NavOracle.Accepted nav;
        bool fundReadinessApproved;
        bool quoteAssetProfileApproved;
        bool purchasesEnabled;
        bool investorGate;
        RecoveryFund.Impairment impairment;
        uint256 idleAssets;
        uint256 escrowedAssets;
        uint256 reservedAssets;
        uint256 spentAssets;
        uint256 totalSupply;
        uint256 netAssets;
        uint256 epochId;
        Appraisal[] appraisals;
    }

    /// @notice Everything that a fund says about itself at this block.
    /// @param holdingIds Holdings to appraise, in this order.
    function fund(RecoveryFund subject, uint256[] calldata holdingIds) external view returns (FundState memory state) {
        state.terms = subject.terms();
        state.quoteDecimals = state.terms.quoteAsset.decimals();
        state.manager = subject.manager();
        state.navOracle = subject.navOracle();
        state.navDecimals = state.navOracle.decimals();
        state.nav = state.navOracle.latest("nav");
        state.fundReadinessApproved = subject.fundReadinessApproved();
        state.quoteAssetProfileApproved = subject.quoteAssetProfileApproved();
        state.purchasesEnabled = subject.purchasesEnabled();
        state.investorGate = subject.investorGate();
        state.impairment = subject.impairment();
        state.idleAssets = subject.idleAssets();
        state.escrowedAssets = subject.escrowedAssets();
        state.reservedAssets = subject.reservedAssets();
        state.spentAssets = subject.spentAssets();
        state.totalSupply = subject.totalSupply();
        state.netAssets = subject.netAssets();
        state.epochId = subject.epochId();
        state.appraisals = new Appraisal[](holdingIds.length);
        for (uint256 i = 0; i < holdingIds.length; i++) {
            RecoveryFund.Holding memory holding = subject.holding(holdingIds[i]);
            try subject.appraise(address(holding.asset), holding.amount, holding.market) returns (uint256 assets) {
                state.appraisals[i] = Appraisal(true, assets);
            } catch {}
        }
    }

    /// @notice What one whole share is worth as a wad, before fees: idle and reserved quote assets, and every holding at
    /// its market's price.
    /// @dev Reverts where there are no shares, or where a holding's market has no healthy price.
    function shareValueWad(RecoveryFund subject) external view returns (uint256) {
        uint256 assets = subject.idleAssets() + subject.reservedAssets();
        uint256 last = subject.lastHoldingId();
        for (uint256 id = 1; id <= last; id++) {
            RecoveryFund.Holding memory holding = subject.holding(id);
            if (holding.status == RecoveryFund.HoldingStatus.disposed) continue;
            assets += subject.appraise(address(holding.asset), holding.amount, holding.market);
        }
        uint256 quoteUnit = 10 ** subject.terms().quoteAsset.decimals();
        uint256 shareUnit = 10 ** subject.decimals();
        return Math.mulDiv(assets, shareUnit * 1e18, subject.totalSupply() * quoteUnit);
    }
}
