import { resolve } from 'node:path'
import { z } from 'zod'
import { Secret } from './secret.ts'

/** Environment variables, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>

/** An `env:NAME` reference or the text itself. */
export const reference = (env: Environment) =>
  z.string().transform((text, context) => {
    const name = /^env:(.*)$/s.exec(text)?.[1]
    if (name === undefined) return text
    const value = env[name]
    if (value !== undefined && value !== '') return value
    context.addIssue({
      code: 'custom',
      message: `the environment variable ${name} is not set`,
      params: { fix: `set ${name} in the environment that starts rolekeeper` },
    })
    return z.NEVER
  })

/** A secret: only ever a reference, because files are copied, committed and shown. */
export const secret = (env: Environment) =>
  z
    .string()
    .regex(/^env:[A-Za-z_][A-Za-z0-9_]*$/, 'a secret does not belong in a file; write "env:NAME"')
    .pipe(reference(env))
    .transform((value) => new Secret(value))

/** A URL with one of `protocols`, given or by reference. Credentials in it are refused: it is shown in messages. */
export const url = (env: Environment, protocols: readonly string[]) =>
  reference(env).refine((text) => isUrl(text, protocols) && !hasUserinfo(text), {
    error: `expected a URL of ${protocols.join(' or ')} without user name and password`,
  })

/** The URL of a node or a source: it may hold a key anywhere, so it is kept as a secret. */
export const secretUrl = (env: Environment) =>
  reference(env)
    .refine((text) => isUrl(text, ['http', 'https']), { error: 'expected a URL of http or https' })
    .transform((text) => new Secret(text))

const isUrl = (text: string, protocols: readonly string[]) =>
  URL.canParse(text) && protocols.includes(new URL(text).protocol.slice(0, -1))
const hasUserinfo = (text: string) => {
  const { username, password } = new URL(text)
  return username !== '' || password !== ''
}

/** Resolve a relative path of a file in `folder`. */
export const inside = (folder: string) => (path: string) => resolve(folder, path)

/** A keeper's directory: a path from a file in `folder`, or by reference where several on one machine share that file. */
export const directory = (folder: string, env: Environment) =>
  z.string().min(1).pipe(reference(env)).transform(inside(folder))
