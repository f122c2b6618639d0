/**
 * A webhook receiver written from the service's document alone: it imports nothing of ours, so that a mistake of ours
 * at both ends is not its mistake too. Source: service API, "Webhook delivery".
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** A delivery as it arrives: header names in lower case, and the exact bytes. */
export type Delivery = { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer }

export type Verdict = 'accepted' | 'duplicate' | 'rejected'

/** Create a receiver that holds one signing secret; it remembers what it has accepted. */
export function createReceiver(secret: string): (delivery: Delivery, nowMs: number) => Verdict {
  const deliveryIds = new Set<string>()
  const eventIds = new Set<string>()
  return ({ headers, body }, nowMs) => {
    const deliveryId = headers['svc-delivery-id'] ?? ''
    const header = /^t=([0-9]+)((?:,v1=[0-9a-f]{64})+)$/.exec(headers['svc-signature'] ?? '')
    if (header === null || deliveryId === '') return 'rejected'
    const [, timestamp = '', signatures = ''] = header
    if (Math.abs(nowMs / 1_000 - Number(timestamp)) > 300) return 'rejected'
    const hmac = createHmac('sha256', secret)
    hmac.update(`${timestamp}.${deliveryId}.`)
    hmac.update(body)
    const expected = hmac.digest()
    const given = signatures.split(',v1=').slice(1)
    if (!given.some((hex) => timingSafeEqual(Buffer.from(hex, 'hex'), expected))) return 'rejected'
    const envelope = readEnvelope(body)
    if (envelope === null) return 'rejected'
    const duplicate = deliveryIds.has(deliveryId) || eventIds.has(envelope.id)
    deliveryIds.add(deliveryId)
    eventIds.add(envelope.id)
    return duplicate ? 'duplicate' : 'accepted'
  }
}

function readEnvelope(body: Buffer): { readonly id: string } | null {
  let value: Record<string, unknown>
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch {
    return null
  }
  const { id, type, schemaVersion, occurredAt, subject, data } = value ?? {}
  const texts = [id, type, occurredAt, subject].every((text) => typeof text === 'string')
  const whole = texts && Number.isInteger(schemaVersion) && typeof data === 'object' && data !== null
  return whole && !Number.isNaN(Date.parse(String(occurredAt))) ? { id: String(id) } : null
}
