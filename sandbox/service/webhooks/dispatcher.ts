import type { Clock } from '../../../src/clock.ts'
import { eventEnvelope } from '../../../src/service/contract/assumptions.ts'
import { type EventLog, type LoggedEvent, mayHear } from '../events/events.ts'
import type { Store } from '../store.ts'
import { type DeliveryRows, newDelivery, type WebhookDelivery } from './delivery-rows.ts'
import type { EndpointRows, WebhookEndpoint } from './endpoint-rows.ts'
import { postDelivery } from './post-delivery.ts'
import { type Resolve, readReceiverUrl, receiverAddresses } from './receiver-address.ts'

/** Assumed: a delivery is tried this often, the last time about two minutes after the first. */
const ATTEMPTS_MAX = 8
const BACKOFF_MS = 1_000
const BACKOFF_MS_MAX = 60_000
/** Deliveries to one receiver that are under way at the same time. */
const IN_FLIGHT_MAX = 8
/** Deliveries to one receiver that wait here; what happens beyond them waits in the event log. */
const WAITING_MAX = 1_000
/** How many deliveries are made between two looks for those that are too old to keep. */
const TRIM_EVERY = 1_000
/** Source: service API, "Webhook management and replay". */
export const REPLAY_WINDOW_MS = 30 * 24 * 3_600_000

/** What the dispatcher is given. */
export type DispatcherDeps = {
  readonly store: Pick<Store, 'atomically'>
  readonly endpoints: EndpointRows
  readonly deliveries: DeliveryRows
  readonly log: Pick<EventLog, 'after' | 'head' | 'floor' | 'onAppend'>
  readonly clock: Clock
  readonly allowLoopback: boolean
  readonly resolve: Resolve
  /** Gets what failed inside, for example a full disk. */
  readonly onCrash: (error: unknown) => void
}

/** Brings events to receivers. */
export type Dispatcher = {
  /** Send a delivery whose row is committed. */
  readonly send: (delivery: WebhookDelivery) => void
  /** Settles when nothing is under way and nothing waits. */
  readonly idle: () => Promise<void>
  /** End; what is under way is tried again after the next start. */
  readonly stop: () => Promise<void>
}

/**
 * Start to deliver: what was left from the last run, and each event that the log gets. At least once, in order for one
 * subject at one receiver, in any order otherwise. Source: service API, "Webhook delivery".
 */
export function startDispatcher(deps: DispatcherDeps): Dispatcher {
  const dispatcher = new LaneDispatcher(deps)
  dispatcher.begin()
  return dispatcher
}

/** How long to wait after a failed attempt, the first being 1: doubling, half of it by chance. Pure but for that. */
const backoffMs = (attempts: number) =>
  Math.round(Math.min(BACKOFF_MS * 2 ** (attempts - 1), BACKOFF_MS_MAX) * (0.5 + Math.random() / 2))

const wants = (endpoint: WebhookEndpoint, event: LoggedEvent) =>
  mayHear(event, endpoint.applicationId) &&
  (endpoint.eventTypes.length === 0 || endpoint.eventTypes.includes(event.type))

/** What one receiver has under way: its own limit, so that one that hangs delays no other. */
type Load = { waiting: number; inFlight: number; readonly queue: (() => void)[] }

class LaneDispatcher implements Dispatcher {
  readonly #deps: DispatcherDeps
  /** By receiver and subject: the deliveries that go one after the other. */
  readonly #lanes = new Map<string, WebhookDelivery[]>()
  readonly #loads = new Map<string, Load>()
  readonly #running = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  #madeSinceTrim = 0

  constructor(deps: DispatcherDeps) {
    this.#deps = deps
  }

