import { request } from 'undici'

/** What a server said about itself, whatever it was asked. */
export type Answering = {
  readonly status: number
  /** The server's time when it answered by its `Date` header, and ours halfway; absent where it sent none. */
  readonly time?: { readonly saidMs: number; readonly oursMs: number }
}

/** Ask an address for nothing in particular: any answer shows that it is there. Null where none comes in time. */
export async function askWhetherThere(
  url: string,
  timeoutMs: number,
  nowMs: () => number,
): Promise<Answering | null> {
  const before = nowMs()
  try {
    const { statusCode, headers, body } = await request(url, {
      method: 'HEAD',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const oursMs = (before + nowMs()) / 2
    await body.dump()
    const saidMs = Date.parse(String(headers.date))
    return { status: statusCode, ...(Number.isNaN(saidMs) ? {} : { time: { saidMs, oursMs } }) }
  } catch {
    return null
  }
}
