import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { endpointOf } from '../../src/config/redis.ts'
import { fleetMail, fleetOutgoing } from '../../src/fleet/mail.ts'
import type { RedisStore } from '../../src/journal/redis/link/store.ts'
import { replyToOrder } from '../../src/journal/redis/orders.ts'
import type { OutgoingMail } from '../../src/ops/mail.ts'
import { hold } from '../../src/pipeline/hold.ts'
import { createBullmqQueue } from '../../src/queue/bullmq.ts'
import { ORDERS } from '../../src/queue/queue.ts'
import { createWaker } from '../../src/queue/waker.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { BY, deposit, HASH, held, mailContract, release, SEATED } from '../ops/mail-contract.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE, journalOf, newStore, openStore, takeSeat } from '../support/redis-fleet.ts'
import { startRedisProxy } from '../support/redis-proxy.ts'
import { workflowOf } from '../support/workflows.ts'

let redis: TestRedis
const closing: (() => unknown)[] = []
beforeAll(async () => {
  redis = await startRedis(DURABLE)
})
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
  await redis.stop()
})

const SHOWN = { calls: [], effects: [], changes: [], day: '', askedBy: '', quorum: 1, approvers: null }
const SEATS = [
  { name: 'shadow:nav-reporter:0x51', roles: ['nav-reporter'] },
  { name: SEATED, roles: ['allocator'] },
]

/** A fleet with what orders, and what takes: each over a port of its own. */
async function open(ports: { readonly author?: number; readonly holder?: number } = {}) {
  const { store: first, config } = await newStore(redis.port)
  first.close()
  const at = (port = redis.port) => ({ ...config, endpoint: endpointOf(`redis://127.0.0.1:${port}/0`) })
  const store = openStore(at(ports.holder))
  const woken: string[] = []
  const wake = async (seat: string, id: string) => woken.push(`${seat} ${id}`)
  const addressed = { store: at(ports.author), seats: SEATS, leaseMs: 8_000 }
  const outgoing = fleetOutgoing({ ...addressed, wake })
  closing.push(outgoing.close, () => store.close())
  const holder = async (seat: string = SEATED) => {
    const held = await takeSeat(store, seat)
    return fleetMail(held, { store, journal: await journalOf(held, store) })
  }
  return { mail: await holder(), outgoing, store, holder, woken, config, addressed }
}

/** How many scripts authors have had run. */
const evals = async () =>
  Number(/cmdstat_eval:calls=(\d+)/.exec(await redis.client().info('commandstats'))?.[1] ?? 0)

/** Place an order that has waited for so long. */
async function placeAged(store: RedisStore, outgoing: OutgoingMail, ageS: number) {
  const id = randomUUID()
  const placed = await outgoing.submit(id, deposit)
  const [key, client] = [store.keys.orders(SEATED), redis.client()]
  const order = (await client.hget(key, id)) ?? ''
  await client.hset(
    key,
    id,
    order.replace(/^\d+/, (atS) => String(Number(atS) - ageS)),
  )
  return { id, placed }
}

