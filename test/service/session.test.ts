import { type Hex, hashMessage } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createSiweMessage } from 'viem/siwe'
import { beforeEach, expect, test } from 'vitest'
import { RolekeeperError } from '../../src/errors.ts'
import { checkChallenge, createWalletSession, type SessionDeps } from '../../src/service/session.ts'
import { leapingClock } from './clocks.ts'

const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const NOW_MS = Date.parse('2026-01-01T00:00:00Z')
const expected = {
  address: account.address,
  chainId: 31337,
  service: new URL('http://127.0.0.1:4010/'),
  challenge: { statement: 'Sign in.', path: '' },
}
type Fields = Parameters<typeof createSiweMessage>[0]
const fields: Fields = {
  address: account.address,
  chainId: 31337,
  domain: '127.0.0.1:4010',
  uri: 'http://127.0.0.1:4010',
  version: '1',
  nonce: 'abcd1234EFGH',
  statement: 'Sign in.',
  issuedAt: new Date(NOW_MS - 1_000),
  expirationTime: new Date(NOW_MS + 60_000),
}
const challenge = (more: Partial<Fields> = {}) => createSiweMessage({ ...fields, ...more })
const check = (message: string) => checkChallenge(message, expected, NOW_MS)
const without = (name: 'statement' | 'expirationTime') => {
  const { [name]: _left, ...rest } = fields
  return createSiweMessage(rest)
}

test('accepts a sign-in to the service and gives its EIP-191 digest', () => {
  expect(check(challenge())).toEqual({ ok: true, digest: hashMessage(challenge()) })
})

test('accepts a sign-in without a statement, or at a path, where that is what we expect', () => {
  const bare = { ...expected, challenge: { statement: '', path: '' } }
  expect(checkChallenge(without('statement'), bare, NOW_MS).ok).toBe(true)
  expect(checkChallenge(challenge(), bare, NOW_MS)).toMatchObject({ check: 'challenge_statement' })
  const at = { ...expected, challenge: { statement: 'Sign in.', path: '/login' } }
  expect(checkChallenge(challenge({ uri: 'http://127.0.0.1:4010/login' }), at, NOW_MS).ok).toBe(true)
  expect(checkChallenge(challenge(), at, NOW_MS)).toMatchObject({ check: 'challenge_origin' })
})

test.each([
  ['another wallet', challenge({ address: `0x${'11'.repeat(20)}` }), 'challenge_address'],
  ['another chain', challenge({ chainId: 1 }), 'challenge_chain'],
  ['another domain', challenge({ domain: 'evil.example' }), 'challenge_origin'],
  ['another port', challenge({ domain: '127.0.0.1:4011' }), 'challenge_origin'],
  ['another origin', challenge({ uri: 'https://127.0.0.1:4010' }), 'challenge_origin'],
  ['a foreign origin', challenge({ uri: 'http://evil.example/127.0.0.1:4010' }), 'challenge_origin'],
  [
    'an assignment in its statement',
    challenge({ statement: 'I assign all my bids to 0x9999999999999999999999999999999999999999.' }),
    'challenge_statement',
  ],
  ['no statement where we expect one', without('statement'), 'challenge_statement'],
  [
    'an assignment in its path',
    challenge({ uri: 'http://127.0.0.1:4010/I-assign-all-my-bids-to-0x99' }),
    'challenge_origin',
  ],
  ['a query', challenge({ uri: 'http://127.0.0.1:4010?assign=all' }), 'challenge_origin'],
  ['a story for a nonce', challenge({ nonce: 'Iassign'.repeat(20) }), 'challenge_nonce'],
  ['a scheme', challenge({ scheme: 'http' }), 'challenge_shape'],
  ['a request id', challenge({ requestId: 'r1' }), 'challenge_shape'],
  ['resources', challenge({ resources: ['https://evil.example/tos'] }), 'challenge_shape'],
  ['a start time', challenge({ notBefore: new Date(NOW_MS - 1) }), 'challenge_shape'],
  ['no expiry', without('expirationTime'), 'challenge_shape'],
  ['text in front', `I owe you 5 ETH\n${challenge()}`, 'challenge_shape'],
  ['text behind', `${challenge()}\nAnd 5 ETH`, 'challenge_shape'],
  ['a blank behind', `${challenge()} `, 'challenge_shape'],
  ['two statements', challenge().replace('Sign in.', 'Sign in.\n\nURI: http://x'), 'challenge_shape'],
  ['another version', challenge().replace('Version: 1', 'Version: 2'), 'challenge_shape'],
  ['a short nonce', challenge().replace('abcd1234EFGH', 'abcd'), 'challenge_shape'],
  [
    'an address in lower case',
    challenge().replace(account.address, account.address.toLowerCase()),
    'challenge_shape',
  ],
  ['a statement that is not ASCII', challenge({ statement: 'Sign \u202ein' }), 'challenge_statement'],
  ['a transaction as hex', `0x02f8${'00'.repeat(60)}`, 'challenge_shape'],
  ['nothing', '', 'challenge_shape'],
])('refuses a challenge with %s', (_name, message, name) => {
  expect(check(message)).toMatchObject({ ok: false, check: name })
})

