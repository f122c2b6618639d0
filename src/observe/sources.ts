import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { Agent, request } from 'undici'
import type { Answer, Question } from '../../agents/agent.ts'
import type { Clock } from '../clock.ts'

/** Where a source is: the run configuration says so, by the name that policies call it. */
type SourcePlace = { readonly name: string } & (
  | { readonly kind: 'http'; readonly url: { readonly reveal: () => string } }
  | { readonly kind: 'file'; readonly file: string }
)

/** The largest answer or file: a value and its date are a few hundred bytes. */
const BYTES_MAX = 65_536
const CONNECT_MS = 2_000

const refused = (check: string, message: string): Answer => ({ ok: false, check, message })

/** Reads sources, each at its place and nowhere else. */
export type Sources = {
  /**
   * Ask a source once: its text, or why there is none by a stable name. Never throws; no message holds a URL, which may
   * hold a key, or what the source said.
   */
  readonly ask: (question: Extract<Question, { kind: 'source' }>) => Promise<Answer>
  readonly close: () => Promise<void>
}

/** Create the reader of the configured sources: no redirects, explicit times and sizes, JSON only over HTTP. */
export function createSources(places: readonly SourcePlace[], clock: Pick<Clock, 'nowMs'>): Sources {
  const agent = new Agent({
    connections: 2,
    pipelining: 1,
    connect: { timeout: CONNECT_MS },
    maxResponseSize: BYTES_MAX,
  })

  const readHttp = async (url: string, timeoutMs: number): Promise<Answer> => {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agent,
      headers: { accept: 'application/json' },
      // The whole of it: a body that drips a byte a second would pass any timeout between bytes.
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (statusCode === 200 && isJson(headers['content-type'])) {
      return { ok: true, text: await body.text(), atMs: clock.nowMs() }
    }
    await body.dump()
    if (statusCode === 200) return refused('source_not_json', 'Its answer is not declared as JSON.')
    return statusCode >= 300 && statusCode < 400
      ? refused('source_redirected', `It answers ${statusCode}; redirects are not followed.`)
      : refused('source_status', `It answers ${statusCode}.`)
  }

  return {
    ask: async ({ name, timeoutMs }) => {
      const place = places.find((one) => one.name === name)
      if (place === undefined) {
        return refused('source_unknown', `The run configuration's sources do not name ${name}.`)
      }
      try {
        return place.kind === 'http'
          ? await readHttp(place.url.reveal(), timeoutMs)
          : await readCapped(place.file, clock)
      } catch (error) {
        return failureOf(error, timeoutMs)
      }
    },
    close: () => agent.destroy(),
  }
}

const isJson = (type: string | string[] | undefined): boolean =>
  typeof type === 'string' && /^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/i.test(type)

async function readCapped(file: string, clock: Pick<Clock, 'nowMs'>): Promise<Answer> {
  // A pipe without a writer would be waited for without end.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await handle.stat()).isFile()) return refused('source_unreadable', 'Its path is no file.')
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(BYTES_MAX + 1), 0, BYTES_MAX + 1, 0)
    if (bytesRead > BYTES_MAX) return refused('source_too_large', `It is longer than ${BYTES_MAX} bytes.`)
    return { ok: true, text: buffer.toString('utf8', 0, bytesRead), atMs: clock.nowMs() }
  } finally {
    await handle.close()
  }
}

/** Map what undici and the file system throw; their messages may hold the place and are not shown. */
function failureOf(error: unknown, timeoutMs: number): Answer {
  const { name, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {}
  if (name === 'TimeoutError') return refused('source_timeout', `It did not answer within ${timeoutMs} ms.`)
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    return refused('source_too_large', `Its answer is longer than ${BYTES_MAX} bytes.`)
  }
  return refused('source_unreadable', `It cannot be read (${code ?? 'unknown'}).`)
}
