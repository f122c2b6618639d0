// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title Somebody whose calls are all in one transaction, and who keeps what they give.
contract Visitor {
    struct Call {
        address target;
        bytes data;
    }

    /// @notice Does them in their order. The first that reverts reverts all, with its own error.
    function run(Call[] calldata calls) external {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done, bytes memory answer) = calls[i].target.call(calls[i].data);
            if (!done) {
                assembly {
                    revert(add(answer, 32), mload(answer))
                }
            }
        }
    }
}
