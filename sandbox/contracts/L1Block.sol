// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title What a chain of the OP stack knows of the chain that it writes its data to.
/// @dev Read by the node itself, from these slots: their order is the OP stack's, and no function writes them.
contract L1Block {
    uint64 public number;
    uint64 public timestamp;
    uint256 public basefee;
    bytes32 public hash;
    uint64 public sequenceNumber;
    uint32 public blobBaseFeeScalar;
    uint32 public baseFeeScalar;
    bytes32 public batcherHash;
    uint256 public l1FeeOverhead;
    uint256 public l1FeeScalar;
    uint256 public blobBaseFee;
}
