import { encodeFunctionData, erc20Abi } from 'viem'
import type { Payload } from '../workflow/slot.ts'
import type { StandingAllowance } from '../workflow/workflow.ts'

/** Most gas that taking an approval back may use: a token clears one slot and logs it. */
const REVOCATION_GAS = 100_000n

/**
 * Build the payload that takes a standing approval back. Built by us alone: nobody prepares it, and it can only lower
 * what others may take. Pure. Source: EIP-20, approve.
 */
export const revocationPayload = (allowance: StandingAllowance): Payload => ({
  to: allowance.token,
  data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [allowance.spender, 0n] }),
  valueWei: 0n,
  gasLimit: REVOCATION_GAS,
})
