import { type Address, type Hex, keccak256, stringToHex, zeroAddress } from 'viem'
import { type IndexedLog, lower } from './logs.ts'

/** A place in a vault's redemption queue. */
export type RedemptionRequest = {
  /** As the contract counts: from 1, oldest first. */
  readonly requestId: string
  readonly owner: Address
  readonly receiver: Address
  readonly shares: bigint
  readonly requestedAtS: number
  /** By the exit terms of that moment; looser ones since then may make it earlier. */
  readonly dueAtS: number
  readonly paid: { readonly atS: number; readonly assets: bigint; readonly txHash: Hex } | null
}

/** Assets that left a vault in one payment. */
type Withdrawal = { readonly atS: number; readonly assets: bigint; readonly txHash: Hex }

/** What a vault's logs say that its contract does not. */
export type VaultEntry = {
  /** Whose it was when it was created. */
  readonly owner: Address
  readonly createdAtS: number
  /** Those who have the role, in the order in which they got it. */
  readonly allocators: ReadonlySet<Address>
  readonly managers: ReadonlySet<Address>
  readonly curators: ReadonlySet<Address>
  /** By holder, in lower case; the vault itself holds what is in the queue. */
  readonly shares: ReadonlyMap<string, bigint>
  /**
   * By how much fees have thinned the shares: all that the shares would be worth more had none been minted for fees, as a wad.
   * The virtual shares of the contract are left out.
   */
  readonly dilution: bigint
  /** By market, in lower case, all assets that the vault ever moved there, and all that it ever took back. */
  readonly supplied: ReadonlyMap<string, bigint>
  readonly recalled: ReadonlyMap<string, bigint>
  /** By id, oldest first: all that wait, and the newest {@link PAID_REQUESTS_MAX} that are paid. */
  readonly requests: ReadonlyMap<string, RedemptionRequest>
  /** Each larger than all after it: the first one of a period is the largest of the period. */
  readonly largestWithdrawals: readonly Withdrawal[]
}

/** The vaults, by address, in the order of their creation. */
export type VaultBook = ReadonlyMap<Address, VaultEntry>

export const EMPTY_VAULT_BOOK: VaultBook = new Map()

/** Paid requests that are kept of each vault. */
export const PAID_REQUESTS_MAX = 500
/** How far back the largest withdrawal is looked for, in seconds: 30 days. */
export const WITHDRAWALS_WINDOW_S = 2_592_000

const WAD = 10n ** 18n
const ALLOCATOR_ROLE = keccak256(stringToHex('ALLOCATOR_ROLE'))
const MANAGER_ROLE = keccak256(stringToHex('MANAGER_ROLE'))
const CURATOR_ROLE = keccak256(stringToHex('CURATOR_ROLE'))

type OpenEntry = {
  readonly owner: Address
  readonly createdAtS: number
  readonly allocators: Set<Address>
  readonly managers: Set<Address>
  readonly curators: Set<Address>
  readonly shares: Map<string, bigint>
  dilution: bigint
  readonly supplied: Map<string, bigint>
  readonly recalled: Map<string, bigint>
  readonly requests: Map<string, RedemptionRequest>
  readonly largestWithdrawals: Withdrawal[]
}

/**
 * Return the book with these logs added, in chain order; a log of a contract that is no vault changes nothing. Whether
 * a creation is to be believed was checked when it was read. Pure: the given book stays as it is.
 */
export function foldVaults(book: VaultBook, logs: readonly IndexedLog[]): VaultBook {
  const touched = new Map<Address, OpenEntry>()
  for (const log of logs) {
    const { event, address } = log
    if (event.eventName === 'VaultCreated') {
      touched.set(address, {
        owner: lower(event.args.owner),
        createdAtS: log.timestampS,
        allocators: new Set(),
        managers: new Set(),
        curators: new Set(),
        shares: new Map(),
        dilution: WAD,
        supplied: new Map(),
        recalled: new Map(),
        requests: new Map(),
        largestWithdrawals: [],
      })
      continue
    }
    const entry = touched.get(address) ?? copyOf(book.get(address))
    if (entry === undefined) continue
    touched.set(address, entry)
    noteLog(entry, log)
  }
  for (const { requests } of touched.values()) forgetOldPaid(requests)
  return touched.size === 0 ? book : new Map([...book, ...touched])
}

