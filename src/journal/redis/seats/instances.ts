import { RolekeeperError } from '../../../errors.ts'
import { hashOf } from '../link/answer.ts'
import type { CommandLine } from '../link/command-line.ts'
import type { RedisStore } from '../link/store.ts'
import { type Controls, controlsOf, type SeatRecord, seatOf } from './seat.ts'

/** What an instance says of itself. */
export type Introduction = {
  readonly zone?: string
  /** Release, policies and seats: two instances that differ in it do not work side by side. */
  readonly fingerprint: string
  /** How often it took up a narrower policy since it began; absent in what an older release says. */
  readonly tightened?: number
  /** Whether it would take a seat: its clock is right, and it does not end. */
  readonly isAble: boolean
  /** How much longer than others it waits before it takes a seat that was left or lost, ms. */
  readonly lagMs: number
  readonly release: string
  /** Why it takes no seat, as the code of an error; absent where it takes its share. */
  readonly standsBy?: string
  /** The switches that it obeys: its machine's and the fleet's. */
  readonly killed: boolean
  readonly paused: boolean
  /** Those that are paused by themselves; absent in what an older release says. */
  readonly pausedRoles?: readonly string[]
  /** The sequence of Redis by which it knew what is set for the fleet, as it said this; absent before it heard, and of an older release. */
  readonly heardSeq?: number
}

/** An instance as it was last heard of. */
export type InstanceRecord = Introduction & {
  readonly name: string
  /** Its process. */
  readonly incarnation: string
  /** Which came first: no clock's, and one more with each process. */
  readonly arrived: number
  readonly beat: string
  /** When it was last heard of, seconds since 1970 by Redis's clock. */
  readonly seenS: number
}

/** What an instance shows at each beat. */
type Showing = Introduction & Pick<InstanceRecord, 'name' | 'incarnation' | 'arrived' | 'beat'>

/** Who is there, who holds what, what is set for the fleet, and what Redis takes the time to be, ms since 1970. */
export type Roll = {
  /** Its own. */
  readonly arrived: number
  readonly instances: readonly InstanceRecord[]
  /** By seat; null where nobody ever held it. */
  readonly records: ReadonlyMap<string, SeatRecord | null>
  readonly controls: Controls
  readonly redisMs: number
}

/**
 * Show that an instance lives, and see in the same step who else does and who holds some seats. Its arrival is 0 at first,
 * then as it was answered. Throws RolekeeperError `fleet.name_taken` once another process of the same name came after it.
 */
export async function present(showing: Showing, seats: readonly string[], store: RedisStore): Promise<Roll> {
  const { name, incarnation, arrived, beat, ...introduction } = showing
  const { keys } = store
  const args = [name, incarnation, arrived, beat, JSON.stringify(introduction)]
  const { code, values } = await store.run(
    'present',
    [keys.instances, keys.control, ...seats.map(keys.seat)],
    args,
  )
  if (code !== 'OK') throw nameTaken(name)
  const [seq, own, instances, controls, seconds, microseconds, found] = values
  const records: readonly unknown[] = Array.isArray(found) ? found : []
  return {
    arrived: Number(own),
    instances: [...hashOf(instances)].map(([each, text]) => instanceOf(each, text)),
    records: new Map(seats.map((seat, index) => [seat, seatOf(records[index])])),
    controls: controlsOf(seq, controls),
    redisMs: Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000),
  }
}

/** Read who is there, and what Redis takes the time to be, seconds since 1970. */
export async function readInstances({ keys, read }: Pick<CommandLine, 'keys' | 'read'>): Promise<{
  readonly instances: readonly InstanceRecord[]
  readonly nowS: number
}> {
  const [found, time] = await Promise.all([read('HGETALL', keys.instances), read('TIME')])
  const instances = [...hashOf(found)].map(([each, text]) => instanceOf(each, text))
  return { instances, nowS: Number(Array.isArray(time) ? time[0] : 0) }
}

/** Leave the fleet, so that nobody waits for this instance; nothing where another process has its name. */
export async function absent(name: string, incarnation: string, store: RedisStore): Promise<void> {
  await store.run('absent', [store.keys.instances], [name, incarnation])
}

function instanceOf(name: string, text: string): InstanceRecord {
  const [incarnation = '', arrived = '', beat = '', seenS = '', ...rest] = text.split(' ')
  const introduction: Introduction = JSON.parse(rest.join(' '))
  return { ...introduction, name, incarnation, arrived: Number(arrived), beat, seenS: Number(seenS) }
}

const nameTaken = (name: string) =>
  new RolekeeperError(
    'fleet.name_taken',
    `Another process works in this fleet as ${name}, and began later.`,
    {
      fix: 'give each instance a `fleet.instance` of its own, then start this one again.',
      facts: { name },
    },
  )
