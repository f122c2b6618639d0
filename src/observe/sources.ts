import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { Agent, request } from 'undici'
import type { Answer, Question } from '../../agents/agent.ts'
import type { Clock } from '../clock.ts'
import { span } from '../readable.js'
import { isSigned, type SourceKey } from './source-signature.ts'

type Secret = { readonly reveal: () => string }

/** Where a source is: the run configuration says so, by the name that policies call it. */
type SourcePlace = { readonly name: string } & (
  | {
      readonly kind: 'http'
      readonly url: Secret
      /** What the request carries, for example `authorization`. */
      readonly headers?: Readonly<Record<string, Secret>> | undefined
      /** Whose signature stands in this header of the answer. */
      readonly signature?: { readonly header: string; readonly key: SourceKey } | undefined
    }
  | {
      readonly kind: 'file'
      readonly file: string
      /** Whose signature stands in the file beside it: FILE.sig. */
      readonly signature?: { readonly key: SourceKey } | undefined
    }
)

/** The largest answer or file: a history of some years, a line a day or an hour. */
const BYTES_MAX = 1_048_576
const TOO_LARGE = 'It is longer than 1 MiB, the most that is read; its owner may leave out its oldest values.'
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

  const readHttp = async (place: SourcePlace & { kind: 'http' }, timeoutMs: number): Promise<Answer> => {
    const own = Object.entries(place.headers ?? {}).map(([name, value]) => [name, value.reveal()])
    const { statusCode, headers, body } = await request(place.url.reveal(), {
      dispatcher: agent,
      headers: { ...Object.fromEntries(own), accept: 'application/json' },
      // The whole of it: a body that drips a byte a second would pass any timeout between bytes.
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (statusCode === 200 && isJson(headers['content-type'])) {
      const bytes = new Uint8Array(await body.arrayBuffer())
      const { signature } = place
      const given = signature === undefined ? undefined : headers[signature.header]
      return answerOf(bytes, signature?.key, typeof given === 'string' ? given : null, clock)
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
        return place.kind === 'http' ? await readHttp(place, timeoutMs) : await readFile(place, clock)
      } catch (error) {
        return failureOf(error, timeoutMs)
      }
    },
    close: () => agent.destroy(),
  }
}

const isJson = (type: string | string[] | undefined): boolean =>
  typeof type === 'string' && /^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/i.test(type)

/** Take what was read for a source's word: where a key is stated, only what that key signed. */
function answerOf(
  bytes: Uint8Array,
  key: SourceKey | undefined,
  signature: string | null,
  clock: Pick<Clock, 'nowMs'>,
): Answer {
  if (key !== undefined && signature === null) {
    return refused('source_not_signed', 'Its answer carries no signature; the run configuration demands one.')
  }
  if (key !== undefined && signature !== null && !isSigned(bytes, signature, key)) {
    const message = 'Its answer is not signed by the key that the run configuration states.'
    return refused('source_signed_by_another', message)
  }
  try {
    // What is not the same bytes again is not kept as they were signed.
    const read = { ok: true, text: UTF8.decode(bytes), atMs: clock.nowMs() } as const
    return signature === null ? read : { ...read, signature }
  } catch {
    const mark = Buffer.from(bytes.subarray(0, 2)).toString('hex')
    const isUtf16 = mark === 'fffe' || mark === 'feff'
    const message = isUtf16
      ? 'Its answer is text in UTF-16, as spreadsheets write "Unicode text"; UTF-8 is read.'
      : 'Its answer is not text in UTF-8.'
    return refused('source_not_text', message)
  }
}
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

async function readFile(
  { file, signature }: SourcePlace & { kind: 'file' },
  clock: Pick<Clock, 'nowMs'>,
): Promise<Answer> {
  const bytes = await readCapped(file)
  if (!(bytes instanceof Uint8Array)) return bytes
  if (signature === undefined) return answerOf(bytes, undefined, null, clock)
  const beside = await readCapped(`${file}.sig`).catch(() => null)
  const given = beside instanceof Uint8Array ? Buffer.from(beside).toString('latin1') : null
  return answerOf(bytes, signature.key, given, clock)
}

async function readCapped(file: string): Promise<Uint8Array | Answer> {
  // A pipe without a writer would be waited for without end.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await handle.stat()).isFile()) return refused('source_unreadable', 'Its path is no file.')
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(BYTES_MAX + 1), 0, BYTES_MAX + 1, 0)
    if (bytesRead > BYTES_MAX) return refused('source_too_large', TOO_LARGE)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** Map what undici and the file system throw; their messages may hold the place and are not shown. */
function failureOf(error: unknown, timeoutMs: number): Answer {
  const { name, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {}
  if (name === 'TimeoutError')
    return refused('source_timeout', `It did not answer within ${span(timeoutMs)}.`)
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return refused('source_too_large', TOO_LARGE)
  return refused('source_unreadable', `It cannot be read (${code ?? 'unknown'}).`)
}
