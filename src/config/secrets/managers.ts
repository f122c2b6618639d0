import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { request } from 'undici'
import { RolekeeperError } from '../../errors.ts'
import { oddEdgeOf } from '../odd-characters.ts'
import type { Secret } from './secret.ts'

/** How the managers of secrets are reached; what they themselves ask for comes from the environment or a file. */
export type Managers = {
  readonly aws?:
    | {
        readonly region: string
        readonly endpoint?: string | undefined
        /** Without it, AWS's default chain provides the credentials. */
        readonly accessKeyId?: string | undefined
        readonly secretAccessKey?: Secret | undefined
      }
    | undefined
  readonly vault?:
    | {
        readonly url: string
        readonly token: Secret | { readonly file: string }
        readonly namespace?: string | undefined
      }
    | undefined
}

/** Reads what a place of secrets holds now. */
export type Reader = {
  /** @throws RolekeeperError `secrets.*`, which names the place and never what it holds. */
  readonly read: (place: string) => Promise<string>
  readonly close: () => void
}

/** A secret is a few hundred bytes; a manager's answer holds little more. AWS's own limit. */
const BYTES_MAX = 65_536
/** Of one answer, from the request to its end. */
const ANSWER_MS = 5_000

const failure = (code: string, what: string, fix: string, retry: 'never' | 'later' = 'later') =>
  new RolekeeperError(code, what, { fix, retry })

/** Make the error of a place that holds no such secret. */
export const notFound = (place: string, what: string) =>
  failure(
    'secrets.not_found',
    `${place} ${what}.`,
    'correct its name and its field, or put it there.',
    'never',
  )
/** Refuse what has at an edge what nobody sees: who is given it would say no, and everybody would look elsewhere. */
export function oddSecret(place: string, value: string): RolekeeperError | null {
  const edge = oddEdgeOf(value)
  if (edge === null) return null
  return failure('secrets.unfit', `What ${place} holds ${edge}, which nobody sees.`, 'take that away there.')
}
const refused = (place: string, what: string) =>
  failure(
    'secrets.refused',
    `${place} is refused to us (${what}).`,
    'let this identity read it: see docs/secrets.md.',
  )
const away = (place: string, what: string) =>
  failure(
    'secrets.unavailable',
    `${place} cannot be read: its manager ${what}.`,
    'check that it runs and can be reached from this machine.',
  )
const unconfigured = (kind: string) =>
  failure(
    'secrets.no_manager',
    `A secret is in ${kind}, and the configuration does not say where that is.`,
    `add \`secrets.${kind}\`.`,
    'never',
  )

/** Create the reader of files in `folder`, and of the managers that are configured. Nothing is asked yet. */
export function createReader(folder: string, { aws, vault }: Managers): Reader {
  let client: Promise<SecretsManagerClient> | undefined
  return {
    read: (place) => {
      const [, kind, rest = ''] = /^(\w+):(.*)$/s.exec(place) ?? []
      if (kind === 'file') return readSecretFile(resolve(folder, rest))
      if (kind === 'vault') {
        if (vault === undefined) throw unconfigured(kind)
        return readVault(place, rest, vault)
      }
      if (aws === undefined) throw unconfigured('aws')
      client ??= openAws(aws)
      return readAws(place, rest, client)
    },
    close: () => void client?.then((each) => each.destroy()),
  }
}

/** Read a file that holds a secret and nothing else; line ends behind it are not part of it. */
async function readSecretFile(path: string): Promise<string> {
  const place = `file:${path}`
  try {
    const handle = await open(path, 'r')
    try {
      if (!(await handle.stat()).isFile()) throw notFound(place, 'is no file')
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(BYTES_MAX + 1), 0, BYTES_MAX + 1, 0)
      if (bytesRead > BYTES_MAX) throw notFound(place, `is longer than ${BYTES_MAX} bytes`)
      return buffer.toString('utf8', 0, bytesRead).replace(/[\r\n]+$/, '')
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (error instanceof RolekeeperError) throw error
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    throw failure(
      'secrets.unreadable',
      `${place} cannot be read (${reason}).`,
      'check the path and its permissions.',
    )
  }
}

