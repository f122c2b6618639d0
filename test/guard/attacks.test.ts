import { encodeFunctionData, erc20Abi, type Hex, maxUint256, size } from 'viem'
import { describe, expect, it } from 'vitest'
import { lendingVaultAbi } from '../../sandbox/contracts/abis.ts'
import { loadArtifacts } from '../../sandbox/contracts/artifacts.ts'
import { HOSTILITIES } from '../../sandbox/service/faults/faults.ts'
import { tamper } from '../../sandbox/service/faults/tamper.ts'
import type { Ruleset } from '../../src/guard/ruleset.ts'
import { attest } from '../../src/pipeline/attest.ts'
import type { PreparedWorkflow, TransactionIntent } from '../../src/service/contract/prepared-workflow.ts'
import { workflowOf } from '../support/workflows.ts'
import { CHAIN_ID, freeze, MARKET, NOW_MS, OTHER_MARKET, SELF, STRANGER, VAULT } from './fixtures.ts'
import { answerOf, type Kind, NAV_DIGEST, navTypedData } from './kinds.ts'
import { CASES } from './shipped.ts'

/** Serve an answer to a workflow that is one step from its signature; return how that ended, and what a key was asked. */
async function serve(kind: Kind, ruleset: Ruleset, answer: PreparedWorkflow) {
  const asked: Hex[] = []
  const step = await attest(
    {
      ...workflowOf('prepared'),
      role: ruleset.role,
      chainId: CHAIN_ID,
      signer: SELF,
      proposal: kind.proposal,
      prepared: freeze(answer),
      // As if the report's own digest had been recorded: nothing is left but to sign it.
      ...(kind.name === 'report' ? { attestation: { digest: NAV_DIGEST } } : {}),
    },
    {
      nowMs: () => NOW_MS,
      ruleset,
      nodes: {
        simulate: async () => Promise.reject(new Error('no hostile answer comes so far')),
      },
      journal: { enterDigest: async () => {}, ordered: async () => {} },
      signer: {
        address: SELF,
        keyId: 'a key',
        signDigest: async (digest) => {
          asked.push(digest)
          throw new Error('no key may be asked')
        },
      },
      gate: () => ({ closed: false, paused: false }),
    },
  )
  const { workflow } = step.type === 'moved' ? step : { workflow: undefined }
  return { state: workflow?.state, check: workflow?.note?.check, asked }
}

type Attack = {
  readonly name: string
  /** The hostile answer; null where it does not apply. */
  readonly on: (answer: PreparedWorkflow, kind: Kind) => PreparedWorkflow | null
  readonly check: string | ((kind: Kind) => string)
}

const creates = ({ drafts }: Kind) => drafts.at(-1)?.target === null
const withLast = (answer: PreparedWorkflow, change: Partial<TransactionIntent>): PreparedWorkflow => ({
  ...answer,
  transactions: answer.transactions.map((intent, index, all) =>
    index === all.length - 1 ? { ...intent, ...change } : intent,
  ),
})
const lastOf = ({ transactions }: PreparedWorkflow): TransactionIntent => {
  const last = transactions.at(-1)
  if (last === undefined) throw new TypeError('an intent')
  return last
}
const APPROVE = '0x095ea7b3'
const withApproval =
  (args: (spender: Hex, amount: bigint) => readonly [Hex, bigint]) =>
  (answer: PreparedWorkflow): PreparedWorkflow | null => {
    const [first] = answer.transactions
    if (first === undefined || !first.calldata.startsWith(APPROVE)) return null
    const spender: Hex = `0x${first.calldata.slice(34, 74)}`
    const amount = BigInt(`0x${first.calldata.slice(74)}`)
    const calldata = encodeFunctionData({
      abi: erc20Abi,
      functionName: 'approve',
      args: args(spender, amount),
    })
    return {
      ...answer,
      transactions: answer.transactions.map((each) => (each === first ? { ...first, calldata } : each)),
    }
  }
/** Only for the batch: other moves than the input's. */
const withMoves =
  (withdrawals: readonly [Hex, bigint][], supplies: readonly [Hex, bigint][]) =>
  (answer: PreparedWorkflow, { name }: Kind): PreparedWorkflow | null => {
    if (name !== 'reallocate') return null
    const toMoves = (moves: readonly [Hex, bigint][]) => moves.map(([market, assets]) => ({ market, assets }))
    const args = [toMoves(withdrawals), toMoves(supplies)] as const
    return withLast(answer, {
      calldata: encodeFunctionData({ abi: lendingVaultAbi, functionName: 'reallocate', args }),
    })
  }
/** Only for the report: something else to sign than its call says. */
const withSigning =
  (changes: Partial<NonNullable<TransactionIntent['signing']>>) =>
  (answer: PreparedWorkflow): PreparedWorkflow | null => {
    const { signing } = lastOf(answer)
    return signing === undefined ? null : withLast(answer, { signing: { ...signing, ...changes } })
  }
const BYTECODE = loadArtifacts().LendingVault.bytecode

