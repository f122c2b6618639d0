import { randomUUID } from 'node:crypto'
import { invariant } from '../../errors.ts'
import type { ServiceClient } from '../client.ts'
import type { Page } from '../collection.ts'
import type { Assumptions, PolledEvent } from '../contract/assumptions.ts'
import { OPERATIONS } from '../contract/operations.ts'
import type { Call } from '../failure.ts'
import {
  connectStream,
  type StreamConnection,
  type StreamHandlers,
  type StreamRequest,
  streamUrl,
} from './stream.ts'

/** The service's events, by stream and by polling. */
export type EventSource = {
  /** Read one page of events after a cursor, oldest first; null begins at the oldest that is kept. */
  readonly pollEvents: (cursor: string | null, signal: AbortSignal) => Promise<Page<PolledEvent>>
  /** Open the event stream, with a token of its own. */
  readonly openStream: (request: StreamRequest, handlers: StreamHandlers) => Promise<StreamConnection>
}

/**
 * Create the source of a service's events. Both ways throw RolekeeperError with a `service.*` code.
 * @param at where the stream may be when its host is not the service's own, and the names of its query parameters.
 */
export function createEventSource(
  client: Pick<ServiceClient, 'base' | 'pages' | 'createStreamToken'>,
  at: { readonly url?: string | undefined; readonly query?: Assumptions['streamQuery'] } = {},
): EventSource {
  const call: Call = { host: client.base.host, method: 'POST', path: OPERATIONS.createStreamToken.path }
  const expected = at.url === undefined ? client.base : new URL(at.url)
  return {
    pollEvents: async (cursor, signal) => {
      const { value: page } = await client.pages.pollEvents({ cursor, signal }).next()
      invariant(page, 'a collection has a first page')
      return page
    },
    openStream: async (request, handlers) => {
      const { answer } = await client.createStreamToken({
        body: {},
        // A token that was lost on the way is worth nothing: another one is asked for.
        idempotencyKey: randomUUID(),
        signal: request.signal,
      })
      return connectStream(streamUrl(call, answer.url, expected), answer.token, request, handlers, at.query)
    },
  }
}
