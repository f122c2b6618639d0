import { setTimeout } from 'node:timers/promises'
import { RolekeeperError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'

/** The journal is looked at this often. */
export const LOOK_MS = 200
/** A keeper that runs takes an order at once; one that has not by then is not running. */
const TAKEN_MS_MAX = 15_000

/**
 * Wait for the reply of a directory's keeper to an order.
 * @throws RolekeeperError `order.refused` with the keeper's reason, `order.not_taken` when none replies.
 */
export async function replyTo<T extends object>(
  id: string,
  directory: string,
  journal: Pick<Journal, 'getValue'>,
): Promise<T> {
  const { replyKey } = await import('../ops/mail.ts')
  for (let waitedMs = 0; waitedMs < TAKEN_MS_MAX; waitedMs += LOOK_MS) {
    const text = await journal.getValue(replyKey(id))
    if (text !== null) {
      const reply: T | { readonly check: string; readonly message: string } = JSON.parse(text)
      if (!('check' in reply)) return reply
      throw new RolekeeperError('order.refused', `${reply.check}: ${reply.message}`)
    }
    await setTimeout(LOOK_MS)
  }
  throw new RolekeeperError('order.not_taken', `No keeper of ${directory} took the order; it is withdrawn.`, {
    fix: 'start the keeper, or look why it does not answer; where it works in another directory, name that with --directory.',
  })
}
