import type { Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { agentsOf, seatOf, seatsOf, storeConfigOf } from '../../config/fleet.ts'
import { invariant, RolekeeperError } from '../../errors.ts'
import type { Seat } from '../../fleet/assign.ts'
import { type Attestation, createAttestation } from '../../fleet/attest.ts'
import { type ChainTime, createChainTime } from '../../fleet/chain-time.ts'
import { createFleetControl, type FleetControl } from '../../fleet/doubts.ts'
import type { Park } from '../../fleet/held-seat.ts'
import { placeOf } from '../../fleet/place.ts'
import { createSeats, type Seats } from '../../fleet/seats.ts'
import { openWitnesses, type Witnesses } from '../../fleet/witnesses.ts'
import { lockDirectory } from '../../journal/directory/lock.ts'
import { RedisStore } from '../../journal/redis/link/store.ts'
import { readSeatsAtWork, type SeatToken } from '../../journal/redis/seats/seat.ts'
import { type StoreUpkeep, startStoreUpkeep } from '../../journal/redis/upkeep.ts'
import { type Archive, openArchive } from '../../journal/sqlite/archive.ts'
import { closedForNow } from '../../ops/control.ts'
import type { KeeperEvent } from '../../ops/events.ts'
import type { Log } from '../../ops/log.ts'
import type { FleetGauges, FleetMetrics } from '../../ops/metrics/fleet-metrics.ts'
import { type Candidate, refusalOfPolicies } from '../policy/candidates.ts'
import { openKeeperAudit } from '../telemetry/audit.ts'
import { agreementOf } from './fingerprint.ts'
import { beginTenure, isMistake, openFleetSeat } from './fleet-seat.ts'
import type { HeldSeat, Seating, SeatStanding, Tenure } from './seating.ts'
import { createWakeups, type Wakeups } from './wakeups.ts'

/** What an instance of a fleet needs. */
type FleetDeps = {
  readonly candidates: readonly Candidate[]
  readonly clock: Clock
  readonly log: Log
  /** The release: instances of two do not work side by side. */
  readonly version: string
  readonly alarm: (error: RolekeeperError) => void
  readonly emit: (event: KeeperEvent) => void
  readonly metrics: FleetMetrics | null
  readonly stop: AbortSignal
}

/** Between two tries to reach a Redis that holds nothing for us yet. */
const AGAIN_MS = 1_000

/**
 * Sit in a fleet, on records in Redis: each seat that this instance comes to hold is a term of its own. A Redis that is away
 * is waited for. Throws `journal.locked`, `fleet.witness`, why every policy was refused, and what is wrong with `journal.redis`.
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
    const audit = await openKeeperAudit(directory, deps)
    opened.push(audit.close)
    const archive = openArchive(directory)
    opened.push(() => archive.close())
    const store = new RedisStore(storeConfigOf(config), {
      known: witnesses.known,
      tops: witnesses.tops,
      onCall: (...call) => deps.metrics?.redisCalled(...call),
    })
    opened.push(() => store.close())
    const seating = new FleetSeating(config, fleet, { ...deps, witnesses, audit, archive, store, close })
    await seating.connect()
    return seating
  } catch (error) {
    await close()
    throw error
  }
}

type FleetParts = FleetDeps & {
  readonly witnesses: Witnesses
  readonly audit: Seating['audit']
  readonly archive: Archive
  readonly store: RedisStore
  readonly close: () => Promise<void>
}

class FleetSeating implements Seating {
  readonly drains = false
  readonly resumed = null
  readonly values: Seating['values']
  readonly audit: Seating['audit']
  readonly control: Seating['control']
  readonly takenBack: Seating['takenBack']
  readonly close: () => Promise<void>
  readonly #config: RunConfig
  readonly #fleet: NonNullable<RunConfig['fleet']>
  readonly #deps: FleetParts
  readonly #names: readonly string[]
  readonly #control: FleetControl
  readonly #attestation: Attestation
  readonly #wakeups: Wakeups
  readonly #chainTime: ChainTime
  /** Ended with it, the last first. */
  readonly #opened: (() => unknown)[] = []
  #seats: Seats | undefined
  /** Of the configuration, and of what is in flight for none of it. */
  #count: number
  #upkeep: StoreUpkeep | undefined
  #why: RolekeeperError | null = null
  /** Resolves once seats are being held, or the keeper ends. */
  #holding: Promise<void> | undefined

  constructor(config: RunConfig, fleet: NonNullable<RunConfig['fleet']>, deps: FleetParts) {
    const { clock, store, witnesses, alarm, close } = deps
    const { monotonicMs } = clock
    const { replicas } = storeConfigOf(config)
    const { instance, roster, leaseMs } = fleet
    this.#config = config
    this.#fleet = fleet
    this.#deps = deps
    this.audit = deps.audit
    this.#names = seatsOf(config).map(({ name }) => name)
    this.#count = this.#names.length
    this.#control = createFleetControl({
      store,
      instance,
      leaseMs,
      monotonicMs,
      seats: this.#names,
      onFailed: alarm,
      directory: config.directory,
      nowMs: clock.nowMs,
    })
    this.control = this.#control.switches
    this.takenBack = this.#control.takenBack
    this.#attestation = createAttestation({
      store,
      instance,
      witnesses,
      roster,
      replicas,
      leaseMs,
      monotonicMs,
      onWaiting: alarm,
    })
    this.#chainTime = createChainTime(clock)
    this.#wakeups = createWakeups(config, { clock, alarm })
    // How far the feed of one process has come is nothing to the next: the first look is at everything.
    const values = new Map<string, string | null>()
    this.values = {
      getValue: async (key) => values.get(key) ?? null,
      setValue: async (key, value) => void values.set(key, value),
    }
    this.close = async () => {
      for (const each of this.#opened.toReversed()) await each()
      await this.#wakeups.close()
      await close()
    }
  }

  /** @returns whether Redis is what it has to be. Throws what only a person mends, where nothing is forgotten. */
  async connect(): Promise<boolean> {
    try {
      await this.#deps.store.connect()
      return true
    } catch (error) {
      if (this.#holding === undefined && isMistake(error)) throw error
      this.#notYet(error)
      return false
    }
  }

  readonly #say = (why: RolekeeperError | null) => {
    this.#why = why
    if (why === null) return
    this.#control.forgotten(why)
    this.#deps.alarm(why)
  }

  standing(): SeatStanding {
    const held = this.#seats?.held().length ?? 0
    const why = this.#upkeep?.failing() ?? this.#why ?? this.#upkeep?.full() ?? null
    return {
      ok: why === null || why.code === 'fleet.stands_by',
      message: `${held} of ${this.#count} held${why === null ? '' : `; ${why.message}`}`,
      isStandby: held === 0,
    }
  }

  gauges(): FleetGauges {
    const seen = this.#seats?.seen() ?? null
    return {
      seats: this.#count,
      seatsHeld: this.#seats?.held().length ?? 0,
      seatFreeMs: seen?.freeMs ?? 0,
      isStandby: this.#why !== null,
      instances: seen?.instances ?? 0,
      redisSilentMs: seen === null ? null : this.#deps.clock.monotonicMs() - seen.atMs,
      isRedisUnfit: this.#upkeep?.failing() != null,
      isQueueDeaf: this.#wakeups.isDeaf(),
    }
  }

  hint(): void {
    const held = new Set(this.#seats?.held().map(({ seat }) => seat))
    this.#wakeups.hint(this.#names.filter((name) => !held.has(name)))
  }

  async hold(hold: (seat: HeldSeat) => Tenure, nodes: Pick<Nodes, 'onHead'>): Promise<void> {
    this.#opened.push(nodes.onHead(({ timestampS }) => this.#chainTime.saw(timestampS)))
    this.#holding = this.#hold(hold).catch((error: unknown) => {
      if (!this.#deps.stop.aborted) throw error
    })
  }

  async #hold(hold: (seat: HeldSeat) => Tenure): Promise<void> {
    const { clock, store, stop, candidates, version, alarm } = this.#deps
    const { instance, leaseMs, lagMs, zone } = this.#fleet
    const { directory, limits } = this.#config
    const seats = await this.#allSeats()
    stop.throwIfAborted()
    this.#count = seats.length
    this.#upkeep = startStoreUpkeep({ store, clock, onState: (problem) => problem && alarm(problem) })
    this.#opened.push(this.#upkeep.stop)
    this.#seats = createSeats({
      store,
      instance,
      seats,
      leaseMs,
      lagMs,
      clock,
      attestation: this.#attestation,
      monotonicMs: clock.monotonicMs,
      place: placeOf(directory),
      release: version,
      ...(zone === undefined ? {} : { zone }),
      agreement: () => agreementOf(candidates, version, limits),
      blockOffMs: this.#chainTime.offMs,
      switches: this.#control.switches,
      onControls: this.#control.heard,
      onState: this.#say,
      onHeld: (held, lost) => this.#begin(held, lost, hold),
    })
  }

  /** Those of the configuration, and those that something is live of: its agent may be in no configuration any more. */
  async #allSeats(): Promise<readonly Seat[]> {
    const { clock, store, stop } = this.#deps
    for (;;) {
      if (await this.connect()) {
        const atWork = await readSeatsAtWork(store).catch(this.#notYet)
        const left = atWork?.filter((name) => !name.startsWith('shadow:') && !this.#names.includes(name))
        if (left !== undefined) return [...seatsOf(this.#config), ...left.map((name) => ({ name }))]
      }
      await clock.sleep(AGAIN_MS, stop)
    }
  }

  readonly #notYet = (error: unknown) => {
    if (!(error instanceof RolekeeperError)) throw error
    this.#say(error)
    return undefined
  }

  #begin(held: SeatToken, lost: AbortSignal, hold: (seat: HeldSeat) => Tenure): Park {
    return beginTenure(this.#open(held), lost, {
      hold,
      onBegun: () => this.#report(held, 'held'),
      onFailed: (error) => {
        this.#deps.log.error('a term could not begin', { seat: held.seat }, error)
        if (error instanceof RolekeeperError) this.#deps.alarm(error)
        // It is taken up again, with all that stands in the record by then.
        this.#seats?.lost(held)
      },
      onEnded: () => this.#report(held, lost.aborted ? 'lost' : 'left'),
    })
  }

  #report({ seat }: SeatToken, state: 'held' | 'left' | 'lost'): void {
    const roles = agentsOf(seat, this.#config).map(({ role }) => role)
    const at = new Date(this.#deps.clock.nowMs()).toISOString()
    this.#deps.metrics?.term(state === 'held' ? 'begun' : state)
    this.#deps.emit({ type: 'seat', at, seat, roles, state })
  }

  #open(held: SeatToken): Promise<HeldSeat> {
    const { store, archive, audit, witnesses, clock, alarm } = this.#deps
    const { seat } = held
    const candidates = this.#deps.candidates.filter(({ agent }) => seatOf(agent) === seat)
    return openFleetSeat(held, {
      store,
      archive,
      audit,
      clock,
      alarm,
      candidates,
      config: { ...this.#config, agents: candidates.map(({ agent }) => agent) },
      gate: () => {
        const isOver = this.#seats?.isOver(seat) ?? true
        return closedForNow(this.#control.gate(seat), isOver || this.#upkeep?.failing() != null)
      },
      onControls: this.#control.heard,
      acknowledged: (top) => witnesses.record(seat, store.known(), top),
      onError: (error) => {
        if (error.code === 'seat.lost') this.#seats?.lost(held)
        this.#upkeep?.heard(error)
        this.#control.forgotten(error)
      },
      createQueue: this.#wakeups.queueOf(seat),
    })
  }

  async leave(): Promise<void> {
    await this.#holding
    await this.#seats?.stop()
  }
}