const ATTACKS: readonly Attack[] = [
  {
    name: 'goes to another contract',
    on: (answer) => withLast(answer, { target: STRANGER }),
    check: (kind) => (creates(kind) ? 'contract_creation' : 'target_not_allowed'),
  },
  {
    name: 'calls another function',
    on: (answer, kind) =>
      creates(kind) ? null : withLast(answer, { calldata: `0x12345678${lastOf(answer).calldata.slice(10)}` }),
    check: 'function_not_allowed',
  },
  {
    name: 'has a trailing byte',
    on: (answer) => withLast(answer, { calldata: `${lastOf(answer).calldata}00` }),
    check: 'calldata_not_canonical',
  },
  {
    name: 'sends coin along',
    on: (answer) => withLast(answer, { value: '1' }),
    check: 'value_above_cap',
  },
  { name: 'is for another chain', on: (answer) => withLast(answer, { chainId: 1 }), check: 'chain_mismatch' },
  {
    name: 'creates what should be called, or calls what should be created',
    on: (answer, kind) =>
      withLast(
        answer,
        creates(kind)
          ? { transactionKind: 'contract_call', target: VAULT }
          : { transactionKind: 'contract_deployment', target: null },
      ),
    check: 'contract_creation',
  },
  {
    name: 'asks for a signature beside the call',
    on: (answer) =>
      lastOf(answer).signing === undefined
        ? withLast(answer, {
            signing: { kind: 'eip712', typedData: navTypedData, signaturePlacement: 'argument:1' },
          })
        : null,
    check: 'signing_not_allowed',
  },
  {
    name: 'has one intent more',
    on: (answer) => ({
      ...answer,
      transactions: [...answer.transactions, { ...lastOf(answer), order: answer.transactions.length }],
    }),
    // Two calls are what a raise of a bid has: its first must then be an approval.
    check: ({ name }) => (name === 'rfq-replace-down' ? 'target_not_allowed' : 'sequence_mismatch'),
  },
  {
    name: 'has nothing to sign',
    on: (answer) => ({ ...answer, transactions: [] }),
    check: 'sequence_mismatch',
  },
  {
    name: 'numbers its intents otherwise',
    on: (answer) => ({
      ...answer,
      transactions: answer.transactions.map((each) => ({ ...each, order: each.order + 1 })),
    }),
    check: 'intent_order',
  },
  {
    name: 'acts before it approves',
    on: (answer) =>
      answer.transactions.length < 2
        ? null
        : {
            ...answer,
            transactions: answer.transactions.map((each) => ({ ...each, order: 1 - each.order })),
          },
    check: 'target_not_allowed',
  },
  {
    name: 'approves everything',
    on: withApproval((spender) => [spender, maxUint256]),
    check: 'approval_unlimited',
  },
  {
    name: 'approves more than the action may use',
    on: withApproval((spender) => [spender, 5_000_000_001n]),
    check: 'approval_not_exact',
  },
  {
    name: 'approves a stranger',
    on: withApproval((_spender, amount) => [STRANGER, amount]),
    check: 'approval_spender',
  },
  {
    name: 'supplies in another order',
    on: withMoves(
      [[MARKET, 300_000n]],
      [
        [MARKET, 100_000n],
        [OTHER_MARKET, 200_000n],
      ],
    ),
    check: 'parameter_supplies_market',
  },
  {
    name: 'supplies once more',
    on: withMoves(
      [[MARKET, 300_000n]],
      [
        [OTHER_MARKET, 200_000n],
        [MARKET, 100_000n],
        [MARKET, 0n],
      ],
    ),
    check: 'parameter_supplies_length',
  },
  { name: 'only withdraws', on: withMoves([[MARKET, 300_000n]], []), check: 'parameter_supplies_length' },
  {
    name: 'places the signature elsewhere',
    on: withSigning({ signaturePlacement: 'append' }),
    check: 'signature_placement',
  },
  {
    name: 'asks for another kind of signature',
    on: withSigning({ kind: 'eth_sign' }),
    check: 'signing_kind',
  },
  {
    name: 'has another value to sign than to submit',
    on: withSigning({ typedData: { ...navTypedData, message: { ...navTypedData.message, value: '1' } } }),
    check: 'typed_data_mismatch',
  },
  {
    name: 'has a permit to sign',
    on: withSigning({ typedData: { ...navTypedData, primaryType: 'Permit' } }),
    check: 'typed_data_mismatch',
  },
  {
    name: 'deploys other code',
    on: (answer, kind) => {
      if (!creates(kind)) return null
      const { calldata } = lastOf(answer)
      const at = size(BYTECODE)
      return withLast(answer, { calldata: `0x${calldata.slice(2, at)}00${calldata.slice(at + 2)}` })
    },
    check: 'creation_code_changed',
  },
  {
    name: 'is for another workflow type',
    on: (answer) => ({ ...answer, workflowType: 'deposit' }),
    check: 'workflow_mismatch',
  },
  {
    name: 'is final already',
    on: (answer) => ({ ...answer, status: 'final_success' }),
    check: 'already_final',
  },
  {
    name: 'needs no transaction',
    on: (answer) => ({ ...answer, executionMode: 'metadata_only' }),
    check: 'execution_mode',
  },
  {
    name: 'names nothing to see it by',
    on: (answer) => ({ ...answer, canonicalPostconditions: [] }),
    check: 'postconditions_missing',
  },
]

describe.each(CASES)('a hostile service at %s', (_case, kind, ruleset) => {
  const honest = answerOf(kind, kind.drafts)

  it('is refused by name, and no key is asked', async () => {
    for (const { name, on, check } of ATTACKS) {
      const answer = on(honest, kind)
      if (answer === null) continue
      const expected = typeof check === 'string' ? check : check(kind)
      const served = await serve(kind, ruleset, answer)
      expect(served, name).toEqual({ state: 'refused', check: expected, asked: [] })
    }
  })

  it.each(HOSTILITIES)('gets nothing by %s, as the sandbox serves it', async (hostile) => {
    const transactions = [...tamper(honest.transactions, SELF, hostile)]
    // Not every answer has an approval, a recipient or a signature to tamper with.
    if (JSON.stringify(transactions) === JSON.stringify(honest.transactions)) return
    const { state, asked } = await serve(kind, ruleset, { ...honest, transactions })
    expect({ state, asked }).toEqual({ state: 'refused', asked: [] })
  })
})