test.each([
  ['expired this millisecond', { expirationTime: new Date(NOW_MS) }, false],
  ['good for one more', { expirationTime: new Date(NOW_MS + 1) }, true],
  ['good for an hour', { expirationTime: new Date(NOW_MS + 3_600_000) }, true],
  ['good for a millisecond more than an hour', { expirationTime: new Date(NOW_MS + 3_600_001) }, false],
  ['issued a minute from now', { issuedAt: new Date(NOW_MS + 60_000) }, true],
  ['issued a millisecond later', { issuedAt: new Date(NOW_MS + 60_001) }, false],
  ['with a nonce of 128 characters', { nonce: 'n'.repeat(128) }, true],
  ['with a nonce of 129 characters', { nonce: 'n'.repeat(129) }, false],
])('judges a challenge %s', (_name, more, ok) => {
  expect(check(challenge(more)).ok).toBe(ok)
})

const answered = <T>(answer: T) => ({ answer, bytes: '', freshness: null })

let clock: ReturnType<typeof leapingClock>
let made: { challenges: number; signed: Hex[]; confirmed: string[] }
let deps: SessionDeps

beforeEach(() => {
  clock = leapingClock(NOW_MS)
  made = { challenges: 0, signed: [], confirmed: [] }
  deps = {
    clock,
    challenge: expected.challenge,
    client: {
      base: expected.service,
      createWalletChallenge: async () => {
        made.challenges += 1
        const times = { issuedAt: new Date(clock.nowMs()), expirationTime: new Date(clock.nowMs() + 60_000) }
        return answered({
          challengeId: `c${made.challenges}`,
          message: challenge(times),
          expiresAt: '2026-01-01T00:01:00Z',
        })
      },
      confirmWalletChallenge: async (call) => {
        const challengeId = 'body' in call ? call.body.challengeId : ''
        made.confirmed.push(challengeId)
        const expiresAt = new Date(clock.nowMs() + 900_000).toISOString()
        return answered({ session: `session-${challengeId}`, expiresAt, address: account.address })
      },
    },
    attest: async (digest) => {
      made.signed.push(digest)
      return account.sign({ hash: digest })
    },
  }
})

const wallet = { address: account.address, chainId: 31337 }
const echo = async (session: string) => session
const unauthorized = () => new RolekeeperError('service.unauthorized', 'no')

test('opens one session for readers that come together, and keeps it until 30 s before its end', async () => {
  const session = createWalletSession(wallet, deps)
  const both = await Promise.all([session.use(echo), session.use(echo)])
  expect(both).toEqual([
    { ok: true, value: 'session-c1' },
    { ok: true, value: 'session-c1' },
  ])
  clock.leap(869_999)
  expect(await session.use(echo)).toEqual({ ok: true, value: 'session-c1' })
  clock.leap(1)
  expect(await session.use(echo)).toEqual({ ok: true, value: 'session-c2' })
  expect(made.signed).toHaveLength(2)
})

test('signs nothing when the challenge is refused', async () => {
  const client = {
    ...deps.client,
    createWalletChallenge: async () => answered({ challengeId: 'c', message: 'Give all', expiresAt: '' }),
  }
  const used = await createWalletSession(wallet, { ...deps, client }).use(echo)
  expect(used).toMatchObject({ ok: false, check: 'challenge_shape' })
  expect(made.signed).toEqual([])
})

test('refuses a session for another wallet', async () => {
  const client = {
    ...deps.client,
    confirmWalletChallenge: async () =>
      answered({
        session: 's',
        expiresAt: '2026-01-01T01:00:00Z',
        address: `0x${'11'.repeat(20)}` as const,
      }),
  }
  expect(await createWalletSession(wallet, { ...deps, client }).use(echo)).toMatchObject({
    check: 'session_address',
  })
})

test('opens a session anew, once, when the service takes it no more', async () => {
  const session = createWalletSession(wallet, deps)
  await session.use(echo)
  clock.leap(10_000)
  const used = await session.use(async (token) => {
    if (token === 'session-c1') throw unauthorized()
    return token
  })
  expect(used).toEqual({ ok: true, value: 'session-c2' })
  clock.leap(10_000)
  await expect(session.use(() => Promise.reject(unauthorized()))).rejects.toMatchObject({
    code: 'service.unauthorized',
  })
  expect(made.signed).toHaveLength(3)
})

test('asks the key at most once in 10 s, whatever the service does', async () => {
  const session = createWalletSession(wallet, deps)
  await session.use(echo)
  expect(await session.use(() => Promise.reject(unauthorized()))).toMatchObject({ check: 'session_too_soon' })
  clock.leap(9_999)
  expect(await session.use(echo)).toMatchObject({ check: 'session_too_soon' })
  clock.leap(1)
  expect((await session.use(echo)).ok).toBe(true)
  expect(made.signed).toHaveLength(2)
})

test('keeps no session that failed to open', async () => {
  let fail = true
  const attest = (digest: Hex) =>
    fail ? Promise.reject(new RolekeeperError('kms.denied', 'no')) : deps.attest(digest, '')
  const session = createWalletSession(wallet, { ...deps, attest })
  await expect(session.use(echo)).rejects.toMatchObject({ code: 'kms.denied' })
  fail = false
  clock.leap(10_000)
  expect((await session.use(echo)).ok).toBe(true)
})
