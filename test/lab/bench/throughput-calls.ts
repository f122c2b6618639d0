import { subscribe } from 'node:diagnostics_channel'

/**
 * Count the requests of this process by what they ask: a node's methods, and whatever else by its verb.
 * @returns what was counted so far, less what was counted `before`.
 */
export function countCalls(): (before?: Readonly<Record<string, number>>) => Record<string, number> {
  const counts: Record<string, number> = {}
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1
  }
  const countBody = (text: string) => {
    for (const [, method = ''] of text.matchAll(/"method":"(\w+)"/g)) count(method)
  }
  subscribe('undici:request:create', (message) => {
    const { request } = message as { request: { method: string; path: string; body: unknown } }
    if (request.path.length > 1) count(`${request.method} service`)
    else if (request.body instanceof Uint8Array) countBody(Buffer.from(request.body).toString())
  })
  // What goes through fetch reaches undici as a stream.
  const { fetch } = globalThis
  globalThis.fetch = (input, init) => {
    if (typeof init?.body === 'string') countBody(init.body)
    return fetch(input, init)
  }
  return (before = {}) =>
    Object.fromEntries(
      Object.entries(counts).flatMap(([name, total]) => {
        const since = total - (before[name] ?? 0)
        return since > 0 ? [[name, since]] : []
      }),
    )
}
