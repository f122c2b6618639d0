import type { Nodes } from '../chain/nodes.ts'
import type { Clock } from '../clock.ts'
import type { RunConfig } from '../config/config.ts'
import { seatOf, seatsOf, storeConfigOf } from '../config/fleet.ts'
import { invariant, RolekeeperError } from '../errors.ts'
import { type Attestation, createAttestation, openWitnesses, type Witnesses } from '../fleet/attest.ts'
import { type ChainTime, createChainTime } from '../fleet/chain-time.ts'
import { createFleetControl, type FleetControl } from '../fleet/control.ts'
import type { Park } from '../fleet/holding.ts'
import { createSeats, type Seats } from '../fleet/seats.ts'
import { withWitness } from '../fleet/witnessed-journal.ts'
import { type Archive, openArchive } from '../journal/archive.ts'
import { lockDirectory } from '../journal/lock.ts'
import { openRedisJournal } from '../journal/redis/redis.ts'
import { type Held, readSeatsAtWork } from '../journal/redis/seat.ts'
import { RedisStore } from '../journal/redis/store.ts'
import type { Log } from '../ops/log.ts'
import { fileMail } from '../ops/mail.ts'
import { createSigners } from '../pipeline/transactions/safe.ts'
import { createBullmqQueue } from '../queue/bullmq.ts'
import type { Carrier } from '../queue/hints.ts'
import { LOOK } from '../queue/queue.ts'
import { createTimers } from '../queue/timers.ts'
import { createWaker, type Waker } from '../queue/waker.ts'
import { type KeeperRecords, signersOf } from './records.ts'
import type { HeldSeat, Seating, Standing, Tenure } from './seating.ts'
import { type Candidate, refusalOfPolicies } from './staff.ts'

/** What an instance of a fleet needs. */
type FleetDeps = {
  readonly candidates: readonly Candidate[]
  readonly clock: Clock
  readonly log: Log
  /** The release: instances of two do not work side by side. */
  readonly version: string
  readonly alarm: (error: RolekeeperError) => void
  readonly stop: AbortSignal
}

/** Between two tries to reach a Redis that holds nothing for us yet. */
const AGAIN_MS = 1_000

const monotonicMs = () => performance.now()

/**
 * Sit in a fleet, on records in Redis: each seat that this instance comes to hold is a term of its own. A Redis that is away
 * is waited for. Throws `journal.locked`, `fleet.witness`, what every policy was refused for, and what `journal.redis` has
 * wrong.
 */
export async function openInFleet(config: RunConfig, deps: FleetDeps): Promise<Seating> {
  const { fleet, directory } = config
  invariant(fleet !== undefined, 'an instance of no fleet')
  const refusal = refusalOfPolicies(deps.candidates)
  if (refusal !== null) throw refusal
  const { release } = lockDirectory(directory)
  const opened: (() => unknown)[] = [release]
  const close = async () => {
    for (const each of opened.toReversed()) await each()
  }
  try {
    const names = seatsOf(config).map(({ name }) => name)
    const witnesses = await openWitnesses(directory, names)
    opened.push(witnesses.close)
    const archive = openArchive(directory)
    opened.push(() => archive.close())
    const store = new RedisStore(storeConfigOf(config), {
      known: witnesses.known,
      onLine: async () => undefined,
    })
    opened.push(() => store.close())
    const seating = new FleetSeating(config, fleet, { ...deps, witnesses, archive, store, close })
    await seating.connect()
    return seating
  } catch (error) {
    await close()
    throw error
  }
}

type Parts = FleetDeps & {
  readonly witnesses: Witnesses
  readonly archive: Archive
  readonly store: RedisStore
  readonly close: () => Promise<void>
}

