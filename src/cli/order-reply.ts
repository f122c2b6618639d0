import { setTimeout } from 'node:timers/promises'
import { RolekeeperError } from '../errors.ts'
import type { OutgoingMail, Placed, Reply } from '../ops/mail.ts'

/** Records are looked at this often. */
export const LOOK_MS = 200

type Waited = Pick<OutgoingMail, 'to' | 'takenMsMax' | 'fix'>

/**
 * Wait for what came of an order, and take it back where nobody takes it.
 * @throws RolekeeperError `order.refused` with the keeper's reason, `order.not_taken`, and `order.not_replied` where somebody
 * took it and nothing more was heard.
 */
export async function replyTo<Done extends object>(placed: Placed<Done>, mail: Waited): Promise<Done> {
  const reply = (await awaitReply(placed, mail)) ?? (await takeBack(placed, mail))
  if ('check' in reply) throw new RolekeeperError('order.refused', `${reply.check}: ${reply.message}`)
  return reply
}

async function awaitReply<Done>(placed: Placed<Done>, { takenMsMax }: Waited): Promise<Reply<Done> | null> {
  for (let waitedMs = 0; waitedMs < takenMsMax; waitedMs += LOOK_MS) {
    const reply = await placed.reply()
    if (reply !== null) return reply
    await setTimeout(LOOK_MS)
  }
  return null
}

async function takeBack<Done>(placed: Placed<Done>, mail: Waited): Promise<Reply<Done>> {
  const { to, fix } = mail
  if (await placed.withdraw()) {
    throw new RolekeeperError('order.not_taken', `No ${to} took the order; it is withdrawn.`, { fix })
  }
  // It was taken at the last moment.
  const reply = await awaitReply(placed, mail)
  if (reply !== null) return reply
  throw new RolekeeperError(
    'order.not_replied',
    `The ${to} took the order, and did not say what came of it.`,
    {
      fix: 'see `rolekeeper workflows list` and `rolekeeper signer show` before it is ordered again.',
    },
  )
}
