import { keccak256 } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { BrokenInvariant, RolekeeperError } from '../../src/errors.ts'
import { orderAttempt, revocationPayload } from '../../src/pipeline/transactions/transaction.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { createWorld, FEES, freshSlot, pair, purposes, receiptOf } from '../support/carry-world.ts'
import { MARKET, TOKEN } from '../support/workflows.ts'

let setup: ReturnType<typeof createWorld>
beforeEach(() => {
  setup = createWorld()
})
const sends = () => setup.world.log.filter((line) => line.startsWith('send'))

/** The same workflow, had its fees been offered at the cap. */
const atCap = (workflow: Workflow): Workflow => ({
  ...workflow,
  slots: workflow.slots.map((slot) => ({
    ...slot,
    attempts: slot.attempts.map((attempt) => ({ ...attempt, maxFeePerGasWei: 50_000_000_000n })),
  })),
})

/** The same workflow, as the journal has it when the process died between its sends and their record. */
const unrecorded = (workflow: Workflow): Workflow => ({
  ...workflow,
  updatedAtMs: 2_000,
  slots: workflow.slots.map((slot) => ({
    ...slot,
    attempts: slot.attempts.map((attempt) => ({ ...attempt, state: 'signed' as const })),
  })),
})

describe('a slot whose payload must not run', () => {
  it('is neither signed nor sent while the fee cap leaves no room for its no-op', async () => {
    setup.world.recheck = { ok: false, check: 'position_healthy', message: 'healthy again' }
    setup.world.kms = new RolekeeperError('kms.timeout', 'late', { retry: 'later' })
    setup.world.baseFeePerGasWei = 50_000_000_001n
    const { workflow } = await setup.settle(pair())
    setup.world.kms = null
    const held = (await setup.settle(workflow)).workflow
    expect(held.slots.map(purposes)).toEqual([['payload ordered'], ['payload ordered']])
    setup.world.baseFeePerGasWei = 50_000_000_000n
    const closed = (await setup.settle(held)).workflow
    expect(closed.slots.map(purposes)).toEqual([
      ['payload ordered', 'noop sent'],
      ['payload ordered', 'noop sent'],
    ])
  })

  it('does not have its public payload sent again', async () => {
    const workflow = atCap((await setup.settle(pair())).workflow)
    setup.world.baseFeePerGasWei = 50_000_000_001n
    setup.world.nowMs = 60_000
    setup.world.headNumber = 12n
    const before = sends().length
    const expired = (await setup.settle(workflow)).workflow
    expect(expired.slots.map(({ closing }) => closing)).toEqual(['expired', 'earlier_slot_failed'])
    expect(sends()).toHaveLength(before)
  })
})

describe('a process that died between a send and its record', () => {
  const died = async () => unrecorded((await setup.settle(pair())).workflow)

  it('finds what it had sent once the chain is past the nonce, and signs nothing more', async () => {
    const before = await died()
    for (const slot of before.slots) {
      const hash = slot.attempts[0]?.hash ?? '0x'
      setup.world.receipts.set(hash, receiptOf(hash))
    }
    setup.world.chainNonce = 9
    setup.world.nowMs = 59_000
    setup.world.asked.length = 0
    const { workflow } = await setup.settle(before)
    expect(workflow.slots.map(({ state, closing }) => ({ state, closing }))).toEqual([
      { state: 'mined', closing: undefined },
      { state: 'mined', closing: undefined },
    ])
    expect(setup.world.asked).toEqual([])
  })

  it('finds the payload that landed although its no-op was sent', async () => {
    const before = await died()
    setup.world.nowMs = 30_000
    const closed = (await setup.settle(before)).workflow
    expect(closed.slots.map(purposes)).toEqual([
      ['payload signed', 'noop sent'],
      ['payload signed', 'noop sent'],
    ])
    const hash = closed.slots[0]?.attempts[0]?.hash ?? '0x'
    setup.world.receipts.set(hash, receiptOf(hash))
    setup.world.chainNonce = 8
    const found = (await setup.settle(closed)).workflow
    expect(found.slots[0]).toMatchObject({ state: 'mined', inclusion: { hash, purpose: 'payload' } })
  })

  it('offers a no-op that replaces what may be public', async () => {
    const before = await died()
    setup.world.nowMs = 30_000
    const [payload, noop] = (await setup.settle(before)).workflow.slots[0]?.attempts ?? []
    expect(noop?.maxPriorityFeePerGasWei).toBe(((payload?.maxPriorityFeePerGasWei ?? 0n) * 11_250n) / 10_000n)
  })
})

