import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../src/clock.ts'
import type { Endpoint } from '../../../src/config/redis.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { fleetOutgoing } from '../../../src/fleet/mail.ts'
import type { OutgoingMail } from '../../../src/ops/mail.ts'
import { createWaker, type Waker } from '../../../src/queue/waker.ts'
import type { Ground } from './ground.ts'
import { depositOf } from './world.ts'

/** People who order from a fleet by the Redis that counts now, and ask again until they have a reply. */
export type People = {
  readonly order: (id: string, assets: bigint) => void
  /** Release every signer: where none is SAFE, nothing happens. */
  readonly release: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Who has no reply asks again so often. */
const AGAIN_MS = 1_000

/** Create the people of a fleet. `endpoint` is where Redis is now, past every proxy. */
export function createPeople(
  ground: Ground,
  { fleet, leaseMs, endpoint }: { fleet: string; leaseMs: number; endpoint: () => Endpoint },
): People {
  const seats = ground.carriers.map(({ role, signer }) => ({ name: signer.toLowerCase(), roles: [role] }))
  const waiting = new Map<string, bigint>()
  const ways = new Map<number, { readonly mail: OutgoingMail; readonly waker: Waker }>()
  const way = () => {
    const where = endpoint()
    const found = ways.get(where.port)
    if (found !== undefined) return found
    const waker = createWaker({ ...where, fleet }, systemClock, () => undefined)
    const store = { endpoint: where, fleet, instance: 'people' }
    const opened = { waker, mail: fleetOutgoing({ store, seats, leaseMs, wake: waker.wake }) }
    ways.set(where.port, opened)
    return opened
  }
  const submit = async (id: string, assets: bigint) => {
    try {
      const placed = await way().mail.submit(id, depositOf(ground, Number(assets) % seats.length, assets))
      if ((await placed.reply()) !== null) waiting.delete(id)
    } catch (error) {
      // Redis is away, or takes no more just now.
      if (!(error instanceof RolekeeperError)) throw error
    }
  }
  let isStopped = false
  const asking = (async () => {
    while (!isStopped) {
      await sleep(AGAIN_MS)
      for (const [id, assets] of waiting) if (!isStopped) await submit(id, assets)
    }
  })()
  return {
    order: (id, assets) => {
      waiting.set(id, assets)
      void submit(id, assets)
    },
    release: async () => {
      for (const { signer } of ground.carriers) {
        const order = { verb: 'release', signer, yes: true } as const
        await way()
          .mail.orderAbout(crypto.randomUUID(), order)
          .catch((error: unknown) => {
            if (!(error instanceof RolekeeperError)) throw error
          })
      }
    },
    stop: async () => {
      isStopped = true
      await asking
      for (const { mail, waker } of ways.values()) {
        await mail.close()
        await waker.close()
      }
    },
  }
}
