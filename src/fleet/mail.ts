import { type Refusal, RolekeeperError, refuse } from '../errors.ts'
import type { FleetPlace } from '../journal/redis/link/command-line.ts'
import type { RedisStore } from '../journal/redis/link/store.ts'
import {
  openOrderLine,
  readAnswers,
  readOrders,
  replyToOrder,
  takeOrder,
  type WaitingOrder,
  type WriteResult,
} from '../journal/redis/orders.ts'
import type { SeatToken } from '../journal/redis/seats/seat.ts'
import type { Mail, OutgoingMail, Placed, Reply, ReplyText, SubmittedWorkflow } from '../ops/mail.ts'
import {
  AGE_MS_MAX,
  answererOf,
  encodeOrder,
  parseAnswer,
  parseSignerOrder,
  parseSubmission,
  roleAbsent,
} from '../ops/orders.ts'
import { ORDERS } from '../queue/queue.ts'

/** Who holds a seat looks at its orders this often; a wake-up may come before. */
const RESCAN_MS = 1_000

/** What an order's content begins with. */
const KINDS = { submission: 'submission ', signer: 'signer ' } as const

/** The text of an order of a kind; undefined where it is of another. Pure. */
const textOf = ({ content }: WaitingOrder, kind: string): string | undefined =>
  content.startsWith(kind) ? content.slice(kind.length) : undefined

/** Take the orders of a seat that this instance holds, from wherever in the fleet they come. */
export function fleetMail(
  held: SeatToken,
  {
    store,
    journal,
  }: { readonly store: RedisStore; readonly journal: { readonly barrier: () => Promise<void> } },
): Mail {
  let reading: Promise<readonly WaitingOrder[]> | undefined
  const reply = async (id: string, given: Reply) => {
    // What it says was done is acknowledged before it is said.
    await journal.barrier()
    await replyToOrder(held, { id, reply: JSON.stringify(given) }, store)
  }
  const read = async () => {
    const all = await readOrders(held.seat, store)
    // What somebody acted on may have come to something: whoever goes on with it says so.
    const isWanted = ({ ageS, isTaken }: WaitingOrder) => isTaken || ageS * 1_000 <= AGE_MS_MAX
    for (const { id } of all.filter((order) => !isWanted(order))) await reply(id, tooLate)
    return all.filter(isWanted)
  }
  /** Both kinds are looked for together, and come together. */
  const waiting = async <Order>(kind: string, parse: (text: string) => Order | null) => {
    reading ??= read().finally(() => {
      reading = undefined
    })
    return (await reading).flatMap((order) => {
      const text = textOf(order, kind)
      if (text === undefined) return []
      const late = order.ageS * 1_000 > AGE_MS_MAX ? { isLate: true as const } : {}
      return [{ id: order.id, order: parse(text), ...late }]
    })
  }
  return {
    everyMs: RESCAN_MS,
    submissions: () => waiting(KINDS.submission, parseSubmission),
    signerOrders: () => waiting(KINDS.signer, parseSignerOrder),
    take: (id) => takeOrder(held, id, store),
    reply,
    answers: async (workflowId, hash) => {
      const answers = (await readAnswers(workflowId, store)).flatMap((text) => parseAnswer(text) ?? [])
      return answers.filter((answer) => answer.hash === hash)
    },
    // They expire.
    forgetAnswers: async () => undefined,
  }
}

const tooLate = refuse('order_late', `Nobody took the order within ${AGE_MS_MAX / 1_000} s.`)
const withdrawn = refuse('order_withdrawn', 'Its author took it back.')

/** A fleet, as who orders something of it needs it. */
type Addressed = {
  readonly store: FleetPlace
  /** Each seat with its roles. */
  readonly seats: readonly { readonly name: string; readonly roles: readonly string[] }[]
  readonly leaseMs: number
  /** Wake what looks after an id in a seat; nothing depends on it. */
  readonly wake: (seat: string, id: string) => Promise<unknown>
}

/**
 * Order something of a fleet, from any machine: what is of a role goes to its seat, and what is about a signer to that. The
 * first answer of a person to a held workflow stands.
 */
export function fleetOutgoing({ store, seats, leaseMs, wake }: Addressed): OutgoingMail {
  const line = openOrderLine(store)
  const place = async <Done>(
    id: string,
    seat: string | undefined,
    content: string,
    absent: Refusal,
  ): Promise<Placed<Done>> => {
    // Nobody in the fleet could take it.
    if (seat === undefined) return { reply: async () => absent, withdraw: async () => true }
    const order = { seat, id, content }
    const written = await line.place(order).catch((error: unknown) => {
      throw isUnknown(error) ? unknown(id) : error
    })
    prove(written, `The order ${id} stands for something else already.`, seat)
    await wake(seat, ORDERS)
    return {
      reply: async () => {
        const text = await line.reply(id)
        return text === null ? null : JSON.parse(text)
      },
      withdraw: () => line.withdraw(order, JSON.stringify(withdrawn)),
    }
  }
  return {
    to: `instance of the fleet ${store.fleet}`,
    fix: 'see with `rolekeeper fleet` who holds its seat, or why nobody does.',
    // A seat whose holder died is taken after one and a half leases, and its roles open then.
    takenMsMax: Math.min(15_000 + 2 * leaseMs, AGE_MS_MAX),
    submit: (id, submission) => {
      const { role } = submission
      const seat = seats.find(({ roles }) => roles.includes(role))?.name
      const staffed = seats.flatMap(({ roles }) => roles)
      const absent = roleAbsent(role, staffed)
      return place<SubmittedWorkflow>(id, seat, `${KINDS.submission}${encodeOrder(submission)}`, absent)
    },
    orderAbout: (id, order) => {
      const seat = seats.find(({ name }) => name === order.signer.toLowerCase())?.name
      const absent = refuse('signer_unknown', `${order.signer} is no signer of this fleet's live agents.`)
      return place<ReplyText>(id, seat, `${KINDS.signer}${encodeOrder(order)}`, absent)
    },
    answer: async ({ id, signer }, answer) => {
      const seat = signer.toLowerCase()
      const other = `You answered workflow ${id} otherwise before, for the same hash.`
      const name = `${answer.hash} ${answererOf(answer)}`
      prove(await line.answer(id, name, encodeOrder(answer)), other, seat)
      await wake(seat, id)
    },
    close: async () => line.close(),
  }
}

const isUnknown = (error: unknown) => error instanceof RolekeeperError && error.code === 'journal.unknown'

/** Say that an order may stand although nothing was answered. Pure. */
const unknown = (id: string) =>
  new RolekeeperError('order.unknown', `Redis did not answer: whether the order ${id} waits is not known.`, {
    fix: `see \`rolekeeper workflows list\` after ${AGE_MS_MAX / 1_000} s, when nobody takes it any more, before it is ordered again.`,
    facts: { orderId: id },
  })

function prove(written: WriteResult, other: string, seat: string): void {
  if (written === 'other') {
    throw new RolekeeperError('order.other', other, { fix: 'see what became of it; the first stands.' })
  }
  if (written === 'full') {
    throw new RolekeeperError('order.too_many', `Too many orders or answers wait at the seat ${seat}.`, {
      fix: 'see with `rolekeeper fleet` whether an instance holds it.',
      facts: { seat },
    })
  }
}
