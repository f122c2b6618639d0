// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

enum ExitTermKind {
    Instant,
    Notice,
    Interval,
    Maturity
}

/// @dev The figure of the kind, in seconds or as unix seconds; the others are zero.
struct ExitTerms {
    ExitTermKind kind;
    uint64 noticeSeconds;
    uint64 intervalSeconds;
    uint64 maturityTimestamp;
}

/// @title When whoever asks to leave a vault may be paid.
library ExitTermsLib {
    /// @notice A longer notice or interval is a mistake of units.
    uint64 internal constant SECONDS_MAX = 365 days;

    error ExitTermsOutOfRange();

    /// @notice Reverts unless exactly the figure of the kind is set, within bounds.
    function check(ExitTerms memory terms) internal pure {
        bool ok = (terms.noticeSeconds > 0) == (terms.kind == ExitTermKind.Notice)
            && (terms.intervalSeconds > 0) == (terms.kind == ExitTermKind.Interval)
            && (terms.maturityTimestamp > 0) == (terms.kind == ExitTermKind.Maturity)
            && terms.noticeSeconds <= SECONDS_MAX && terms.intervalSeconds <= SECONDS_MAX;
        if (!ok) revert ExitTermsOutOfRange();
    }

    /// @notice The earliest moment at which a request of `requestedAt` may be paid.
    /// @dev Intervals end at the multiples of their length since the epoch.
    function dueAt(ExitTerms memory terms, uint256 requestedAt) internal pure returns (uint256) {
        if (terms.kind == ExitTermKind.Notice) return requestedAt + terms.noticeSeconds;
        if (terms.kind == ExitTermKind.Interval) {
            return (requestedAt / terms.intervalSeconds + 1) * terms.intervalSeconds;
        }
        if (terms.kind == ExitTermKind.Maturity) return Math.max(requestedAt, terms.maturityTimestamp);
        return requestedAt;
    }

    /// @notice Whether some request would be due later under `next`. Another kind counts so, unless it is instant.
    function tightens(ExitTerms memory terms, ExitTerms memory next) internal pure returns (bool) {
        if (next.kind == ExitTermKind.Instant) return false;
        if (next.kind != terms.kind) return true;
        if (next.kind == ExitTermKind.Notice) return next.noticeSeconds > terms.noticeSeconds;
        if (next.kind == ExitTermKind.Maturity) return next.maturityTimestamp > terms.maturityTimestamp;
        // Only a divisor keeps every end of an interval that someone may wait for.
        return terms.intervalSeconds % next.intervalSeconds != 0;
    }
}
