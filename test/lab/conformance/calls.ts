import { randomUUID } from 'node:crypto'
import type { Contract } from './contract.ts'
import { WAIT_MS_MAX } from './eventually.ts'
import type { Findings } from './row.ts'
import { isObject, resourceProblems } from './shape-check.ts'
import type { Credential, Operation } from './transcription/operations.ts'
import { ANSWER_HEADERS } from './transcription/statuses.ts'

/** What a request is aimed at: values of the path, query and body. */
export type Target = {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: readonly (readonly [string, string])[]
  readonly body?: unknown
  /** Of the application that the target belongs to, where it is not the seeded one. */
  readonly secretKey?: string
}

/** Which credentials a call presents, and how. */
export type Presented = {
  readonly credentials: readonly Credential[]
  /** In place of a fresh one; null sends none. */
  readonly idempotencyKey?: string | null
  /** Headers that replace or add to those of the credentials. */
  readonly headers?: Readonly<Record<string, string>>
}

/** One answer, read whole. */
export type Answer = { readonly status: number; readonly body: unknown; readonly label: string }

/** What calls need to know of a running service. */
export type Service = {
  readonly url: string
  readonly contract: Contract
  /** Headers that present a credential. */
  readonly present: (credential: Credential) => Promise<Readonly<Record<string, string>>>
}

/** Performs calls of one row; each answer is held against headers, error object and published schema. */
export type Caller = (operation: Operation, target: Target, presented: Presented) => Promise<Answer>

/** Make the caller of a row. */
export function createCaller(service: Service, findings: Findings): Caller {
  return async (operation, target, presented) => {
    const label = labelOf(presented)
    const presenting = await Promise.all(presented.credentials.map(service.present))
    const headers = new Headers(Object.assign({}, ...presenting))
    if (headers.has('authorization') && target.secretKey !== undefined)
      headers.set('authorization', `Bearer ${target.secretKey}`)
    const key = presented.idempotencyKey === undefined ? randomUUID() : presented.idempotencyKey
    if (operation.writes && key !== null) headers.set('idempotency-key', key)
    for (const [name, value] of Object.entries(presented.headers ?? {})) headers.set(name, value)
    const request: RequestInit = {
      method: operation.method,
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(WAIT_MS_MAX),
    }
    if (target.body !== undefined) {
      headers.set('content-type', 'application/json')
      request.body = JSON.stringify(target.body)
    }
    const response = await fetch(addressOf(service.url, operation, target), request)
    const text = await response.text()
    const body = parsed(text)
    const at = `${label}: ${response.status}`
    findings.take(
      ANSWER_HEADERS.filter((name) => !response.headers.has(name)).map(
        (name) => `${at} lacks header ${name}`,
      ),
    )
    if (response.status !== 200) findings.take(failureProblems(response, body, at))
    findings.take(
      schemaProblems(service.contract, operation, target.body, { status: response.status, body }, at),
    )
    return { status: response.status, body, label }
  }
}

/** Say what a call presents, for problems: `with SecretKey` reads better than headers. */
export function labelOf({ credentials, idempotencyKey, headers }: Presented): string {
  const shown = credentials.length === 0 ? 'anonymous' : credentials.join(' and ')
  const extra = Object.keys(headers ?? {})
  return [shown, ...(idempotencyKey === null ? ['no idempotency key'] : []), ...extra].join(', ')
}

function addressOf(url: string, { path }: Operation, target: Target): URL {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(target.path?.[name] ?? `no-${name}`),
  )
  const address = new URL(filled, url)
  for (const [name, value] of target.query ?? []) address.searchParams.append(name, value)
  return address
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function failureProblems(response: Response, body: unknown, at: string): readonly string[] {
  const problems = resourceProblems('ServiceApiError', body, `${at} error`)
  if (!isObject(body)) return problems
  return [
    ...problems,
    ...(body.ok === false ? [] : [`${at} error.ok is not false`]),
    ...(body.requestId === response.headers.get('x-request-id') ? [] : [`${at} names two request ids`]),
  ]
}

/** Hold an answer, and the body of a request that was served, against the published schemas. */
export function schemaProblems(
  contract: Contract,
  operation: Operation,
  sent: unknown,
  { status, body }: Pick<Answer, 'status' | 'body'>,
  at: string,
): readonly string[] {
  const answer = contract.answer(operation, status)
  const request = status === 200 && sent !== undefined ? contract.request(operation) : null
  return [
    ...(answer === null ? [`${at} is not in the published contract`] : []),
    ...(answer === null || answer(body) ? [] : [`${at} is not as published: ${firstError(answer)}`]),
    ...(request === null || request(sent)
      ? []
      : [`${at} accepts a body that the contract refuses: ${firstError(request)}`]),
  ]
}

function firstError({ errors }: { errors?: readonly { instancePath: string; message?: string }[] | null }) {
  const error = errors?.[0]
  return `${error?.instancePath || '/'} ${error?.message ?? ''}`
}
