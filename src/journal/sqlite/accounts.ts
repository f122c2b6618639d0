import type { Address, Hex } from 'viem'
import { RolekeeperError } from '../../errors.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { Denomination } from '../../units.ts'
import type { ExpectedGain } from '../../workflow/proposal.ts'
import { withoutRecords } from '../directory/presence.ts'
import { endProcess } from '../faults.ts'
import { accountsFile, hasAccounts, openAccountsDatabase, readAccountsDatabase } from './database.ts'
import { encodeRecord, Records } from './records.ts'

/** A block, and when it was: Unix milliseconds by its own time. */
export type Point = { readonly number: bigint; readonly hash: Hex; readonly atMs: number }

/**
 * What changed a balance. `moved`: a token, as its contract logged it; `flow`: the same of a vault or a fund, from or to who is
 * none of the deployment's contracts, as those who own it; `gas`; `sent`: native coin with a call of ours;
 * `unexplained`: the balance says so and nothing else does, as of native coin that a contract paid, or of a token that moves
 * without a log.
 */
export type Line = {
  readonly kind: 'moved' | 'flow' | 'gas' | 'sent' | 'unexplained'
  /** Null is the native coin. */
  readonly token: Address | null
  /** Base units, or wei; negative left us. */
  readonly assets: bigint
  readonly blockNumber: bigint
  /** The transaction; null where none is known. */
  readonly hash: Hex | null
  /** Who gave or got it; null where that is not known. */
  readonly counterparty: Address | null
  /** Whose transaction it was; null where it was none of ours. */
  readonly workflowId: string | null
}

/** What is held of a token, or in wei. */
export type Balance = { readonly token: Address | null; readonly assets: bigint }

/** The same at a contract; the pages of an earlier release do not say which. */
export type Position = Balance & { readonly at?: Address }

/** What a whole token, or coin, was worth: millionths of a US dollar. */
type Price = {
  readonly token: Address | null
  readonly usdMicros: bigint
  /** What says so: the oracle at an address, or where it is stated. The pages of an earlier release do not say it. */
  readonly by?: Address | 'deployment.assets' | 'limits.prices' | 'fees.nativePrice'
} & ReadUntil

/** Where it is read no more, as its token was taken off the deployment: the last block that says it. */
type ReadUntil = { readonly readUntil?: Point }

/** What a vault has in a market, base units, and what the market pays its lenders, a wad a second. */
export type VaultLoan = {
  readonly market: Address
  readonly assets: bigint
  readonly ratePerSecondWad: bigint
}

/** One page of a signer's accounts: what it had at the end, what led there from the page before, and what that was worth. */
export type Page = {
  readonly chainId: number
  /** Whose: a signer's, or with `owner` the vault's or the fund's that the role works for. */
  readonly signer: Address
  readonly role: Role
  readonly owner?: 'vault' | 'fund'
  /** The end of the page before; null on the first, which opens the accounts and has no lines. */
  readonly from: Point | null
  readonly to: Point
  /** Transactions of the signer up to there. */
  readonly count: number
  readonly lines: readonly Line[]
  /** What has an account, with its unit; collateral is what the oracle of a market prices, anything else the policy. */
  readonly tokens: readonly (Denomination &
    ReadUntil & { readonly token: Address | null; readonly isCollateral?: true })[]
  readonly closing: readonly Balance[]
  /** In what it has at the deployment's contracts, by which: escrow, claims and shares of vaults; of a vault, what it lends. */
  readonly positions: readonly Position[]
  /** Of a vault alone. */
  readonly lent?: readonly VaultLoan[]
  readonly prices: readonly Price[]
}

/** Whose what was expected is. */
export type CasesOf = Pick<Page, 'chainId' | 'signer' | 'role'>

/** What became of one thing that was said, by the names that it went by; and when that was decided, by the time of blocks. */
export type RecordedCase = {
  readonly of: readonly string[]
  readonly came: { readonly error: number; readonly gain: number } | null
  /** What it brought less what it cost, gas too, US dollars. */
  readonly netUsd: number
  /** Whether it was taken back, or failed by itself: only what it cost counts. */
  readonly isVoid?: true
  readonly atMs: number
}

/** What was said of something that is bought for others. */
export type ExpectedOfLot = { readonly lot: string; readonly said: ExpectedGain }

/** What nothing is recorded of yet: up to a page, what of the pages belongs to it, and lots that were not sold again. */
export type OpenCases = {
  readonly toBlock: bigint
  readonly pages: readonly Page[]
  readonly lots: readonly ExpectedOfLot[]
  /** Workflows of these pages that the journal does not have, as one that was restored from before them. */
  readonly unknown?: readonly string[]
}

