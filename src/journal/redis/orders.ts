import { nameOf, openLine } from './connect.ts'
import { seatLost } from './faults.ts'
import { COMMAND_MS, meet, type StoreConfig } from './generation.ts'
import { keysOf } from './keys.ts'
import { createLink } from './link.ts'
import { ANSWER, PLACE, WITHDRAW } from './order-scripts.ts'
import type { Held } from './seat.ts'
import type { RedisStore } from './store.ts'

/** An order that waits: its author's id, what it says, and for how long it has waited by Redis's clock, s. */
export type WaitingOrder = { readonly id: string; readonly content: string; readonly ageS: number }

/** Read what waits of a seat, the oldest first. */
export async function readOrders(seat: string, store: RedisStore): Promise<readonly WaitingOrder[]> {
  const { values } = await store.run('orders', [store.keys.orders(seat)], [])
  const [, nowS, ...flat] = values.map(String)
  return flat
    .flatMap((id, index) => {
      if (index % 2 === 1) return []
      const [, atS = '', content = ''] = /^(\d+) (.*)$/s.exec(flat[index + 1] ?? '') ?? []
      return [{ id, content, ageS: Number(nowS) - Number(atS) }]
    })
    .toSorted((one, other) => other.ageS - one.ageS || (one.id < other.id ? -1 : 1))
}

/**
 * Keep the reply to an order and let that go, as one step; nothing where it has one. Throws RolekeeperError `seat.lost` where
 * another holds the seat.
 */
export async function replyToOrder(
  { seat, token }: Held,
  { id, reply }: { readonly id: string; readonly reply: string },
  store: RedisStore,
): Promise<void> {
  const { keys } = store
  const { code } = await store.run(
    'reply',
    [keys.seat(seat), keys.orders(seat), keys.reply(id)],
    [token, id, reply],
  )
  if (code !== 'OK') throw seatLost(seat)
}

/** Read whether a person approved or rejected exactly a hash; null where nobody has. */
export async function readAnswer(
  workflowId: string,
  hash: string,
  store: Pick<RedisStore, 'keys' | 'read'>,
): Promise<string | null> {
  const verdict = await store.read('HGET', store.keys.answers(workflowId), hash)
  return verdict === null || verdict === undefined ? null : String(verdict)
}

/** What a seat was asked, and that it is by a person. */
type Order = { readonly seat: string; readonly id: string; readonly content: string }

/** What a write of an author came to. `other`: the id stands for something else; `full`: too many wait. */
export type Written = 'written' | 'other' | 'full'

/**
 * How people's orders are written, from any process. Each is the same however often it is sent. Each call throws what
 * {@link meet} and a line throw.
 */
export type OrderLink = {
  readonly place: (order: Order) => Promise<Written>
  /** Take an order back that has no reply: `reply` is its reply then, so that it is taken by nobody any more. */
  readonly withdraw: (order: Order, reply: string) => Promise<void>
  readonly reply: (id: string) => Promise<string | null>
  readonly answer: (workflowId: string, hash: string, verdict: string) => Promise<Written>
  readonly close: () => void
}

/** Open a way for orders to a fleet. It loads no scripts but those, and looks at no settings. */
export function openOrderLink({ endpoint, fleet, instance }: Omit<StoreConfig, 'replicas'>): OrderLink {
  const keys = keysOf(fleet)
  const link = createLink({
    open: (number) =>
      openLine(endpoint, { number, timeoutMs: COMMAND_MS, name: `rolekeeper:${instance}:orders` }),
    verify: async (line) => {
      await meet(line, fleet, null, '')
    },
    server: nameOf(endpoint),
  })
  const run = async (script: string, names: readonly string[], args: readonly string[]): Promise<Written> => {
    const reply = await link.use((line) => line.call('EVAL', script, names.length, ...names, ...args))
    const [code] = Array.isArray(reply) ? reply : []
    if (code === 'OK') return 'written'
    return code === 'FULL' ? 'full' : 'other'
  }
  return {
    place: ({ seat, id, content }) => run(PLACE, [keys.orders(seat), keys.reply(id)], [id, content]),
    withdraw: async ({ seat, id, content }, reply) => {
      await run(WITHDRAW, [keys.orders(seat), keys.reply(id)], [id, content, reply])
    },
    reply: async (id) => {
      const kept = await link.use((line) => line.call('GET', keys.reply(id)))
      return typeof kept === 'string' ? kept.slice(kept.indexOf(' ') + 1) : null
    },
    answer: (workflowId, hash, verdict) => run(ANSWER, [keys.answers(workflowId)], [hash, verdict]),
    close: link.close,
  }
}
