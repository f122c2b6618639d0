import { expect, it } from 'vitest'
import { inputShape, inputShapes } from '../../../src/guard/policy/inputs.ts'

const MOBILITY = 'role.asset_manager.vaultShareMobilityManagerAction'

it('a rule for all choices of an input can name only what each of them has', () => {
  expect(Object.fromEntries(inputShape(MOBILITY, {}) ?? [])).toEqual({
    vaultAddress: 'address',
    action: 'text',
  })
  expect(Object.fromEntries(inputShape(MOBILITY, { action: 'set_trusted_recipient' }) ?? [])).toEqual({
    vaultAddress: 'address',
    action: 'text',
    recipientAddress: 'address',
    trusted: 'bool',
  })
  expect(inputShapes(MOBILITY, {}).map(({ size }) => size)).toEqual([4, 2, 3, 4])
})

it('a list of an input is named with what its elements have', () => {
  expect(Object.fromEntries(inputShape('role.allocator.vaultReallocationBatch', {}) ?? [])).toEqual({
    vaultAddress: 'address',
    'withdrawals[].marketAddress': 'address',
    'withdrawals[].assets': 'uint',
    'supplies[].marketAddress': 'address',
    'supplies[].assets': 'uint',
  })
})
