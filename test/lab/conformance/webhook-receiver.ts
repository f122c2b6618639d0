import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A receiver of webhooks on loopback that keeps what it gets. */
export type WebhookReceiver = {
  readonly url: string
  /** Take a secret that was shown at an endpoint's creation. */
  readonly expect: (signingSecret: string) => void
  /** Say what is wrong with the signatures of what came so far. */
  readonly problems: () => readonly string[]
  readonly stop: () => Promise<void>
}

type Delivery = { readonly signature: string; readonly id: string; readonly body: Buffer }

/** Start a receiver that answers 200 to whatever it is sent. Source: the document, "Webhook delivery". */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const deliveries: Delivery[] = []
  const secrets: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { 'svc-signature': signature = '', 'svc-delivery-id': id = '' } = request.headers
      deliveries.push({ signature: String(signature), id: String(id), body: Buffer.concat(chunks) })
      response.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    expect: (secret) => {
      secrets.push(secret)
    },
    problems: () => deliveries.flatMap((delivery) => signatureProblems(delivery, secrets)),
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function signatureProblems({ signature, id, body }: Delivery, secrets: readonly string[]): readonly string[] {
  const [, seconds = '', digest = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? []
  if (digest === '') return [`a delivery with the signature "${signature}"`]
  const signedBy = (secret: string) =>
    createHmac('sha256', secret).update(`${seconds}.${id}.`).update(body).digest('hex') === digest
  return [
    ...(secrets.some(signedBy) ? [] : [`delivery ${id} is not signed by its endpoint's secret`]),
    ...(Math.abs(Date.now() / 1_000 - Number(seconds)) <= 300 ? [] : [`delivery ${id} is of ${seconds}`]),
  ]
}
