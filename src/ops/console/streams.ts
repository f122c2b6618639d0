import type { ServerResponse } from 'node:http'

/** What a page shows, part by part: each part is sent when its text changes. */
export type PageParts = Readonly<Record<string, unknown>>

/** The pages that are open, and the one reading that all of them are told. */
export type Streams = {
  /** Whether no further page may be opened. */
  readonly isFull: () => boolean
  /** Tell a page from now on, until its session ends. */
  readonly add: (response: ServerResponse, untilMs: number) => void
  readonly close: () => void
}

type StreamsDeps = {
  readonly nowMs: () => number
  readonly monotonicMs: () => number
  /** Read all parts; asked while a page is open, and not before the reading before has ended. */
  readonly read: () => Promise<PageParts>
  /** Write a part as text that is safe to send. */
  readonly write: (part: unknown) => string
  /** Told once of what fails again and again. */
  readonly onFailed: (error: unknown) => void
}

/** So many pages may be open at once. */
export const STREAMS_MAX = 16
/** What happened is on every page within two seconds: half of a second until it is read, and what that takes. */
const EVERY_MS = 500
/** A page that takes nothing for so long is let go; it comes back by itself. */
const STUCK_MS_MAX = 10_000

type Client = {
  readonly response: ServerResponse
  readonly untilMs: number
  /** The texts that it has, shared with all others that have them. */
  readonly sent: Map<string, string>
  /** Since when it takes nothing; null while it does. */
  stuckSinceMs: number | null
}

/**
 * Create the event streams. A page that is slow is told the newest of each part once it takes something again: what waits for
 * it is at most one reading.
 */
export function createStreams({ nowMs, monotonicMs, read, write, onFailed }: StreamsDeps): Streams {
  const clients = new Set<Client>()
  let texts: ReadonlyMap<string, string> = new Map()
  let timer: NodeJS.Timeout | undefined
  let isReading = false
  let isFailing = false

  const letGo = (client: Client) => {
    clients.delete(client)
    client.response.destroy()
    if (clients.size > 0) return
    clearInterval(timer)
    timer = undefined
    texts = new Map()
  }
  const tell = (client: Client) => {
    const { response, untilMs, sent } = client
    if (nowMs() > untilMs) return letGo(client)
    if (response.writableNeedDrain) {
      client.stuckSinceMs ??= monotonicMs()
      if (monotonicMs() - client.stuckSinceMs > STUCK_MS_MAX) letGo(client)
      return
    }
    client.stuckSinceMs = null
    for (const [name, text] of texts) {
      if (sent.get(name) === text) continue
      sent.set(name, text)
      response.write(`event: ${name}\ndata: ${text}\n\n`)
    }
  }
  const look = async () => {
    if (isReading) return
    isReading = true
    try {
      const parts = Object.entries(await read())
      texts = new Map(
        parts.map(([name, part]) => {
          const text = write(part)
          return [name, texts.get(name) === text ? (texts.get(name) ?? text) : text]
        }),
      )
      isFailing = false
    } catch (error) {
      if (!isFailing) onFailed(error)
      isFailing = true
    } finally {
      isReading = false
    }
    for (const client of clients) tell(client)
  }
  return {
    add: (response, untilMs) => {
      const client: Client = { response, untilMs, sent: new Map(), stuckSinceMs: null }
      clients.add(client)
      response.on('close', () => letGo(client))
      tell(client)
      timer ??= setInterval(look, EVERY_MS)
      void look()
    },
    isFull: () => clients.size >= STREAMS_MAX,
    close: () => {
      for (const client of clients) letGo(client)
    },
  }
}
