import { z } from 'zod'
import { addr, hexBytes, shortText, ts } from './scalars.ts'

/** Assumed: how a wallet proves itself, which the service's document leaves "not shown". */

/** Assumed: POST /v1/wallet-sessions/challenges; `message` is EIP-4361 text. */
export const walletChallengeRequest = z.strictObject({ address: addr, chainId: z.number().int().min(1) })
export const walletChallenge = z.object({
  challengeId: shortText,
  message: z.string().min(1).max(4_000),
  expiresAt: ts,
})

/**
 * Assumed: what a challenge says beside the wallet, the chain, the service's origin, a nonce and its times: no statement, and
 * as its URI the origin, followed by this path.
 */
export const CHALLENGE = { statement: '', path: '' } as const

/** Assumed: POST /v1/wallet-sessions/confirm; `signature` is 65 bytes, r then s then v. */
export const walletConfirmRequest = z.strictObject({ challengeId: shortText, signature: hexBytes })
export const walletSession = z.object({
  session: z.string().regex(/^[\x21-\x7e]{1,4096}$/),
  expiresAt: ts,
  address: addr,
})