function noteLog(entry: OpenEntry, { event, timestampS, txHash }: IndexedLog): void {
  switch (event.eventName) {
    case 'RoleGranted':
      holdersOf(entry, event.args.role)?.add(lower(event.args.account))
      return
    case 'RoleRevoked':
      holdersOf(entry, event.args.role)?.delete(lower(event.args.account))
      return
    case 'Transfer':
      add(entry.shares, event.args.from, -event.args.value)
      add(entry.shares, event.args.to, event.args.value)
      return
    case 'FeesAccrued': {
      // A channel's event has the same name, and other members. The shares are minted right after it.
      if (!('managementAssets' in event.args)) return
      entry.dilution = diluted(entry, sharesOf(entry) + event.args.shares)
      return
    }
    case 'Allocated':
      add(entry.supplied, event.args.market, event.args.assets)
      return
    case 'Deallocated':
      add(entry.recalled, event.args.market, event.args.assets)
      return
    case 'WithdrawalRequested': {
      const requestId = String(event.args.requestId)
      entry.requests.set(requestId, {
        requestId,
        owner: lower(event.args.owner),
        receiver: lower(event.args.receiver),
        shares: event.args.shares,
        requestedAtS: timestampS,
        dueAtS: Number(event.args.dueAt),
        paid: null,
      })
      return
    }
    case 'WithdrawalPaid': {
      const requestId = String(event.args.requestId)
      const request = entry.requests.get(requestId)
      const paid = { atS: timestampS, assets: event.args.assets, txHash }
      if (request !== undefined) entry.requests.set(requestId, { ...request, paid })
      return
    }
    case 'Withdraw':
      noteWithdrawal(entry.largestWithdrawals, { atS: timestampS, assets: event.args.assets, txHash })
  }
}

/** Count the shares that are minted; those that are due for fees are not yet. Pure. */
export const sharesOf = (entry: Pick<VaultEntry, 'shares'>): bigint =>
  [...entry.shares.values()].reduce((sum, shares) => sum + shares, 0n)

/** Return the dilution once fees have made the shares this many; those that are due are not minted yet. Pure. */
export function diluted(entry: Pick<VaultEntry, 'shares' | 'dilution'>, shares: bigint): bigint {
  const before = sharesOf(entry)
  return before === 0n ? entry.dilution : (entry.dilution * shares) / before
}

/** Shares that are minted or burnt come from nobody or go to nobody. */
function add(amounts: Map<string, bigint>, to: Address, amount: bigint): void {
  const key = lower(to)
  const sum = (amounts.get(key) ?? 0n) + amount
  if (sum === 0n || key === zeroAddress) amounts.delete(key)
  else amounts.set(key, sum)
}

function holdersOf(entry: OpenEntry, role: Hex): Set<Address> | undefined {
  if (role === ALLOCATOR_ROLE) return entry.allocators
  if (role === MANAGER_ROLE) return entry.managers
  return role === CURATOR_ROLE ? entry.curators : undefined
}

/** One that is not larger than a later one can never be the largest of a period again. */
function noteWithdrawal(largest: Withdrawal[], withdrawal: Withdrawal): void {
  while ((largest.at(-1)?.assets ?? withdrawal.assets + 1n) <= withdrawal.assets) largest.pop()
  largest.push(withdrawal)
  while ((largest[0]?.atS ?? withdrawal.atS) < withdrawal.atS - WITHDRAWALS_WINDOW_S) largest.shift()
}

const copyOf = (entry: VaultEntry | undefined): OpenEntry | undefined =>
  entry === undefined
    ? undefined
    : {
        ...entry,
        allocators: new Set(entry.allocators),
        managers: new Set(entry.managers),
        curators: new Set(entry.curators),
        shares: new Map(entry.shares),
        supplied: new Map(entry.supplied),
        recalled: new Map(entry.recalled),
        requests: new Map(entry.requests),
        largestWithdrawals: [...entry.largestWithdrawals],
      }

function forgetOldPaid(requests: Map<string, RedemptionRequest>): void {
  const paid = [...requests.values()].filter((request) => request.paid !== null)
  for (const { requestId } of paid.slice(0, Math.max(0, paid.length - PAID_REQUESTS_MAX))) {
    requests.delete(requestId)
  }
}
