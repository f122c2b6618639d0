import { type Address, type Hex, keccak256, numberToHex, stringToHex } from 'viem'
import { expect, test } from 'vitest'
import type { IndexedLog } from '../../../sandbox/indexer/logs.ts'
import {
  EMPTY_VAULT_BOOK,
  foldVaults,
  PAID_REQUESTS_MAX,
  WITHDRAWALS_WINDOW_S,
} from '../../../sandbox/indexer/vault-book.ts'

const vault: Address = `0x${'aa'.repeat(20)}`
const ann: Address = `0x${'bb'.repeat(20)}`
const ben: Address = `0x${'cc'.repeat(20)}`
const market: Address = `0x${'dd'.repeat(20)}`
const nobody: Address = `0x${'00'.repeat(20)}`

const logAt = (timestampS: number, event: IndexedLog['event'], address = vault): IndexedLog => ({
  event,
  address,
  blockNumber: BigInt(timestampS),
  blockHash: numberToHex(timestampS, { size: 32 }),
  timestampS,
  txHash: numberToHex(timestampS, { size: 32 }),
  logIndex: 0,
})
const created = logAt(1, {
  eventName: 'VaultCreated',
  args: { directory: ben, owner: ann, asset: market },
})
const withdrawn = (timestampS: number, assets: bigint) =>
  logAt(timestampS, {
    eventName: 'Withdraw',
    args: { sender: ann, receiver: ann, owner: ann, assets, shares: assets },
  })
const requested = (requestId: bigint) =>
  logAt(2, {
    eventName: 'WithdrawalRequested',
    args: { requestId, owner: ann, receiver: ben, shares: 5n, dueAt: 12n },
  })
const paid = (requestId: bigint) =>
  logAt(20, {
    eventName: 'WithdrawalPaid',
    args: { requestId, owner: ann, receiver: ben, shares: 5n, assets: 6n },
  })
const moved = (from: Address, to: Address, value: bigint) =>
  logAt(3, { eventName: 'Transfer', args: { from, to, value } })
const role = (eventName: 'RoleGranted' | 'RoleRevoked', name: string, account: Address) =>
  logAt(4, { eventName, args: { role: keccak256(stringToHex(name)) as Hex, account, sender: ann } })

const fold = (...logs: readonly IndexedLog[]) => foldVaults(EMPTY_VAULT_BOOK, [created, ...logs]).get(vault)

test('a contract that no creation names is no vault', () => {
  expect(foldVaults(EMPTY_VAULT_BOOK, [requested(1n), moved(nobody, ann, 1n)])).toBe(EMPTY_VAULT_BOOK)
})

test('holders, roles and all that was ever moved are counted from the logs', () => {
  const entry = fold(
    moved(nobody, ann, 10n),
    moved(ann, ben, 4n),
    moved(ben, nobody, 4n),
    role('RoleGranted', 'ALLOCATOR_ROLE', ann),
    role('RoleGranted', 'MANAGER_ROLE', ben),
    role('RoleRevoked', 'ALLOCATOR_ROLE', ann),
    logAt(5, { eventName: 'Allocated', args: { market, assets: 7n } }),
    logAt(6, { eventName: 'Allocated', args: { market, assets: 8n } }),
    logAt(7, { eventName: 'Deallocated', args: { market, assets: 3n } }),
  )
  expect(entry).toMatchObject({ owner: ann, createdAtS: 1 })
  expect([...(entry?.shares ?? [])]).toEqual([[ann, 6n]])
  expect([...(entry?.allocators ?? [])]).toEqual([])
  expect([...(entry?.managers ?? [])]).toEqual([ben])
  expect(entry?.supplied.get(market)).toBe(15n)
  expect(entry?.recalled.get(market)).toBe(3n)
})

test('requests keep their order and their payment, and the oldest paid ones go past the limit', () => {
  const ids = Array.from({ length: PAID_REQUESTS_MAX + 2 }, (_, index) => BigInt(index + 1))
  const [first, ...rest] = ids
  const some = foldVaults(EMPTY_VAULT_BOOK, [created, ...ids.map(requested), ...rest.map(paid)])
  // One more is paid than are kept; the one that waits is kept, however old.
  const kept = [...(some.get(vault)?.requests.values() ?? [])]
  expect(kept).toHaveLength(PAID_REQUESTS_MAX + 1)
  expect(kept[0]).toMatchObject({ requestId: String(first), dueAtS: 12, paid: null })
  expect(kept[1]).toMatchObject({ requestId: '3', requestedAtS: 2, paid: { atS: 20, assets: 6n } })
  // The book that was given is as it was.
  foldVaults(some, [paid(1n)])
  expect(some.get(vault)?.requests.get('1')?.paid).toBeNull()
})

test('the first of the withdrawals that are kept is the largest of the last 30 days', () => {
  const days = (count: number) => 100 + (count * WITHDRAWALS_WINDOW_S) / 30
  const logs = [
    withdrawn(days(0), 9n),
    withdrawn(days(1), 3n),
    withdrawn(days(2), 5n),
    withdrawn(days(3), 5n),
  ]
  const assets = (all: readonly IndexedLog[]) =>
    fold(...all)?.largestWithdrawals.map((withdrawal) => withdrawal.assets)
  expect(assets(logs)).toEqual([9n, 5n])
  expect(assets([...logs, withdrawn(days(30), 1n)])).toEqual([9n, 5n, 1n])
  expect(assets([...logs, withdrawn(days(30) + 1, 1n)])).toEqual([5n, 1n])
  expect(assets([...logs, withdrawn(days(4), 10n)])).toEqual([10n])
})
