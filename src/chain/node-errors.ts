import type { SendOutcome } from './nodes.ts'

/** What a JSON-RPC answer says when it is not a result. The text stays in this room. */
export type RpcFailure = { readonly code: number; readonly message: string }

type Outcome = SendOutcome['outcome']

/**
 * What nodes say to raw bytes, by client: matching on a vendor's text happens here and nowhere else. The first
 * match counts, and no match means `unknown`: the node may have it.
 */
const SEND_TEXTS: readonly (readonly [RegExp, Outcome, string])[] = [
  // geth, reth, erigon: "already known"; nethermind: "AlreadyKnown"; besu: "Known transaction"; anvil: "… already imported"
  [/already ?known|\bknown transaction|already imported|already exists in/i, 'accepted', 'already_known'],
  // geth, reth, erigon, besu, anvil: "nonce too low"; nethermind: "OldNonce"
  [/nonce (is )?too low|\bold ?nonce/i, 'nonce_too_low', 'nonce_too_low'],
  // geth, reth, besu, anvil, hardhat; erigon: "could not replace existing tx"; nethermind: "ReplacementNotAllowed"
  [
    /replacement transaction underpriced|could not replace existing|replacement ?not ?allowed/i,
    'underpriced',
    'replacement_underpriced',
  ],
  [/future transaction tries to replace pending/i, 'underpriced', 'replacement_underpriced'],
  // geth: "transaction underpriced"; besu: "Gas price below …"; nethermind: "FeeTooLow"; reth, anvil: "max fee per gas less than block base fee"; hardhat: "maxFeePerGas (1) is too low"
  [
    /underpriced|gas price (is )?(too low|below)|fee ?too ?low|less than block base fee|fee cap less than block|maxFeePerGas \(\d+\) is too low/i,
    'underpriced',
    'fee_too_low',
  ],
  // geth, reth, erigon, anvil; nethermind: "InsufficientFunds"; besu: "Upfront cost exceeds account balance"; hardhat: "Sender doesn't have enough funds"
  [
    /insufficient ?funds|upfront cost exceeds|doesn't have enough funds/i,
    'insufficient_funds',
    'insufficient_funds',
  ],
  // anvil: "intrinsic gas too high -- tx.gas_limit > env.block.gas_limit", before its "intrinsic gas too low"
  [
    /exceeds (the )?block gas limit|gas limit too high|gas ?limit ?exceeded|exceeds transaction gas limit|gas_limit > env/i,
    'rejected',
    'gas_limit',
  ],
  [/intrinsic gas|gas limit (is )?too low|requires at least \d+ gas/i, 'rejected', 'intrinsic_gas'],
  // besu: "Nonce too distant …"; nethermind: "NonceGap"
  [/nonce (is )?too (high|distant)|nonce ?gap/i, 'rejected', 'nonce_too_high'],
  [/invalid sender|invalid signature|failed to recover/i, 'rejected', 'invalid_sender'],
  [/invalid chain ?id|wrong chain ?id|chain id mismatch|replay-protected/i, 'rejected', 'wrong_chain_id'],
  [/tip above fee cap|priority fee per gas higher than max fee/i, 'rejected', 'tip_above_fee_cap'],
  [/exceeds the configured cap/i, 'rejected', 'fee_cap_of_node'],
  [/oversized data|initcode size|init code length/i, 'rejected', 'too_large'],
  [/transaction type not supported|invalid transaction type/i, 'rejected', 'type_not_supported'],
  [/txpool is full|pool is full/i, 'rejected', 'pool_full'],
  [/failed to decode|rlp:|rlp error|typed transaction too short|input too short/i, 'rejected', 'undecodable'],
]

/** Classify what a node said to raw bytes. Pure. */
export function classifySend(failure: RpcFailure): Pick<SendOutcome, 'outcome' | 'detail'> {
  const match = SEND_TEXTS.find(([text]) => text.test(failure.message))
  return match === undefined
    ? { outcome: 'unknown', detail: 'unknown_text' }
    : { outcome: match[1], detail: match[2] }
}

/**
 * Whether a call ran and failed, as against a node that could not run it. Codes and texts: geth's 3 "execution reverted";
 * anvil's "EVM error InvalidFEOpcode"; hardhat's "Transaction reverted", "VM Exception while processing". Pure.
 */
export const isCallFailure = ({ code, message }: RpcFailure): boolean =>
  code === 3 || /revert|invalid opcode|out of gas|stack underflow|EVM error|VM exception/i.test(message)

/** Why a node would not begin a simulation of ours; the same on every honest node at that block. */
type SimulationRejection = 'insufficient_funds' | 'nonce_mismatch' | 'fee_below_base_fee' | 'gas_limit'

const SIMULATION_TEXTS: readonly (readonly [RegExp, SimulationRejection])[] = [
  [/insufficient ?funds|insufficient ?balance|upfront cost exceeds/i, 'insufficient_funds'],
  [/nonce/i, 'nonce_mismatch'],
  [/less than block base fee|fee cap|underpriced/i, 'fee_below_base_fee'],
  [/intrinsic gas|gas limit/i, 'gas_limit'],
]

/** Source: execution-apis, eth_simulateV1, error codes. */
const SIMULATION_CODES: Readonly<Record<number, SimulationRejection>> = {
  [-38010]: 'nonce_mismatch',
  [-38011]: 'nonce_mismatch',
  [-38012]: 'fee_below_base_fee',
  [-38013]: 'gas_limit',
  [-38014]: 'insufficient_funds',
  [-38015]: 'gas_limit',
}

/** Classify why a node would not begin a simulation; null when it is this node's own trouble. Pure. */
export const classifySimulation = (failure: RpcFailure): SimulationRejection | null =>
  SIMULATION_CODES[failure.code] ?? SIMULATION_TEXTS.find(([text]) => text.test(failure.message))?.[1] ?? null

/**
 * Whether a node says that it is asked too often. Alchemy: code 429, "exceeded its compute units per second"; Infura:
 * "request rate limited"; QuickNode: "50/second request limit reached"; others: "Too Many Requests", "rate limit". Pure.
 */
export const isRateLimit = (failure: RpcFailure): boolean =>
  failure.code === 429 ||
  isOwnText(failure, /rate.?limit|too many requests|request limit|requests? per second|compute units/i)

/** Whether a node left an answer out because all of the batch was too large: geth's -32003 "response too large". Pure. */
export const isAnswerTooLarge = (failure: RpcFailure): boolean =>
  isOwnText(failure, /response (is )?too large/i)

/** Whether the node itself says so: what a contract says when it reverts is whatever its author wrote. */
const isOwnText = (failure: RpcFailure, text: RegExp): boolean =>
  !isCallFailure(failure) && text.test(failure.message)
