import { setTimeout as sleep } from 'node:timers/promises'
import { isObject, type Json } from './shape-check.ts'

/** The events that a polling application sees. */
export type ApplicationEvents = {
  /** Wait for an event of a type that names `id`; null when none comes in time. Rejects when polling has failed. */
  readonly find: (type: string, id: string, msMax?: number) => Promise<Json | null>
  readonly stop: () => Promise<void>
}

const POLL_MS = 400
const FIND_MS_MAX = 20_000

/** Ask for pages of events, one after the other, until stopped; keep those of workflows and of the sandbox. */
export function followEvents(page: (query: string) => Promise<readonly Json[]>): ApplicationEvents {
  const seen: Json[] = []
  const waiting = new Set<() => void>()
  const stopping = new AbortController()
  const follow = async () => {
    let cursor = ''
    while (!stopping.signal.aborted) {
      const rows = await page(`limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
      for (const row of rows) {
        cursor = String(row.cursor)
        const { event } = row
        if (!isObject(event)) continue
        if (/^(workflow|sandbox)\./.test(String(event.type))) seen.push(event)
      }
      for (const wake of waiting) wake()
      if (rows.length < 100) await sleep(POLL_MS, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  let failure: { readonly cause: unknown } | undefined
  const following = follow().catch((cause: unknown) => {
    failure = { cause }
    for (const wake of waiting) wake()
  })
  return {
    find: async (type, id, msMax = FIND_MS_MAX) => {
      const match = () => seen.find((event) => event.type === type && JSON.stringify(event).includes(id))
      const deadline = Date.now() + msMax
      while (match() === undefined && failure === undefined && Date.now() < deadline) {
        await new Promise<void>((resolve) => {
          const wake = () => {
            waiting.delete(wake)
            clearTimeout(late)
            resolve()
          }
          const late = setTimeout(wake, deadline - Date.now())
          waiting.add(wake)
        })
      }
      const found = match()
      if (found === undefined && failure !== undefined)
        throw new Error('the events cannot be polled', { cause: failure.cause })
      return found ?? null
    },
    stop: async () => {
      stopping.abort()
      await following
    },
  }
}
