import { beforeEach, describe, expect, it } from 'vitest'
import { RolekeeperError, refuse } from '../../src/errors.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { createWorld, pair, purposes } from '../support/carry-world.ts'

let setup: ReturnType<typeof createWorld>
beforeEach(() => {
  setup = createWorld()
})

const shapes = ({ slots }: Workflow) => slots.map((slot) => [slot.closing, ...(purposes(slot) ?? [])])
const lookedAgain = () => setup.world.log.filter((entry) => entry === 'look again').length
/** Carry until both are public, then let the chain go on without them for three blocks. */
const stuck = async () => {
  const { workflow } = await setup.settle(pair())
  setup.world.headNumber = 13n
  return workflow
}
const RAISED = ['payload sent', 'payload sent']

describe('a bump', () => {
  it('looks again, and reserves all that the workflow’s gas may cost from then on', async () => {
    const workflow = await stuck()
    const { workflow: bumped } = await setup.settle(workflow)
    expect(shapes(bumped)).toEqual([
      [undefined, ...RAISED],
      [undefined, 'payload sent'],
    ])
    expect(lookedAgain()).toBe(1)
    expect(setup.world.reserved).toEqual([100_000n * 2_250_000_000n + 100_000n * 2_000_000_000n])
  })

  it('of more than a budget has left is not made, and nothing is looked at; the payload stays public', async () => {
    const workflow = await stuck()
    setup.world.budget = refuse('limit_day_gas', 'spent')
    expect((await setup.settle(workflow)).workflow).toBe(workflow)
    expect(lookedAgain()).toBe(0)
    setup.world.budget = { ok: true }
    expect((await setup.settle(workflow)).workflow.slots[0]?.attempts).toHaveLength(2)
  })

  it('of what would do something else by now is not made: a no-op closes it, and what comes after', async () => {
    const workflow = await stuck()
    setup.world.lookAgain = refuse('no_longer_runs', 'The payload at nonce 7 would revert now.')
    const { workflow: closed } = await setup.settle(workflow)
    expect(shapes(closed)).toEqual([
      ['no_longer_runs', 'payload sent', 'noop sent'],
      ['earlier_slot_failed', 'payload sent', 'noop sent'],
    ])
    expect(closed.note?.check).toBe('no_longer_runs')
  })

  it('is not made where the gate closed while it was looked at, as where its policy was left', async () => {
    const workflow = await stuck()
    setup.world.onLook = () => {
      setup.world.gate = { closed: true, paused: false }
    }
    expect((await setup.settle(workflow)).workflow).toBe(workflow)
    expect(setup.world.reserved).toEqual([])
  })

  it('is left for later where nodes do not show the chain as it is, and the same bytes go out again', async () => {
    const workflow = await stuck()
    setup.world.headNumber = 14n
    for (const unseen of ['head_stale', 'nodes_disagree', 'read_failed']) {
      setup.world.lookAgain = refuse(unseen, 'not seen')
      expect((await setup.settle(workflow)).workflow).toBe(workflow)
    }
    setup.world.lookFails = new RolekeeperError('node.unreachable', 'nobody answers', { retry: 'later' })
    setup.world.log = []
    setup.world.headNumber = 16n
    expect((await setup.settle(workflow)).workflow).toBe(workflow)
    // Once at a head, however often it is looked at.
    expect((await setup.settle(workflow)).workflow).toBe(workflow)
    expect(setup.world.log.filter((entry) => entry.startsWith('send'))).toHaveLength(2)
  })

  it('leaves a close-out as it is: no budget and no look stands in the way of a no-op', async () => {
    const workflow = await stuck()
    setup.world.budget = refuse('limit_day_gas', 'spent')
    setup.world.lookAgain = refuse('no_longer_runs', 'x')
    setup.world.nowMs = 40_000
    const { workflow: closed } = await setup.settle(workflow)
    expect(shapes(closed)).toEqual([
      ['expired', 'payload sent', 'noop sent'],
      ['earlier_slot_failed', 'payload sent', 'noop sent'],
    ])
    expect(lookedAgain()).toBe(0)
    setup.world.headNumber = 16n
    const { workflow: raised } = await setup.settle(closed)
    expect(purposes(raised.slots[0])).toEqual(['payload sent', 'noop sent', 'noop sent'])
  })
})
