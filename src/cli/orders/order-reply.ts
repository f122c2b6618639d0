import { setTimeout } from 'node:timers/promises'
import { RolekeeperError } from '../../errors.ts'
import type { OutgoingMail, Placed, Reply } from '../../ops/mail.ts'

/** Records are looked at this often. */
export const LOOK_MS = 200

type Waited = Pick<OutgoingMail, 'to' | 'takenMsMax' | 'fix'>

/**
 * Wait for what came of an order, and take it back where nobody takes it.
 * @param at what leads a command to where it was ordered.
 * @throws RolekeeperError `order.refused` with the keeper's reason, `order.not_taken`, and `order.not_replied` where it could
 * not be taken back and nothing more was heard.
 */
export async function replyTo<Done extends object>(
  placed: Placed<Done>,
  mail: Waited,
  at: string,
): Promise<Done> {
  const reply = (await awaitReply(placed, mail)) ?? (await takeBack(placed, mail, at))
  if ('check' in reply) throw new RolekeeperError('order.refused', `${reply.check}: ${reply.message}`)
  return reply
}

async function awaitReply<Done>(placed: Placed<Done>, { takenMsMax }: Waited): Promise<Reply<Done> | null> {
  const untilMs = performance.now() + takenMsMax
  do {
    const reply = await placed.reply().catch(passing)
    if (reply !== null) return reply
    await setTimeout(LOOK_MS)
  } while (performance.now() < untilMs)
  return null
}

async function takeBack<Done>(placed: Placed<Done>, mail: Waited, at: string): Promise<Reply<Done>> {
  const { to, fix } = mail
  if ((await placed.withdraw().catch(passing)) === true) {
    throw new RolekeeperError('order.not_taken', `No ${to} took the order; it is withdrawn.`, { fix })
  }
  // It was taken at the last moment, or Redis is away.
  const reply = await awaitReply(placed, mail)
  if (reply !== null) return reply
  throw new RolekeeperError(
    'order.not_replied',
    `It is not known what came of the order: no ${to} said so.`,
    {
      fix: `see \`rolekeeper workflows list${at}\` and \`rolekeeper signer show${at}\` before it is ordered again.`,
    },
  )
}

/** What passes by itself is no reply: the order stands all the same. */
function passing(error: unknown): null {
  if (error instanceof RolekeeperError && error.retry === 'later') return null
  throw error
}
