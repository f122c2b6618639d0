import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { BrokenInvariant, RolekeeperError } from '../errors.ts'
import type { RedisStore } from '../journal/redis/link/store.ts'
import { absent, type Introduction } from '../journal/redis/seats/instances.ts'
import {
  acquire,
  type Controls,
  release,
  type SeatRecord,
  type SeatToken,
} from '../journal/redis/seats/seat.ts'
import type { Control } from '../ops/control.ts'
import type { Seat } from './assign.ts'
import type { Attestation } from './attest.ts'
import { type HeldTerm, holdSeat, type Park } from './held-seat.ts'
import { seatShareOf } from './seat-share.ts'
import { createLook, type View } from './view.ts'

/** The part of its seats that an instance leaves at a time to even out: one after the other, a thousand take an hour. */
const LEFT_AT_ONCE = 1 / 16

/** What an instance holds seats with. */
export type SeatsDeps = {
  readonly store: RedisStore
  /** Its name, which no other has. */
  readonly instance: string
  /** What its directory is known by, as {@link placeOf} says; it holds the lock of that. */
  readonly place: string
  readonly seats: readonly Seat[]
  readonly zone?: string
  /** Release, policies and seats, as one text: instances that differ in it do not work side by side. Policies change. */
  readonly agreement: () => Required<Pick<Introduction, 'fingerprint' | 'tightened'>>
  /** For people. */
  readonly release: string
  readonly switches: () => Control
  /** A term ends so long after its last confirmed beat was sent; all other times are fractions of it. */
  readonly leaseMs: number
  /** It waits so much longer before it takes a seat that was left or lost, and has none while one that waits less has it. */
  readonly lagMs: number
  readonly clock: Clock
  /** A clock that nobody sets, ms. */
  readonly monotonicMs: () => number
  /** How far this clock is ahead of the chain's, ms; null while that is not known, and Redis's alone is asked. */
  readonly blockOffMs: () => number | null
  /**
   * Begin what is done with a seat, and give back how to park it: that is called once, also where the seat was lost and the
   * signal aborted, and until it resolves the same seat is not begun again.
   */
  readonly onHeld: (held: SeatToken, lost: AbortSignal) => Park
  /** Whether the server of now can be relied on. */
  readonly attestation: Attestation
  /** What is set for the fleet, and that it was answered just now. */
  readonly onControls: (controls: Controls) => void
  /** Called when it changes why this instance takes no seat; null: it takes what is its share. */
  readonly onState: (why: RolekeeperError | null) => void
}

/** What an instance sees of its fleet. */
type FleetSeen = {
  /** When Redis answered, by the monotonic clock. */
  readonly atMs: number
  /** Instances that live, itself included. */
  readonly instances: number
  /** How long the longest free seat could have been taken by anybody, ms; 0 where none is free. */
  readonly freeMs: number
}

/** What an instance holds of the fleet's duty. */
export type Seats = {
  /** Whether a seat is not this instance's to act for now. Synchronous: asked right before each KMS call and first send. */
  readonly isOver: (seat: string) => boolean
  /** End a term at once: a write or a fence of it was answered with `seat.lost`. */
  readonly lost: (held: SeatToken) => void
  readonly held: () => readonly SeatToken[]
  /** What it last saw of the fleet; null before it saw anything. */
  readonly seen: () => FleetSeen | null
  /** Park and leave all, so that others take it at their next look. */
  readonly stop: () => Promise<void>
}

/** Begin to share a fleet's seats with its other instances. */
export const createSeats = (deps: SeatsDeps): Seats => new InstanceSeats(deps)

class InstanceSeats implements Seats {
  readonly #deps: SeatsDeps
  readonly #incarnation: string
  readonly #holdings = new Map<string, HeldTerm>()
  /** Terms that are being brought to their end. */
  readonly #ending = new Map<Promise<void>, HeldTerm>()
  readonly #stopped = new AbortController()
  readonly #looking: Promise<void>
  #stopping: Promise<void> | undefined
  #isClockRight = false
  #why: string | undefined
  #seen: FleetSeen | null = null
  /** The sequence of Redis by which the fleet's controls were passed on last. */
  #heardSeq: number | undefined
  /** Seats that are left to others, and until when it is waited for those to take them. */
  readonly #left = new Map<string, number>()

  constructor(deps: SeatsDeps) {
    this.#deps = deps
    this.#incarnation = deps.place + randomBytes(8).toString('hex')
    this.#looking = this.#look()
  }

  isOver(seat: string): boolean {
    return this.#holdings.get(seat)?.isOver() ?? true
  }

