// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {L1Block} from "./L1Block.sol";

/// @title What a transaction pays for its bytes beside its gas, as chains of the OP stack say it since Fjord.
/// @dev The fee goes by how long the bytes are once FastLZ has packed them: the estimate of what they take up in a batch.
contract DataFeeOracle {
    L1Block private constant L1 = L1Block(0x4200000000000000000000000000000000000015);

    /// @dev What a signature adds to the bytes of a transaction: it cannot be packed.
    uint256 private constant SIGNATURE_BYTES = 68;
    /// @dev Bytes in a batch, in millionths: so many for each packed one, less what a batch has in common, and no fewer than these.
    int256 private constant INTERCEPT = -42_585_600;
    int256 private constant SLOPE = 836_500;
    int256 private constant LEAST = 100_000_000;

    /// @dev FastLZ: how far back a match may begin, how long one is at most, how many literals follow each other.
    uint256 private constant DISTANCE_MAX = 8_191;
    uint256 private constant MATCH_MAX = 262;
    uint256 private constant LITERALS_MAX = 32;
    uint256 private constant BUCKETS = 8_192;
    /// @dev So many bytes at the end are never matched.
    uint256 private constant TAIL = 13;

    /// @notice The fee of a transaction that is not signed yet, in wei.
    function getL1Fee(bytes memory unsignedTransaction) external view returns (uint256) {
        return feeOf(packedLength(unsignedTransaction) + SIGNATURE_BYTES);
    }

    /// @notice What a signed transaction pays, in wei: the sandbox's node says it in receipts.
    function paidFor(bytes memory signedTransaction) external view returns (uint256) {
        return feeOf(packedLength(signedTransaction));
    }

    function feeOf(uint256 packed) private view returns (uint256) {
        int256 size = INTERCEPT + SLOPE * int256(packed);
        uint256 scaled = uint256(size < LEAST ? LEAST : size);
        uint256 price = 16 * uint256(L1.baseFeeScalar()) * L1.basefee()
            + uint256(L1.blobBaseFeeScalar()) * L1.blobBaseFee();
        return (scaled * price) / 1e12;
    }

    /// @dev How many bytes FastLZ, level 1, makes of these; what it makes of them is not needed.
    function packedLength(bytes memory data) private pure returns (uint256 packed) {
        unchecked {
            uint256 end = data.length < TAIL ? 0 : data.length - TAIL;
            uint256[] memory lastAt = new uint256[](BUCKETS);
            uint256 literalsFrom = 0;
            uint256 place = 2;
            while (place < end) {
                uint256 three = threeAt(data, place);
                uint256 bucket = bucketOf(three);
                uint256 before = lastAt[bucket];
                lastAt[bucket] = place;
                bool isMatch = place - before <= DISTANCE_MAX && three == threeAt(data, before);
                // Where the last place that is looked at matches, it is left as it is.
                if (!isMatch || place + 1 >= end) {
                    place++;
                    continue;
                }
                packed += literals(place - literalsFrom);
                uint256 length = sameFrom(data, before + 3, place + 3, end + 9);
                packed += matched(length);
                place += length;
                lastAt[bucketOf(threeAt(data, place))] = place;
                place++;
                lastAt[bucketOf(threeAt(data, place))] = place;
                place++;
                literalsFrom = place;
            }
            packed += literals(data.length - literalsFrom);
        }
    }

    function threeAt(bytes memory data, uint256 place) private pure returns (uint256 three) {
        assembly ("memory-safe") {
            let word := mload(add(add(data, 32), place))
            three := or(or(byte(0, word), shl(8, byte(1, word))), shl(16, byte(2, word)))
        }
    }

    function bucketOf(uint256 three) private pure returns (uint256) {
        unchecked {
            return (((2_654_435_769 * three) & 0xffffffff) >> 19) & (BUCKETS - 1);
        }
    }

    /// @dev How many bytes from `later` on are those from `earlier` on, and one more for the first that is not.
    function sameFrom(bytes memory data, uint256 earlier, uint256 later, uint256 end) private pure returns (uint256 length) {
        unchecked {
            while (later + length < end) {
                bool isSame = data[earlier + length] == data[later + length];
                length++;
                if (!isSame) break;
            }
        }
    }

    function literals(uint256 count) private pure returns (uint256) {
        unchecked {
            uint256 rest = count % LITERALS_MAX;
            return (count / LITERALS_MAX) * (LITERALS_MAX + 1) + (rest == 0 ? 0 : rest + 1);
        }
    }

    function matched(uint256 length) private pure returns (uint256) {
        unchecked {
            uint256 left = length - 1;
            return 3 * (left / MATCH_MAX) + (left % MATCH_MAX >= 6 ? 3 : 2);
        }
    }
}
