import { serializeTransaction } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { LEFT_ALONE, NO_TRANSACTION } from '../../src/chain/nodes.ts'
import { RolekeeperError, refuse } from '../../src/errors.ts'
import { orderAttempt, revocationPayload } from '../../src/pipeline/transactions/transaction.ts'
import type { Slot } from '../../src/workflow/slot.ts'
import { createWorld, FEES, freshSlot, pair, purposes, receiptOf } from '../support/carry-world.ts'
import { FEE_POLICY, MARKET, TOKEN, workflowOf } from '../support/workflows.ts'

const REVOCATION = revocationPayload({ token: TOKEN, spender: MARKET, assets: 1n })

let setup: ReturnType<typeof createWorld>
beforeEach(() => {
  setup = createWorld()
})

describe('carrying a workflow in flight', () => {
  it('signs once per slot and looks once more while the key does, behind a barrier, then sends behind another', async () => {
    const { workflow } = await setup.settle(pair())
    expect(workflow.slots.map(purposes)).toEqual([['payload sent'], ['payload sent']])
    const shape = setup.world.log.map((line) => line.split(' ')[0])
    expect(shape).toEqual(['barrier', 'kms', 'kms', 'look', 'barrier', 'send', 'send', 'outbox', 'outbox'])
  })

  it('signs the stored digest after a crash, never another', async () => {
    const before = pair()
    const digests = before.slots.map((slot) => slot.attempts[0]?.digest)
    await setup.settle(before)
    expect(setup.world.asked).toEqual(digests)
  })

  it('sends the very bytes again when it does not know whether they arrived', async () => {
    setup.world.sendOutcome = 'unknown'
    const { workflow } = await setup.settle(pair())
    const sent = setup.world.log.filter((line) => line.startsWith('send'))
    setup.world.headNumber = 12n
    await setup.settle(workflow)
    expect(setup.world.log.filter((line) => line.startsWith('send'))).toEqual([...sent, ...sent])
    expect(setup.world.asked).toHaveLength(2)
  })

  it('asks no KMS and sends nothing first while the gate is closed, and keeps its nonces', async () => {
    setup.world.gate = { closed: true, paused: false }
    const { workflow } = await setup.settle(pair())
    expect(setup.world.asked).toEqual([])
    expect(workflow.slots.map(purposes)).toEqual([['payload ordered'], ['payload ordered']])
  })

  it('sends nothing later by itself that no node could be sent, but under the gate and after another look', async () => {
    Object.assign(setup.world, { sendOutcome: 'rejected', sendDetail: LEFT_ALONE })
    const { workflow } = await setup.settle(pair())
    expect(workflow.slots.map(purposes)).toEqual([['payload signed'], ['payload signed']])
    Object.assign(setup.world, { sendOutcome: 'accepted', sendDetail: 'ok', log: [], headNumber: 13n })
    setup.world.gate = { closed: true, paused: false }
    const held = await setup.settle(workflow)
    expect(setup.world.log).toEqual(['barrier'])
    setup.world.gate = { closed: false, paused: false }
    setup.world.nowMs += 2_001
    const { slots } = (await setup.settle(held.workflow)).workflow
    expect(slots.map(purposes)).toEqual([['payload sent'], ['payload sent']])
    expect(setup.world.log.slice(1).map((line) => line.split(' ')[0])).toEqual([
      ...['barrier', 'look', 'send', 'send', 'outbox', 'outbox'],
    ])
    expect(setup.world.alarms).toEqual([])
  })

  it.each(['is signed', 'is sent'])(
    'holds back a payload whose signer becomes SAFE right before it %s',
    async (when) => {
      let barriers = 0
      setup.world.onBarrier = () => {
        barriers += 1
        if (barriers === (when === 'is signed' ? 1 : 2))
          setup.world.gate = { closed: false, paused: false, safe: refuse('signer_safe', 'x') }
      }
      const { workflow } = await setup.settle(pair())
      expect(setup.world.log.filter((line) => line.startsWith('send'))).toEqual([])
      expect(setup.world.asked).toHaveLength(when === 'is signed' ? 0 : 2)
      expect(workflow.slots.map((slot) => slot.closing)).toEqual([undefined, undefined])
    },
  )

  it('closes its nonces with no-ops when the clearance runs out before anything was sent', async () => {
    setup.world.nowMs = 30_000
    const { workflow } = await setup.settle(pair())
    expect(workflow.slots.map(purposes)).toEqual([
      ['payload ordered', 'noop sent'],
      ['payload ordered', 'noop sent'],
    ])
    expect(workflow.slots.map((slot) => slot.closing)).toEqual(['expired', 'earlier_slot_failed'])
  })

  it('still signs a payload one millisecond before the clearance runs out', async () => {
    setup.world.nowMs = 29_999
    const { workflow } = await setup.settle(pair())
    expect(workflow.slots.map(purposes)).toEqual([['payload sent'], ['payload sent']])
  })

  it('closes its nonces when the last look refuses, and sends no payload', async () => {
    setup.world.recheck = { ok: false, check: 'position_healthy', message: 'healthy again' }
    const { workflow } = await setup.settle(pair())
    expect(workflow.slots.map(purposes)).toEqual([
      ['payload signed', 'noop sent'],
      ['payload signed', 'noop sent'],
    ])
    expect(workflow.note?.check).toBe('position_healthy')
  })

  it('asks no key for a payload of a record that its rules do not let be signed, also where some form of it is public', async () => {
    const { workflow: sent } = await setup.settle(pair())
    setup.world.proof = { ok: false, check: 'record_not_cleared', message: 'forged' }
    const { workflow } = await setup.settle(pair())
    expect(workflow.slots.map(purposes)).toEqual([
      ['payload ordered', 'noop sent'],
      ['payload ordered', 'noop sent'],
    ])
    expect(workflow.note?.check).toBe('record_not_cleared')
    setup.world.headNumber = 13n
    const { workflow: bumped } = await setup.settle(sent)
    expect(purposes(bumped.slots[0])).toEqual(['payload sent', 'payload ordered', 'noop sent'])
  })

  it('offers no more than the policy allows for what closes a nonce: who wrote the record gave all of our native coin to who mines it', async () => {
    const { workflow: sent } = await setup.settle(pair())
    const dear = { maxFeePerGasWei: 10n ** 15n, maxPriorityFeePerGasWei: 10n ** 15n }
    const { maxFeePerGasWei: capWei } = FEE_POLICY
    const closing = (slot: Slot, purpose: 'noop' | 'payload', before: Slot['attempts'] = []): Slot => {
      const revoking = { ...slot, kind: 'revoke', payload: REVOCATION } as const
      const bare = purpose === 'noop' ? { ...slot, closing: 'expired' } : revoking
      return { ...bare, attempts: [...before, orderAttempt(bare, purpose, dear, 1_000)] }
    }
    const slots = [
      closing(freshSlot(0), 'noop'),
      closing(freshSlot(1), 'noop', sent.slots[1]?.attempts),
      closing(freshSlot(2), 'payload'),
      // No raise of what is public fits below the cap: nodes that dropped it take what does.
      closing(freshSlot(3), 'noop', [
        {
          ...orderAttempt(freshSlot(3), 'payload', { ...FEES, maxFeePerGasWei: capWei }, 1_000),
          state: 'sent',
          raw: '0x01',
        },
      ]),
    ]
    setup.world.asked = []
    const { workflow } = await setup.settle({ ...pair(), slots })
    expect(workflow.slots.map(purposes)).toEqual([
      ['noop ordered', 'noop sent'],
      ['payload sent', 'noop ordered', 'noop sent'],
      ['payload ordered', 'payload sent'],
      ['payload sent', 'noop ordered', 'noop sent'],
    ])
    const last = workflow.slots.map(({ attempts }) => attempts.at(-1))
    expect(setup.world.asked).toEqual(last.map((attempt) => attempt?.digest))
    for (const attempt of last) expect(attempt?.maxFeePerGasWei).toBeLessThanOrEqual(capWei)
    // What was public is raised by as much as nodes demand.
    expect(last[1]?.maxFeePerGasWei).toBeGreaterThan(FEES.maxFeePerGasWei)
    setup.world.asked = []
    setup.world.baseFeePerGasWei = capWei + 1n
    await setup.settle({ ...pair(), slots: slots.slice(0, 1) })
    expect(setup.world.asked).toEqual([])
  })

  it('closes with no-ops what a changed ruleset no longer covers', async () => {
    setup.world.rulesetHash = 'other'
    const { workflow } = await setup.settle(pair())
    expect(workflow.slots[0]?.closing).toBe('ruleset_changed')
    expect(purposes(workflow.slots[0])).toEqual(['payload ordered', 'noop sent'])
  })

  it('while paused sends no payload that no node has, and still bumps what is public', async () => {
    const { workflow } = await setup.settle(pair())
    setup.world.gate = { closed: false, paused: true }
    setup.world.headNumber = 13n
    const bumped = await setup.settle(workflow)
    expect(purposes(bumped.workflow.slots[0])).toEqual(['payload sent', 'payload sent'])
    const fresh = await setup.settle(pair())
    expect(purposes(fresh.workflow.slots[0])).toEqual(['payload ordered'])
  })

  it.each([
    ['its signer is SAFE', { safe: refuse('signer_safe', 'in doubt') }, {}, 'signer_safe'],
    [
      'it is quarantined',
      {},
      { quarantined: { atMs: 1, note: { check: 'three_strikes', message: 'thrice' } } },
      'quarantined',
    ],
  ])('when %s, closes what no node has and carries on what is public', async (_, gate, mark, closing) => {
    const { workflow: sent } = await setup.settle(pair())
    setup.world.gate = { ...setup.world.gate, ...gate }
    const closed = (await setup.settle({ ...pair(), ...mark })).workflow
    expect(closed.slots.map((slot) => slot.closing)).toEqual([closing, closing])
    expect(closed.slots.map(purposes)).toEqual([
      ['payload ordered', 'noop sent'],
      ['payload ordered', 'noop sent'],
    ])
    setup.world.headNumber = 13n
    const bumped = (await setup.settle({ ...sent, ...mark })).workflow
    expect(bumped.slots.map(purposes)).toEqual([['payload sent', 'payload sent'], ['payload sent']])
    expect(setup.world.asked).toHaveLength(5)
  })

  it('bumps only the nonce whose turn it is, at the block it is due and not before', async () => {
    const { workflow } = await setup.settle(pair())
    setup.world.headNumber = 12n
    expect(purposes((await setup.settle(workflow)).workflow.slots[0])).toEqual(['payload sent'])
    setup.world.headNumber = 13n
    const bumped = (await setup.settle(workflow)).workflow
    expect(bumped.slots.map(purposes)).toEqual([['payload sent', 'payload sent'], ['payload sent']])
    const [first, second] = bumped.slots[0]?.attempts ?? []
    expect(second?.maxFeePerGasWei).toBe(((first?.maxFeePerGasWei ?? 0n) * 11_250n) / 10_000n)
  })

  it('takes whichever of its own hashes was mined', async () => {
    const { workflow } = await setup.settle(pair())
    setup.world.headNumber = 13n
    const bumped = (await setup.settle(workflow)).workflow
    const older = bumped.slots[0]?.attempts[0]?.hash ?? '0x'
    setup.world.receipts.set(older, receiptOf(older))
    const mined = (await setup.settle(bumped)).workflow
    expect(mined.slots[0]).toMatchObject({ state: 'mined', inclusion: { hash: older } })
  })

  it('replaces the action by a no-op when the approval reverted', async () => {
    const { workflow } = await setup.settle(pair())
    const hash = workflow.slots[0]?.attempts[0]?.hash ?? '0x'
    setup.world.receipts.set(hash, receiptOf(hash, 'reverted'))
    const { workflow: closed } = await setup.settle(workflow)
    expect(purposes(closed.slots[1])).toEqual(['payload sent', 'noop sent'])
  })

  it('opens a mined slot again when a reorg took its block, and sends the same bytes', async () => {
    const { workflow } = await setup.settle(pair())
    const hash = workflow.slots[0]?.attempts[0]?.hash ?? '0x'
    setup.world.receipts.set(hash, receiptOf(hash))
    setup.world.headNumber = 11n
    const mined = (await setup.settle(workflow)).workflow
    expect(mined.slots[0]?.state).toBe('mined')
    setup.world.receipts.clear()
    setup.world.headNumber = 12n
    setup.world.log.length = 0
    const reopened = (await setup.settle(mined)).workflow
    expect(reopened.slots[0]?.state).toBe('open')
    expect(setup.world.log).toContain(`send ${hash}`)
    expect(setup.world.asked).toHaveLength(2)
  })

  it('sends once more, at once, what an earlier process had sent, and not at each look', async () => {
    const { workflow } = await setup.settle(pair())
    setup = createWorld()
    await setup.settle(workflow)
    const sends = () => setup.world.log.filter((line) => line.startsWith('send'))
    expect(sends()).toHaveLength(2)
    await setup.settle(workflow)
    expect(sends()).toHaveLength(2)
  })

  it('sends again what was mined above a head that went back, and does not open it', async () => {
    const { workflow } = await setup.settle(pair())
    const hash = workflow.slots[0]?.attempts[0]?.hash ?? '0x'
    setup.world.receipts.set(hash, receiptOf(hash))
    const mined = (await setup.settle(workflow)).workflow
    setup.world.receipts.clear()
    setup.world.headNumber = 8n
    setup.world.log.length = 0
    const lagging = (await setup.settle(mined)).workflow
    expect(lagging.slots[0]?.state).toBe('mined')
    expect(setup.world.log).toContain(`send ${hash}`)
  })

  it("gives a slot up only when another's transaction is final at its nonce; its signer is SAFE from the first sight of it", async () => {
    const { workflow } = await setup.settle(pair())
    expect(setup.world.safe).toEqual([])
    setup.world.foreign.set(7, 11n)
    setup.world.finalized = 10n
    expect((await setup.settle(workflow)).workflow.slots[0]?.consumedByOther).toBeUndefined()
    expect(setup.world.safe).toContainEqual(
      expect.stringMatching(/^nonce_taken: transaction 0x.* in block 11$/),
    )
    setup.world.finalized = 11n
    const given = (await setup.settle(workflow)).workflow
    expect(given.slots[0]).toMatchObject({ state: 'final', consumedByOther: true })
  })

  it('says that an authorization took its nonce where no transaction did', async () => {
    const { workflow } = await setup.settle(pair())
    setup.world.foreign.set(7, 11n)
    setup.world.foreignHash = NO_TRANSACTION
    setup.world.finalized = 11n
    const given = (await setup.settle(workflow)).workflow
    expect(setup.world.safe).toContain('nonce_taken: no transaction of its own in block 11')
    expect(given.slots[0]).toMatchObject({ state: 'final', consumedByOther: true })
  })

  it('does not take for somebody else’s what an ended workflow had at the nonce that it fills', async () => {
    const { workflow: ended } = await setup.settle(pair())
    const hash = ended.slots[0]?.attempts[0]?.hash ?? '0x'
    setup.world.receipts.set(hash, receiptOf(hash))
    setup.world.finalized = 11n
    const bare = freshSlot(0)
    const noop = orderAttempt(bare, 'noop', FEES, 1_000)
    const fill = workflowOf('in_flight', {
      id: 'fill',
      signer: bare.signer,
      slots: [{ ...bare, closing: 'final_lost', attempts: [noop] }],
    })
    const { workflow } = await setup.settle(fill)
    expect(workflow.slots[0]).toMatchObject({ state: 'final', consumedByOther: true })
    expect(new Set(setup.world.safe)).toEqual(new Set([`landed_after_all: transaction ${hash} in block 11`]))
  })

  it('looks for what took its nonce where nobody knows, and concludes nothing meanwhile', async () => {
    const { workflow } = await setup.settle(pair())
    setup.world.chainNonce = 8
    setup.world.finalized = 1_000n
    const waiting = (await setup.settle(workflow)).workflow
    expect(waiting.slots[0]).toMatchObject({ state: 'open' })
    expect(setup.world.sought).toContain(7)
    expect(setup.world.sought).not.toContain(8)
  })

  it('keeps the nonce and raises an alarm when every node rejects', async () => {
    setup.world.sendOutcome = 'rejected'
    const { workflow } = await setup.settle(pair())
    expect(workflow.slots.map(purposes)).toEqual([['payload sent'], ['payload sent']])
    expect(setup.world.alarms).toEqual(['broadcast.refused', 'broadcast.refused'])
  })

  it('keeps its order and alarms when the KMS denies', async () => {
    setup.world.kms = new RolekeeperError('kms.denied', 'denied')
    const { workflow } = await setup.settle(pair())
    expect(workflow.slots.map(purposes)).toEqual([['payload ordered'], ['payload ordered']])
    expect(setup.world.alarms).toEqual(['kms.denied'])
  })

  it('is concluded once every slot is final', async () => {
    const { workflow } = await setup.settle(pair())
    for (const slot of workflow.slots) {
      const hash = slot.attempts[0]?.hash ?? '0x'
      setup.world.receipts.set(hash, receiptOf(hash))
    }
    setup.world.finalized = 11n
    expect((await setup.settle(workflow)).ms).toBe(123_456)
  })
})

describe('an order', () => {
  it('is exactly the unsigned EIP-1559 bytes of its fields', () => {
    const slot = freshSlot(0)
    expect(slot.attempts[0]?.unsigned).toBe(
      serializeTransaction({
        type: 'eip1559',
        chainId: 31_337,
        nonce: 7,
        to: slot.payload.to,
        gas: 100_000n,
        maxFeePerGas: FEES.maxFeePerGasWei,
        maxPriorityFeePerGas: FEES.maxPriorityFeePerGasWei,
      }),
    )
  })
})
