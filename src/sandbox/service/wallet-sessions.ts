import { randomUUID } from 'node:crypto'
import { type Address, getAddress, verifyMessage } from 'viem'
import { createSiweMessage, generateSiweNonce } from 'viem/siwe'
import type { Clock } from '../../clock.ts'
import { walletChallengeRequest, walletConfirmRequest } from '../../service/assumptions.ts'
import { addr } from '../../service/scalars.ts'
import { ApiError } from './api-error.ts'
import type { Operation } from './operation.ts'
import { parseBody } from './parse-body.ts'
import { newToken, type Store } from './store.ts'

/** Live wallet sessions, found by their token. */
export type WalletSessions = {
  /** The session's wallet, or null when the token is unknown or has expired. */
  readonly find: (token: string) => { readonly address: Address } | null
}

const CHALLENGE_MS = 120_000
const SESSION_MS = 15 * 60_000

/** Find sessions in the store; only the hash of a token is kept. */
export function createWalletSessions(store: Store, clock: Clock): WalletSessions {
  const find = store.db.prepare('SELECT address FROM sessions WHERE token_hash = ? AND expires_ms > ?')
  return {
    find: (token) => {
      const row = find.get(store.hash(token), clock.nowMs())
      return row === undefined ? null : { address: addr.parse(row.address) }
    },
  }
}

/** POST /v1/wallet-sessions/challenges and /confirm. Source: EIP-4361. */
export function walletSessionOperations(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly chainId: number
}): readonly Operation[] {
  const { store, clock, chainId } = deps
  const purge = (table: 'challenges' | 'sessions') =>
    store.db.prepare(`DELETE FROM ${table} WHERE expires_ms <= ?`).run(clock.nowMs())
  return [
    {
      method: 'POST',
      path: '/v1/wallet-sessions/challenges',
      access: 'any',
      perform: ({ body, host }) => {
        const request = parseBody(walletChallengeRequest, body)
        if (request.chainId !== chainId)
          throw new ApiError(400, 'unknown_chain', `This service is on chain ${chainId}.`)
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
          statement: 'Sign in to the sandbox service.',
          issuedAt: new Date(nowMs),
          expirationTime: new Date(expiresMs),
        })
        return {
          body: { challengeId, message, expiresAt: new Date(expiresMs).toISOString() },
          commit: () => {
            purge('challenges')
            store.db
              .prepare('INSERT INTO challenges (id, address, message, expires_ms) VALUES (?, ?, ?, ?)')
              .run(challengeId, request.address, message, expiresMs)
          },
        }
      },
    },
    {
      method: 'POST',
      path: '/v1/wallet-sessions/confirm',
      access: 'any',
      perform: async ({ body }) => {
        const { challengeId, signature } = parseBody(walletConfirmRequest, body)
        const challenge = store.db
          .prepare('SELECT address, message FROM challenges WHERE id = ? AND expires_ms > ?')
          .get(challengeId, clock.nowMs())
        if (challenge === undefined)
          throw new ApiError(401, 'invalid_challenge', 'The challenge is unknown or expired.')
        const address = addr.parse(challenge.address)
        const message = String(challenge.message)
        // Bytes that are no signature at all make the recovery throw; that is a wrong signature too.
        const valid = await verifyMessage({ address, message, signature }).catch(() => false)
        if (!valid)
          throw new ApiError(401, 'invalid_signature', "The signature is not the challenge's wallet's.")
        const token = newToken('ws')
        const expiresMs = clock.nowMs() + SESSION_MS
        return {
          body: { session: token, expiresAt: new Date(expiresMs).toISOString(), address },
          commit: () => {
            purge('sessions')
            const used = store.db.prepare('DELETE FROM challenges WHERE id = ?').run(challengeId)
            // Two confirmations can be verified at once; the challenge is good for one session.
            if (used.changes === 0) throw new ApiError(401, 'invalid_challenge', 'The challenge was used.')
            store.db
              .prepare('INSERT INTO sessions (token_hash, address, expires_ms) VALUES (?, ?, ?)')
              .run(store.hash(token), address, expiresMs)
          },
        }
      },
    },
  ]
}
