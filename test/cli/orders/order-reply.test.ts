import { describe, expect, it } from 'vitest'
import { replyTo } from '../../../src/cli/orders/order-reply.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import type { Placed, ReplyText } from '../../../src/ops/mail.ts'

const said = { said: 'done' }
const mail = { to: 'keeper of here', fix: 'start it.', takenMsMax: 1 }

/** An order whose author is heard of by what it is answered, one after another. */
const placedWith = (
  replies: readonly Awaited<ReturnType<Placed<ReplyText>['reply']>>[],
  withdrawn: boolean,
) => {
  let asked = 0
  const reply = async () => {
    asked += 1
    return replies[asked - 1] ?? null
  }
  return { reply, withdraw: async () => withdrawn }
}

describe('the reply to an order', () => {
  it('is what came of it, or why it was refused', async () => {
    expect(await replyTo(placedWith([said], true), mail, ' --directory d')).toEqual(said)
    const refused = placedWith([{ check: 'paused', message: 'It is.' }], true)
    await expect(replyTo(refused, mail, ' --directory d')).rejects.toMatchObject({ code: 'order.refused' })
  })

  it('is not waited for where nobody took it, and it was taken back', async () => {
    const error = { code: 'order.not_taken', message: expect.stringContaining('start it.') }
    await expect(replyTo(placedWith([], true), mail, ' --directory d')).rejects.toMatchObject(error)
  })

  it('is waited for where somebody took it at the last moment, and never said to be withdrawn', async () => {
    expect(await replyTo(placedWith([null, said], false), mail, ' --directory d')).toEqual(said)
    const away = new RolekeeperError('journal.unreachable', 'It is away.', { retry: 'later' })
    const throws = async () => {
      throw away
    }
    const lost = replyTo({ reply: throws, withdraw: throws }, mail, ' --directory d')
    await expect(lost).rejects.toMatchObject({ code: 'order.not_replied' })
    const silent = replyTo(placedWith([], false), mail, ' --directory d')
    await expect(silent).rejects.toMatchObject({
      code: 'order.not_replied',
      fix: 'see `rolekeeper workflows list --directory d` and `rolekeeper signer show --directory d` before it is ordered again.',
    })
  })
})
