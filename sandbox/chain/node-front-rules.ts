import { type Address, getAddress, zeroAddress } from 'viem'
import { z } from 'zod'
import { withCreations } from './simulated-creation.ts'

/** A JSON-RPC error. */
type RpcError = { readonly code: number; readonly message: string }

/** What a JSON-RPC request was answered with. */
export type RpcAnswer = { readonly result: unknown } | { readonly error: RpcError }

/** Ask the chain for something that a rule needs. */
export type Ask = (method: string, params: readonly unknown[]) => Promise<RpcAnswer>

const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform((text) => BigInt(text))
const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .transform((text) => getAddress(text))

const call = z.object({
  from: address.default(zeroAddress),
  nonce: quantity.nullish(),
  gas: quantity.nullish(),
  value: quantity.nullish(),
  gasPrice: quantity.nullish(),
  maxFeePerGas: quantity.nullish(),
})

const simulation = z.object({
  validation: z.literal(true),
  blockStateCalls: z.array(
    z.object({
      blockOverrides: z.object({ baseFeePerGas: quantity.nullish() }).nullish(),
      stateOverrides: z.record(address, z.object({ nonce: quantity.nullish() })).nullish(),
      calls: z.array(call).nullish(),
    }),
  ),
})
type Simulation = z.output<typeof simulation>

const simulatedFees = z.array(z.object({ baseFeePerGas: quantity }))

/** Source: go-ethereum, internal/ethapi/errors.go. A fee below the base fee has no code of its own there. */
const CODES = { nonceTooLow: -38010, nonceTooHigh: -38011, intrinsicGas: -38013, funds: -38014 } as const
const INVALID_PARAMS = -32602
const SERVER_ERROR = -32000

/** What anvil says without geth's codes. */
const ANVIL_TEXTS: readonly (readonly [RegExp, RpcError])[] = [
  [/insufficient funds/i, { code: CODES.funds, message: 'err: insufficient funds for gas * price + value' }],
  [/intrinsic gas/i, { code: CODES.intrinsicGas, message: 'err: intrinsic gas too low' }],
]

/**
 * Answer eth_simulateV1 as geth does: with `validation`, each call's nonce is its sender's, counted over the calls
 * before it and the state overrides, and its fee cap is not below its block's base fee. Anvil checks neither, and knows
 * no creation; it checks balances. Without `validation`, or for parameters that are none, the chain's own answer stands.
 * Source: execution-apis, eth_simulateV1; go-ethereum, internal/ethapi/simulate.go.
 */
export async function simulate(params: readonly unknown[], ask: Ask): Promise<RpcAnswer> {
  const parsed = simulation.safeParse(params[0])
  if (!parsed.success) return ask('eth_simulateV1', params)
  const senders = new Set(
    parsed.data.blockStateCalls.flatMap(({ calls }) => (calls ?? []).map(({ from }) => from)),
  )
  // Asked in one turn, the nonces travel with the simulation.
  const [answer, ...counts] = await Promise.all([
    ask('eth_simulateV1', withCreations(params)),
    ...[...senders].map((sender) => ask('eth_getTransactionCount', [sender, params[1] ?? 'latest'])),
  ])
  const nonces = new Map<Address, bigint>()
  for (const [index, sender] of [...senders].entries()) {
    const count = counts[index]
    // A block that the chain does not have: its own answer says so.
    if (count === undefined || 'error' in count) return answer
    nonces.set(sender, quantity.parse(count.result))
  }
  const wrong = nonceError(parsed.data, nonces)
  if (wrong !== null) return { error: wrong }
  if ('error' in answer) return { error: inGethsWords(answer.error) }
  const low = feeError(parsed.data, simulatedFees.safeParse(answer.result).data ?? [])
  return low === null ? answer : { error: low }
}