/** Read a secret of a KV engine of version 2. Source: https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2 */
async function readVault(
  place: string,
  path: string,
  vault: NonNullable<Managers['vault']>,
): Promise<string> {
  const { url, token, namespace } = vault
  const [mount = '', ...rest] = path.split('/')
  const key = 'file' in token ? await readSecretFile(token.file) : token.reveal()
  const odd = 'file' in token ? oddSecret(`file:${token.file}`, key) : null
  if (odd !== null) throw odd
  let status: number
  let text: string
  try {
    const answer = await request(`${url.replace(/\/$/, '')}/v1/${mount}/data/${rest.join('/')}`, {
      headers: {
        'x-vault-token': key,
        'x-vault-request': 'true',
        ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
      },
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    status = answer.statusCode
    text = await bounded(answer.body)
  } catch (error) {
    // What broke may hold the token among its headers: only its name is kept.
    throw away(
      place,
      nameOf(error) === 'TimeoutError' ? `did not answer in ${ANSWER_MS} ms` : 'is unreachable',
    )
  }
  if (status === 401 || status === 403) throw refused(place, `status ${status}`)
  if (status === 404) throw notFound(place, 'does not exist')
  const data: unknown = status === 200 ? dataOf(text) : undefined
  if (data === undefined) throw away(place, `answers with status ${status} and no secret`)
  return JSON.stringify(data)
}

async function bounded(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > 2 * BYTES_MAX) throw new RangeError('too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The fields of a KV answer: `{ data: { data: { … } } }`. */
function dataOf(text: string): unknown {
  try {
    const { data } = JSON.parse(text)
    return data.data ?? undefined
  } catch {
    return undefined
  }
}

async function openAws({ region, endpoint, accessKeyId, secretAccessKey }: NonNullable<Managers['aws']>) {
  const { SecretsManagerClient } = await import('@aws-sdk/client-secrets-manager')
  return new SecretsManagerClient({
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : { credentials: { accessKeyId, secretAccessKey: secretAccessKey.reveal() } }),
    maxAttempts: 2,
    // The SDK's default for each is to wait for ever.
    requestHandler: { requestTimeout: 2_000, connectionTimeout: 1_000, throwOnRequestTimeout: true },
  })
}

/** What AWS says that is not for us; by the error's name, which AWS documents. */
const AWS_REFUSES = new Set([
  'AccessDeniedException',
  'UnrecognizedClientException',
  'InvalidSignatureException',
  'IncompleteSignatureException',
  'MissingAuthenticationTokenException',
  'ExpiredTokenException',
  'CredentialsProviderError',
  'DecryptionFailure',
])
const AWS_LACKS = new Set([
  'ResourceNotFoundException',
  'InvalidRequestException',
  'InvalidParameterException',
])

/** Read the current version of a secret. Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html */
async function readAws(place: string, id: string, opening: Promise<SecretsManagerClient>): Promise<string> {
  const { GetSecretValueCommand } = await import('@aws-sdk/client-secrets-manager')
  const client = await opening
  try {
    const stop = AbortSignal.timeout(ANSWER_MS)
    const { SecretString, SecretBinary } = await client.send(new GetSecretValueCommand({ SecretId: id }), {
      abortSignal: stop,
    })
    if (SecretString !== undefined) return SecretString
    if (SecretBinary !== undefined) return Buffer.from(SecretBinary).toString('utf8')
  } catch (error) {
    const name = nameOf(error)
    if (AWS_REFUSES.has(name)) throw refused(place, name)
    if (AWS_LACKS.has(name)) throw notFound(place, `does not exist there (${name})`)
    // The vendor's message may hold the canonical request.
    throw away(place, /^\w{1,64}$/.test(name) ? `fails (${name})` : 'fails')
  }
  throw notFound(place, 'holds nothing')
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '')
