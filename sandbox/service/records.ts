import type { Address } from 'viem'
import { z } from 'zod'
import { addr } from '../../src/service/contract/scalars.ts'
import type { EventDraft } from './http/handler.ts'
import type { Store } from './store.ts'

/**
 * What lives at the service. Its key: `management_settings` and `owner_settings` a vault's address, `market_listing`
 * `vault:market`, `partner_application` `vault:wallet`, `asset_submission` an asset's address; all in lower case.
 */
const RECORD_KINDS = [
  'management_settings',
  'owner_settings',
  'market_listing',
  'partner_application',
  'asset_submission',
] as const
export type RecordKind = (typeof RECORD_KINDS)[number]

/** What is reviewed; the rest takes effect as it is saved. */
export const REVIEWED_KINDS = ['partner_application', 'asset_submission'] as const

/** How far the review of an application or a submission is; settings are `saved`. */
export const REVIEW_STATUSES = ['submitted', 'approved', 'rejected'] as const
const status = z.enum([...REVIEW_STATUSES, 'saved'])
type RecordStatus = z.infer<typeof status>

const member = z.union([z.string(), z.number(), z.boolean()])
const body = z.record(z.string(), member)
/** What was asked for, as the input had it. */
type RecordBody = z.infer<typeof body>

/** What a workflow saves: whose and when follows from its request. */
export type RecordDraft = {
  readonly kind: RecordKind
  readonly key: string
  readonly body: RecordBody
  readonly status: RecordStatus
}

/** What lives at the service, and whose wallet saved it last. */
export type ServiceRecord = RecordDraft & { readonly wallet: Address; readonly atMs: number }

/** What lives at the service, on disk: no reorg undoes it. Writes are made inside the caller's transaction. */
export type ServiceRecords = {
  /** Save in the place of what has the same kind and key. */
  readonly save: (record: ServiceRecord) => void
  readonly find: (kind: RecordKind, key: string) => ServiceRecord | null
  /** In the order in which their keys were saved first. */
  readonly list: (kind: RecordKind) => readonly ServiceRecord[]
  /** Say how far the review of a record is. */
  readonly review: (
    kind: (typeof REVIEWED_KINDS)[number],
    key: string,
    status: (typeof REVIEW_STATUSES)[number],
  ) => void
  /** Counts the writes since the store was opened: what was made of the records is made anew when it changes. */
  readonly version: () => number
}

/** Announce the collections whose rows show a record. Pure. */
export function recordEvents({ kind, key }: Pick<RecordDraft, 'kind' | 'key'>): readonly EventDraft[] {
  const [first = '', second = ''] = key.toLowerCase().split(':')
  const vaultEvents = ['vaults.updated', 'tranches.updated'].map((type) => ({
    type,
    subject: first,
    data: { vaultAddress: first },
  }))
  switch (kind) {
    case 'management_settings':
    case 'owner_settings':
      return vaultEvents
    case 'market_listing':
      return [...vaultEvents, { type: 'markets.updated', subject: second, data: { marketAddress: second } }]
    case 'partner_application':
      return [
        { type: 'partner.programs.updated', subject: `${first}:${second}`, data: { vaultAddress: first } },
        { type: 'entities.updated', subject: second, data: { walletAddress: second } },
      ]
    case 'asset_submission':
      return [{ type: 'assets.updated', subject: first, data: { assetAddress: first } }]
  }
}

/** Open what lives at the service in the store. */
export function createServiceRecords({ db }: Store): ServiceRecords {
  const save = db.prepare(
    `INSERT INTO service_records (kind, key, body, status, wallet, at_ms) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body, status = excluded.status,
       wallet = excluded.wallet, at_ms = excluded.at_ms`,
  )
  const find = db.prepare('SELECT * FROM service_records WHERE kind = ? AND key = ?')
  const list = db.prepare('SELECT * FROM service_records WHERE kind = ? ORDER BY rowid')
  const review = db.prepare('UPDATE service_records SET status = ? WHERE kind = ? AND key = ?')
  let version = 0
  return {
    save: (record) => {
      version += 1
      const { kind, wallet, atMs } = record
      save.run(kind, record.key.toLowerCase(), JSON.stringify(record.body), record.status, wallet, atMs)
    },
    find: (kind, key) => {
      const row = find.get(kind, key.toLowerCase())
      return row === undefined ? null : recordOf(row)
    },
    list: (kind) => list.all(kind).map(recordOf),
    review: (kind, key, next) => {
      version += 1
      review.run(next, kind, key.toLowerCase())
    },
    version: () => version,
  }
}

/** Save what is there from the start, except where something was saved since: a restart takes nothing back. */
export function seedRecords(
  { atomically }: Pick<Store, 'atomically'>,
  records: Pick<ServiceRecords, 'find' | 'save'>,
  seeds: readonly ServiceRecord[],
): void {
  atomically(() => {
    for (const seed of seeds) {
      if (records.find(seed.kind, seed.key) === null) records.save(seed)
    }
  })
}

const recordOf = (row: Record<string, unknown>): ServiceRecord => ({
  kind: z.enum(RECORD_KINDS).parse(row.kind),
  key: String(row.key),
  body: body.parse(JSON.parse(String(row.body))),
  status: status.parse(row.status),
  wallet: addr.parse(row.wallet),
  atMs: Number(row.at_ms),
})