  held(): readonly SeatToken[] {
    return [...this.#holdings.values()].map(({ held }) => held)
  }

  seen(): FleetSeen | null {
    return this.#seen
  }

  lost({ seat, token }: SeatToken): void {
    const holding = this.#holdings.get(seat)
    if (holding?.held.token === token) holding.lose()
  }

  async #look(): Promise<void> {
    const { clock, leaseMs, seats } = this.#deps
    const names = seats.map(({ name }) => name)
    const look = createLook({ ...this.#deps, seats: names, incarnation: this.#incarnation })
    while (!this.#stopped.signal.aborted) {
      try {
        const introduction = this.#introduction()
        const view = await look(introduction)
        this.#deps.onControls(view.controls)
        this.#heardSeq = view.controls.seq
        this.#see(view)
        await this.#deps.attestation.say(view)
        await this.#act(view, introduction)
      } catch (error) {
        if (!(error instanceof RolekeeperError)) throw error
        this.#say(error)
        if (error.code === 'fleet.name_taken') return this.#giveUp()
      }
      await clock.sleep(leaseMs / 8, this.#stopped.signal).catch(() => undefined)
    }
  }

  #introduction(): Introduction {
    const { agreement, release: version, lagMs, zone, switches } = this.#deps
    const isAble = this.#isClockRight && this.#stopping === undefined
    const { killed, paused, pulled } = switches()
    const pausedRoles = pulled.flatMap(({ role }) => role ?? [])
    const heardSeq = this.#heardSeq
    return {
      ...agreement(),
      isAble,
      lagMs,
      release: version,
      killed,
      paused,
      pausedRoles,
      ...(zone === undefined ? {} : { zone }),
      ...(heardSeq === undefined ? {} : { heardSeq }),
      ...(this.#why === undefined || this.#why === 'none' ? {} : { standsBy: this.#why }),
    }
  }

  #see({ living, freeMs }: View): void {
    const free = [...freeMs].flatMap(([seat, ms]) => (this.#holdings.has(seat) ? [] : [ms]))
    this.#seen = {
      atMs: this.#deps.monotonicMs(),
      instances: living.length,
      freeMs: Math.max(0, ...free),
    }
  }

  #giveUp(): void {
    for (const { lose } of this.#holdings.values()) lose()
  }

  #say(why: RolekeeperError | null): void {
    const code = why?.code ?? 'none'
    if (code === this.#why) return
    this.#why = code
    this.#deps.onState(why)
  }

  /** Act on what was seen, as who showed itself by then: what changed meanwhile is seen next time. */
  async #act(view: View, { fingerprint }: Pick<Introduction, 'fingerprint'>): Promise<void> {
    const { records, holders } = view
    const { instance, place, seats } = this.#deps
    const [blockOffMs, isStopping] = [this.#deps.blockOffMs(), this.#stopping !== undefined]
    const share = seatShareOf(view, { ...this.#deps, fingerprint, blockOffMs, isStopping })
    this.#isClockRight = share.isClockRight
    this.#say(share.whyNone)
    for (const { name } of seats) {
      const record = records.get(name) ?? null
      // By the lock of the directory, the process that held it so is no more.
      const isOurs = holders.get(name) === instance && record?.token.startsWith(place) === true
      if (this.#holdings.has(name)) continue
      if (share.takes && (isOurs || share.isDue(name))) await this.#take(name, record)
      // A process of before left it, and this one may not go on with it.
      else if (isOurs) await release({ seat: name, token: record.token }, this.#deps.store)
    }
    this.#leaveSome(share.assigned, holders)
  }

  async #take(seat: string, from: SeatRecord | null): Promise<void> {
    const { store, instance, clock, monotonicMs, attestation, onHeld } = this.#deps
    const server = attestation.server()
    if (!(await attestation.mayTake(seat, from))) return
    const token = `${this.#incarnation}-${randomBytes(8).toString('hex')}`
    const takenAt = { wallMs: clock.nowMs(), monotonicMs: monotonicMs() }
    const epoch = await acquire({ seat, from, token, holder: instance, server }, store)
    // Where it is stopping by now, it is left with all others.
    if (epoch === null) return
    const held = { seat, token }
    const begin = (_: SeatToken, lost: AbortSignal) => {
      const park = onHeld(held, lost)
      lost.addEventListener('abort', () => this.#drop(seat), { once: true })
      return park
    }
    this.#holdings.set(seat, holdSeat(held, takenAt, { ...this.#deps, onHeld: begin }))
  }

  /** Bring the term of a seat that was lost to its end. */
  #drop(seat: string): void {
    const holding = this.#holdings.get(seat)
    if (holding !== undefined) this.#endOf(holding, async () => undefined)
  }

  /** Leave a few seats to instances that should have them; the next only after those were taken. */
  #leaveSome(assigned: ReadonlyMap<string, string>, holders: ReadonlyMap<string, string>): void {
    const { monotonicMs, leaseMs, instance } = this.#deps
    for (const [seat, untilMs] of this.#left) {
      const isTaken = ![undefined, instance].includes(holders.get(seat))
      if (isTaken || monotonicMs() >= untilMs) this.#left.delete(seat)
    }
    const ending = new Set(this.#ending.values())
    const others = [...this.#holdings.values()].filter((holding) => {
      const to = assigned.get(holding.held.seat)
      return to !== undefined && to !== instance && !ending.has(holding)
    })
    const free = Math.max(1, Math.floor(this.#holdings.size * LEFT_AT_ONCE)) - ending.size - this.#left.size
    for (const holding of others.slice(0, Math.max(0, free))) {
      this.#left.set(holding.held.seat, monotonicMs() + leaseMs)
      this.#leave(holding)
    }
  }

  #leave(holding: HeldTerm): void {
    this.#endOf(holding, () => release(holding.held, this.#deps.store))
  }

  #endOf(holding: HeldTerm, leave: () => Promise<void>): void {
    const { seat } = holding.held
    const end = async () => {
      await holding.park()
      holding.end()
      await leave()
    }
    const ending = end()
      .catch((error: unknown) => {
        // What cannot be left now runs out, or is taken up again.
        if (error instanceof BrokenInvariant) throw error
      })
      .finally(() => {
        holding.end()
        if (this.#holdings.get(seat) === holding) this.#holdings.delete(seat)
        this.#ending.delete(ending)
      })
    this.#ending.set(ending, holding)
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    for (const holding of this.#holdings.values()) this.#leave(holding)
    await Promise.all(this.#ending.keys())
    this.#stopped.abort('stopped')
    await this.#looking
    // One that was taken meanwhile.
    for (const holding of this.#holdings.values()) this.#leave(holding)
    await Promise.all(this.#ending.keys())
    await absent(this.#deps.instance, this.#incarnation, this.#deps.store).catch(() => undefined)
  }
}