describe('the last look', () => {
  const signedOnly = async () => {
    const { workflow } = await setup.settle(pair())
    setup.world.log.length = 0
    return unrecorded(workflow)
  }

  it('that is two seconds old lets the first send go', async () => {
    const signed = await signedOnly()
    setup.world.nowMs = 4_000
    setup.world.recheck = { ok: false, check: 'position_healthy', message: 'healthy again' }
    expect((await setup.settle(signed)).workflow.slots.map(purposes)).toEqual([
      ['payload sent'],
      ['payload sent'],
    ])
  })

  it('that is a millisecond older is taken again, and closes what it refuses', async () => {
    const signed = await signedOnly()
    setup.world.nowMs = 4_001
    setup.world.recheck = { ok: false, check: 'position_healthy', message: 'healthy again' }
    const { workflow } = await setup.settle(signed)
    expect(workflow.slots.map(purposes)).toEqual([
      ['payload signed', 'noop sent'],
      ['payload signed', 'noop sent'],
    ])
    const payloads = signed.slots.map((slot) => `send ${keccak256(slot.attempts[0]?.raw ?? '0x')}`)
    expect(sends().filter((line) => payloads.includes(line))).toEqual([])
  })

  it('is taken again where the clock was put back behind it', async () => {
    const signed = await signedOnly()
    setup.world.nowMs = -1
    setup.world.recheck = { ok: false, check: 'clock_behind', message: 'the clock is wrong' }
    expect((await setup.settle(signed)).workflow.slots.map(purposes)).toEqual([
      ['payload signed', 'noop sent'],
      ['payload signed', 'noop sent'],
    ])
  })

  it('comes too late where the clearance is over by the chain’s time, whatever a clock that was put back says', async () => {
    const signed = await signedOnly()
    setup.world.headTimestampS = 30
    expect((await setup.settle(signed)).workflow.slots.map(purposes)).toEqual([
      ['payload signed', 'noop sent'],
      ['payload signed', 'noop sent'],
    ])
  })
})

describe('a record that was changed', () => {
  const slot = freshSlot(0)
  const transfer = { ...slot.payload, data: `0xa9059cbb${'00'.repeat(64)}` } as const
  const asRevoke = { ...slot, kind: 'revoke', payload: transfer } as const
  const { digest = '0x' } = freshSlot(1).attempts[0] ?? {}
  it.each([
    [
      'a revocation that moves tokens',
      { ...asRevoke, attempts: [orderAttempt(asRevoke, 'payload', FEES, 1_000)] },
    ],
    ['another payload than what was ordered', { ...slot, payload: transfer }],
    ['another digest', { ...slot, attempts: slot.attempts.map((each) => ({ ...each, digest })) }],
  ])('to %s is not signed', async (_, changed) => {
    await expect(setup.settle({ ...pair(), slots: [changed] })).rejects.toThrow(BrokenInvariant)
    expect(setup.world.asked).toEqual([])
  })
})

it('a revocation that the KMS does not sign waits for it, whatever a look says of what was cleared', async () => {
  const payload = revocationPayload({ token: TOKEN, spender: MARKET, assets: 5n })
  const bare = { ...freshSlot(0), kind: 'revoke', payload, attempts: [] } as const
  const slot = { ...bare, attempts: [orderAttempt(bare, 'payload', FEES, 1_000)] }
  setup.world.recheck = { ok: false, check: 'position_healthy', message: 'nothing to take any more' }
  setup.world.kms = new RolekeeperError('sign.denied', 'denied', { retry: 'later' })
  expect(await setup.settle({ ...pair(), slots: [slot] })).toMatchObject({ ms: 1_000 })
  expect(setup.world.asked).toHaveLength(1)
})

