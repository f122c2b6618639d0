import { randomUUID } from 'node:crypto'
import type { Address } from 'viem'
import type { Clock } from '../../../src/clock.ts'
import type { MessageResource } from '../../../src/service/contract/directory-resources.ts'
import type { AnyCall, Handlers } from '../http/handler.ts'
import type { Store } from '../store.ts'
import { collection, descending, type Source } from './rows.ts'

/** Who a message is for, and what it says. */
type MessageDraft = {
  /** Null for the wallet under any application. */
  readonly applicationId: string | null
  readonly walletAddress: Address
  readonly subject: string
  readonly body: string
}

/** Messages of the sandbox to wallets. */
export type Messages = {
  /** Keep a message; joins the transaction that is open, if one is. */
  readonly post: (draft: MessageDraft) => void
  /** The messages that a caller may read, newest first; at most {@link MESSAGES_MAX}. */
  readonly readableBy: (caller: AnyCall['caller']) => readonly MessageResource[]
}

/** The newest messages that one answer is cut from. */
const MESSAGES_MAX = 1_000
const MESSAGE_LIFETIME_MS = 30 * 24 * 3_600_000
const SENDER = { senderWorkspace: 'sandbox', senderEntityId: 'operator', senderLabel: 'Sandbox operator' }

/**
 * Open the messages in the store. A wallet session reads its wallet's; a secret key without a session reads all of its
 * application; a publishable key without a session reads none.
 */
export function createMessages(store: Pick<Store, 'db'>, clock: Clock): Messages {
  const insert = store.db.prepare(
    'INSERT INTO messages (id, application_id, wallet, subject, body, created_ms, expires_ms) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  const purge = store.db.prepare('DELETE FROM messages WHERE expires_ms <= ?')
  const find = store.db.prepare(
    `SELECT id, subject, body, created_ms, expires_ms FROM messages
     WHERE expires_ms > ?1 AND (?2 IS NULL OR application_id IS NULL OR application_id = ?2)
       AND (?3 IS NULL OR wallet = ?3)
     ORDER BY created_ms DESC, id LIMIT ?4`,
  )
  return {
    post: ({ applicationId, walletAddress, subject, body }) => {
      const nowMs = clock.nowMs()
      purge.run(nowMs)
      const wallet = walletAddress.toLowerCase()
      insert.run(
        `msg_${randomUUID()}`,
        applicationId,
        wallet,
        subject,
        body,
        nowMs,
        nowMs + MESSAGE_LIFETIME_MS,
      )
    },
    readableBy: ({ key, applicationId, wallet }) => {
      if (wallet === null && key !== 'secret') return []
      return find.all(clock.nowMs(), applicationId, wallet, MESSAGES_MAX).map((row) => ({
        id: String(row.id),
        ...SENDER,
        subject: String(row.subject),
        body: String(row.body),
        createdAt: new Date(Number(row.created_ms)).toISOString(),
        expiresAt: new Date(Number(row.expires_ms)).toISOString(),
        readAt: null,
      }))
    },
  }
}

/** GET /v1/messaging. */
export const messageReads = (source: Source, messages: Messages) =>
  ({
    listMessages: collection(
      source,
      'messages',
      ({ caller }) => messages.readableBy(caller),
      (row) => `${descending(BigInt(Date.parse(row.createdAt ?? '')))} ${row.id}`,
    ),
  }) satisfies Partial<Handlers>
