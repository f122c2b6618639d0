import { expect, it } from 'vitest'
import { checkHoldings, judgeHoldings } from '../../../src/guard/sanity/holdings.ts'
import type { Holding } from '../../../src/workflow/holding.ts'
import { COLLATERAL, deployment, LOAN, SELF, STRANGER } from '../fixtures.ts'

const [COLLEAGUE, UPPER] = [`0x${'c7'.repeat(20)}`, `0x${'C7'.repeat(20)}`] as const
const held = (mine: bigint, theirs: bigint, of: Partial<Holding> = {}): Holding => ({
  check: 'inventory_above_limit',
  of: 'held',
  token: COLLATERAL,
  assetsMax: 100n,
  ...of,
  byKey: [
    { signer: SELF, assets: mine },
    { signer: COLLEAGUE, assets: theirs },
  ],
})
/** What a colleague's workflow that is under way comes to, as it was cleared: of both keys. */
const underWay = (mine: bigint, theirs: bigint, of: Partial<Holding> = {}) => ({
  signer: UPPER,
  holdings: [held(0n, 0n, { of: 'another sum' }), held(mine, theirs, of)],
})
const judge = (...claimed: readonly ReturnType<typeof underWay>[]) =>
  checkHoldings([held(40n, 20n)], claimed, deployment)?.check ?? 'fits'

it('counts of another key what it has, or what it has once its own workflows landed, where that is more', () => {
  expect(judge()).toBe('fits')
  expect(judge(underWay(40n, 60n))).toBe('fits')
  expect(judge(underWay(40n, 61n))).toBe('inventory_above_limit')
  // What the chain shows already is not taken back, and the most of several counts once.
  expect(judge(underWay(40n, 0n), underWay(40n, 50n), underWay(40n, 30n))).toBe('fits')
  expect(judge(underWay(40n, 50n), underWay(40n, 61n), underWay(40n, 30n))).toBe('inventory_above_limit')
})

it('takes of what is under way the same sum alone, and what it says of its own key', () => {
  expect(judge(underWay(1_000n, 60n))).toBe('fits')
  expect(judge(underWay(0n, 1_000n, { of: 'to be won' }))).toBe('fits')
  expect(judge(underWay(0n, 1_000n, { token: LOAN }))).toBe('fits')
  expect(checkHoldings([held(40n, 20n)], [{ signer: STRANGER }], deployment)).toBeNull()
})

it('says of a sum that cannot be counted that it is refused, and nothing that it comes to', () => {
  const refusal = { ok: false, check: 'read_failed', message: '' } as const
  const unknown = judgeHoldings(() => refusal, deployment)
  expect(unknown.check()).toEqual(refusal)
  expect(unknown.holdings()).toEqual([])
})
