import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Mail, OutgoingMail } from '../../src/ops/mail.ts'
import type { SignerOrder, Submission } from '../../src/ops/orders.ts'

/** Both ends of one way for orders. */
export type MailWorld = { readonly mail: Mail; readonly outgoing: OutgoingMail }

export const SEATED = `0x${'ad'.repeat(20)}` as const
/** Who says it. */
export const BY = { user: 'anna@ops1' }
export const deposit: Submission = {
  by: BY,
  role: 'allocator',
  workflowType: 'deposit',
  shadow: false,
  input: { vaultAddress: '0x1', withdrawals: [{ marketAddress: '0x2', assets: '3\n' }] },
}
export const release: SignerOrder = { verb: 'release', signer: SEATED, yes: true }
export const held = { id: 'w'.repeat(8), signer: SEATED }
export const HASH = 'a1'.repeat(32)

/** What people's orders are, whatever carries them. */
export function mailContract(open: () => Promise<MailWorld>): void {
  it('carries an order to who takes it, and the reply back, once', async () => {
    const { mail, outgoing } = await open()
    const [first, second] = [randomUUID(), randomUUID()]
    expect([await mail.submissions(), await mail.signerOrders()]).toEqual([[], []])
    const submitted = await outgoing.submit(first, deposit)
    const ordered = await outgoing.orderAbout(second, release)
    expect(await mail.submissions()).toEqual([{ id: first, order: deposit }])
    expect(await mail.signerOrders()).toEqual([{ id: second, order: release }])
    expect([await submitted.reply(), await ordered.reply()]).toEqual([null, null])

    await mail.reply(first, { workflowId: 'w1' })
    await mail.reply(second, { check: 'not_safe', message: 'It is not.' })
    expect([await mail.submissions(), await mail.signerOrders()]).toEqual([[], []])
    expect(await submitted.reply()).toEqual({ workflowId: 'w1' })
    expect(await ordered.reply()).toEqual({ check: 'not_safe', message: 'It is not.' })

    const again = await outgoing.submit(first, deposit)
    expect([await mail.submissions(), await again.reply()]).toEqual([[], { workflowId: 'w1' }])
    expect([await again.withdraw(), await submitted.reply()]).toEqual([false, { workflowId: 'w1' }])
  })

  it('gives nobody what its author took back', async () => {
    const { mail, outgoing } = await open()
    const [first, second] = [randomUUID(), randomUUID()]
    const placed = [await outgoing.submit(first, deposit), await outgoing.orderAbout(second, release)]
    expect((await mail.submissions()).length).toBe(1)
    for (const each of placed) expect([await each.withdraw(), await each.withdraw()]).toEqual([true, true])
    expect([await mail.submissions(), await mail.signerOrders()]).toEqual([[], []])
    // Who has read it before does not act on it any more.
    expect([await mail.take(first), await mail.take(second)]).toEqual([false, false])
  })

  it('leaves what was taken to who took it, whatever its author says then', async () => {
    const { mail, outgoing } = await open()
    const [first, second] = [randomUUID(), randomUUID()]
    const placed = [await outgoing.submit(first, deposit), await outgoing.orderAbout(second, release)]
    expect([await mail.take(first), await mail.take(second)]).toEqual([true, true])
    for (const each of placed) expect(await each.withdraw()).toBe(false)
    // Who took it may have ended since: it is there, and taken, for the next.
    expect(await mail.submissions()).toEqual([{ id: first, order: deposit }])
    expect(await mail.signerOrders()).toEqual([{ id: second, order: release }])
    expect(await mail.take(first)).toBe(true)
    for (const id of [first, second]) await mail.reply(id, { check: 'paused', message: 'It is.' })
    expect([await mail.submissions(), await mail.signerOrders()]).toEqual([[], []])
    for (const each of placed) expect(await each.withdraw()).toBe(false)
  })

  it('takes an answer for the very hash that it was given for, however often it is asked for', async () => {
    const { mail, outgoing } = await open()
    const yes = { verdict: 'approve', hash: HASH, by: BY } as const
    expect(await mail.answers(held.id, HASH)).toEqual([])
    await outgoing.answer(held, yes)
    await outgoing.answer(held, yes)
    expect(await mail.answers(held.id, 'b2'.repeat(32))).toEqual([])
    expect(await mail.answers('other', HASH)).toEqual([])
    expect([await mail.answers(held.id, HASH), await mail.answers(held.id, HASH)]).toEqual([[yes], [yes]])
    // What would be approved has changed meanwhile.
    const no = { verdict: 'reject', hash: 'b2'.repeat(32), by: BY } as const
    await outgoing.answer(held, no)
    expect(await mail.answers(held.id, 'b2'.repeat(32))).toEqual([no])
    await mail.forgetAnswers(held.id)
  })

  it('keeps the answers of several people apart, with what proves whose each is', async () => {
    const { mail, outgoing } = await open()
    const people = [
      { user: 'anna@ops1', name: 'anna', signature: 'c2ln' },
      { user: 'anna@ops1', name: 'ben', signature: 'c2lu' },
      { user: 'carla@ops2' },
    ]
    const answers = people.map((by) => ({ verdict: 'approve', hash: HASH, by }) as const)
    const workflow = { ...held, id: 'people' }
    for (const answer of answers) await outgoing.answer(workflow, answer)
    const found = await mail.answers('people', HASH)
    expect(found.toSorted((a, b) => ((a.by.name ?? 'z') < (b.by.name ?? 'z') ? -1 : 1))).toEqual(answers)
  })

  it('takes nothing that is larger than any order', async () => {
    const { mail, outgoing } = await open()
    const frame = JSON.stringify({ ...deposit, input: { text: '' } }).length
    const input = (bytes: number) => ({ ...deposit, input: { text: 'x'.repeat(bytes - frame) } })
    const id = randomUUID()
    await outgoing.submit(id, input(65_536))
    const large = { code: 'order.too_large', facts: { bytes: 65_537 } }
    await expect(async () => outgoing.submit(randomUUID(), input(65_537))).rejects.toMatchObject(large)
    expect((await mail.submissions()).map((each) => each.id)).toEqual([id])
  })
}