function nonceError({ blockStateCalls }: Simulation, nonces: Map<Address, bigint>): RpcError | null {
  for (const { stateOverrides, calls } of blockStateCalls) {
    for (const [sender, { nonce }] of Object.entries(stateOverrides ?? {})) {
      if (nonce != null) nonces.set(getAddress(sender), nonce)
    }
    for (const { from, nonce, gas } of calls ?? []) {
      const state = nonces.get(from) ?? 0n
      const tx = nonce ?? state
      if (tx !== state) {
        const [code, text] =
          tx < state ? ([CODES.nonceTooLow, 'low'] as const) : ([CODES.nonceTooHigh, 'high'] as const)
        return {
          code,
          message: applied(`nonce too ${text}: address ${from}, tx: ${tx} state: ${state}`, gas),
        }
      }
      nonces.set(from, tx + 1n)
    }
  }
  return null
}

/** @param simulated of each block as it was simulated; what the request overrides comes first. */
function feeError(
  { blockStateCalls }: Simulation,
  simulated: readonly { readonly baseFeePerGas: bigint }[],
): RpcError | null {
  // Blocks that the chain put between the asked ones would shift them.
  const known = simulated.length === blockStateCalls.length ? simulated : []
  for (const [index, { blockOverrides, calls }] of blockStateCalls.entries()) {
    const baseFee = blockOverrides?.baseFeePerGas ?? known[index]?.baseFeePerGas ?? 0n
    for (const one of calls ?? []) {
      const message = belowBaseFee(one, baseFee)
      if (message !== null) return { code: INVALID_PARAMS, message }
    }
  }
  return null
}

type CheckedCall = z.output<typeof call>

/** A call that names no fee offers none. */
const feeCapOf = ({ maxFeePerGas, gasPrice }: CheckedCall) => maxFeePerGas ?? gasPrice ?? 0n

function belowBaseFee(one: CheckedCall, baseFee: bigint): string | null {
  const feeCap = feeCapOf(one)
  if (feeCap >= baseFee) return null
  const fees = `maxFeePerGas: ${feeCap}, baseFee: ${baseFee}`
  return applied(`max fee per gas less than block base fee: address ${one.from}, ${fees}`, one.gas)
}

const applied = (text: string, gas: bigint | null | undefined) =>
  `err: ${text}${gas == null ? '' : ` (supplied gas ${gas})`}`

const inGethsWords = (error: RpcError): RpcError =>
  ANVIL_TEXTS.find(([text]) => text.test(error.message))?.[1] ?? error

const header = z.object({ baseFeePerGas: quantity })

/**
 * Answer eth_estimateGas as geth does: a call that names a fee must be able to pay it, at the base fee or above; one
 * that names none is estimated for free. Source: go-ethereum, eth/gasestimator.
 */
export async function estimate(params: readonly unknown[], ask: Ask): Promise<RpcAnswer> {
  const parsed = call.safeParse(params[0])
  const asked = () => ask('eth_estimateGas', params)
  if (!parsed.success || feeCapOf(parsed.data) === 0n) return asked()
  const { from, value } = parsed.data
  const [answer, block, held] = await Promise.all([
    asked(),
    ask('eth_getBlockByNumber', ['latest', false]),
    ask('eth_getBalance', [from, 'latest']),
  ])
  if ('error' in answer || 'error' in block || 'error' in held) return answer
  const message = belowBaseFee(parsed.data, header.parse(block.result).baseFeePerGas)
  if (message !== null) return { error: { code: SERVER_ERROR, message } }
  const available = quantity.parse(held.result) - (value ?? 0n)
  if (available <= 0n && value)
    return { error: { code: SERVER_ERROR, message: 'insufficient funds for transfer' } }
  const allowance = available / feeCapOf(parsed.data)
  return quantity.parse(answer.result) > allowance
    ? { error: { code: SERVER_ERROR, message: `gas required exceeds allowance (${allowance})` } }
    : answer
}

/** What a person's node would not offer: it runs the chain, or sends without a signature. */
const OFFERED = /^(eth|net|web3|txpool|debug|trace)_(?!sendUnsignedTransaction$)/

/** Refuse a method that the front does not offer; null for one that it does. Pure. */
export const refusal = (method: string): RpcError | null =>
  OFFERED.test(method)
    ? null
    : { code: -32601, message: `the method ${method.slice(0, 100)} does not exist/is not available` }
