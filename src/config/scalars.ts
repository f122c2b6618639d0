import { resolve } from 'node:path'
import { z } from 'zod'
import { oddEdgeOf } from './odd-characters.ts'
import { isFetched, NOTATION, REFERENCE } from './secrets/reference.ts'
import { Secret } from './secrets/secret.ts'
import type { SecretStore } from './secrets/store.ts'

/** Environment variables, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>

/** What references lead to: the environment, and what was read of files and managers. */
export type Origins = {
  readonly env: Environment
  readonly secrets?: Pick<SecretStore, 'get'> | undefined
}

/** A reference as the one secret that it names, or the text itself. */
const resolved = ({ env, secrets }: Origins) =>
  z.string().transform((text, context) => {
    const refuse = (message: string, fix: string) => {
      context.addIssue({ code: 'custom', message, params: { fix } })
      return z.NEVER
    }
    if (isFetched(text)) {
      return secrets?.get(text) ?? refuse(`${text} was not read`, 'give it as "env:NAME" here')
    }
    const name = /^env:(.*)$/s.exec(text)?.[1]
    if (name === undefined) return new Secret(text)
    const value = env[name]
    if (value === undefined || value === '') {
      return refuse(
        `the environment variable ${name} is not set`,
        `set ${name} in the environment that starts rolekeeper`,
      )
    }
    const edge = oddEdgeOf(value)
    if (edge === null) return new Secret(value)
    return refuse(`what ${name} holds ${edge}, which nobody sees`, `take that away from ${name}`)
  })

/** A reference or the text itself, as it is at the start. */
export const reference = (from: Origins) => resolved(from).transform((value) => value.reveal())

/** A secret: only ever a reference, because files are copied, committed and shown. */
export const secret = (from: Origins) =>
  z.string().regex(REFERENCE, `a secret does not belong in a file; write ${NOTATION}`).pipe(resolved(from))

/** What is no secret by itself, but is replaced together with one. */
export const besideSecret = resolved

/** A URL with one of `protocols`, given or by reference. Credentials in it are refused: it is shown in messages. */
export const url = (from: Origins, protocols: readonly string[]) =>
  reference(from)
    .refine((text) => isUrl(text, protocols) && !hasUserinfo(text), {
      error: `expected a URL of ${protocols.join(' or ')} without user name and password`,
      abort: true,
    })
    .refine((text) => !/[?#]/.test(text), {
      error: 'expected a URL without ? and #: what follows them would be left out',
    })

/**
 * The URL of a node or a source: it may hold a key anywhere, so it is kept as a secret. What replaces it has the same
 * scheme, host and port: all that was checked of it at the start holds on.
 */
export const secretUrl = (from: Origins) =>
  resolved(from)
    .refine((held) => isUrl(held.reveal(), ['http', 'https']), {
      error: 'expected a URL of http or https, with a % in its user name or password written as %25',
      abort: true,
    })
    .transform((held) => {
      const { origin } = new URL(held.reveal())
      return held.demand((text) => isUrl(text, ['http', 'https']) && new URL(text).origin === origin)
    })

/** Blanks and what does not print are refused, as reading it as a URL would pass over some of them. */
const isUrl = (text: string, protocols: readonly string[]) =>
  /^[\x21-\x7e]+$/.test(text) &&
  URL.canParse(text) &&
  protocols.includes(new URL(text).protocol.slice(0, -1)) &&
  isDecodable(text)

/** Whether user name and password can be taken out of it: a bare % is none of a URL's. */
function isDecodable(text: string): boolean {
  const { username, password } = new URL(text)
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}
const hasUserinfo = (text: string) => {
  const { username, password } = new URL(text)
  return username !== '' || password !== ''
}

/** What a shell would put in the place of these, nobody does here. */
const OF_A_SHELL = /^~|\$\{?\w/

/** A path from a file in `folder`. */
export const pathIn = (folder: string) =>
  z
    .string()
    .min(1)
    .refine((path) => !OF_A_SHELL.test(path), {
      error: 'expected a path as it is: ~ and $NAME are only a shell’s',
      params: { fix: 'write it out, from / on or from the folder of this file' },
    })
    .transform((path) => resolve(folder, path))

/** A keeper's directory: a path from a file in `folder`, or by reference where several on one machine share that file. */
export const directory = (folder: string, from: Origins) => reference(from).pipe(pathIn(folder))
