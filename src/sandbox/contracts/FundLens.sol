// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

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
}