class FleetSeating implements Seating {
  readonly drains = false
  readonly resumed = null
  readonly values: Seating['values']
  readonly close: () => Promise<void>
  readonly #config: RunConfig
  readonly #fleet: NonNullable<RunConfig['fleet']>
  readonly #deps: Parts
  readonly #names: readonly string[]
  readonly #control: FleetControl
  readonly #attestation: Attestation
  readonly #carrier: Carrier
  readonly #waker: Waker | undefined
  readonly #chainTime: ChainTime
  /** Ended with it, the last first. */
  readonly #opened: (() => unknown)[] = []
  #seats: Seats | undefined
  #why: RolekeeperError | null = null
  /** Resolves once seats are being held, or the keeper ends. */
  #holding: Promise<void> | undefined

  constructor(config: RunConfig, fleet: NonNullable<RunConfig['fleet']>, deps: Parts) {
    const { clock, store, witnesses, alarm, close } = deps
    const { endpoint, replicas } = storeConfigOf(config)
    const { instance, roster, leaseMs } = fleet
    this.#config = config
    this.#fleet = fleet
    this.#deps = deps
    this.#names = seatsOf(config).map(({ name }) => name)
    this.#control = createFleetControl({
      ...{ store, instance, leaseMs, monotonicMs, seats: this.#names, onFailed: alarm },
      ...{ directory: config.directory, nowMs: clock.nowMs },
    })
    this.#attestation = createAttestation({
      ...{ store, instance, witnesses, roster, replicas, onWaiting: alarm },
    })
    this.#chainTime = createChainTime({ nowMs: clock.nowMs, monotonicMs })
    this.#carrier = { ...endpoint, fleet: fleet.name }
    this.#waker = config.queue === 'bullmq' ? createWaker(this.#carrier, clock, this.#heard) : undefined
    // How far the feed of one process has come is nothing to the next: the first look is at everything.
    const values = new Map<string, string | null>()
    this.values = {
      getValue: async (key) => values.get(key) ?? null,
      setValue: async (key, value) => void values.set(key, value),
    }
    this.close = async () => {
      for (const each of this.#opened.toReversed()) await each()
      await this.#waker?.close()
      await close()
    }
  }

  readonly #heard = (problem: RolekeeperError | null) => {
    if (problem !== null) this.#deps.alarm(problem)
  }

  /** @returns whether Redis is what it has to be. Throws what only a person mends, where nothing is forgotten. */
  async connect(): Promise<boolean> {
    try {
      await this.#deps.store.connect()
      return true
    } catch (error) {
      if (!(error instanceof RolekeeperError)) throw error
      this.#say(error)
      if (error.retry === 'never' && error.code !== 'journal.amnesia' && this.#holding === undefined)
        throw error
      return false
    }
  }

  readonly #say = (why: RolekeeperError | null) => {
    this.#why = why
    if (why === null) return
    this.#control.forgotten(why)
    this.#deps.alarm(why)
  }

  control() {
    return this.#control.switches()
  }

  standing(): Standing {
    const held = this.#seats?.held().length ?? 0
    const why = this.#why
    return {
      ok: why === null || why.code === 'fleet.stands_by',
      message: `${held} of ${this.#names.length} held${why === null ? '' : `; ${why.message}`}`,
      isStandby: held === 0,
    }
  }

  hint(): void {
    const held = new Set(this.#seats?.held().map(({ seat }) => seat))
    for (const name of this.#names) if (!held.has(name)) void this.#waker?.wake(name, LOOK)
  }

  async hold(hold: (seat: HeldSeat) => Tenure, nodes: Pick<Nodes, 'onHead'>): Promise<void> {
    this.#opened.push(nodes.onHead(({ timestampS }) => this.#chainTime.saw(timestampS)))
    this.#holding = this.#hold(hold).catch((error: unknown) => {
      if (!this.#deps.stop.aborted) throw error
    })
  }

  async #hold(hold: (seat: HeldSeat) => Tenure): Promise<void> {
    const { clock, store, stop } = this.#deps
    while (!(await this.connect())) await clock.sleep(AGAIN_MS, stop)
    const { instance, leaseMs, lagMs, zone } = this.#fleet
    const seats = seatsOf(this.#config)
    // What was begun for an agent that is in no configuration any more is followed to its end.
    const left = (await readSeatsAtWork(store)).filter((name) => !this.#names.includes(name))
    stop.throwIfAborted()
    this.#seats = createSeats({
      ...{ store, instance, leaseMs, lagMs, clock, monotonicMs, attestation: this.#attestation },
      blockOffMs: this.#chainTime.offMs,
      seats: [...seats, ...left.map((name) => ({ name }))],
      ...(zone === undefined ? {} : { zone }),
      release: this.#deps.version,
      fingerprint: this.#fingerprint(),
      onControls: this.#control.heard,
      onState: this.#say,
      onHeld: (held, lost) => this.#begin(held, lost, hold),
    })
  }

  /** What instances have to agree on: the release, the policies, and who signs for which role. */
  #fingerprint(): string {
    const { candidates, version } = this.#deps
    const agents = candidates.map(({ agent, policy }) => {
      const rules = policy instanceof RolekeeperError ? policy.code : policy.ruleset.hash
      return `${agent.role} ${agent.mode} ${agent.signer.address} ${rules}`
    })
    return [version, ...agents.toSorted()].join('\n')
  }

  #begin(held: Held, lost: AbortSignal, hold: (seat: HeldSeat) => Tenure): Park {
    let isOver = false
    const opening = this.#open(held).then((seat) => (isOver || lost.aborted ? undefined : hold(seat)))
    opening
      .then((tenure) => tenure?.begin())
      .catch((error: unknown) => {
        if (isOver || lost.aborted) return
        this.#deps.log.error('a term could not begin', { seat: held.seat }, error)
        if (error instanceof RolekeeperError) this.#deps.alarm(error)
        // It is taken up again, with all that stands in the record by then.
        this.#seats?.lost(held)
      })
    return async () => {
      isOver = true
      const tenure = await opening.catch(() => undefined)
      await tenure?.end()
    }
  }

  async #open(held: Held): Promise<HeldSeat> {
    const { seat } = held
    const candidates = this.#deps.candidates.filter(({ agent }) => seatOf(agent) === seat)
    const config = { ...this.#config, agents: candidates.map(({ agent }) => agent) }
    const records = await this.#openRecords(held, config)
    return {
      ...{ config, candidates, records, mail: fileMail(config.directory, records.journal) },
      gate: () => {
        const gate = this.#control.gate(seat)
        return { ...gate, closed: gate.closed || (this.#seats?.isOver(seat) ?? true) }
      },
      createQueue: (timers) => {
        const [carrier, waker, onHealth] = [this.#carrier, this.#waker, this.#heard]
        return waker === undefined
          ? createTimers(timers)
          : createBullmqQueue({ ...timers, carrier, seat, waker, onHealth })
      },
    }
  }

  async #openRecords(held: Held, config: RunConfig): Promise<KeeperRecords> {
    const { store, archive, witnesses, clock, alarm } = this.#deps
    const onControls = this.#control.heard
    const journal = withWitness(await openRedisJournal(held, { store, archive, onControls }), {
      acknowledged: () => witnesses.record(held.seat, store.known()),
      onError: (error) => {
        if (error.code === 'seat.lost') this.#seats?.lost(held)
        this.#control.forgotten(error)
      },
    })
    // Nothing follows from the seat before it is as durable as what will.
    await journal.barrier()
    const resumed = await journal.live()
    const addresses = signersOf(config, resumed)
    const chainId = config.chain.id
    const signers = await createSigners(addresses, { nowMs: clock.nowMs, alarm, chainId, journal })
    return { journal, signers, addresses, resumed, close: journal.close }
  }

  async leave(): Promise<void> {
    await this.#holding
    await this.#seats?.stop()
  }
}
