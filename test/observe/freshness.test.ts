import { expect, it } from 'vitest'
import { freshnessOf } from '../../src/observe/freshness.ts'

const limits = { ageMsMax: 20_000, blockLagMax: 15n, headAgeMsMax: 30_000 }
const head = { number: 100n, timestampS: 1_000, baseFeePerGasWei: 1n, hash: '0x', parentHash: '0x' } as const
const lists = {
  markets: { items: [], dropped: 0, freshness: { status: 'current', lagSeconds: 0, blockNumber: '100' } },
}
const at = (nowMs: number) => freshnessOf(lists, head, nowMs, limits)

it('takes no head that is too old, and no clock that is as far behind it', () => {
  expect(at(1_030_000)).toMatchObject({ ok: true, ageMs: 30_000 })
  expect(at(1_030_001)).toMatchObject({ ok: false, message: expect.stringContaining('30.0 s old') })
  expect(at(970_000)).toMatchObject({ ok: true, ageMs: 0 })
  expect(at(969_999)).toMatchObject({
    ok: false,
    message: expect.stringContaining("our clock is 30.0 s behind our node's head"),
  })
})

it('says once what is late alike, and of which collections', () => {
  const late = { items: [], dropped: 0, freshness: { status: 'stale', lagSeconds: 21, blockNumber: '80' } }
  const other = { ...late, freshness: { ...late.freshness, blockNumber: null } }
  const seen = freshnessOf({ ...lists, funds: late, vaults: late, positions: other }, head, 1_000_000, limits)
  expect(seen).toMatchObject({
    ok: false,
    ageMs: 21_000,
    message:
      'funds, vaults: stale, 21 s old (the policy allows 20 s), 20 blocks behind our node (the policy allows 15); ' +
      'positions: stale, 21 s old (the policy allows 20 s), its block is not stated',
  })
})
