import { describe, expect, it } from 'vitest'
import { dayOf, type PassedRow, showDay, whyAskOfDay } from '../../../src/guard/approval/approval-day.ts'
import { TOKEN } from '../../support/workflows.ts'

const NOW_MS = 200_000_000
const DAY_MS = 86_400_000
const asset = { symbol: 'sUSD', decimals: 6 }
const row = (assets: bigint, changes: Partial<PassedRow> = {}): PassedRow => ({
  atMs: NOW_MS - 1_000,
  usdMicros: assets,
  out: { token: TOKEN, assets },
  ...changes,
})
const limits = (perDay: bigint | undefined, usd?: bigint) => ({
  aboveAssets: new Map([[TOKEN, { asset, alone: 100_000_000n, perDay }] as const]),
  aboveUsdMicrosPerDay: usd,
})
const exposure = (assets: bigint) => ({ token: TOKEN, assets, usdMicros: assets })
const why = (rows: readonly PassedRow[], assets: bigint, approval = limits(100_000_000n)) =>
  whyAskOfDay(exposure(assets), approval, dayOf(rows, NOW_MS))

describe('what adds up over 24 hours', () => {
  it('is asked about: ten orders of a tenth pass, the eleventh does not', () => {
    const tenth = Array.from({ length: 9 }, () => row(10_000_000n))
    expect(why(tenth, 10_000_000n)).toBeNull()
    expect(why([...tenth, row(10_000_000n)], 10_000_000n)).toEqual({
      check: 'approval_adds_up_assets',
      message:
        'With this, 110 sUSD would leave us in 24 h that nobody approved; the policy asks above 100 sUSD.',
    })
    expect(why([...tenth, row(10_000_000n)], 1n, limits(undefined, 100_000_000n))).toEqual({
      check: 'approval_adds_up_usd',
      message: 'With this, $100.00 would move in 24 h that nobody approved; the policy asks above $100.',
    })
  })

  it('is not what a person approved, nor what is a whole day old', () => {
    expect(why([row(100_000_000n, { approved: true })], 100_000_000n)).toBeNull()
    expect(why([row(100_000_000n, { atMs: NOW_MS - DAY_MS })], 100_000_000n)).toBeNull()
    expect(why([row(100_000_000n, { atMs: NOW_MS - DAY_MS + 1 })], 1n)?.check).toBe('approval_adds_up_assets')
  })

  it('is of each token by itself, however its address is written', () => {
    const other = `0x${'0e'.repeat(20)}` as const
    expect(why([row(100_000_000n, { out: { token: other, assets: 100_000_000n } })], 1n)).toBeNull()
    const upper = TOKEN.toUpperCase().replace('0X', '0x') as typeof TOKEN
    const day = dayOf([row(100_000_000n)], NOW_MS)
    expect(whyAskOfDay({ ...exposure(1n), token: upper }, limits(100_000_000n), day)).not.toBeNull()
  })

  it('is of worth up to the limit itself, and of what no token left for', () => {
    const worth = limits(undefined, 100n)
    expect(why([row(60n)], 40n, worth)).toBeNull()
    expect(why([row(60n)], 41n, worth)?.check).toBe('approval_adds_up_usd')
    const others = { atMs: NOW_MS - 1_000, usdMicros: 60n }
    expect(why([others], 41n, worth)?.check).toBe('approval_adds_up_usd')
    const none = { token: null, assets: 0n, usdMicros: 41n }
    expect(whyAskOfDay(none, worth, dayOf([others], NOW_MS))?.check).toBe('approval_adds_up_usd')
  })

  it('stops nothing that moves nothing, and nothing where no limit is stated', () => {
    const much = [row(10n ** 15n)]
    expect(why(much, 0n, limits(1n, 1n))).toBeNull()
    expect(why(much, 10n ** 15n, limits(undefined))).toBeNull()
  })

  it('is said with and without what people approved', () => {
    const day = dayOf([row(2_000_000n), row(3_000_000n, { approved: true })], NOW_MS)
    expect(showDay(exposure(4_000_000n), day)).toBe(
      '$9 in 24 h with this one, $6 of it not approved by anybody yet',
    )
  })
})
