import { KMSServiceException } from '@aws-sdk/client-kms'
import { describe, expect, it } from 'vitest'
import { fromKmsError } from '../../src/sign/kms-errors.ts'

const ARN = 'arn:aws:kms:eu-central-1:000000000000:key/11111111-2222-4333-8444-555555555555'
const REQUEST = 'aaaaaaaa-0000-4000-8000-123456789abc'
const named = (name: string, more: object = {}) => Object.assign(new Error('canary'), { name, ...more })
/** A reply of the KMS that is an error of a name we do not know. */
const replied = (httpStatusCode?: number, requestId?: string) =>
  new KMSServiceException({
    name: 'NewException',
    $fault: 'client',
    message: 'canary',
    $metadata: {
      ...(httpStatusCode === undefined ? {} : { httpStatusCode }),
      ...(requestId === undefined ? {} : { requestId }),
    },
  })
const codeOf = (error: unknown) => {
  const { code, retry, facts } = fromKmsError(error, 'Sign', ARN)
  return [code, retry, facts.error, facts.httpStatus]
}

describe('what the KMS throws', () => {
  it.each([
    ['AccessDeniedException', 'kms.denied', 'never'],
    ['UnrecognizedClientException', 'kms.denied', 'never'],
    ['InvalidSignatureException', 'kms.denied', 'never'],
    ['IncompleteSignatureException', 'kms.denied', 'never'],
    ['MissingAuthenticationTokenException', 'kms.denied', 'never'],
    ['ExpiredTokenException', 'kms.denied', 'later'],
    ['CredentialsProviderError', 'kms.denied', 'later'],
    ['DisabledException', 'kms.disabled', 'never'],
    ['KMSInvalidStateException', 'kms.disabled', 'never'],
    ['NotFoundException', 'kms.not_found', 'never'],
    ['InvalidKeyUsageException', 'kms.wrong_key', 'never'],
    ['ThrottlingException', 'kms.throttled', 'later'],
    ['LimitExceededException', 'kms.throttled', 'later'],
    ['TooManyRequestsException', 'kms.throttled', 'later'],
    ['TimeoutError', 'kms.timeout', 'later'],
  ])('and calls %s is %s, to be tried again: %s', (name, code, retry) => {
    expect(codeOf(named(name))).toEqual([code, retry, name, null])
  })

  it.each([
    ['ETIMEDOUT', 'kms.timeout'],
    ['ECONNRESET', 'kms.unreachable'],
    ['ECONNREFUSED', 'kms.unreachable'],
    ['EPIPE', 'kms.unreachable'],
  ])('is said by the socket’s code %s before its name: %s', (socket, code) => {
    expect(codeOf(named('ThrottlingException', { code: socket }))).toEqual([code, 'later', socket, null])
  })

  it('says where credentials that are refreshed come from', () => {
    expect(fromKmsError(named('ExpiredTokenException'), 'Sign', ARN).message).toContain(
      'check the source of the AWS credentials (environment, role or profile)',
    )
  })

  it.each([
    [400, 'kms.rejected', 'never'],
    [499, 'kms.rejected', 'never'],
    [399, 'kms.unreachable', 'later'],
    [500, 'kms.unreachable', 'later'],
    [undefined, 'kms.unreachable', 'later'],
  ])('under a name that is not known is told by its status %s: %s', (status, code, retry) => {
    expect(codeOf(replied(status))).toEqual([code, retry, 'NewException', status ?? null])
  })

  it('is told by its name, never by its text, and by ids only as AWS writes them', () => {
    expect(codeOf(named('ThrottlingException', { code: 42 }))).toEqual([
      ...['kms.throttled', 'later', 'ThrottlingException', null],
    ])
    for (const error of ['canary', named('a name of ours'), named('', { code: 'x'.repeat(65) })])
      expect(codeOf(error)).toEqual(['kms.unreachable', 'later', 'unknown', null])
    const { facts, message } = fromKmsError(replied(400, REQUEST), 'Sign', ARN)
    expect(facts).toMatchObject({ operation: 'Sign', keyId: ARN, requestId: REQUEST })
    expect(message).toContain('The KMS rejected the request (Sign).')
    for (const id of [undefined, 'canary', `${REQUEST} canary`])
      expect(fromKmsError(replied(400, id), 'Sign', ARN).facts.requestId).toBeNull()
  })
})
