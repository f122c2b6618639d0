import { setTimeout as sleep } from 'node:timers/promises'
import { within } from './eventually.ts'
import { isObject, type Json } from './shape-check.ts'

/** The events that a polling application sees. Each rejects when polling has failed. */
export type ApplicationEvents = {
  /** Wait for an event of a type that names `id`; null when none comes within the limit of every wait. */
  readonly find: (type: string, id: string) => Promise<Json | null>
  /** The same of what is published by now: read to the end first, and null when it is not there then. */
  readonly published: (type: string, id: string) => Promise<Json | null>
  readonly stop: () => Promise<void>
}

const POLL_MS = 400
const PAGE = 100

/** Ask for pages of events, one after the other, until stopped; keep those of workflows and of the sandbox. */
export function followEvents(page: (query: string) => Promise<readonly Json[]>): ApplicationEvents {
  const seen: Json[] = []
  const stopping = new AbortController()
  let asked = 0
  /** Of the pages that were asked for, the last behind which there was no other. */
  let drained = 0
  const follow = async () => {
    let cursor = ''
    while (!stopping.signal.aborted) {
      asked += 1
      const rows = await page(`limit=${PAGE}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
      for (const row of rows) {
        cursor = String(row.cursor)
        const { event } = row
        if (!isObject(event)) continue
        if (/^(workflow|sandbox)\./.test(String(event.type))) seen.push(event)
      }
      if (rows.length === PAGE) continue
      drained = asked
      await sleep(POLL_MS, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  let failure: { readonly cause: unknown } | undefined
  const following = follow().catch((cause: unknown) => {
    failure = { cause }
  })
  const match = (type: string, id: string): Json | undefined => {
    const found = seen.find((event) => event.type === type && JSON.stringify(event).includes(id))
    if (found === undefined && failure !== undefined)
      throw new Error('the events cannot be polled', { cause: failure.cause })
    return found
  }
  return {
    find: async (type, id) => (await within(async () => match(type, id))) ?? null,
    published: async (type, id) => {
      const before = asked
      const looked = async () => match(type, id) ?? (drained > before ? null : undefined)
      return (await within(looked)) ?? null
    },
    stop: async () => {
      stopping.abort()
      await following
    },
  }
}
