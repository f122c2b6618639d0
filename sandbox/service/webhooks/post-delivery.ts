import { createHmac } from 'node:crypto'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { HostAddress } from './receiver-address.ts'

/** A receiver that has not answered by then has not taken the delivery. */
const ANSWER_MS = 10_000

/** One signed request. */
export type OutgoingDelivery = {
  readonly url: URL
  /** Where to connect: the name in the URL is not looked up again. */
  readonly addresses: readonly HostAddress[]
  readonly deliveryId: string
  /** Of the endpoint; more than one while it is being replaced. */
  readonly secrets: readonly string[]
  /** The envelope, as it is signed and sent. */
  readonly body: string
  readonly nowMs: number
}

/**
 * Write the signature header: `t=<unix seconds>,v1=<64 hex>`, one `v1` a secret. Pure.
 * Source: service API, "Webhook delivery".
 */
function signatureHeader(delivery: Omit<OutgoingDelivery, 'url' | 'addresses'>): string {
  const t = Math.floor(delivery.nowMs / 1_000)
  const signed = `${t}.${delivery.deliveryId}.${delivery.body}`
  const parts = delivery.secrets.map((key) => `v1=${createHmac('sha256', key).update(signed).digest('hex')}`)
  return [`t=${t}`, ...parts].join()
}

/**
 * Send one delivery, once, following no redirect.
 * @returns the status of the answer; null when there was none in time.
 */
export function postDelivery(delivery: OutgoingDelivery, signal: AbortSignal): Promise<number | null> {
  const { url, addresses, deliveryId, body } = delivery
  // A pool would reuse a connection whose address was checked for an earlier delivery.
  const lookup: LookupFunction = (_hostname, options, found) => {
    const [first] = addresses
    if (options.all === true) found(null, [...addresses])
    else found(null, first?.address ?? '', first?.family)
  }
  const options = {
    method: 'POST',
    agent: false,
    lookup,
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'Svc-Signature': signatureHeader(delivery),
      'Svc-Delivery-Id': deliveryId,
    },
  }
  return new Promise((resolve) => {
    const sent: ClientRequest = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options)
    sent.on('error', () => resolve(null))
    sent.on('response', (response) => {
      resolve(response.statusCode ?? null)
      // Its body says nothing that we would read.
      response.destroy()
    })
    sent.end(body)
  })
}
