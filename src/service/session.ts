import { randomUUID } from 'node:crypto'
import { type Address, type Hex, hashMessage, isAddressEqual, size } from 'viem'
import { createSiweMessage, parseSiweMessage } from 'viem/siwe'
import type { Clock } from '../clock.ts'
import { type Checked, invariant, type Refusal, RolekeeperError, refuse } from '../errors.ts'
import { span } from '../readable.js'
import type { ServiceClient } from './client.ts'
import type { Assumptions } from './contract/assumptions.ts'

/** A session is renewed this long before it ends, so that no read starts with one that dies on the way. */
const RENEW_BEFORE_MS = 30_000

/** Room for clocks that differ. */
const CLOCK_SKEW_MS = 60_000

/** A signed challenge that leaks opens sessions until it expires; services give minutes. */
const CHALLENGE_LIFE_MS_MAX = 3_600_000

/** Each opening costs a signature: a service that ends sessions at once must not drain the signer's quota. */
const OPEN_EVERY_MS_MIN = 10_000

/** A nonce's letters and digits are the only free text of a challenge. */
const NONCE_LENGTH_MAX = 128

/** Whose challenge is signed, and its whole text but for a nonce and two times. */
type ChallengeExpected = {
  readonly address: Address
  readonly chainId: number
  readonly service: URL
  readonly challenge: Assumptions['challenge']
}

/**
 * Check that a challenge is the EIP-4361 text of our own sign-in and nothing else: what is signed is written anew from our own
 * fields, its nonce and its times, and must equal it byte for byte, so that no other text can be smuggled to the key. Pure.
 * @returns the EIP-191 digest to sign.
 * Source: EIP-4361, EIP-191.
 */
export function checkChallenge(
  message: string,
  expected: ChallengeExpected,
  nowMs: number,
): Checked<{ digest: Hex }> {
  const { address, chainId, domain, uri, nonce, statement, issuedAt, expirationTime } =
    parseSiweMessage(message)
  const missing = !address || !chainId || !domain || !uri || !nonce || !issuedAt || !expirationTime
  if (missing) return refuse('challenge_shape', 'The challenge is not an EIP-4361 message with an expiry.')
  if (!isAddressEqual(address, expected.address))
    return refuse('challenge_address', `The challenge is for ${address}; the wallet is ${expected.address}.`)
  if (chainId !== expected.chainId)
    return refuse(
      'challenge_chain',
      `The challenge is for chain ${chainId}; the keeper runs on ${expected.chainId}.`,
    )
  const { host, origin } = expected.service
  const ours = `${origin}${expected.challenge.path}`
  if (domain !== host || uri !== ours) return refuse('challenge_origin', `The challenge is not for ${ours}.`)
  if ((statement ?? '') !== expected.challenge.statement)
    return refuse(
      'challenge_statement',
      'The challenge states something else than we expect. Fix: read it, and set service.assumptions.challenge if the service means it.',
    )
  if (nonce.length > NONCE_LENGTH_MAX)
    return refuse(
      'challenge_nonce',
      `The challenge's nonce has ${nonce.length} characters; ${NONCE_LENGTH_MAX} are allowed.`,
    )
  const fields = { ...expected, domain: host, uri: ours, nonce, issuedAt, expirationTime }
  if (rebuild(fields) !== message)
    return refuse('challenge_shape', 'The challenge holds more than a sign-in, or holds it in another form.')
  return (
    checkTimes(issuedAt.getTime(), expirationTime.getTime(), nowMs) ?? {
      ok: true,
      digest: hashMessage(message),
    }
  )
}

function checkTimes(issuedAtMs: number, expiresAtMs: number, nowMs: number): Refusal | undefined {
  if (issuedAtMs > nowMs + CLOCK_SKEW_MS)
    return refuse('challenge_time', `The challenge was issued ${span(issuedAtMs - nowMs)} from now.`)
  if (expiresAtMs <= nowMs)
    return refuse('challenge_time', `The challenge expired ${span(nowMs - expiresAtMs)} ago.`)
  if (expiresAtMs > nowMs + CHALLENGE_LIFE_MS_MAX)
    return refuse(
      'challenge_time',
      `The challenge lives ${span(expiresAtMs - nowMs)} more; ${span(CHALLENGE_LIFE_MS_MAX)} are allowed.`,
    )
  return undefined
}

