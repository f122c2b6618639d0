import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { classifySend, classifySimulation, isCallFailure } from '../../src/chain/node-errors.ts'

/** Texts as the clients write them. */
const SAMPLES: readonly (readonly [string, number, string, string])[] = [
  ['geth', -32_000, 'already known', 'accepted already_known'],
  ['erigon', -32_000, 'already known', 'accepted already_known'],
  ['nethermind', -32_010, 'AlreadyKnown', 'accepted already_known'],
  ['besu', -32_000, 'Known transaction', 'accepted already_known'],
  ['anvil', -32_003, 'transaction already imported', 'accepted already_known'],
  ['geth', -32_000, 'nonce too low: next nonce 5, tx nonce 4', 'nonce_too_low nonce_too_low'],
  ['anvil', -32_003, 'nonce too low', 'nonce_too_low nonce_too_low'],
  [
    'nethermind',
    -32_010,
    'OldNonce, Current nonce: 5, nonce of rejected tx: 4',
    'nonce_too_low nonce_too_low',
  ],
  ['besu', -32_001, 'Nonce too low', 'nonce_too_low nonce_too_low'],
  ['geth', -32_000, 'replacement transaction underpriced', 'underpriced replacement_underpriced'],
  ['erigon', -32_000, 'could not replace existing tx', 'underpriced replacement_underpriced'],
  ['nethermind', -32_010, 'ReplacementNotAllowed', 'underpriced replacement_underpriced'],
  ['geth', -32_000, 'future transaction tries to replace pending', 'underpriced replacement_underpriced'],
  ['geth', -32_000, 'transaction underpriced: tip needed 1, tip permitted 0', 'underpriced fee_too_low'],
  ['nethermind', -32_010, 'FeeTooLow, MaxFeePerGas too low', 'underpriced fee_too_low'],
  ['besu', -32_009, 'Gas price below configured minimum gas price', 'underpriced fee_too_low'],
  ['reth', -32_000, 'max fee per gas less than block base fee: address 0x1', 'underpriced fee_too_low'],
  [
    'geth',
    -32_000,
    'insufficient funds for gas * price + value: balance 0, tx cost 1',
    'insufficient_funds insufficient_funds',
  ],
  ['anvil', -32_003, 'Insufficient funds for gas * price + value', 'insufficient_funds insufficient_funds'],
  ['nethermind', -32_010, 'InsufficientFunds, Account balance: 0', 'insufficient_funds insufficient_funds'],
  ['besu', -32_004, 'Upfront cost exceeds account balance', 'insufficient_funds insufficient_funds'],
  ['geth', -32_000, 'intrinsic gas too low: gas 1, minimum needed 21000', 'rejected intrinsic_gas'],
  ['anvil', -32_000, 'intrinsic gas too high -- CallGasCostMoreThanGasLimit', 'rejected intrinsic_gas'],
  ['geth', -32_000, 'exceeds block gas limit', 'rejected gas_limit'],
  ['besu', -32_006, 'Nonce too distant from current sender nonce', 'rejected nonce_too_high'],
  ['geth', -32_000, 'invalid sender', 'rejected invalid_sender'],
  ['geth', -32_000, 'invalid chain id for signer: have 1 want 2', 'rejected wrong_chain_id'],
  [
    'geth',
    -32_000,
    'only replay-protected (EIP-155) transactions allowed over RPC',
    'rejected wrong_chain_id',
  ],
  ['geth', -32_000, 'max priority fee per gas higher than max fee per gas', 'rejected tip_above_fee_cap'],
  [
    'geth',
    -32_000,
    'tx fee (2.00 ether) exceeds the configured cap (1.00 ether)',
    'rejected fee_cap_of_node',
  ],
  ['geth', -32_000, 'oversized data: transaction size 1, limit 0', 'rejected too_large'],
  ['geth', -32_000, 'transaction type not supported', 'rejected type_not_supported'],
  ['geth', -32_000, 'txpool is full', 'rejected pool_full'],
  ['anvil', -32_602, 'Failed to decode transaction', 'rejected undecodable'],
  ['a provider', -32_603, 'Internal error', 'unknown unknown_text'],
  ['a provider', -32_005, 'rate limit exceeded', 'unknown unknown_text'],
  ['tomorrow', -1, 'the transaction is resting', 'unknown unknown_text'],
]

describe('what a node says to raw bytes', () => {
  it.each(SAMPLES)('of %s (%i, "%s") means %s', (_client, code, message, expected) => {
    const { outcome, detail } = classifySend({ code, message })
    expect(`${outcome} ${detail}`).toBe(expected)
  })
})

/** What two implementations answered when each of these was made to happen. */
const CAPTURED = z
  .array(z.object({ client: z.string(), made: z.string(), code: z.number(), message: z.string() }))
  .parse(JSON.parse(readFileSync('test/chain/fixtures/node-texts.json', 'utf8')))

const MEANT: Readonly<Record<string, string>> = {
  mined_again: 'nonce_too_low nonce_too_low',
  nonce_too_low: 'nonce_too_low nonce_too_low',
  already_known: 'accepted already_known',
  replacement_underpriced: 'underpriced replacement_underpriced',
  fee_too_low: 'underpriced fee_too_low',
  insufficient_funds: 'insufficient_funds insufficient_funds',
  intrinsic_gas: 'rejected intrinsic_gas',
  gas_limit: 'rejected gas_limit',
  wrong_chain_id: 'rejected wrong_chain_id',
  nonce_too_high: 'rejected nonce_too_high',
  undecodable: 'rejected undecodable',
  initcode_too_large: 'rejected too_large',
}

describe('what was captured from a node', () => {
  const sends = CAPTURED.filter(({ made }) => made in MEANT)
  it.each(sends)('$client means what was made to happen: $made', ({ made, code, message }) => {
    const { outcome, detail } = classifySend({ code, message })
    expect(`${outcome} ${detail}`).toBe(MEANT[made])
  })

  const reads = CAPTURED.filter(({ made }) => /^call_|_not_there/.test(made))
  it.each(reads)('$client: $made shows whether the call failed or the node', ({ made, code, message }) => {
    expect(isCallFailure({ code, message })).toBe(made.startsWith('call_'))
  })
})

describe('what a node says to a simulation', () => {
  it.each([
    [-38_014, 'whatever', 'insufficient_funds'],
    [-38_010, 'nonce too low', 'nonce_mismatch'],
    [-38_011, 'nonce too high', 'nonce_mismatch'],
    [-38_012, 'max fee per gas less than block base fee', 'fee_below_base_fee'],
    [-38_015, 'block gas limit reached: 1 >= 0', 'gas_limit'],
    [-32_003, 'Insufficient funds for gas * price + value', 'insufficient_funds'],
    [-32_000, 'header not found', null],
    [-32_601, 'the method eth_simulateV1 does not exist/is not available', null],
  ])('%i "%s" means %s', (code, message, expected) => {
    expect(classifySimulation({ code, message })).toBe(expected)
  })
})
