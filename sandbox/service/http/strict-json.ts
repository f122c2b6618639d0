import { ApiError } from './api-error.ts'

/** Deeper than any body of the API; what walks a body may recurse this far. */
const DEPTH_MAX = 64

/** A string, with the colon that makes it a member's name; or a bracket. What is between them does not nest. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\]]/g

/** Decode a body. Throws ApiError 400 `malformed_request` for bytes that are not UTF-8. Pure. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new ApiError(400, 'malformed_request', 'The body is not UTF-8.')
  }
}

/**
 * Refuse what a JSON parser accepts and readers take differently: nesting deeper than 64, and an object that names a
 * member twice, of which parsers keep one or the other. Throws ApiError 400 `malformed_request`. Pure.
 * @param text that is JSON.
 */
export function assertUnambiguous(text: string): void {
  /** The names of each open object so far; null for an open array. */
  const open: (Set<string> | null)[] = []
  for (const [token, colon] of text.matchAll(TOKEN)) {
    if (token === '}' || token === ']') open.pop()
    else if (token === '{' || token === '[') {
      open.push(token === '{' ? new Set() : null)
      if (open.length > DEPTH_MAX) {
        throw new ApiError(400, 'malformed_request', `The body is nested deeper than ${DEPTH_MAX}.`)
      }
    } else if (colon !== undefined) {
      const name: unknown = JSON.parse(token.slice(0, -colon.length))
      const names = open.at(-1)
      if (names?.has(String(name))) {
        throw new ApiError(400, 'malformed_request', 'An object of the body names a member twice.')
      }
      names?.add(String(name))
    }
  }
}
