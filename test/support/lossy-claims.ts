import type { Address } from 'viem'
import { endpointOf } from '../../src/config/redis.ts'
import { RolekeeperError } from '../../src/errors.ts'
import type { Journal } from '../../src/journal/journal.ts'
import type { RedisStore } from '../../src/journal/redis/link/store.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { journalOf, newStore, openStore, takeSeat } from './redis-fleet.ts'
import { startRedisProxy } from './redis-proxy.ts'
import { attemptOf, slotOf, workflowOf } from './workflows.ts'

const CHAIN = 31_337
const CLIENTS = 3
/** Each client claims of all of them at once, so that one broken line loses the answers of some. */
const SIGNERS = Array.from({ length: 8 }, (_, index) => `0x${String(index).padStart(40, '0')}` as const)

/** What claims of some clients came to. */
type Claims = {
  /** Of each signer: the nonces that the clients were given, each by the id of its workflow. */
  readonly given: readonly ReadonlyMap<string, number>[]
  /** Of each signer what Redis has: nonce → id, and `next` and `top`. */
  readonly kept: readonly Readonly<Record<string, string>>[]
  /** Claims that another client was faster with, and answers that were lost. */
  readonly lostRaces: number
  readonly lostAnswers: number
  /** Tries that were given up, and the record read instead. */
  readonly unknown: number
}

/** Let three clients claim `count` nonces of each of eight signers at once; `isLost` draws what answers are lost. */
export async function claimOverLossyLines(
  port: number,
  count: number,
  isLost: () => boolean,
): Promise<Claims> {
  const { store, config } = await newStore(port)
  const seats = await Promise.all(SIGNERS.map((signer) => takeSeat(store, signer)))
  const proxy = await startRedisProxy(port)
  const endpoint = endpointOf(`redis://127.0.0.1:${proxy.port}/0`)
  const stores: RedisStore[] = Array.from({ length: CLIENTS }, () => openStore({ ...config, endpoint }))
  const given = SIGNERS.map(() => new Map<string, number>())
  let lostRaces = 0
  let unknown = 0
  const openLane = (lane: number, through: RedisStore) => {
    const held = seats[lane]
    if (held === undefined) throw new TypeError(`no seat ${lane}`)
    return journalOf(held, through)
  }
  /** Claim once; null where it is not known, or lost to another. */
  const tryToClaim = async (journal: Journal, signer: Address, id: string): Promise<Workflow | null> => {
    const nonce = (await journal.nextNonce(CHAIN, signer)) ?? 0
    const digest = `0x${String(nonce).padStart(64, id.replace('-', 'f').padStart(12, '0'))}` as const
    const slots = [slotOf({ nonce, signer, attempts: [attemptOf({ digest })] })]
    const claimed = await journal.claim(workflowOf('in_flight', { id, signer, opportunity: id, slots }), null)
    if (claimed === 'lost') lostRaces += 1
    return claimed === 'lost' ? null : claimed
  }
  const claim = async (journal: Journal, lane: number, id: string): Promise<void> => {
    for (;;) {
      try {
        // Where it was not known whether the last one was made, the record says so.
        const stored = await journal.get(id)
        const [slot] =
          (stored?.slots.length ? stored : await tryToClaim(journal, SIGNERS[lane] ?? '0x', id))?.slots ?? []
        if (slot === undefined) continue
        given[lane]?.set(id, slot.nonce)
        return
      } catch (error) {
        if (!(error instanceof RolekeeperError) || error.retry !== 'later') throw error
        unknown += 1
      }
    }
  }
  const work = async (client: number, lane: number): Promise<void> => {
    const journal = await openLane(lane, stores[client] ?? store)
    for (let index = client; index < count; index += CLIENTS) await claim(journal, lane, `${lane}-${index}`)
  }
  try {
    for (const [lane, signer] of SIGNERS.entries()) {
      const own = await openLane(lane, store)
      await own.adoptNonce(CHAIN, signer, 0)
      for (let start = 0; start < count; start += 100) {
        const some = Array.from(
          { length: Math.min(100, count - start) },
          (_, index) => `${lane}-${start + index}`,
        )
        await Promise.all(some.map((id) => own.open(workflowOf('cleared', { id, signer, opportunity: id }))))
      }
    }
    proxy.losing(isLost)
    await Promise.all(stores.flatMap((_, client) => SIGNERS.map((_signer, lane) => work(client, lane))))
    const kept = await Promise.all(
      SIGNERS.map((signer) => store.read('HGETALL', store.keys.nonces(CHAIN, signer))),
    )
    return { given, kept: kept.map(recordOf), lostRaces, lostAnswers: proxy.lost(), unknown }
  } finally {
    for (const each of [...stores, store]) each.close()
    await proxy.stop()
  }
}

/** Read a hash as it comes: names and values by turns. */
function recordOf(reply: unknown): Readonly<Record<string, string>> {
  const flat = Array.isArray(reply) ? reply.map(String) : []
  return Object.fromEntries(
    flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : [])),
  )
}
