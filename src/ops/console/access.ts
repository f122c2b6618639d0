import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fastifyCookie } from '@fastify/cookie'
import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'

/** Where a keeper's console is, and what its links are signed with: whoever may read its directory may open it. */
export type ConsolePlace = z.infer<typeof place>
const place = z.strictObject({
  url: z.string().max(300),
  /** 64 hex digits; another one ends every session. */
  secret: z.string().regex(/^[0-9a-f]{64}$/),
})

/** Who looks, as whoever made the link said it, and until when, Unix milliseconds. */
export type Session = { readonly user: string; readonly untilMs: number; readonly id: string }

/** A link is opened within so long, once. */
const LINK_MS = 600_000
/** A shift, and a little more. */
const SESSION_MS = 12 * 3_600_000
/** Links that were used and could still be: more within ten minutes are no people. */
const USED_MAX = 1_000

const fileOf = (directory: string) => join(directory, 'console.json')

/** Read where the console of a directory is; null where none was. */
export function readPlace(directory: string): ConsolePlace | null {
  try {
    return place.safeParse(JSON.parse(readFileSync(fileOf(directory), 'utf8'))).data ?? null
  } catch {
    return null
  }
}

/** Make the secret of a console that had none. */
export const newSecret = (): string => randomBytes(32).toString('hex')

/** Keep where the console is, for its owner alone. Throws RolekeeperError `console.not_written`. */
export function writePlace(directory: string, at: ConsolePlace): void {
  const file = fileOf(directory)
  try {
    writeFileSync(`${file}.new`, JSON.stringify(at), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  } catch (cause) {
    throw new RolekeeperError('console.not_written', `${file} could not be written.`, {
      fix: `check that ${directory} is yours to write`,
      cause,
    })
  }
}

const encoded = (user: string) => Buffer.from(user.slice(0, 100)).toString('base64url')
const decoded = (text: string) => Buffer.from(text, 'base64url').toString()

/**
 * Make a link that opens the console once, within ten minutes. Its key is behind the `#`, which no browser sends: it is in no
 * log of any server, and the page takes it out of the address at once.
 */
export function linkOf({ url, secret }: ConsolePlace, user: string, nowMs: number): string {
  const payload = ['link', encoded(user), nowMs, randomBytes(12).toString('hex')].join('.')
  return `${url}/#${encodeURIComponent(fastifyCookie.sign(payload, secret))}`
}

/** What lets people in. Nothing of a session is kept here: it is in its cookie, signed. */
export type Access = {
  /** Take the key of a link; null where it is none, was used, or is of before this start. */
  readonly enter: (key: string) => Session | null
  /** What a session's cookie says. */
  readonly cookieOf: (session: Session) => string
  readonly sessionOf: (cookie: string | undefined) => Session | null
  /** What an action of a session has to carry in a header. */
  readonly tokenOf: (session: Session) => string
  readonly isToken: (session: Session, token: string) => boolean
}

/** Create what judges links, cookies and tokens by a secret. */
export function createAccess(
  secret: string,
  { nowMs, monotonicMs }: Pick<Clock, 'nowMs' | 'monotonicMs'>,
): Access {
  const startedAtMs = monotonicMs()
  const used = new Map<string, number>()
  const unsigned = (text: string, kind: string): readonly string[] | null => {
    const { valid, value } = fastifyCookie.unsign(text, secret)
    const parts = value?.split('.') ?? []
    return valid && parts[0] === kind && parts.length === 4 ? parts : null
  }
  const tokenOf = ({ id }: Session) => createHmac('sha256', secret).update(`act.${id}`).digest('hex')
  return {
    enter: (key) => {
      const [, user = '', at, id = ''] = unsigned(key, 'link') ?? []
      const atMs = Number(at)
      for (const [one, untilMs] of used) if (untilMs < nowMs()) used.delete(one)
      const ageMs = nowMs() - atMs
      const isFresh = ageMs <= monotonicMs() - startedAtMs && Math.abs(ageMs) <= LINK_MS
      if (id === '' || !isFresh || used.has(id) || used.size >= USED_MAX) return null
      used.set(id, atMs + LINK_MS)
      return { user: decoded(user), untilMs: nowMs() + SESSION_MS, id }
    },
    cookieOf: ({ user, untilMs, id }) =>
      fastifyCookie.sign(['session', encoded(user), untilMs, id].join('.'), secret),
    sessionOf: (cookie) => {
      const [, user = '', until, id = ''] = unsigned(cookie ?? '', 'session') ?? []
      const untilMs = Number(until)
      return id === '' || !(untilMs > nowMs()) ? null : { user: decoded(user), untilMs, id }
    },
    tokenOf,
    isToken: (session, token) => {
      const [one, other] = [tokenOf(session), token].map((text) => Buffer.from(text))
      return one !== undefined && other?.length === one.length && timingSafeEqual(one, other)
    },
  }
}
