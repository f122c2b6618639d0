import type { Address } from 'viem'
import type { Armed, Arming, BeforeReading } from '../../agents/agent.ts'
import type { Clock } from '../clock.ts'
import { answerWave, follow, joinLists, type Lists, listAll, rowsOf, type WaveDeps } from './waves.ts'

/** What is not armed is proven again soon: its trouble may have been a moment's. */
const REARM_MS = 10_000
const PROVE_EVERY_MS = 300_000
/** How often to read until all rows are of one block. Blocks are seconds apart, reads milliseconds. */
const READS_MAX = 5

/**
 * Prove once what an agent arms, everything compared at the block that the service describes. Throws what the reads
 * throw.
 */
export async function proveUnits<Book>(
  { collections, sample, prove }: Arming<Book>,
  known: BeforeReading,
  book: Book,
  deps: WaveDeps,
): Promise<ReadonlyMap<Address, Armed>> {
  for (let read = 1; ; read += 1) {
    const [listed, sampled] = await Promise.all([
      listAll(collections, deps.collections),
      answerWave({ ask: [], rows: sample(known, book) }, deps),
    ])
    const lists = joinLists(listed, sampled.lists)
    const block = oneBlock(lists)
    if (block === null && read < READS_MAX) continue
    const { seen } = await follow(
      prove(rowsOf(lists), known, block !== null),
      (wave) => answerWave(wave, deps, block ?? undefined),
      () => ({}),
      'proof of units',
    )
    return seen
  }
}

/** The block that every list describes; null where one says another, or none. */
function oneBlock(lists: Lists): bigint | null {
  const [block, ...others] = new Set(
    Object.values(lists).map(({ freshness }) => freshness.blockNumber ?? null),
  )
  return block == null || others.length > 0 ? null : BigInt(block)
}

/** What is proven, and when it was. */
export type Proofs = {
  /** Prove again if that is due: the first time resolves once it is done, later ones go on beside decisions. */
  readonly proveIfDue: () => Promise<void>
  readonly armed: () => ReadonlyMap<Address, Armed>
}

/** What is reported about proofs. */
type ProofEvents = {
  /** Called for each that was armed, or is not any more. */
  readonly onArmed: (address: Address, armed: Armed) => void
  /** Called for a proof that failed beside decisions; the first one's failure is thrown instead. */
  readonly onFailed: (error: unknown) => void
}

/**
 * Keep proofs of units up to date.
 * @param prove one proof; a failed one leaves what was proven, and is tried again.
 */
export function createProofs(
  prove: () => Promise<ReadonlyMap<Address, Armed>>,
  clock: Pick<Clock, 'monotonicMs'>,
  { onArmed, onFailed }: ProofEvents,
): Proofs {
  let armed: ReadonlyMap<Address, Armed> = new Map()
  let provenAtMs: number | null = null
  let proving: Promise<void> | undefined
  const proveNow = async () => {
    const next = await prove()
    for (const [address, verdict] of next)
      if (armed.get(address)?.ok !== verdict.ok) onArmed(address, verdict)
    armed = next
    provenAtMs = clock.monotonicMs()
  }
  return {
    armed: () => armed,
    proveIfDue: async () => {
      const everyMs = [...armed.values()].every(({ ok }) => ok) ? PROVE_EVERY_MS : REARM_MS
      if (provenAtMs !== null && clock.monotonicMs() - provenAtMs < everyMs) return
      if (proving === undefined) {
        proving = proveNow().finally(() => {
          proving = undefined
        })
        if (provenAtMs !== null) proving.catch(onFailed)
      }
      if (provenAtMs === null) await proving
    },
  }
}
