/** Shorter texts occur everywhere; scrubbing them would hide the log itself. */
const SECRET_LENGTH_MIN = 6

const SCRUBBED = '[scrubbed]'

/** The secrets; or what says them as they are now, where they are replaced. */
export type Secrets = readonly string[] | (() => readonly string[])

/**
 * Make the last filter before text leaves the process: it takes out the given secrets (also as JSON, URL or base64
 * writes them; of a URL also each part that may hold a key), credentials of an Authorization header, all of a URL
 * but scheme and host, and hex longer than a hash (raw transactions, signatures, calldata).
 */
export function createScrubber(secrets: Secrets): (text: string) => string {
  const now = typeof secrets === 'function' ? secrets : () => secrets
  let made = now()
  let known = patternOf(made)
  return (text) => {
    const current = now()
    if (current.length !== made.length || current.some((each, index) => each !== made[index])) {
      made = current
      known = patternOf(made)
    }
    return (known === null ? text : text.replace(known, SCRUBBED))
      .replace(/\b(https?|wss?):\/\/[^\s"'<>\\`]+/gi, hostOnly)
      .replace(/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, `$1 ${SCRUBBED}`)
      .replace(/\bAWS4-HMAC-SHA256[^"\n]*/g, `AWS4-HMAC-SHA256 ${SCRUBBED}`)
      .replace(/(0x)?[0-9a-f]{65,}/gi, (hex) => `[${Math.floor(hex.replace(/^0x/i, '').length / 2)} bytes]`)
  }
}

/** Match every form of these; null where there are none. */
function patternOf(secrets: readonly string[]): RegExp | null {
  const forms = secrets.flatMap(partsOf).flatMap(formsOf)
  const longestFirst = [...new Set(forms)].toSorted((a, b) => b.length - a.length)
  return longestFirst.length === 0 ? null : new RegExp(longestFirst.map(escaped).join('|'), 'gu')
}

/** Only letters and digits mean themselves everywhere in a pattern. */
const escaped = (text: string) =>
  text.replace(/[^A-Za-z0-9]/gu, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`)

/** A node's URL holds its key in a path segment, a query value or the user info. */
function partsOf(secret: string): readonly string[] {
  if (!/^\w+:\/\//.test(secret) || !URL.canParse(secret)) return [secret]
  const { username, password, pathname, searchParams } = new URL(secret)
  const segments = pathname.split('/').filter((segment) => segment.length >= 2 * SECRET_LENGTH_MIN)
  return [secret, username, password, ...segments, ...searchParams.values()]
}

const formsOf = (secret: string): readonly string[] =>
  secret.length < SECRET_LENGTH_MIN
    ? []
    : [
        secret,
        JSON.stringify(secret).slice(1, -1),
        encodeURIComponent(secret),
        Buffer.from(secret).toString('base64').replace(/=+$/, ''),
      ]

function hostOnly(text: string): string {
  if (!URL.canParse(text)) return SCRUBBED
  const { protocol, host, pathname, search, hash } = new URL(text)
  return `${protocol}//${host}${pathname.length > 1 || search !== '' || hash !== '' ? '/…' : ''}`
}