type OwnFields = Pick<
  Parameters<typeof createSiweMessage>[0],
  'address' | 'chainId' | 'domain' | 'uri' | 'nonce' | 'issuedAt' | 'expirationTime'
>

/** Write a challenge from fields that are known to be ours; nothing where the standard does not allow one. */
function rebuild({
  challenge,
  address,
  chainId,
  ...fields
}: ChallengeExpected & OwnFields): string | undefined {
  const { domain, uri, nonce, issuedAt, expirationTime } = fields
  const stated = challenge.statement === '' ? {} : { statement: challenge.statement }
  try {
    return createSiweMessage({
      address,
      chainId,
      domain,
      uri,
      nonce,
      version: '1',
      ...stated,
      ...(issuedAt === undefined || expirationTime === undefined ? {} : { issuedAt, expirationTime }),
    })
  } catch {
    return undefined
  }
}

type Session = { readonly session: string; readonly renewAtMs: number }

/** What a wallet session needs. */
export type SessionDeps = {
  readonly client: Pick<ServiceClient, 'base' | 'createWalletChallenge' | 'confirmWalletChallenge'>
  readonly clock: Clock
  readonly challenge: Assumptions['challenge']
  /** Record the digest, then have the wallet's key sign it: 65 bytes, r then s then v. */
  readonly attest: (digest: Hex, message: string) => Promise<Hex>
}

/** A wallet's session with the service, opened when first needed and renewed before it ends. */
export type WalletSession = {
  /**
   * Read with a session. One that the service no longer takes is opened anew, once.
   * @returns what was read, or the refusal of a challenge. Throws what `read` and the client throw.
   */
  readonly use: <T>(read: (session: string) => Promise<T>) => Promise<Checked<{ value: T }>>
}

/** Create the session of one wallet on one chain. Nothing is asked for or signed until it is used. */
export function createWalletSession(
  wallet: { readonly address: Address; readonly chainId: number },
  deps: SessionDeps,
): WalletSession {
  const { client, clock } = deps
  let held: Session | undefined
  let opening: Promise<Checked<Session>> | undefined
  let openAgainAtMs = 0

  const open = async (): Promise<Checked<Session>> => {
    openAgainAtMs = clock.monotonicMs() + OPEN_EVERY_MS_MIN
    const { answer: challenge } = await client.createWalletChallenge({
      body: { address: wallet.address, chainId: wallet.chainId },
      idempotencyKey: randomUUID(),
    })
    const checked = checkChallenge(
      challenge.message,
      { ...wallet, service: client.base, challenge: deps.challenge },
      clock.nowMs(),
    )
    if (!checked.ok) return checked
    const signature = await deps.attest(checked.digest, challenge.message)
    invariant(size(signature) === 65, `a wallet signature has ${size(signature)} bytes instead of 65`)
    const { answer: opened } = await client.confirmWalletChallenge({
      body: { challengeId: challenge.challengeId, signature },
      idempotencyKey: randomUUID(),
    })
    if (!isAddressEqual(opened.address, wallet.address))
      return refuse(
        'session_address',
        `The session is for ${opened.address}; the wallet is ${wallet.address}.`,
      )
    held = { session: opened.session, renewAtMs: Date.parse(opened.expiresAt) - RENEW_BEFORE_MS }
    return { ok: true, ...held }
  }

  const get = async (): Promise<Checked<Session>> => {
    if (held !== undefined && clock.nowMs() < held.renewAtMs) return { ok: true, ...held }
    const waitMs = openAgainAtMs - clock.monotonicMs()
    if (opening === undefined && waitMs > 0)
      return refuse(
        'session_too_soon',
        `A session may be opened in ${span(waitMs)}: one try every ${span(OPEN_EVERY_MS_MIN)} is allowed.`,
      )
    opening ??= open().finally(() => {
      opening = undefined
    })
    return opening
  }

  return {
    use: async (read) => {
      const got = await get()
      if (!got.ok) return got
      try {
        return { ok: true, value: await read(got.session) }
      } catch (error) {
        if (!(error instanceof RolekeeperError && error.code === 'service.unauthorized')) throw error
      }
      if (held?.session === got.session) held = undefined
      const again = await get()
      return again.ok ? { ok: true, value: await read(again.session) } : again
    },
  }
}
