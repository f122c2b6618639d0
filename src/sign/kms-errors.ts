import { KMSServiceException } from '@aws-sdk/client-kms'
import { type Retry, RolekeeperError } from '../errors.ts'

type Failure = { readonly code: string; readonly says: string; readonly fix: string; readonly retry: Retry }

const failure = (code: string, retry: Retry, says: string, fix: string): Failure => ({
  code,
  says,
  fix,
  retry,
})

const CREDENTIALS = failure(
  'kms.denied',
  'never',
  'refused our credentials',
  "check the KMS's access key and secret, its region, and this machine's clock.",
)
const REFRESHING = failure(
  'kms.denied',
  'later',
  'could not be asked for want of valid credentials',
  'check the source of the AWS credentials (environment, role or profile).',
)
const DISABLED = failure(
  'kms.disabled',
  'never',
  'will not use the key: it is disabled or pending deletion',
  'enable the key, or pin another one and its address.',
)
const THROTTLED = failure(
  'kms.throttled',
  'later',
  'throttled us on every attempt',
  'lower the rate of signing, or ask AWS for a higher quota of ECC requests.',
)
const TIMEOUT = failure(
  'kms.timeout',
  'later',
  'did not answer in time',
  'check the network path to the KMS endpoint, or raise its timeout.',
)
const UNREACHABLE = failure(
  'kms.unreachable',
  'later',
  'could not be reached or failed by itself',
  'check the KMS endpoint, its region and the network path to it.',
)
const REJECTED = failure(
  'kms.rejected',
  'never',
  'rejected the request',
  'check that the endpoint is an AWS KMS and that the pinned key is of its region.',
)

/** By the error's name, which AWS documents; by the socket's code where no reply came. */
const FAILURES = new Map<string, Failure>([
  [
    'AccessDeniedException',
    failure(
      'kms.denied',
      'never',
      'denies us the key',
      'allow kms:Sign, kms:GetPublicKey and kms:DescribeKey on this key to this identity.',
    ),
  ],
  ['UnrecognizedClientException', CREDENTIALS],
  ['InvalidSignatureException', CREDENTIALS],
  ['IncompleteSignatureException', CREDENTIALS],
  ['MissingAuthenticationTokenException', CREDENTIALS],
  ['ExpiredTokenException', REFRESHING],
  ['CredentialsProviderError', REFRESHING],
  ['DisabledException', DISABLED],
  ['KMSInvalidStateException', DISABLED],
  [
    'NotFoundException',
    failure(
      'kms.not_found',
      'never',
      'has no such key',
      "check the pinned key's ARN, and that the endpoint is of its region.",
    ),
  ],
  [
    'InvalidKeyUsageException',
    failure(
      'kms.wrong_key',
      'never',
      'says that the key cannot sign',
      'pin a key with KeyUsage SIGN_VERIFY and KeySpec ECC_SECG_P256K1.',
    ),
  ],
  ['ThrottlingException', THROTTLED],
  ['LimitExceededException', THROTTLED],
  ['TooManyRequestsException', THROTTLED],
  ['ETIMEDOUT', TIMEOUT],
  ['TimeoutError', TIMEOUT],
  ['ECONNRESET', UNREACHABLE],
  ['ECONNREFUSED', UNREACHABLE],
  ['EPIPE', UNREACHABLE],
])

/** Whether a key that refused so may sign again once a person has given back what it lacks. Pure. */
export const mayComeBack = ({ code }: RolekeeperError): boolean =>
  code === 'kms.denied' || code === 'kms.disabled'

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/**
 * Map what `@aws-sdk/client-kms` throws to ours. The vendor's message is dropped, as cause too: it can hold the
 * canonical request with its session token. Names and ids are kept only in the shape that AWS gives them.
 * Source: https://docs.aws.amazon.com/kms/latest/APIReference/CommonErrors.html
 */
export function fromKmsError(error: unknown, operation: string, keyId: string): RolekeeperError {
  const name = error instanceof Error ? error.name : ''
  const isReply = error instanceof KMSServiceException
  const status = isReply ? error.$metadata.httpStatusCode : undefined
  const requestId = isReply ? error.$metadata.requestId : undefined
  const fallback = status !== undefined && status >= 400 && status < 500 ? REJECTED : UNREACHABLE
  // The SDK also names a reset and a refused connection TimeoutError, so the socket's code is asked first.
  const found = FAILURES.get(codeOf(error)) ?? FAILURES.get(name) ?? fallback
  const reason = codeOf(error) || name
  return new RolekeeperError(found.code, `The KMS ${found.says} (${operation}).`, {
    fix: found.fix,
    facts: {
      operation,
      keyId,
      error: /^\w{1,64}$/.test(reason) ? reason : 'unknown',
      httpStatus: status ?? null,
      requestId: requestId !== undefined && /^[0-9a-f-]{36}$/.test(requestId) ? requestId : null,
    },
    retry: found.retry,
  })
}
