import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { type Checked, type Refusal, refuse } from '../../errors.ts'
import { admit, isPlain } from '../admit.ts'
import { DELIVERY_ID, type EventEnvelope, eventEnvelope } from '../contract/assumptions.ts'
import { readJson } from '../json.ts'
import { createRecentIds } from './recent-ids.ts'

/** How far the signed timestamp may lie from our clock, at most. Source: service API, "Limits". */
const TOLERANCE_S = 300
/** Of a rotation, the old secret's and the new one's; more only costs us. */
const SIGNATURES_MAX = 8
/** Room for {@link SIGNATURES_MAX} and a few parts of schemes to come. */
const HEADER_LENGTH_MAX = 1_024
/**
 * Ids remembered of each kind: within the tolerance, 200 deliveries a second. Where more come, a delivery that someone
 * recorded can be played back once more, and costs one look.
 */
const REMEMBERED = 65_536

/** A delivery as it came: two header values and the exact bytes. */
export type RawDelivery = {
  readonly signature: string | undefined
  readonly deliveryId: string | undefined
  readonly body: Uint8Array
}

/** Takes deliveries, and gives each event once. */
export type WebhookInbox = {
  /**
   * Verify a delivery and give its event to the taker; it is remembered once the taker has it.
   * @returns `duplicate` for what was taken before, `not_taken` where the taker would not have it, or a refusal that
   *   quotes nothing of the delivery.
   */
  readonly receive: (delivery: RawDelivery) => Received
}

/** What became of a delivery. */
type Received = Checked<{ readonly outcome: 'taken' | 'duplicate' | 'not_taken' }>

/**
 * Create the inbox of one webhook endpoint.
 * @param secrets the endpoint's signing secrets of now: each is tried, so that one can be replaced without a gap.
 * @param take returns true when it will not forget the event, false when it takes nothing now.
 */
export function createWebhookInbox(
  secrets: () => readonly string[],
  clock: Pick<Clock, 'nowMs'>,
  take: (event: EventEnvelope) => boolean,
): WebhookInbox {
  const deliveries = createRecentIds(REMEMBERED)
  const events = createRecentIds(REMEMBERED)
  return {
    receive: (delivery) => {
      const keys = secrets().map((secret) => createSecretKey(secret, 'utf8'))
      const verified = verify(keys, delivery, clock.nowMs())
      if (!verified.ok) return verified
      const { deliveryId } = verified
      const read = readEnvelope(delivery.body)
      if (!read.ok) return read
      const { event } = read
      // A delivery is sent again until it is answered; an event can come by several deliveries.
      const known = deliveries.has(deliveryId) || events.has(event.id)
      if (!known && !take(event)) return { ok: true, outcome: 'not_taken' }
      deliveries.add(deliveryId)
      events.add(event.id)
      return { ok: true, outcome: known ? 'duplicate' : 'taken' }
    },
  }
}

/** Check who sent the bytes and when, before anything reads them. Source: service API, "Webhook delivery". */
function verify(
  keys: readonly KeyObject[],
  { signature, deliveryId, body }: RawDelivery,
  nowMs: number,
): Checked<{ readonly deliveryId: string }> {
  if (signature === undefined || deliveryId === undefined)
    return refuse('headers', 'the signature or the delivery id is missing')
  // A dot in it would let bytes move between id and body under the same signature.
  if (!DELIVERY_ID.test(deliveryId)) return refuse('delivery_id', 'the delivery id is malformed')
  const signed = parseSignature(signature)
  if (!signed.ok) return signed
  const { timestamp, digests } = signed
  if (Math.abs(nowMs - Number(timestamp) * 1_000) > TOLERANCE_S * 1_000)
    return refuse('timestamp', `it was signed more than ${TOLERANCE_S} s from now`)
  const expected = keys.map((key) =>
    createHmac('sha256', key).update(`${timestamp}.${deliveryId}.`).update(body).digest(),
  )
  const matches = expected.map((own) => digests.map((given) => timingSafeEqual(own, given)))
  if (!matches.flat().includes(true)) return refuse('signature', 'no signature matches')
  return { ok: true, deliveryId }
}

/** Read `t=<unix seconds>,v1=<64 hex>`: one timestamp, one or more `v1`; parts of other schemes are passed over. */
function parseSignature(
  header: string,
): Checked<{ readonly timestamp: string; readonly digests: readonly Buffer[] }> {
  const malformed: Refusal = refuse('signature_header', 'the signature header is malformed')
  if (header.length > HEADER_LENGTH_MAX) return malformed
  const timestamps: string[] = []
  const digests: Buffer[] = []
  for (const part of header.split(',')) {
    const [, scheme, value = ''] = /^\s*([a-z0-9]{1,16})=([\x21-\x7e]*)\s*$/.exec(part) ?? []
    if (scheme === undefined) return malformed
    if (scheme === 't' && /^[0-9]{1,12}$/.test(value)) timestamps.push(value)
    // Buffer.from would silently stop at the first character that is not hex.
    else if (scheme === 'v1' && /^[0-9a-fA-F]{64}$/.test(value)) digests.push(Buffer.from(value, 'hex'))
    else if (scheme === 't' || scheme === 'v1') return malformed
  }
  const [timestamp, ...more] = timestamps
  if (timestamp === undefined || more.length > 0) return malformed
  if (digests.length === 0 || digests.length > SIGNATURES_MAX) return malformed
  return { ok: true, timestamp, digests }
}

function readEnvelope(body: Uint8Array): Checked<{ readonly event: EventEnvelope }> {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  const json = readJson(text)
  if (!json.ok) return json
  if (!isPlain(text) && admit(json.value, 'event') !== null)
    return refuse('envelope', 'it holds names that cannot be shown as they are')
  const event = eventEnvelope.safeParse(json.value)
  return event.success ? { ok: true, event: event.data } : refuse('envelope', 'it is not an event envelope')
}
