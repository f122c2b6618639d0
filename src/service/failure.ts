import type { z } from 'zod'
import { printable, type Retry, RolekeeperError } from '../errors.ts'
import { OPERATIONS, type Operation, type OperationId } from './contract/operations.ts'
import { type ServiceApiError, serviceApiError } from './contract/resources.ts'
import { readJson } from './json.ts'

/** What was asked of the service, without query and credentials: safe to log. The stream is no operation. */
export type Call = {
  readonly host: string
  readonly method: Operation['method']
  readonly path: string
  readonly operation?: OperationId
  /** Where the configuration names the key that asked. */
  readonly keyPath?: string
}

/** A response as far as an error needs it. */
type FailedReply = {
  readonly status: number
  readonly requestId: string | undefined
  readonly text: string
}

type Class = { readonly code: string; readonly retry: Retry; readonly fix: string }

/** What a status means. `retryable` is the service's opinion; it counts where the status leaves it open. Pure. */
function classify(status: number, retryable: boolean | undefined, call: Call): Class {
  if (status === 401)
    return {
      code: 'service.unauthorized',
      retry: 'never',
      fix: `check \`${keyOf(call)}\`: it is missing, wrong or revoked.`,
    }
  if (status === 403) return { code: 'service.forbidden', retry: 'never', fix: fixOfForbidden(call) }
  if (status === 409 && retryable === false)
    return {
      code: 'service.conflict',
      retry: 'never',
      fix: 'do not send again: the key was used with another body, or the state has moved on.',
    }
  if (status === 409)
    return {
      code: 'service.in_progress',
      retry: 'later',
      fix: 'wait: the same request is still being carried out.',
    }
  if (status === 429)
    return {
      code: 'service.rate_limited',
      retry: 'later',
      fix: 'wait, or ask for a larger quota; the requests are paced already.',
    }
  if (status >= 500)
    return {
      code: 'service.internal',
      retry: retryable === false ? 'never' : 'later',
      fix: "check the service's status, and report the request id to its operator.",
    }
  if (status >= 400)
    return {
      code: 'service.bad_request',
      retry: 'never',
      fix: "compare the request with the service's version of its API.",
    }
  if (status >= 300)
    return {
      code: 'service.redirected',
      retry: 'never',
      fix: 'set `service.url` to the final address; redirects are not followed.',
    }
  return {
    code: 'service.garbage',
    retry: 'never',
    fix: 'check that `service.url` names the service itself.',
  }
}

const keyOf = ({ keyPath = 'service.secretKey' }: Call) => keyPath

function fixOfForbidden(call: Call): string {
  const keyPath = keyOf(call)
  const { operation } = call
  if (operation === undefined) return `check what the key of \`${keyPath}\` may do.`
  const { permits, scope }: Operation = OPERATIONS[operation]
  const needs = `${operation} needs ${permits.join(' or ')}`
  return scope === null
    ? `check the key of \`${keyPath}\`: ${needs}.`
    : `give the key of \`${keyPath}\` the scope \`${scope}\`: ${needs}, with this scope.`
}

/** Turn an answer other than success into an error; its `retry` says whether the same bytes may be sent again. Pure. */
export function failureOfReply(call: Call, reply: FailedReply): RolekeeperError {
  const json = readJson(reply.text)
  const parsed = serviceApiError.safeParse(json.ok ? json.value : null)
  const body: Partial<ServiceApiError> = parsed.success ? parsed.data : {}
  const { code, retry, fix } = classify(reply.status, body.retryable, call)
  const serviceCode = printable(body.code ?? 'none')
  const requestId = printable(reply.requestId ?? body.requestId ?? 'none')
  return new RolekeeperError(
    code,
    `The service at ${call.host} answered ${reply.status} (code ${serviceCode}, request ${requestId}) to ${call.method} ${call.path}.`,
    {
      fix,
      retry,
      facts: {
        ...call,
        status: reply.status,
        serviceCode,
        requestId,
        ...(body.message === undefined ? {} : { serviceMessage: printable(body.message) }),
        ...(body.blockedReason == null ? {} : { blockedReason: printable(body.blockedReason) }),
      },
    },
  )
}

/**
 * Turn a failure below HTTP into an error. It keeps the vendor's code and never its message. After a POST the
 * effect may or may not have happened. Pure.
 */
export function failureOfTransport(call: Call, error: unknown): RolekeeperError {
  const reason = reasonOf(error)
  const asked = `${call.method} ${call.path}`
  if (reason === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return new RolekeeperError(
      'service.too_large',
      `The service at ${call.host} answered ${asked} with more than the size limit.`,
      {
        fix: 'check that `service.url` names the service itself; no answer of its API is this large.',
        facts: { ...call, reason },
      },
    )
  return new RolekeeperError(
    'service.unreachable',
    `The service at ${call.host} gave no answer to ${asked} (${reason}).`,
    {
      fix: 'check that the service is up and that `service.url` is right.',
      facts: { ...call, reason },
      retry: 'later',
    },
  )
}

/** Make the error for an answer that is not what the API says. `what` is ours, never the answer's text. Pure. */
export const garbage = (call: Call, what: string): RolekeeperError =>
  new RolekeeperError(
    'service.garbage',
    `The service at ${call.host} answered ${call.method} ${call.path} wrongly: ${what}.`,
    {
      fix: "compare the service's version of its API with the one this release reads.",
      facts: { ...call, what },
    },
  )

/** Name where a schema first failed, for example `items[3].debtAssets`. Never zod's message: it can be megabytes. Pure. */
export function firstIssuePath(error: z.ZodError, root: string): string {
  const path = (error.issues[0]?.path ?? []).map((key) =>
    typeof key === 'number' ? `[${key}]` : `.${String(key)}`,
  )
  return printable(`${root}${path.join('')}`)
}

/** The vendor's stable code, or the error's class where it has none. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
