import { type Address, parseSignature } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, it } from 'vitest'
import { approvalPolicy, compileApproval } from '../../../src/guard/approval/approval.ts'
import { createRecordProof } from '../../../src/keeper/stages/prove-record.ts'
import { assembleRaw, orderAttempt } from '../../../src/pipeline/transactions/transaction.ts'
import type { Attempt, Slot } from '../../../src/workflow/slot.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import {
  approve,
  CHAIN_ID,
  freeze,
  intent,
  LOAN,
  liquidate,
  liquidation,
  liquidationAnswer,
  liquidationArgs,
  MARKET,
  NOW_MS,
  REPAY,
  ruleset,
  STRANGER,
} from '../../guard/fixtures.ts'
import { attemptOf, slotOf, workflowOf } from '../../support/workflows.ts'

const { address, sign } = privateKeyToAccount(`0x${'51'.repeat(32)}`)
const OURS = address.toLowerCase() as Address
const oursArgs = { ...liquidationArgs, recipient: OURS }
const calls = [
  { to: LOAN, data: approve(MARKET, REPAY) },
  { to: MARKET, data: liquidate(oursArgs) },
]
const approvalOf = (aboveUsd: string | undefined) =>
  compileApproval(
    approvalPolicy([]).parse({
      always: [],
      aboveAssets: {},
      expiresAfter: '15 min',
      ...(aboveUsd && { aboveUsd }),
    }),
    { assets: [] },
  )
const CAP_WEI = 10n ** 12n
const proof = (changes: Partial<Parameters<typeof createRecordProof>[0]> = {}) =>
  createRecordProof({
    ruleset,
    approval: approvalOf(undefined),
    fees: { maxFeePerGasWei: CAP_WEI },
    ...changes,
  })

/** A record that claims to be cleared, with its payloads ordered. */
function recorded(changes: (slot: Slot) => Partial<Slot> = () => ({}), of: Partial<Workflow> = {}): Workflow {
  const { clearance } = workflowOf('cleared')
  if (clearance === undefined) throw new TypeError('no clearance')
  const slots = calls.map((call, index) => {
    const slot = slotOf({
      index,
      nonce: index,
      signer: OURS,
      chainId: CHAIN_ID,
      payload: { ...call, valueWei: 0n, gasLimit: 100_000n },
    })
    return { ...slot, ...changes(slot) }
  })
  return workflowOf('in_flight', {
    signer: OURS,
    chainId: CHAIN_ID,
    slots,
    proposal: { ...liquidation, input: { ...liquidation.input, recipientAddress: OURS } },
    prepared: freeze({
      ...liquidationAnswer(),
      transactions: calls.map(({ to, data }, index) => intent(index, to, data)),
    }),
    clearance: { ...clearance, atMs: NOW_MS, rulesetHash: ruleset.hash },
    ...of,
  })
}
const judge = (workflow: Workflow, changes?: Parameters<typeof proof>[0]) =>
  proof(changes)(workflow)?.check ?? 'proven'
/** Change the payload of the last call alone. */
const last = (payload: Partial<Slot['payload']>) => (slot: Slot) =>
  slot.index === 1 ? { payload: { ...slot.payload, ...payload } } : {}

it('proves a record as it was written, whatever a no-op in it once offered', () => {
  const noop = attemptOf({ purpose: 'noop', maxFeePerGasWei: CAP_WEI + 1n })
  const attempts = [attemptOf({ maxFeePerGasWei: CAP_WEI }), noop]
  expect(judge(recorded(() => ({ attempts })))).toBe('proven')
})

it('proves gas up to what the rule allows, and asks of a revocation no call', () => {
  const gasMax = ruleset.rules.get(liquidation.workflowType)?.[1]?.gasMax ?? 0n
  expect(judge(recorded(last({ gasLimit: gasMax })))).toBe('proven')
  expect(judge(recorded(last({ gasLimit: gasMax + 1n })))).toBe('record_not_cleared')
  const record = recorded()
  const revoking = record.slots.map((slot) => ({ ...slot, index: slot.index + 2, kind: 'revoke' as const }))
  expect(judge({ ...record, slots: [...record.slots, ...revoking] })).toBe('proven')
})

