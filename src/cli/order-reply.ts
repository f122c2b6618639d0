import { setTimeout } from 'node:timers/promises'
import { RolekeeperError } from '../errors.ts'
import type { OutgoingMail, Placed } from '../ops/mail.ts'

/** Records are looked at this often. */
export const LOOK_MS = 200

/**
 * Wait for what came of an order.
 * @throws RolekeeperError `order.refused` with the keeper's reason, `order.not_taken` when none replies.
 */
export async function replyTo<Done extends object>(
  placed: Placed<Done>,
  { to, takenMsMax }: Pick<OutgoingMail, 'to' | 'takenMsMax'>,
): Promise<Done> {
  for (let waitedMs = 0; waitedMs < takenMsMax; waitedMs += LOOK_MS) {
    const reply = await placed.reply()
    if (reply !== null) {
      if (!('check' in reply)) return reply
      throw new RolekeeperError('order.refused', `${reply.check}: ${reply.message}`)
    }
    await setTimeout(LOOK_MS)
  }
  throw new RolekeeperError('order.not_taken', `No ${to} took the order; it is withdrawn.`, {
    fix: 'start the keeper, or look why it does not answer; where it works in another directory, name that with --directory.',
  })
}
