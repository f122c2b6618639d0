import { afterEach, expect, it, vi } from 'vitest'
import { isTakenBy, LiveIndex } from '../../../src/journal/sqlite/live-index.ts'
import { proposalOf, SIGNER, workflowOf } from '../../support/workflows.ts'

afterEach(() => void vi.restoreAllMocks())

it('what ends leaves what is live of its role, its signer and its lot, and the others stay', () => {
  const signer = `0x${'Ab'.repeat(20)}` as const
  const about = (id: string) => workflowOf('requested', { id, signer, proposal: proposalOf({ lot: 'lot' }) })
  const lotless = workflowOf('requested', { id: 'c', signer: SIGNER })
  const live = new LiveIndex([about('a'), about('b'), lotless])
  const found = () =>
    [live.ofRole('liquidator'), live.ofSigner(signer), live.onLot('lot'), live.onLots(), live.all()].map(
      (group) => group.map(({ id }) => id).join(''),
    )
  expect(found()).toEqual(['abc', 'ab', 'ab', 'ab', 'abc'])
  const left = vi.spyOn(Map.prototype, 'delete')
  live.note({ ...about('a'), state: 'refused' })
  expect(found()).toEqual(['bc', 'b', 'b', 'b', 'bc'])
  expect(left).not.toHaveBeenCalledWith('lot')
  live.note({ ...about('b'), state: 'succeeded' })
  expect(found()).toEqual(['c', '', '', '', 'c'])
  // Lots are many, and nothing is kept of one that nobody is about.
  expect(left).toHaveBeenCalledWith('lot')
  live.note({ ...lotless, state: 'refused' })
  expect(found()).toEqual(['', '', '', '', ''])
})

it.each([
  ['another role’s', {}, true],
  ['another role’s in shadow', { shadow: true as const }, false],
  ['its own role’s', { role: 'liquidator' }, false],
])('a lot of %s workflow', (_whose, changes, taken) => {
  const other = { role: 'allocator', ...changes }
  expect(isTakenBy({ role: 'liquidator' }, other)).toBe(taken)
  // What is in shadow itself is held by anything of another role.
  expect(isTakenBy({ role: 'liquidator', shadow: true }, other)).toBe(other.role === 'allocator')
})