it.each([
  ['pays somebody else', last({ data: liquidate({ ...oursArgs, recipient: STRANGER }) })],
  ['calls another contract', last({ to: STRANGER })],
  ['sends native coin', last({ valueWei: 1n })],
  ['may burn more gas', last({ gasLimit: 10n ** 9n })],
  ['is of another key', () => ({ signer: STRANGER })],
  ['is of another chain', () => ({ chainId: CHAIN_ID + 1 })],
  ['has its payloads in another order', (slot: Slot) => ({ index: 1 - slot.index })],
  ['offers more', () => ({ attempts: [attemptOf({ maxFeePerGasWei: CAP_WEI + 1n })] })],
])('gives a key nothing of a record that %s', (_, changes) => {
  expect(judge(recorded(changes as (slot: Slot) => Partial<Slot>))).toBe('record_not_cleared')
})

it('gives a key nothing of a record that has a payload more', () => {
  const { slots, ...workflow } = recorded()
  const more = slots.map((slot) => ({ ...slot, index: slots.length }))
  expect(judge({ ...workflow, slots: [...slots, ...more.slice(1)] })).toBe('record_not_cleared')
})

it('judges the answer that a record keeps by our own rules', () => {
  const data = liquidate({ ...oursArgs, recipient: STRANGER })
  const forged = freeze({
    ...liquidationAnswer(),
    transactions: [intent(0, LOAN, approve(MARKET, REPAY)), intent(1, MARKET, data)],
  })
  // Both say the same, and the rules do not.
  expect(judge(recorded(last({ data }), { prepared: forged }))).not.toBe('proven')
  expect(judge(recorded(undefined, { clearance: undefined as never }))).toBe('record_not_cleared')
})

it('holds it to the limit of one workflow, and to approvals', () => {
  const { perWorkflow, ...others } = ruleset.limits
  const usdMicrosMax = liquidation.exposure.usdMicros - 1n
  const small = { ...ruleset, limits: { ...others, perWorkflow: { ...perWorkflow, usdMicrosMax } } }
  expect(judge(recorded(), { ruleset: small })).toBe('limit_workflow_usd')
  const approval = approvalOf('1 USD')
  expect(judge(recorded(), { approval })).toBe('approval_missing')
})

it('asks for no approval of what is public by its key’s own signature, and believes no record that it is', async () => {
  const approval = approvalOf('1 USD')
  /** Its first payload as it was signed and sent, with what else a record says of that. */
  const sent = async (
    purpose: 'payload' | 'noop',
    changes: Partial<Attempt> = {},
    behind: readonly Attempt[] = [attemptOf()],
    kind: Slot['kind'] = 'intent',
  ) => {
    const { slots, ...workflow } = recorded()
    const [first, ...others] = slots
    if (first === undefined) throw new TypeError('no slot')
    const fees = { maxFeePerGasWei: CAP_WEI, maxPriorityFeePerGasWei: 1n }
    const ordered = orderAttempt(first, purpose, fees, NOW_MS)
    const { r, s, yParity } = parseSignature(await sign({ hash: ordered.digest }))
    const { raw } = await assembleRaw(first, ordered, { r, s, yParity: yParity === 0 ? 0 : 1 })
    const attempts = [{ ...ordered, raw, state: 'sent' as const, ...changes }, ...behind]
    return judge({ ...workflow, slots: [{ ...first, kind, attempts }, ...others] }, { approval })
  }
  expect(await sent('payload')).toBe('proven')
  expect(await sent('payload', { state: 'signed' })).toBe('approval_missing')
  expect(await sent('payload', { raw: '0x01' })).toBe('record_not_cleared')
  expect(await sent('payload', { maxPriorityFeePerGasWei: 2n })).toBe('record_not_cleared')
  // What closes a nonce is signed without anybody's approval.
  expect(await sent('noop')).toBe('record_not_cleared')
  expect(await sent('noop', {}, [])).toBe('approval_missing')
  expect(await sent('payload', {}, [], 'revoke')).toBe('approval_missing')
})
