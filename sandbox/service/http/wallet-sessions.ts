import { randomUUID } from 'node:crypto'
import { type Address, getAddress, verifyMessage } from 'viem'
import { createSiweMessage, generateSiweNonce } from 'viem/siwe'
import type { Clock } from '../../../src/clock.ts'
import { addr } from '../../../src/service/contract/scalars.ts'
import { newToken, type Store } from '../store.ts'
import { ApiError, unknownChain } from './api-error.ts'
import type { Handler, Handlers } from './handler.ts'

/** Live wallet sessions, found by their token. */
export type WalletSessions = {
  /** The live session of a token; null when it is unknown or has expired. */
  readonly find: (token: string) => LiveSession | null
}

/** A wallet that signed in, and the id of the key that it did so with; null when it came without one. */
type LiveSession = { readonly address: Address; readonly keyId: string | null }

const CHALLENGE_MS = 120_000
const SESSION_MS = 15 * 60_000

/** Find sessions in the store; only the hash of a token is kept. */
export function createWalletSessions(store: Store, clock: Clock): WalletSessions {
  const find = store.db.prepare(
    'SELECT address, key_id FROM wallet_sessions WHERE token_hash = ? AND expires_ms > ?',
  )
  return {
    find: (token) => {
      const row = find.get(store.hash(token), clock.nowMs())
      if (row === undefined) return null
      return { address: addr.parse(row.address), keyId: row.key_id === null ? null : String(row.key_id) }
    },
  }
}

/** What signing in is given. */
type SignInDeps = { readonly store: Store; readonly clock: Clock; readonly chainId: number }

/** POST /v1/wallet-sessions/challenges and /confirm. Source: EIP-4361. */
export const walletSessionOperations = (deps: SignInDeps) =>
  ({
    createWalletChallenge: challenge(deps),
    confirmWalletChallenge: confirm(deps),
  }) satisfies Partial<Handlers>

function challenge({ store, clock, chainId }: SignInDeps): Handler<'createWalletChallenge'> {
  const purge = store.db.prepare('DELETE FROM challenges WHERE expires_ms <= ?')
  const insert = store.db.prepare(
    'INSERT INTO challenges (id, address, message, expires_ms) VALUES (?, ?, ?, ?)',
  )
  return ({ body: request, host }) => {
    if (request.chainId !== chainId) throw unknownChain(chainId)
    const nowMs = clock.nowMs()
    const expiresMs = nowMs + CHALLENGE_MS
    const challengeId = `wch_${randomUUID()}`
    const message = createSiweMessage({
      address: getAddress(request.address),
      chainId,
      domain: host,
      uri: `http://${host}`,
      version: '1',
      nonce: generateSiweNonce(),
      issuedAt: new Date(nowMs),
      expirationTime: new Date(expiresMs),
    })
    return {
      body: { challengeId, message, expiresAt: new Date(expiresMs).toISOString() },
      commit: () => {
        purge.run(nowMs)
        insert.run(challengeId, request.address, message, expiresMs)
      },
    }
  }
}

function confirm({ store, clock }: SignInDeps): Handler<'confirmWalletChallenge'> {
  const find = store.db.prepare('SELECT address, message FROM challenges WHERE id = ? AND expires_ms > ?')
  const use = store.db.prepare('DELETE FROM challenges WHERE id = ?')
  const purge = store.db.prepare('DELETE FROM wallet_sessions WHERE expires_ms <= ?')
  const insert = store.db.prepare('INSERT INTO wallet_sessions VALUES (?, ?, ?, ?)')
  const invalid = () => new ApiError(401, 'invalid_challenge', 'The challenge is unknown, used or expired.')
  return async ({ body: { challengeId, signature }, caller }) => {
    const nowMs = clock.nowMs()
    const challenge = find.get(challengeId, nowMs)
    if (challenge === undefined) throw invalid()
    const address = addr.parse(challenge.address)
    const message = String(challenge.message)
    // Bytes that are no signature at all make the recovery throw; that is a wrong signature too.
    const valid = await verifyMessage({ address, message, signature }).catch(() => false)
    if (!valid) throw new ApiError(401, 'invalid_signature', "The signature is not the challenge's wallet's.")
    const token = newToken('ws')
    const expiresMs = nowMs + SESSION_MS
    return {
      body: { session: token, expiresAt: new Date(expiresMs).toISOString(), address },
      commit: () => {
        purge.run(nowMs)
        // Two confirmations can be verified at once; the challenge is good for one session.
        if (use.run(challengeId).changes === 0) throw invalid()
        insert.run(store.hash(token), address, caller.keyId, expiresMs)
      },
    }
  }
}