  begin(): void {
    const { log, deliveries } = this.#deps
    this.#trim()
    for (const delivery of deliveries.open()) this.send(delivery)
    this.#fanOut()
    log.onAppend(() => this.#fanOut())
  }

  send(delivery: WebhookDelivery): void {
    if (this.#stop.signal.aborted) return
    this.#loadOf(delivery.endpointId).waiting += 1
    const name = `${delivery.endpointId} ${delivery.subject}`
    const lane = this.#lanes.get(name)
    if (lane !== undefined) {
      lane.push(delivery)
      return
    }
    const opened = [delivery]
    this.#lanes.set(name, opened)
    const running = this.#drain(name, opened).finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    for (const { queue } of this.#loads.values()) for (const go of queue) go()
    await this.idle()
  }

  /** Make the deliveries of what happened since each receiver's place in the log. */
  #fanOut(): void {
    if (this.#stop.signal.aborted) return
    try {
      for (const endpoint of this.#deps.endpoints.enabled()) this.#fanOutTo(endpoint)
      if (this.#madeSinceTrim >= TRIM_EVERY) this.#trim()
    } catch (error) {
      // A full disk is our trouble, not that of the event's cause.
      this.#deps.onCrash(error)
    }
  }

  #fanOutTo(endpoint: WebhookEndpoint): void {
    const { store, endpoints, deliveries, log, clock } = this.#deps
    let place = Math.max(endpoint.place, log.floor())
    for (;;) {
      const room = WAITING_MAX - this.#loadOf(endpoint.id).waiting
      const events = room > 0 ? log.after(place, room) : []
      const last = events.at(-1)
      if (last === undefined) return
      const made = events
        .filter((event) => wants(endpoint, event))
        .map((event) => newDelivery({ ...target(endpoint), ...payload(event) }, clock.nowMs()))
      store.atomically(() => {
        for (const delivery of made) deliveries.insert(delivery)
        endpoints.moveTo(endpoint.id, last.seq)
      })
      place = last.seq
      this.#madeSinceTrim += made.length
      for (const delivery of made) this.send(delivery)
    }
  }

  #trim(): void {
    this.#deps.deliveries.trim(this.#deps.clock.nowMs() - REPLAY_WINDOW_MS)
    this.#madeSinceTrim = 0
  }

  /** Bring the deliveries of one lane, each until it is taken or dead. */
  async #drain(name: string, lane: WebhookDelivery[]): Promise<void> {
    try {
      for (let next = lane[0]; next !== undefined; next = lane[0]) {
        const load = this.#loadOf(next.endpointId)
        if (!(await this.#bring(next, load))) return
        lane.shift()
        load.waiting -= 1
        // What did not fit before fits now.
        if (load.waiting === WAITING_MAX / 2) this.#fanOut()
      }
    } finally {
      // In the same turn that found the lane empty: the next event opens another.
      this.#lanes.delete(name)
    }
  }

  /** @returns false when we were stopped before it came to an end. */
  async #bring(delivery: WebhookDelivery, load: Load): Promise<boolean> {
    const { clock, deliveries, onCrash } = this.#deps
    let failures = 0
    for (let state = delivery; state.nextAttemptMs !== null; ) {
      const waitMs = state.nextAttemptMs - clock.nowMs()
      if (waitMs > 0) await clock.sleep(waitMs, this.#stop.signal).catch(() => undefined)
      await enter(load)
      try {
        if (this.#stop.signal.aborted) return false
        const responseStatus = await this.#attempt(state)
        if (this.#stop.signal.aborted) return false
        const attempted = after(state, responseStatus, clock.nowMs())
        deliveries.settle(attempted)
        state = attempted
      } catch (error) {
        // A full disk is our trouble: the attempt does not count, and what is behind it waits.
        onCrash(error)
        failures += 1
        state = { ...state, nextAttemptMs: clock.nowMs() + backoffMs(failures) }
      } finally {
        leave(load)
      }
    }
    return true
  }

  /** @returns the answer's status, null without one, or `gone` when nobody is to be asked any more. */
  async #attempt({ endpointId, id, envelope }: WebhookDelivery): Promise<number | null | 'gone'> {
    const { endpoints, clock, allowLoopback, resolve } = this.#deps
    const endpoint = endpoints.find(endpointId)
    if (endpoint === null || endpoint.status === 'disabled') return 'gone'
    const url = readReceiverUrl(endpoint.url, allowLoopback)
    const addresses = url === null ? [] : await receiverAddresses(url, allowLoopback, resolve)
    if (url === null || addresses.length === 0) return null
    const request = { url, addresses, deliveryId: id, secrets: [endpoint.secret], body: envelope }
    return postDelivery({ ...request, nowMs: clock.nowMs() }, this.#stop.signal)
  }

  #loadOf(endpointId: string): Load {
    const load = this.#loads.get(endpointId) ?? { waiting: 0, inFlight: 0, queue: [] }
    this.#loads.set(endpointId, load)
    return load
  }
}

const target = ({ id, applicationId }: WebhookEndpoint) => ({ endpointId: id, applicationId })

const payload = ({ type, subject, envelope }: LoggedEvent) => ({
  eventType: type,
  subject,
  envelope,
  eventId: eventEnvelope.parse(JSON.parse(envelope)).id,
})

/** Say where a delivery stands after an attempt. Pure but for the back-off's chance. */
function after(
  delivery: WebhookDelivery,
  responseStatus: number | null | 'gone',
  nowMs: number,
): WebhookDelivery {
  if (responseStatus === 'gone') return { ...delivery, status: 'dead_letter', nextAttemptMs: null }
  const attempts = delivery.attempts + 1
  const attempted = { ...delivery, attempts, responseStatus, lastAttemptMs: nowMs }
  // A redirect is no answer: it would lead where nobody has checked.
  const taken = responseStatus !== null && responseStatus >= 200 && responseStatus < 300
  if (taken) return { ...attempted, status: 'delivered', nextAttemptMs: null }
  if (attempts >= ATTEMPTS_MAX) return { ...attempted, status: 'dead_letter', nextAttemptMs: null }
  return { ...attempted, status: 'retrying', nextAttemptMs: nowMs + backoffMs(attempts) }
}

/** Wait for one of a receiver's places, in order. */
async function enter(load: Load): Promise<void> {
  if (load.inFlight >= IN_FLIGHT_MAX) await new Promise<void>((resolve) => load.queue.push(resolve))
  else load.inFlight += 1
}

/** Give the place to the next that waits, or back. */
function leave(load: Load): void {
  const next = load.queue.shift()
  if (next === undefined) load.inFlight -= 1
  else next()
}
