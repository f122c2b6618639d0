import { hashOf } from './link/answer.ts'
import { type FleetPlace, openCommandLine } from './link/command-line.ts'
import { seatLost } from './link/faults.ts'
import type { RedisStore } from './link/store.ts'
import type { SeatToken } from './seats/seat.ts'

/** An order that waits. */
export type WaitingOrder = {
  /** Its author's. */
  readonly id: string
  readonly content: string
  /** For how long it has waited by Redis's clock, s. */
  readonly ageS: number
  /** Whether somebody who held the seat began to act on it. */
  readonly isTaken: boolean
}

/** Read what waits of a seat, the oldest first. */
export async function readOrders(seat: string, store: RedisStore): Promise<readonly WaitingOrder[]> {
  const { values } = await store.run('orders', [store.keys.orders(seat)], [])
  const [, nowS, ...flat] = values.map(String)
  return flat
    .flatMap((id, index) => {
      if (index % 2 === 1) return []
      const [, mark, atS = '', content = ''] = /^(!?)(\d+) (.*)$/s.exec(flat[index + 1] ?? '') ?? []
      return [{ id, content, ageS: Number(nowS) - Number(atS), isTaken: mark === '!' }]
    })
    .toSorted((one, other) => other.ageS - one.ageS || (one.id < other.id ? -1 : 1))
}

/**
 * Begin to act on an order. @returns false where its author took it back. Throws RolekeeperError `seat.lost` where another
 * holds the seat.
 */
export async function takeOrder({ seat, token }: SeatToken, id: string, store: RedisStore): Promise<boolean> {
  const { keys } = store
  const { code, values } = await store.run('take', [keys.seat(seat), keys.orders(seat)], [token, id])
  if (code !== 'OK') throw seatLost(seat)
  return values[1] === 'taken'
}

/**
 * Keep the reply to an order and let that go, as one step; nothing where it has one. Throws RolekeeperError `seat.lost` where
 * another holds the seat.
 */
export async function replyToOrder(
  { seat, token }: SeatToken,
  { id, reply }: { readonly id: string; readonly reply: string },
  store: RedisStore,
): Promise<void> {
  const { keys } = store
  const names = [keys.seat(seat), keys.orders(seat), keys.reply(id)]
  const { code } = await store.run('reply', names, [token, id, reply])
  if (code !== 'OK') throw seatLost(seat)
}

/** Read what people answered about a workflow, of each person and hash the first. */
export async function readAnswers(
  workflowId: string,
  store: Pick<RedisStore, 'keys' | 'read'>,
): Promise<readonly string[]> {
  return [...hashOf(await store.read('HGETALL', store.keys.answers(workflowId))).values()]
}

/** What a seat is asked for. */
type Order = { readonly seat: string; readonly id: string; readonly content: string }

/** What a write of an author came to. `other`: the id stands for something else; `full`: too many wait. */
export type WriteResult = 'written' | 'other' | 'full'

/** How people's orders are written, from any process. Each is the same however often it is sent. */
export type OrderLine = {
  readonly place: (order: Order) => Promise<WriteResult>
  /** Take an order back, with `reply` as its reply, so that nobody takes it any more. @returns false where somebody has. */
  readonly withdraw: (order: Order, reply: string) => Promise<boolean>
  readonly reply: (id: string) => Promise<string | null>
  /** Keep an answer about a workflow under a name; the first of a name stands. */
  readonly answer: (workflowId: string, name: string, answer: string) => Promise<WriteResult>
  readonly close: () => void
}

/** Open a way for orders to a fleet. Each call throws what {@link openCommandLine} says. */
export function openOrderLine(place: FleetPlace): OrderLine {
  const { keys, read, run, close } = openCommandLine(place)
  const write = async (...given: Parameters<typeof run>): Promise<WriteResult> => {
    const { code } = await run(...given)
    if (code === 'OK') return 'written'
    return code === 'FULL' ? 'full' : 'other'
  }
  const keysOf = ({ seat, id }: Order) => [keys.orders(seat), keys.reply(id)]
  return {
    place: (order) => write('place', keysOf(order), [order.id, order.content]),
    withdraw: async (order, reply) => {
      const { code } = await run('withdraw', keysOf(order), [order.id, order.content, reply])
      return code === 'OK'
    },
    reply: async (id) => {
      const kept = await read('GET', keys.reply(id))
      return typeof kept === 'string' ? kept.slice(kept.indexOf(' ') + 1) : null
    },
    answer: (workflowId, name, answer) => write('answer', [keys.answers(workflowId)], [name, answer]),
    close,
  }
}
