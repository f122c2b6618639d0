import { expect, it } from 'vitest'
import type { Moment } from '../../../agents/agent.ts'
import { decide } from '../../../agents/allocator/decide.ts'
import { due } from '../../../agents/allocator/duty.ts'
import { dueWithLater } from '../../../agents/allocator/see-vault.ts'
import type { AllocatorSeen } from '../../../agents/allocator/seen.ts'
import { allocation, books, market, observation, policy, usd, VAULT, vault } from './fixtures.ts'

const RULES = policy({ redemptions: { ...policy().redemptions, leadS: 100 } })
const owed = (changes: Partial<Moment & AllocatorSeen>) => {
  const seen = observation(changes)
  return due(seen, decide(seen, RULES), RULES)
}
/** Whole sUSD in shares, at one for one. */
const shares = (whole: number) => BigInt(whole) * 10n ** 12n
const queue = (idle: number, ...requests: readonly { readonly dueAtS: number; readonly shares: bigint }[]) =>
  books({ idleAssets: usd(idle), requests, queueEnd: 1n + BigInt(requests.length) })

it('owes the first request that what is idle does not pay, from its lead on, late after half of it', () => {
  const look = vault({
    books: queue(
      300_000,
      { dueAtS: 1_050, shares: shares(200_000) },
      { dueAtS: 1_080, shares: shares(300_000) },
    ),
  })
  const [request] = owed({ vaults: [look] })
  expect(request).toMatchObject({
    what: 'redemption',
    subject: VAULT,
    sinceMs: 980_000,
    untilMs: 1_080_000,
    graceMs: 50_000,
    amount: '200,000 sUSD',
    usdMicros: 200_000_000_000n,
  })
  expect(request, 'it is proposed').not.toHaveProperty('check')
  const later = vault({ books: queue(300_000, { dueAtS: 5_000, shares: shares(400_000) }) })
  expect(owed({ vaults: [later] })).toMatchObject([{ what: 'redemption', sinceMs: 4_900_000 }])
})

it('says that no market has the cash', () => {
  const look = vault({
    books: queue(0, { dueAtS: 1_050, shares: shares(200_000) }),
    allocations: [allocation({ cashAssets: 0n })],
  })
  const dry = market({ cashAssets: 0n })
  expect(owed({ vaults: [look], markets: [dry] })).toMatchObject([
    { what: 'redemption', check: 'nothing_withdrawable' },
    { what: 'buffer', check: 'nothing_withdrawable' },
  ])
})

it('owes nothing where all is paid, and the judging of a vault that it cannot judge', () => {
  expect(owed({})).toEqual([])
  const strange = vault({ books: books({ isAllocator: false }) })
  expect(owed({ vaults: [strange] })).toMatchObject([{ what: 'vault to judge', check: 'not_allocator' }])
  const empty = vault({ books: books({ totalAssets: 0n }) })
  expect(owed({ vaults: [empty] })).toMatchObject([{ check: 'vault_empty', chosen: true }])
})

it('a request that waits behind one of stricter terms brings that one forward', () => {
  const dues = (...list: readonly number[]) =>
    dueWithLater(list.map((dueAtS) => ({ dueAtS, shares: 1n }))).map(({ dueAtS }) => dueAtS)
  expect(dues(1_000, 50, 60, 900)).toEqual([50, 50, 60, 900])
  expect(dues(1, 2)).toEqual([1, 2])
  expect(dues()).toEqual([])
})