/** The accounts of a directory's signers, oldest page first. */
export type AccountsReads = {
  readonly pages: () => Promise<readonly Page[]>
  /** The newest pages of one signer back to the first that is before what is asked about, and this one; oldest first. */
  readonly backTo: (
    chainId: number,
    signer: Address,
    isBefore: (page: Page) => boolean,
  ) => Promise<readonly Page[]>
  /** What a role said up to here, and what came of it, is forgotten: Unix milliseconds, by the time of blocks. */
  readonly forgottenUntilMs: (role: Role) => number
  /** What is recorded and not forgotten, of all signers of a role or of one, in the order in which it was recorded. */
  readonly cases: (of: Pick<CasesOf, 'role'> & Partial<CasesOf>) => Promise<readonly RecordedCase[]>
  /** The roles that anything is recorded of. */
  readonly rolesOfCases: () => readonly Role[]
  readonly close: () => Promise<void>
}

/** The same, for the process that keeps them. */
export type Accounts = AccountsReads & {
  readonly last: (chainId: number, signer: Address) => Promise<Page | null>
  /** The newest block that a page of each signer ends at. */
  readonly lastBlocks: () => ReadonlyMap<Address, bigint>
  /** Add a page, and resolve once it is on disk; false, and nothing is written, where it does not follow the last. */
  readonly add: (page: Page) => Promise<boolean>
  /** The oldest pages of a signer that end after a block. */
  readonly after: (of: CasesOf, block: bigint, limit: number) => Promise<readonly Page[]>
  readonly undecided: (of: CasesOf) => Promise<OpenCases>
  /**
   * Record cases, and what is undecided beside them in the place of what was, in one commit; resolve once it is on disk. Throws
   * RolekeeperError `accounts.decided`, and nothing is written, where somebody has since `before` was read.
   */
  readonly decide: (
    of: CasesOf,
    cases: readonly RecordedCase[],
    undecided: OpenCases,
    before: OpenCases,
  ) => Promise<void>
}

const NOTHING_YET: OpenCases = { toBlock: -1n, pages: [], lots: [] }
const NEWEST = 'SELECT body FROM pages WHERE chain_id = ? AND signer = ? ORDER BY to_block DESC LIMIT 1'

/** Open (or create) the accounts of a directory that this process has locked. Throws as opening its journal does. */
export function openAccounts(directory: string, onFailed = endProcess): Accounts {
  const records = new Records(openAccountsDatabase(directory), accountsFile(directory), onFailed)
  const last = (chainId: number, signer: Address) =>
    records.bodies<Page>(NEWEST, chainId, signer.toLowerCase())[0] ?? null
  // Hundreds of pages may be undecided: they are decoded once, and this process alone writes them.
  const known = new Map<string, OpenCases>()
  const undecidedOf = (of: CasesOf): OpenCases => {
    const sql = 'SELECT body FROM undecided WHERE chain_id = ? AND signer = ? AND role = ?'
    const undecided =
      known.get(keyOf(of).join()) ?? records.bodies<OpenCases>(sql, ...keyOf(of))[0] ?? NOTHING_YET
    known.set(keyOf(of).join(), undecided)
    return undecided
  }
  return {
    ...readsOf(records),
    last: async (chainId, signer) => last(chainId, signer),
    lastBlocks: () =>
      new Map(
        records
          .rows('SELECT signer, max(to_block) AS number FROM pages GROUP BY signer')
          .map(({ signer, number }) => [signer as Address, BigInt(Number(number))]),
      ),
    add: async (page) => {
      const { chainId, signer, from, to } = page
      const added = await records.change(() => {
        if ((last(chainId, signer)?.to.hash ?? null) !== (from?.hash ?? null)) return false
        records.run(
          'INSERT INTO pages (chain_id, signer, to_block, body) VALUES (?, ?, ?, ?)',
          ...[chainId, signer.toLowerCase(), to.number, encodeRecord(page)],
        )
        return true
      })
      await records.barrier()
      return added
    },
    after: async ({ chainId, signer }, block, limit) => {
      const sql =
        'SELECT rowid FROM pages WHERE chain_id = ? AND signer = ? AND to_block > ? ORDER BY to_block LIMIT ?'
      const rows = records.rows(sql, chainId, signer.toLowerCase(), block, limit)
      return records.bodiesByTurns<Page>(rows, 'SELECT body FROM pages WHERE rowid = ?')
    },
    undecided: async (of) => undecidedOf(of),
    decide: async (of, cases, undecided, before) => {
      await records.change(() => {
        if (undecidedOf(of) !== before) throw decided(of)
        for (const each of cases) {
          const sql = 'INSERT INTO cases (chain_id, signer, role, body) VALUES (?, ?, ?, ?)'
          records.run(sql, ...keyOf(of), encodeRecord(each))
        }
        records.run(
          'INSERT OR REPLACE INTO undecided (chain_id, signer, role, body) VALUES (?, ?, ?, ?)',
          ...[...keyOf(of), encodeRecord(undecided)],
        )
        known.set(keyOf(of).join(), undecided)
      })
      await records.barrier()
    },
  }
}

