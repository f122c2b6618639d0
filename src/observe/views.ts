import { type Abi, type AbiFunction, parseAbi, toFunctionSignature } from 'viem'
import { RolekeeperError } from '../errors.ts'

const shape = (item: AbiFunction) =>
  `${toFunctionSignature(item)} ${item.stateMutability} (${item.outputs.map(({ type }) => type).join(',')})`

/**
 * Check that the policy's views name every read that an agent makes, with the same types: the operator's policy says what
 * a contract of the deployment looks like.
 * @param views what the agent calls.
 * @param signatures `guard.views` of the policy, as in "function collateralOf(address) view returns (uint256)".
 * @throws RolekeeperError `policy.view_invalid` or `policy.view_missing`.
 */
export function assertViews(views: Abi, signatures: readonly string[]): void {
  const given = new Set(signatures.flatMap((signature) => functionsOf(signature).map(shape)))
  for (const item of views) {
    if (item.type !== 'function' || given.has(shape(item))) continue
    throw new RolekeeperError('policy.view_missing', `The policy's guard.views lack ${shape(item)}.`, {
      fix: `add this function to guard.views with these types, or correct its entry.`,
      facts: { path: 'guard.views' },
    })
  }
}

function functionsOf(signature: string): AbiFunction[] {
  let abi: Abi
  try {
    abi = parseAbi([signature])
  } catch (cause) {
    throw new RolekeeperError(
      'policy.view_invalid',
      `guard.views has "${signature}", which is no function.`,
      {
        fix: 'write it as Solidity does, for example "function collateralOf(address) view returns (uint256)".',
        cause,
      },
    )
  }
  return abi.filter((item) => item.type === 'function')
}
