// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {Initializable} from "@openzeppelin/contracts/proxy/utils/Initializable.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

/// @title The net asset value of one share of one asset, as reporters sign it and anyone submits it.
/// @dev A value is in units of 10^-decimals of the quote asset for one whole share. Each report type has a sequence of
/// its own: valuation times only grow, and one that was reported is corrected by the next revision of it.
contract NavOracle is AccessControl, EIP712, Initializable {
    struct NavReport {
        address asset;
        bytes32 reportType;
        uint256 value;
        uint8 decimals;
        uint64 valuationTime;
        uint32 revision;
        string revisionLabel;
        uint64 deadline;
    }

    /// @dev `maxMoveBps` is the most that a value may differ from the last one of its type.
    struct Bounds {
        uint256 minValue;
        uint256 maxValue;
        uint16 maxMoveBps;
    }

    /// @dev `submittedAt` is zero where there is no report.
    struct Accepted {
        uint256 value;
        uint64 valuationTime;
        uint32 revision;
        uint64 submittedAt;
        address reporter;
    }

    bytes32 public constant REPORTER_ROLE = keccak256("REPORTER_ROLE");
    /// @notice Bytes of a revision label at most.
    uint256 public constant LABEL_BYTES_MAX = 64;

    uint256 private constant BPS = 10_000;
    bytes32 private constant REPORT_TYPEHASH = keccak256(
        "NavReport(address asset,bytes32 reportType,uint256 value,uint8 decimals,uint64 valuationTime,uint32 revision,string revisionLabel,uint64 deadline)"
    );

    address public asset;
    uint8 public decimals;
    mapping(bytes32 reportType => Bounds) public bounds;
    mapping(bytes32 reportType => Accepted) private _latest;
    mapping(bytes32 reportType => mapping(uint64 valuationTime => mapping(uint32 revision => Accepted))) private
        _reports;

    event BoundsSet(bytes32 indexed reportType, uint256 minValue, uint256 maxValue, uint16 maxMoveBps);
    event NavReported(address indexed reporter, NavReport report);

    error BoundsOutOfOrder(uint256 minValue, uint256 maxValue);
    error DeadlinePassed(uint256 deadline, uint256 nowSeconds);
    error WrongAsset(address asset, address expected);
    error WrongDecimals(uint8 decimals, uint8 expected);
    error LabelTooLong(uint256 bytesLong);
    error UnknownReportType(bytes32 reportType);
    error ValueOutOfBounds(uint256 value, uint256 minValue, uint256 maxValue);
    error ValueMovedTooFar(uint256 value, uint256 previous, uint16 maxMoveBps);
    error ValuationInFuture(uint64 valuationTime, uint256 nowSeconds);
    error ValuationWentBackwards(uint64 valuationTime, uint64 previous);
    error RevisionNotNext(uint32 revision, uint32 expected);
    error NotReporter(address signer);

    constructor() EIP712("NavOracle", "1") {
        _disableInitializers();
    }

    /// @notice Makes a clone the oracle of one asset.
    function initialize(address admin, address reporter, address asset_, uint8 decimals_) external initializer {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(REPORTER_ROLE, reporter);
        asset = asset_;
        decimals = decimals_;
    }

    /// @notice Takes reports of a type from now on, within these bounds; a largest value of zero takes none.
    function setBounds(bytes32 reportType, uint256 minValue, uint256 maxValue, uint16 maxMoveBps)
        external
        onlyRole(DEFAULT_ADMIN_ROLE)
    {
        if (maxValue != 0 && (minValue == 0 || minValue > maxValue)) revert BoundsOutOfOrder(minValue, maxValue);
        bounds[reportType] = Bounds(minValue, maxValue, maxMoveBps);
        emit BoundsSet(reportType, minValue, maxValue, maxMoveBps);
    }

    /// @notice Accepts a report that a reporter signed, whoever sends it.
    /// @param signature 65 bytes: r, s, v; s in the lower half.
    function submitReport(NavReport calldata report, bytes calldata signature) external {
        if (block.timestamp > report.deadline) revert DeadlinePassed(report.deadline, block.timestamp);
        if (report.asset != asset) revert WrongAsset(report.asset, asset);
        if (report.decimals != decimals) revert WrongDecimals(report.decimals, decimals);
        uint256 labelBytes = bytes(report.revisionLabel).length;
        if (labelBytes > LABEL_BYTES_MAX) revert LabelTooLong(labelBytes);
        _checkSequence(report);
        _checkValue(report);
        address reporter = ECDSA.recover(hashReport(report), signature);
        if (!hasRole(REPORTER_ROLE, reporter)) revert NotReporter(reporter);

        Accepted memory accepted =
            Accepted(report.value, report.valuationTime, report.revision, uint64(block.timestamp), reporter);
        _latest[report.reportType] = accepted;
        _reports[report.reportType][report.valuationTime][report.revision] = accepted;
        emit NavReported(reporter, report);
    }

    /// @notice The newest report of a type.
    function latest(bytes32 reportType) external view returns (Accepted memory) {
        return _latest[reportType];
    }

    function reportAt(bytes32 reportType, uint64 valuationTime, uint32 revision)
        external
        view
        returns (Accepted memory)
    {
        return _reports[reportType][valuationTime][revision];
    }

    /// @notice What a reporter signs for a report.
    function hashReport(NavReport calldata report) public view returns (bytes32) {
        return _hashTypedDataV4(
            keccak256(
                abi.encode(
                    REPORT_TYPEHASH,
                    report.asset,
                    report.reportType,
                    report.value,
                    report.decimals,
                    report.valuationTime,
                    report.revision,
                    keccak256(bytes(report.revisionLabel)),
                    report.deadline
                )
            )
        );
    }

    function _checkSequence(NavReport calldata report) private view {
        Accepted storage last = _latest[report.reportType];
        if (report.valuationTime > block.timestamp) {
            revert ValuationInFuture(report.valuationTime, block.timestamp);
        }
        if (report.valuationTime < last.valuationTime) {
            revert ValuationWentBackwards(report.valuationTime, last.valuationTime);
        }
        bool correction = last.submittedAt != 0 && report.valuationTime == last.valuationTime;
        uint32 expected = correction ? last.revision + 1 : 0;
        if (report.revision != expected) revert RevisionNotNext(report.revision, expected);
    }

    function _checkValue(NavReport calldata report) private view {
        Bounds storage limits = bounds[report.reportType];
        (uint256 value, uint256 previous) = (report.value, _latest[report.reportType].value);
        if (limits.maxValue == 0) revert UnknownReportType(report.reportType);
        if (value < limits.minValue || value > limits.maxValue) {
            revert ValueOutOfBounds(value, limits.minValue, limits.maxValue);
        }
        if (previous == 0) return;
        uint256 move = value > previous ? value - previous : previous - value;
        if (move > Math.mulDiv(previous, limits.maxMoveBps, BPS)) {
            revert ValueMovedTooFar(value, previous, limits.maxMoveBps);
        }
    }
}