const decided = ({ signer, role }: CasesOf) =>
  new RolekeeperError('accounts.decided', `What came of what the ${role} said was recorded meanwhile.`, {
    fix: 'none needed: it is read again.',
    facts: { role, signer },
    retry: 'now',
  })

const keyOf = ({ chainId, signer, role }: CasesOf) => [chainId, signer.toLowerCase(), role] as const

/** Open the accounts of a directory for reading, beside the process that keeps them. Throws RolekeeperError `accounts.absent` or `accounts.lost`. */
export function readAccounts(directory: string): AccountsReads {
  if (!hasAccounts(directory)) throw withoutRecords('accounts', directory)
  return readsOf(new Records(readAccountsDatabase(directory), accountsFile(directory), () => {}))
}

/**
 * Let a role forget what came of what it said up to now, beside the keeper that keeps its accounts; the accounts stay. Throws
 * RolekeeperError `accounts.absent` or `accounts.lost`.
 */
export async function forget(directory: string, role: Role, untilMs: number): Promise<void> {
  if (!hasAccounts(directory)) throw withoutRecords('accounts', directory)
  const records = new Records(openAccountsDatabase(directory), accountsFile(directory), () => {})
  await records.change(() =>
    records.run(
      'INSERT INTO forgotten (role, until_ms) VALUES (?, ?) ON CONFLICT DO UPDATE SET until_ms = excluded.until_ms',
      ...[role, untilMs],
    ),
  )
  await records.close()
}

const forgottenUntilMs = (records: Records, role: Role) =>
  Number(records.rows('SELECT until_ms FROM forgotten WHERE role = ?', role)[0]?.until_ms ?? 0)

/** More than these are not decoded for one that is asked for. */
const PAGES_AT_ONCE = 20

const readsOf = (records: Records): AccountsReads => ({
  pages: () =>
    records.bodiesByTurns<Page>(
      records.rows('SELECT rowid FROM pages ORDER BY chain_id, to_block, signer'),
      'SELECT body FROM pages WHERE rowid = ?',
    ),
  backTo: async (chainId, signer, isBefore) => {
    const sql = 'SELECT rowid FROM pages WHERE chain_id = ? AND signer = ? ORDER BY to_block DESC'
    const rows = records.rows(sql, chainId, signer.toLowerCase())
    const pages: Page[] = []
    for (let at = 0; at < rows.length; at += PAGES_AT_ONCE) {
      const next = rows.slice(at, at + PAGES_AT_ONCE)
      for (const page of await records.bodiesByTurns<Page>(next, 'SELECT body FROM pages WHERE rowid = ?')) {
        pages.push(page)
        if (isBefore(page)) return pages.toReversed()
      }
    }
    return pages.toReversed()
  },
  forgottenUntilMs: (role) => forgottenUntilMs(records, role),
  cases: async ({ role, chainId, signer }) => {
    const sql = `SELECT id AS rowid FROM cases WHERE role = ?
      AND (? IS NULL OR chain_id = ?) AND (? IS NULL OR signer = ?) ORDER BY id`
    const [chain, key] = [chainId ?? null, signer?.toLowerCase() ?? null]
    const rows = records.rows(sql, role, chain, chain, key, key)
    const cases = await records.bodiesByTurns<Omit<RecordedCase, 'netUsd'> & Partial<RecordedCase>>(
      rows,
      'SELECT body FROM cases WHERE id = ?',
    )
    const fromMs = forgottenUntilMs(records, role)
    // Older releases recorded no dollars.
    return cases.filter(({ atMs }) => atMs > fromMs).map((each) => ({ netUsd: 0, ...each }))
  },
  rolesOfCases: () =>
    records.rows('SELECT DISTINCT role FROM cases ORDER BY role').map(({ role }) => String(role) as Role),
  close: () => records.close(),
})
