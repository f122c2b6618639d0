import type { Address, Hex } from 'viem'
import { z } from 'zod'
import { addr, hexBytes, uintString } from '../../../src/service/contract/scalars.ts'
import { SANDBOX_STAGES } from '../../../src/service/contract/tenant-resources.ts'
import type { Store } from '../store.ts'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS grants (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, application_id TEXT NOT NULL, wallet TEXT NOT NULL, asset TEXT,
  amount TEXT NOT NULL, status TEXT NOT NULL, signed TEXT NOT NULL, sent_block TEXT NOT NULL,
  requested_ms INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS grants_wallet ON grants (wallet, kind, requested_ms);
CREATE INDEX IF NOT EXISTS grants_status ON grants (status);
`

const kind = z.enum(['admission', 'faucet'])
const status = z.enum([...SANDBOX_STAGES, 'failed'])
/** How far a grant is: a stage, or `failed` when one of its transactions reverted. */
export type GrantStatus = z.infer<typeof status>

/** Something that the sandbox gives a wallet on the chain. */
export type Grant = {
  readonly id: string
  readonly kind: z.infer<typeof kind>
  readonly applicationId: string
  readonly wallet: Address
  /** Of a faucet claim; null for an admission. */
  readonly asset: Address | null
  /** In base units; 0 for an admission. */
  readonly amount: bigint
  readonly status: GrantStatus
  /** The signed transactions, in the order of the grant's calls; empty before they are signed. */
  readonly signed: readonly Hex[]
  /** The indexed block when they were sent last. */
  readonly sentBlock: bigint
  readonly requestedMs: number
}

/** Grants on disk. Writes are made inside the caller's transaction. */
export type GrantRows = {
  readonly insert: (grant: Grant) => void
  readonly update: (grant: Grant) => void
  /** What is not at its end, oldest first. */
  readonly open: () => readonly Grant[]
  /** The newest admission of a wallet under an application that did not fail; null when there is none. */
  readonly admission: (wallet: Address, applicationId: string) => Grant | null
  /** Whether the chain admits a wallet, under whichever application it asked. */
  readonly isAdmitted: (wallet: Address) => boolean
  /** How many faucet claims of a wallet were made since a moment and did not fail. */
  readonly claimsSince: (wallet: Address, ms: number) => number
}

/** Open the grants in the store. */
export function createGrantRows({ db }: Store): GrantRows {
  db.exec(SCHEMA)
  const insert = db.prepare('INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const update = db.prepare('UPDATE grants SET status = ?, signed = ?, sent_block = ? WHERE id = ?')
  const open = db.prepare(
    "SELECT * FROM grants WHERE status NOT IN ('final_success', 'failed') ORDER BY rowid",
  )
  const admission = db.prepare(
    `SELECT * FROM grants WHERE wallet = ? AND application_id = ? AND kind = 'admission' AND status <> 'failed'
     ORDER BY rowid DESC LIMIT 1`,
  )
  const admitted = db.prepare(
    `SELECT 1 FROM grants WHERE wallet = ? AND kind = 'admission'
     AND status IN ('persisted_visible', 'final_success')`,
  )
  const claims = db.prepare(
    `SELECT count(*) AS n FROM grants
     WHERE wallet = ? AND kind = 'faucet' AND requested_ms >= ? AND status <> 'failed'`,
  )
  return {
    insert: (g) => {
      insert.run(
        ...([g.id, g.kind, g.applicationId, g.wallet, g.asset, String(g.amount), g.status] as const),
        ...([JSON.stringify(g.signed), String(g.sentBlock), g.requestedMs] as const),
      )
    },
    update: (g) => {
      update.run(g.status, JSON.stringify(g.signed), String(g.sentBlock), g.id)
    },
    open: () => open.all().map(grant),
    admission: (wallet, applicationId) => {
      const row = admission.get(wallet, applicationId)
      return row === undefined ? null : grant(row)
    },
    isAdmitted: (wallet) => admitted.get(wallet) !== undefined,
    claimsSince: (wallet, ms) => Number(claims.get(wallet, ms)?.n),
  }
}

const grant = (row: Readonly<Record<string, unknown>>): Grant => ({
  id: String(row.id),
  kind: kind.parse(row.kind),
  applicationId: String(row.application_id),
  wallet: addr.parse(row.wallet),
  asset: addr.nullable().parse(row.asset),
  amount: BigInt(uintString.parse(row.amount)),
  status: status.parse(row.status),
  signed: z.array(hexBytes).parse(JSON.parse(String(row.signed))),
  sentBlock: BigInt(uintString.parse(row.sent_block)),
  requestedMs: Number(row.requested_ms),
})
