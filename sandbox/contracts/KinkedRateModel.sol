// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title Borrow rate by utilization: two straight lines that meet at the kink.
/// @dev All values are wads (1e18). `slope1` is what the rate gains between 0 and the kink, `slope2` what it gains
/// between the kink and full utilization; so the rate is base + slope1 at the kink and base + slope1 + slope2 at 100 %.
contract KinkedRateModel {
    uint256 private constant WAD = 1e18;

    uint256 public immutable baseRatePerSecondWad;
    uint256 public immutable slope1PerSecondWad;
    uint256 public immutable slope2PerSecondWad;
    uint256 public immutable kinkWad;

    error KinkOutOfRange(uint256 kinkWad);
    error RateOutOfRange(uint256 ratePerSecondWad);

    constructor(uint256 baseRate, uint256 slope1, uint256 slope2, uint256 kink) {
        if (kink == 0 || kink >= WAD) revert KinkOutOfRange(kink);
        // Above 100 % a second every figure is a mistake of units.
        if (baseRate + slope1 + slope2 > WAD) revert RateOutOfRange(baseRate + slope1 + slope2);
        baseRatePerSecondWad = baseRate;
        slope1PerSecondWad = slope1;
        slope2PerSecondWad = slope2;
        kinkWad = kink;
    }

    /// @notice The rate per second at a utilization, rounded down; utilization above 1e18 counts as 1e18.
    function borrowRatePerSecond(uint256 utilizationWad) external view returns (uint256 ratePerSecondWad) {
        if (utilizationWad <= kinkWad) {
            return baseRatePerSecondWad + (slope1PerSecondWad * utilizationWad) / kinkWad;
        }
        uint256 capped = utilizationWad > WAD ? WAD : utilizationWad;
        return baseRatePerSecondWad + slope1PerSecondWad + (slope2PerSecondWad * (capped - kinkWad)) / (WAD - kinkWad);
    }
}
