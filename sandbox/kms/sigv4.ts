import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../src/clock.ts'

/** What a signed request must match. */
type SigV4Scope = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
  readonly clock: Clock
}

/** A KMS error: its AWS name and the text that AWS gives it, more or less. Always HTTP 400 where not said. */
export type KmsFault = { readonly type: string; readonly message: string }

const SKEW_MS_MAX = 300_000
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=(?<credential>[^,\s]+),\s*SignedHeaders=(?<names>[^,\s]+),\s*Signature=(?<signature>[0-9a-f]{64})$/
const AMZ_DATE = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Uint8Array, data: string) => createHmac('sha256', key).update(data).digest()

const incomplete = (message: string): KmsFault => ({ type: 'IncompleteSignatureException', message })
const invalid = (message: string): KmsFault => ({ type: 'InvalidSignatureException', message })

function dateFault(amzDate: string, nowMs: number): KmsFault | undefined {
  const parts = AMZ_DATE.exec(amzDate)
  if (parts === null) return incomplete("Date must be in ISO-8601 'basic format'.")
  const [, year, month, day, hour, minute, second] = parts
  const ageMs = nowMs - Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  if (ageMs > SKEW_MS_MAX) return invalid(`Signature expired: ${amzDate} is more than 5 minutes old.`)
  if (ageMs < -SKEW_MS_MAX)
    return invalid(`Signature not yet current: ${amzDate} is more than 5 minutes ahead.`)
  // An impossible date such as month 13 has no age.
  return Number.isNaN(ageMs) ? incomplete('Date is not a date.') : undefined
}

function headersFault(
  headers: IncomingHttpHeaders,
  names: readonly string[],
  bodyHash: string,
): KmsFault | undefined {
  const mustSign = Object.keys(headers).filter((name) => name === 'host' || name.startsWith('x-amz-'))
  const unsigned = mustSign.find((name) => !names.includes(name))
  if (unsigned !== undefined)
    return invalid(`'${unsigned}' must be a 'SignedHeader' in the AWS Authorization.`)
  const declared = headers['x-amz-content-sha256']
  if (declared !== undefined && declared !== bodyHash)
    return invalid('x-amz-content-sha256 is not that of the body.')
  return undefined
}

function signatureOf(
  headers: IncomingHttpHeaders,
  names: readonly string[],
  bodyHash: string,
  amzDate: string,
  scope: SigV4Scope,
): Buffer {
  const day = amzDate.slice(0, 8)
  const headerOf = (name: string) =>
    String(headers[name] ?? '')
      .trim()
      .replace(/ +/g, ' ')
  const lines = names.map((name) => `${name}:${headerOf(name)}\n`)
  const canonical = ['POST', '/', '', lines.join(''), names.join(';'), bodyHash].join('\n')
  const credentialScope = `${day}/${scope.region}/kms/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', amzDate, credentialScope, sha256(canonical)].join('\n')
  const key = [day, scope.region, 'kms', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${scope.secretAccessKey}`,
  )
  return hmac(key, toSign)
}

/**
 * Find what is wrong with the SigV4 signature of a `POST /` without a query, or undefined when it is right. Dates may
 * be 5 minutes off, as at AWS; a request may be replayed within them, as at AWS.
 * Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function sigV4Fault(
  headers: IncomingHttpHeaders,
  body: Uint8Array,
  scope: SigV4Scope,
): KmsFault | undefined {
  const { authorization, 'x-amz-date': amzDate } = headers
  if (authorization === undefined) {
    return { type: 'MissingAuthenticationTokenException', message: 'Missing Authentication Token' }
  }
  const { credential, names, signature } = AUTHORIZATION.exec(authorization)?.groups ?? {}
  if (credential === undefined || names === undefined || signature === undefined) {
    return incomplete('Authorization header requires Credential, SignedHeaders and Signature.')
  }
  if (typeof amzDate !== 'string') return incomplete("Authorization header requires the 'X-Amz-Date' header.")
  const [accessKeyId, ...rest] = credential.split('/')
  if (accessKeyId !== scope.accessKeyId) {
    return {
      type: 'UnrecognizedClientException',
      message: 'The security token included in the request is invalid.',
    }
  }
  if (rest.join('/') !== `${amzDate.slice(0, 8)}/${scope.region}/kms/aws4_request`) {
    return invalid(`Credential should be scoped to the request's day, '${scope.region}' and 'kms'.`)
  }
  const bodyHash = sha256(body)
  const signedNames = names.split(';')
  const fault = dateFault(amzDate, scope.clock.nowMs()) ?? headersFault(headers, signedNames, bodyHash)
  if (fault !== undefined) return fault
  const expected = signatureOf(headers, signedNames, bodyHash, amzDate, scope)
  if (!timingSafeEqual(Buffer.from(signature, 'hex'), expected)) {
    return invalid('The request signature we calculated does not match the signature you provided.')
  }
  return undefined
}