describe('mail of a fleet', () => {
  mailContract(open)

  it('is taken by the seat of its role or signer alone, which is woken', async () => {
    const { mail, outgoing, holder, woken } = await open()
    const shadow = await holder('shadow:nav-reporter:0x51')
    const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()]
    await outgoing.submit(first, { ...deposit, role: 'nav-reporter' })
    await outgoing.submit(second, deposit)
    await outgoing.orderAbout(third, { ...release, signer: `0x${'AD'.repeat(20)}` })
    await outgoing.answer(held, { verdict: 'approve', hash: HASH, by: BY })
    expect((await shadow.submissions()).map(({ id }) => id)).toEqual([first])
    expect((await mail.submissions()).map(({ id }) => id)).toEqual([second])
    expect((await mail.signerOrders()).map(({ id }) => id)).toEqual([third])
    const orders = [`${SEATS[0]?.name} orders`, `${SEATED} orders`, `${SEATED} orders`]
    expect(woken).toEqual([...orders, `${SEATED} ${held.id}`])
  })

  it('answers at once where nobody has the role or the signer, and asks nobody', async () => {
    const { outgoing, woken } = await open()
    const nobody = await outgoing.submit(randomUUID(), { ...deposit, role: 'rfq-bidder' })
    expect(await nobody.reply()).toMatchObject({ check: 'role_absent' })
    const stranger = `0x${'51'.repeat(20)}` as const
    const about = await outgoing.orderAbout(randomUUID(), { ...release, signer: stranger })
    expect(await about.reply()).toMatchObject({ check: 'signer_unknown' })
    expect(woken).toEqual([])
  })

  it('refuses another order under the same id, also once that was replied to', async () => {
    const { mail, outgoing } = await open()
    const id = randomUUID()
    await outgoing.submit(id, deposit)
    const other = () => outgoing.submit(id, { ...deposit, shadow: true })
    await expect(other()).rejects.toMatchObject({ code: 'order.other' })
    expect(await mail.submissions()).toEqual([{ id, order: deposit }])
    await mail.reply(id, { workflowId: 'w1' })
    await expect(other()).rejects.toMatchObject({ code: 'order.other' })
    expect(await mail.submissions()).toEqual([])
  })

  it('keeps the first answer of two of a person that differ', async () => {
    const { mail, outgoing } = await open()
    await outgoing.answer(held, { verdict: 'reject', hash: HASH, by: BY })
    const second = outgoing.answer(held, { verdict: 'approve', hash: HASH, by: BY })
    await expect(second).rejects.toMatchObject({ code: 'order.other' })
    expect(await mail.answers(held.id, HASH)).toEqual([{ verdict: 'reject', hash: HASH, by: BY }])
  })

  it('takes a hundred orders of a seat, and twenty answers about a workflow', async () => {
    const { outgoing } = await open()
    const many = Array.from({ length: 100 }, () => outgoing.submit(randomUUID(), deposit))
    await Promise.all(many)
    const full = { code: 'order.too_many', facts: { seat: SEATED } }
    await expect(outgoing.submit(randomUUID(), deposit)).rejects.toMatchObject(full)
    const answer = (index: number) =>
      outgoing.answer(held, { verdict: 'approve', hash: String(index).padStart(64, '0'), by: BY })
    for (let index = 0; index < 20; index += 1) await answer(index)
    await expect(answer(20)).rejects.toMatchObject(full)
    await answer(19)
  })

  it('is taken by the first who holds the seat, where nobody did when it was placed', async () => {
    const { outgoing, holder, store } = await open()
    const placed = await outgoing.submit(randomUUID(), deposit)
    const [first, later] = [await holder(), await holder()]
    await expect(first.reply('any', { workflowId: 'w' })).rejects.toMatchObject({ code: 'seat.lost' })
    const [order] = await later.submissions()
    await later.reply(order?.id ?? '', { workflowId: 'w1' })
    expect([await placed.reply(), await (await holder()).submissions()]).toEqual([{ workflowId: 'w1' }, []])
    expect(await redis.client().exists(store.keys.orders(SEATED))).toBe(0)
  })

  it('is replied to by nobody who lost the seat while it was taken: the next takes it', async () => {
    const { mail, outgoing, holder } = await open()
    const placed = await outgoing.submit(randomUUID(), deposit)
    const [order] = await mail.submissions()
    const next = await holder()
    const late = mail.reply(order?.id ?? '', { workflowId: 'mine' })
    await expect(late).rejects.toMatchObject({ code: 'seat.lost' })
    expect([await placed.reply(), (await next.submissions()).length]).toEqual([null, 1])
  })

  it('has no reply before what that says is acknowledged, and none of who has no seat', async () => {
    const { outgoing, store } = await open()
    const placed = await outgoing.submit(randomUUID(), deposit)
    const taken = await takeSeat(store, SEATED)
    const journal = { barrier: () => Promise.reject(new TypeError('not replicated')) }
    const mail = fleetMail(taken, { store, journal })
    const [order] = await mail.submissions()
    const id = order?.id ?? ''
    await expect(mail.reply(id, { workflowId: 'w1' })).rejects.toThrow('not replicated')
    await takeSeat(store, SEATED)
    const late = replyToOrder(taken, { id, reply: '{}' }, store)
    await expect(late).rejects.toMatchObject({ code: 'seat.lost' })
    expect([await placed.reply(), await mail.submissions()]).toEqual([null, [{ id, order: deposit }]])
  })

  it('is not taken back from who acts on it, nor from who goes on with that in its place, however late', async () => {
    const { mail, store, holder, outgoing } = await open()
    const { id, placed } = await placeAged(store, outgoing, 59)
    expect([await mail.take(id), await mail.take(id)]).toEqual([true, true])
    expect(await placed.withdraw()).toBe(false)
    const aged = await redis.client().hget(store.keys.orders(SEATED), id)
    await redis.client().hset(store.keys.orders(SEATED), id, (aged ?? '').replace(/\d+/, '1'))
    const next = await holder()
    await expect(mail.take(id)).rejects.toMatchObject({ code: 'seat.lost' })
    expect(await next.submissions()).toEqual([{ id, order: deposit, isLate: true }])
    await next.reply(id, { workflowId: 'w1' })
    expect([await placed.reply(), await placed.withdraw()]).toEqual([{ workflowId: 'w1' }, false])
  })

  it('is refused where its author did not live to take it back, a minute later and not before', async () => {
    const { mail, store, outgoing } = await open()
    const late = await placeAged(store, outgoing, 62)
    const young = await placeAged(store, outgoing, 58)
    expect((await mail.submissions()).map(({ id }) => id)).toEqual([young.id])
    expect(await late.placed.reply()).toMatchObject({ check: 'order_late' })
  })

  it('is an order that nobody can read where it holds none', async () => {
    const { mail, store } = await open()
    const [nowS] = await redis.client().time()
    await redis.client().hset(store.keys.orders(SEATED), 'a', `${nowS} submission {"role":"No Body"}`)
    await redis.client().hset(store.keys.orders(SEATED), 'b', `${nowS} signer half of on`)
    expect(await mail.submissions()).toEqual([{ id: 'a', order: null }])
    expect(await mail.signerOrders()).toEqual([{ id: 'b', order: null }])
  })

  it('leaves nothing for good: what is kept of an order or an answer expires after longer than any hold', async () => {
    const { mail, outgoing, store } = await open()
    const id = randomUUID()
    await outgoing.submit(id, deposit)
    await mail.reply(id, { workflowId: 'w1' })
    await outgoing.answer(held, { verdict: 'approve', hash: HASH, by: BY })
    const client = redis.client()
    const kept = [store.keys.reply(id), store.keys.answers(held.id)]
    for (const key of kept) expect(await client.ttl(key)).toBeGreaterThan(7 * 86_400)
    expect(await client.hget(store.keys.values, `order:${id}`)).toBeNull()
  })

  it('wakes what is held and who takes orders, where BullMQ carries wake-ups: no look of its own would come', async () => {
    const world = await open()
    const carrier = { host: redis.host, port: redis.port, db: 0, fleet: world.config.fleet }
    const waker = createWaker(carrier, systemClock, () => undefined)
    const outgoing = fleetOutgoing({ ...world.addressed, wake: waker.wake })
    const seen: string[] = []
    const known = { ...workflowOf('discovered'), id: held.id }
    const why = { check: 'approval_always', message: '' }
    const asked = { rules: '', shown: SHOWN, approvals: [] }
    const workflow = { ...known, hold: { ...why, ...asked, hash: HASH, untilMs: Date.now() + 3_600_000 } }
    const deps = {
      nowMs: Date.now,
      whyAsk: async () => why,
      rules: '',
      show: async () => SHOWN,
      isAsShown: async () => true,
      hashOf: () => HASH,
      expiresAfterMs: 1,
      lookMs: 600_000,
    }
    const answers = async ({ id }: Workflow, hash: string) => ({
      approved: (await world.mail.answers(id, hash)).map(({ by }) => ({ by: by.user, identity: by })),
      rejected: null,
    })
    const queue = createBullmqQueue({
      clock: systemClock,
      carrier,
      waker,
      seat: SEATED,
      onHealth: () => undefined,
      onError: (_id, error) => seen.push(String(error)),
      run: async (id) => {
        const step = id === ORDERS ? null : await hold(workflow, { ...deps, answers })
        if (id === ORDERS) seen.push(...(await world.mail.submissions()).map((order) => order.id))
        else seen.push(step?.type ?? '')
        return step?.type === 'wait' ? step.ms : null
      },
    })
    closing.push(outgoing.close, queue.close, waker.close)
    queue.wake(held.id, 0)
    await expect.poll(() => seen, { interval: 5 }).toEqual(['wait'])
    const id = randomUUID()
    await outgoing.submit(id, deposit)
    await expect.poll(() => seen, { interval: 5 }).toEqual(['wait', id])
    await outgoing.answer(held, { verdict: 'approve', hash: HASH, by: BY })
    await expect.poll(() => seen, { interval: 5 }).toEqual(['wait', id, 'moved'])
  })

  it('is taken once, and has one reply, where a third of the answers to either side are lost', async () => {
    const [author, holder] = [await startRedisProxy(redis.port), await startRedisProxy(redis.port)]
    const { mail, outgoing } = await open({ author: author.port, holder: holder.port })
    await mail.submissions()
    let calls = 0
    const third = () => {
      calls += 1
      return calls % 3 === 0
    }
    for (const proxy of [author, holder]) proxy.losing(third)
    const taken: string[] = []
    for (let count = 0; count < 20; count += 1) {
      const id = randomUUID()
      const placed = await outgoing.submit(id, deposit)
      await outgoing.answer({ ...held, id }, { verdict: 'approve', hash: HASH, by: BY })
      for (const order of await mail.submissions()) {
        taken.push(order.id)
        await mail.reply(order.id, { workflowId: `w${count}` })
      }
      expect(taken.at(-1)).toBe(id)
      expect(await placed.reply()).toEqual({ workflowId: `w${count}` })
      expect(await mail.answers(id, HASH)).toMatchObject([{ verdict: 'approve' }])
      await placed.withdraw()
    }
    expect(taken).toHaveLength(20)
    expect(author.lost() + holder.lost()).toBeGreaterThan(20)
    for (const proxy of [author, holder]) await proxy.stop()
  })

  it('is said to be not known where no answer came: who orders it again would have it twice', async () => {
    const proxy = await startRedisProxy(redis.port)
    const { mail, outgoing } = await open({ author: proxy.port })
    proxy.losing(() => true)
    const id = randomUUID()
    await expect(outgoing.submit(id, deposit)).rejects.toMatchObject({ code: 'order.unknown' })
    expect(await mail.submissions()).toEqual([{ id, order: deposit }])
    await proxy.stop()
  })

  it('is not placed by what arrives after its author took it back', async () => {
    const proxy = await startRedisProxy(redis.port)
    const { mail, outgoing } = await open({ author: proxy.port })
    const id = randomUUID()
    await (await outgoing.submit(randomUUID(), deposit)).withdraw()
    const late = proxy.holdNext(id)
    const placed = await outgoing.submit(id, deposit)
    await placed.withdraw()
    const before = await evals()
    late.release()
    await expect.poll(evals, { interval: 5 }).toBe(before + 1)
    expect(await mail.submissions()).toEqual([])
    await proxy.stop()
  })
})
