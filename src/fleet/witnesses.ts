import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { RolekeeperError } from '../errors.ts'
import type { InstanceHistory } from '../journal/redis/link/fleet-history.ts'
import type { LastKnown } from '../journal/redis/link/generation.ts'
import { openWitness, readWitness, type Witness } from './witness.ts'

/** Where an instance keeps what it knows of a seat. Pure. */
export const seatFolder = (directory: string, seat: string): string => join(directory, 'seats', seat)

/** The witnesses of an instance, one a seat. */
export type Witnesses = {
  /** The newest of what they show, which the fleet's Redis may never be behind; null where there is nothing. */
  readonly known: LastKnown | null
  /** Keep what a barrier of a seat passed by, and a nonce that its key is asked to sign: resolves when it is on disk. */
  readonly record: (seat: string, known: LastKnown, top?: number) => Promise<void>
  /** The highest nonce that a key was asked to sign, by seat; null where nothing was kept yet. */
  readonly tops: () => Readonly<Record<string, number>> | null
  /** Begin one where there is none, so that it is missed where it goes. */
  readonly begin: (gen: string) => Promise<void>
  readonly close: () => Promise<void>
}

/** Open the witnesses of some seats in an instance's directory. Throws RolekeeperError `fleet.witness`. */
export async function openWitnesses(directory: string, seats: readonly string[]): Promise<Witnesses> {
  const opened = new Map<string, Witness>()
  const open = async (seat: string) => {
    const witness = await openWitness(seatFolder(directory, seat))
    // Of those who opened it side by side, one writes.
    const first = opened.get(seat)
    if (first !== undefined) await witness.close()
    else opened.set(seat, witness)
    return first ?? witness
  }
  for (const seat of seats) await open(seat)
  const found = [...opened.values()].flatMap(({ known }) => (known === null ? [] : [known]))
  const known = newestOf(found)
  let isKept = known !== null
  const record: Witnesses['record'] = async (seat, next, top) => {
    const witness = opened.get(seat) ?? (await open(seat))
    await witness.record(top === undefined ? next : { ...next, top })
    isKept = true
  }
  return {
    known,
    record,
    tops: () =>
      isKept ? topsOf([...opened].map(([seat, witness]) => [seat, witness.top()] as const)) : null,
    begin: async (gen) => {
      const [first] = opened.keys()
      if (known === null && first !== undefined) await record(first, { gen, seq: 0 })
    },
    close: async () => {
      for (const witness of opened.values()) await witness.close()
    },
  }
}

/** Pure. */
const topsOf = (all: readonly (readonly [string, number | undefined])[]): Readonly<Record<string, number>> =>
  Object.fromEntries(all.flatMap(([seat, top]) => (top === undefined ? [] : [[seat, top]])))

/** Read what an instance's directory shows of its fleet's Redis, beside the instance or without it; null where nothing. */
export async function readWitnessed(
  directory: string,
): Promise<(LastKnown & Pick<InstanceHistory, 'tops'>) | null> {
  let seats: readonly string[]
  try {
    const found = readdirSync(join(directory, 'seats'), { withFileTypes: true })
    seats = found.filter((each) => each.isDirectory()).map(({ name }) => name)
  } catch {
    return null
  }
  const found = await Promise.all(seats.map((seat) => readWitness(seatFolder(directory, seat))))
  const known = newestOf(found.filter((each) => each !== null))
  return known && { ...known, tops: topsOf(seats.map((seat, index) => [seat, found[index]?.top] as const)) }
}

/** Refuse to begin a fleet anew where this machine knows of one before. Pure. */
export const wasWitnessed = (fleet: string, { gen, seq }: LastKnown) =>
  new RolekeeperError(
    'fleet.witnessed',
    `This machine's instance saw the fleet ${fleet} acknowledge sequence ${seq} in generation ${gen}: it is not new.`,
    {
      fix: 'bring back the Redis that has it; or prove with `rolekeeper safe` what may go on without it.',
      facts: { fleet, gen, seq },
    },
  )

/** A later generation goes on with the sequence of the one before it. Pure. */
const newestOf = (found: readonly LastKnown[]): LastKnown | null =>
  found.toSorted((one, other) => other.seq - one.seq)[0] ?? null
