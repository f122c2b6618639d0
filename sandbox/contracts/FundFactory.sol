// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {EligibilityRegistry} from "./EligibilityRegistry.sol";
import {NavOracle} from "./NavOracle.sol";
import {RecoveryFund} from "./RecoveryFund.sol";

/// @title Launches recovery funds and NAV oracles, and keeps the list of contracts that funds may deal with.
/// @dev Both are clones: a factory that held their creation code would be too large. Its owner governs every fund.
contract FundFactory is Ownable {
    bytes32 public constant SELF_LAUNCH = "selfLaunch";

    uint8 private constant NAV_DECIMALS = 18;
    /// One millionth to one million quote assets for a share, and at most half up or down at once.
    uint256 private constant NAV_MIN = 1e12;
    uint256 private constant NAV_MAX = 1e24;
    uint16 private constant NAV_MOVE_BPS = 5_000;

    address public immutable fundImplementation;
    address public immutable oracleImplementation;
    EligibilityRegistry public immutable registry;
    /// @notice Who signs the reports for each new oracle.
    address public reporter;
    /// @notice What a contract is to funds: a channel ("acquisition", "auction", "rfq"), a "market", or nothing.
    mapping(address => bytes32) public kindOf;
    mapping(address => bool) public isFund;

    event NavOracleCreated(address indexed navOracle, address indexed asset, address reporter, uint8 decimals);
    event FundLaunched(address indexed fund, address indexed manager, address indexed navOracle);
    event KindSet(address indexed place, bytes32 kind);
    event ReporterSet(address reporter);

    error LauncherNotAuthorized(address launcher);

    constructor(
        address owner_,
        RecoveryFund fundImplementation_,
        NavOracle oracleImplementation_,
        EligibilityRegistry registry_,
        address reporter_
    ) Ownable(owner_) {
        fundImplementation = address(fundImplementation_);
        oracleImplementation = address(oracleImplementation_);
        registry = registry_;
        reporter = reporter_;
    }

    /// @notice Says what a contract is to funds; empty takes it off the list.
    function setKind(address place, bytes32 kind) external onlyOwner {
        kindOf[place] = kind;
        emit KindSet(place, kind);
    }

    /// @notice Names who signs the reports for oracles that are created from now on.
    function setReporter(address reporter_) external onlyOwner {
        reporter = reporter_;
        emit ReporterSet(reporter_);
    }

    /// @notice Launches a fund that the caller manages; the registry must authorize it for "selfLaunch" here.
    function launch(RecoveryFund.Terms calldata terms) external returns (RecoveryFund fund) {
        if (!registry.isAuthorized(msg.sender, SELF_LAUNCH, address(this))) {
            revert LauncherNotAuthorized(msg.sender);
        }
        return _launch(terms, msg.sender);
    }

    /// @notice Launches a fund for somebody else to manage.
    function launchFor(address manager, RecoveryFund.Terms calldata terms)
        external
        onlyOwner
        returns (RecoveryFund fund)
    {
        return _launch(terms, manager);
    }

    /// @notice Creates an oracle for another asset, such as a vault's shares.
    function createOracle(address asset) external onlyOwner returns (NavOracle navOracle) {
        return _createOracle(asset);
    }

    function _launch(RecoveryFund.Terms calldata terms, address manager) private returns (RecoveryFund fund) {
        fund = RecoveryFund(Clones.clone(fundImplementation));
        isFund[address(fund)] = true;
        NavOracle navOracle = _createOracle(address(fund));
        emit FundLaunched(address(fund), manager, address(navOracle));
        fund.initialize(terms, manager, navOracle);
    }

    function _createOracle(address asset) private returns (NavOracle navOracle) {
        navOracle = NavOracle(Clones.clone(oracleImplementation));
        emit NavOracleCreated(address(navOracle), asset, reporter, NAV_DECIMALS);
        navOracle.initialize(address(this), reporter, asset, NAV_DECIMALS);
        navOracle.setBounds("nav", NAV_MIN, NAV_MAX, NAV_MOVE_BPS);
        navOracle.setBounds("interim", NAV_MIN, NAV_MAX, NAV_MOVE_BPS);
        navOracle.grantRole(navOracle.DEFAULT_ADMIN_ROLE(), owner());
        navOracle.renounceRole(navOracle.DEFAULT_ADMIN_ROLE(), address(this));
    }
}
