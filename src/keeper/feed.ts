import type { Clock } from '../clock.ts'
import type { RunConfig } from '../config/config.ts'
import type { RolekeeperError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import type { ServiceClient } from '../service/client.ts'
import { createEventSource } from '../service/events/event-source.ts'
import { createFeed, type Feed } from '../service/events/feed.ts'
import type { Hint } from '../service/events/hints.ts'
import { startWebhookListener } from '../service/events/webhook-listener.ts'

/** Interest moves health without any event: everything is looked at again at least this often. */
const SWEEP_MS = 5_000

/** Where the journal keeps how far the feed has come. */
const CURSOR = 'feed.cursor'

/** What the feed of a keeper is joined from. */
type FeedDeps = {
  readonly client: ServiceClient
  readonly clock: Clock
  readonly journal: Pick<Journal, 'getValue' | 'setValue'>
  /** The event types that some role waits for. */
  readonly types: readonly string[]
  readonly onHint: (hint: Hint) => void
  readonly onRefused: (error: RolekeeperError) => void
}

/** Create the feed of the service's events, resumed where the journal left it. It says nothing before its start. */
export async function createKeeperFeed({ service }: RunConfig, deps: FeedDeps): Promise<Feed> {
  const { client, clock, journal, onRefused } = deps
  const { assumptions, streamUrl } = service
  const cursor = await journal.getValue(CURSOR)
  const feed = createFeed(
    { types: [...new Set(deps.types)], sweepMs: SWEEP_MS, heartbeatMs: assumptions.streamHeartbeatMs },
    {
      client: createEventSource(client, { url: streamUrl, query: assumptions.streamQuery }),
      clock,
      onRefused,
      loadCursor: () => cursor,
      saveCursor: (next) => void journal.setValue(CURSOR, next),
    },
  )
  feed.onHint(deps.onHint)
  return feed
}

/**
 * Take the service's webhooks where a configuration says so: they join the hints of stream and polling.
 * @returns what ends it. Throws what listening throws.
 */
export async function listenForWebhooks(
  { service }: RunConfig,
  deps: {
    readonly clock: Clock
    readonly feed: Pick<Feed, 'hear'>
    readonly onOutcome: (outcome: string) => void
  },
): Promise<() => Promise<void>> {
  const { webhook, assumptions } = service
  if (webhook === undefined) return async () => {}
  const { secrets, ...settings } = webhook
  const listener = await startWebhookListener(
    {
      ...settings,
      headers: assumptions.webhookHeaders,
      secrets: () => secrets.map((secret) => secret.reveal()),
    },
    { clock: deps.clock, onEvent: (event) => deps.feed.hear(event), onOutcome: deps.onOutcome },
  )
  return listener.close
}