describe('the kill switch', () => {
  it('ends a KMS call that is under way', async () => {
    setup.world.kmsHangs = true
    setup.world.onKms = () => {
      setup.world.gate = { closed: true, paused: false }
    }
    const { workflow } = await setup.settle(pair())
    expect(workflow.slots.map(purposes)).toEqual([['payload ordered'], ['payload ordered']])
    expect(setup.world.alarms).toEqual([])
  })

  it('holds a bump back, and lets the public bytes be sent again', async () => {
    const { workflow } = await setup.settle(pair())
    setup.world.gate = { closed: true, paused: false }
    setup.world.headNumber = 14n
    const [first] = sends()
    setup.world.log.length = 0
    const held = (await setup.settle(workflow)).workflow
    // Not even ordered: what is looked at now says nothing of when the gate opens.
    expect(purposes(held.slots[0])).toEqual(['payload sent'])
    expect(sends()[0]).toBe(first)
    setup.world.gate = { closed: false, paused: false }
    expect(purposes((await setup.settle(held)).workflow.slots[0])).toEqual(['payload sent', 'payload sent'])
  })
})

describe('a nonce at the fee cap', () => {
  it('stays as it is, and is closed by a no-op at the cap once it expired', async () => {
    setup.world.baseFeePerGasWei = 49_000_000_000n
    const capped = atCap((await setup.settle(pair())).workflow)
    setup.world.headNumber = 13n
    expect(purposes((await setup.settle(capped)).workflow.slots[0])).toEqual(['payload sent'])
    setup.world.nowMs = 60_000
    const closed = (await setup.settle(capped)).workflow
    expect(purposes(closed.slots[0])).toEqual(['payload sent', 'noop sent'])
    expect(closed.slots[0]?.attempts[1]?.maxFeePerGasWei).toBe(50_000_000_000n)
    // Not one more for each block from there on.
    setup.world.headNumber = 30n
    expect((await setup.settle(closed)).workflow.slots[0]?.attempts).toHaveLength(2)
  })
})

describe('a record that cannot be reached', () => {
  const away = new RolekeeperError('journal.unreachable', 'Redis is away.', { retry: 'later' })

  it('does not keep what was sent from going out again, once every two blocks, though it was never recorded as sent', async () => {
    setup.world.registerFails = away
    await expect(setup.settle(pair())).rejects.toBe(away)
    const { last } = setup.world
    if (last === null) throw new TypeError('nothing was carried')
    expect(last.slots.map(purposes)).toEqual([['payload signed'], ['payload signed']])
    const first = sends()
    expect(first).toHaveLength(2)
    for (const headNumber of [10n, 11n, 12n, 12n, 13n, 14n]) {
      setup.world.headNumber = headNumber
      await setup.resend(last)
    }
    expect(sends()).toEqual([...first, ...first, ...first])
    // Where each look takes long, heads are passed over: as likely all of one kind.
    for (const headNumber of [15n, 17n, 19n]) {
      setup.world.headNumber = headNumber
      await setup.resend(last)
    }
    expect(sends()).toHaveLength(5 * first.length)
    expect(setup.world.asked).toHaveLength(2)
  })

  it('has the turn of nonces far behind come at heads that are passed over too, and once where the head goes back', async () => {
    const { workflow } = await setup.settle(pair())
    const slots = workflow.slots.map((slot) => ({ ...slot, nonce: slot.nonce + 30 }))
    const sentAt = async (...heads: readonly bigint[]) => {
      setup.world.log.length = 0
      for (const headNumber of heads) {
        setup.world.headNumber = headNumber
        await setup.resend({ slots })
      }
      return sends().length
    }
    // Nonces 37 and 38, sent at head 10.
    expect(await sentAt(12n, 36n)).toBe(0)
    expect(await sentAt(38n, 40n, 164n)).toBe(2)
    expect(await sentAt(166n)).toBe(2)
    expect(await sentAt(5n, 6n, 7n, 8n)).toBe(2)
  })

  it('lets nothing go out that no barrier has passed', async () => {
    setup.world.onBarrier = () => {
      if (setup.world.asked.length > 0) throw away
    }
    await expect(setup.settle(pair())).rejects.toBe(away)
    const { last } = setup.world
    if (last === null) throw new TypeError('nothing was carried')
    expect(last.slots.map(purposes)).toEqual([['payload signed'], ['payload signed']])
    for (const headNumber of [10n, 12n, 200n]) {
      setup.world.headNumber = headNumber
      await setup.resend(last)
    }
    expect(sends()).toEqual([])
  })
})
