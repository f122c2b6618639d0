import { expect, it } from 'vitest'
import type { Head } from '../../../../src/chain/nodes.ts'
import { noncesFinding, overdueOf, passedByOf } from '../../../../src/keeper/health/findings/nonces.ts'
import type { Attempt, Slot } from '../../../../src/workflow/slot.ts'
import type { Workflow } from '../../../../src/workflow/workflow.ts'
import { attemptOf, proposalOf, slotOf, workflowOf } from '../../../support/workflows.ts'

const codes = (workflow: Workflow, nowMs: number) => overdueOf(workflow, nowMs).map(({ code }) => code)
const NOW = 10_000_000

it.each([
  ['a nonce that is open', 60_000, 'nonce.stuck', workflowOf('in_flight', { slots: [slotOf()] }), 1_000],
  [
    'a nonce that is mined and not final',
    1_800_000,
    'nonce.not_final',
    workflowOf('in_flight', { slots: [slotOf({ state: 'mined' })], updatedAtMs: NOW }),
    NOW,
  ],
  [
    'what is final and waits for nodes, or for room under the fee cap, to be ended',
    120_000,
    'workflow.not_ended',
    workflowOf('in_flight', { slots: [slotOf({ state: 'final' })], updatedAtMs: NOW }),
    NOW,
  ],
  [
    'what is final, and neither confirmed nor ended unconfirmed',
    660_000,
    'workflow.not_confirmed',
    workflowOf('confirmed', { awaiting: { blockNumber: 7n, postconditions: [], sinceMs: NOW } }),
    NOW,
  ],
])('says of %s that it is overdue one millisecond past %i', (_, limitMs, code, workflow, sinceMs) => {
  expect(codes(workflow, sinceMs + limitMs)).toEqual([])
  expect(codes(workflow, sinceMs + limitMs + 1)).toEqual([code])
})

it('says of a record that is not confirmed what holds for it: there is no chain to compare', () => {
  const awaiting = { blockNumber: 7n, postconditions: [], sinceMs: NOW }
  const record = proposalOf({ workflowType: 'role.vault_owner.vaultOwnerSettingsSave' })
  const [said] = overdueOf(workflowOf('confirmed', { awaiting, proposal: record }), NOW + 660_001)
  expect(said?.message).toMatch(/taken by the service to be saved, .* and see at the service whether/)
  expect(said?.message).not.toMatch(/chain|nodes/)
})

type Given = Partial<Head> & { readonly nowMs?: number; readonly slot?: Slot['state'] }
it.each<[string, Partial<Attempt>, Given, string | undefined]>([
  ['said of one that three blocks could have taken', {}, {}, 'nonce.passed_by'],
  ['not said of 25 s', {}, { nowMs: 26_000 }, undefined],
  ['not said of two blocks', {}, { number: 102n }, undefined],
  ['not said where the base fee is above what it offers', {}, { baseFeePerGasWei: 1_000n }, undefined],
  ['not said of what no node has been sent', { state: 'signed' }, {}, undefined],
  ['not said of what is in a block', {}, { slot: 'mined' }, undefined],
])('a nonce that is passed by is %s', (_, changes, { nowMs = 26_001, slot = 'open', ...block }, code) => {
  const attempt = attemptOf({ state: 'sent', sentAtBlock: 100n, maxFeePerGasWei: 999n, ...changes })
  const head = {
    number: 103n,
    hash: '0x1',
    parentHash: '0x0',
    timestampS: 0,
    baseFeePerGasWei: 999n,
  } as const
  const workflow = workflowOf('in_flight', { slots: [slotOf({ state: slot, attempts: [attempt] })] })
  expect(passedByOf([workflow], { ...head, ...block }, nowMs)?.code).toBe(code)
})

it('says of a nonce that is stuck that it is passed by, where that is why', () => {
  const attempt = attemptOf({ state: 'sent', sentAtBlock: 100n, maxFeePerGasWei: 999n })
  const workflow = workflowOf('in_flight', { slots: [slotOf({ attempts: [attempt] })] })
  const at = (baseFeePerGasWei: bigint) => {
    const head = { number: 103n, hash: '0x1', parentHash: '0x0', timestampS: 0, baseFeePerGasWei } as const
    const finding = noncesFinding('liquidator', [workflow], head, 100_000)
    return finding.state === 'failing' ? finding.error.code : finding.state
  }
  expect([at(999n), at(1_000n)]).toEqual(['nonce.passed_by', 'nonce.stuck'])
})
