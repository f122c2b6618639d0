import type { Observation } from '../../src/agent.ts'
import { BPS, ceilDiv, WAD } from '../../src/protocol/health.ts'
import type { LiquidatorPolicy } from './policy.ts'

/** What some gas is expected to cost. */
export type GasCost = { readonly gas: bigint; readonly wei: bigint; readonly usdMicros: bigint }

/** What is left to spend as one decision goes on: changed in place by that decision, and by nothing else. */
export type Funds = {
  nativeWei: bigint
  /** Base units by lower-case token, less what workflows in flight may take; may be below zero. */
  readonly tokens: Map<string, bigint>
  /** Base units by lower-case token: balance, open claims, in flight, and what this decision will seize. */
  readonly held: Map<string, bigint>
  readonly liquidation: GasCost
  readonly settlement: GasCost
}

/** Price gas at the head's base fee and the policy's headroom, rounded up. Pure. */
export function gasCost(gas: bigint, seen: Observation, policy: LiquidatorPolicy): GasCost {
  const headroomBps = BPS + BigInt(policy.gas.baseFeeHeadroomBps)
  const wei = ceilDiv(gas * seen.chain.baseFeePerGasWei * headroomBps, BPS)
  return { gas, wei, usdMicros: ceilDiv(wei * policy.gas.nativePriceUsdMicros, WAD) }
}
