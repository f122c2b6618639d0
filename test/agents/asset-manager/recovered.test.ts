import { expect, it } from 'vitest'
import { recoveredOf } from '../../../agents/asset-manager/recovered.ts'
import type { FundHoldingResource, FundResource } from '../../../src/service/contract/fund-resources.ts'
import { FUND, fund, fundRow, iso, lotRow, moment, NOW_S, POSITION, policy, RIVAL, usd } from './fixtures.ts'

const SOLD: FundHoldingResource = {
  id: `${FUND}:1`,
  positionId: POSITION.toUpperCase(),
  fundAddress: FUND,
  assetLane: 'liquid',
  holdingStatus: 'disposed',
  disposedAt: iso(NOW_S),
  transferPriceAssets: String(usd(30_000)),
  recoveryValueAssets: String(usd(33_000)),
}
const of = (changes: Partial<FundHoldingResource>, row: Partial<FundResource> = {}) => {
  const holdings = [{ ...SOLD, ...changes }]
  const seen = moment({ funds: [fund({ row: fundRow({ holdings, ...row }) })] })
  return recoveredOf(seen, policy({ purchaseFeeBps: 100 }))
}

it('is what a fund of ours sold again, with what it cost', () => {
  expect(of({})).toEqual([
    ...[{ lot: POSITION, paidUsdMicros: usd(30_300), cameUsdMicros: usd(33_000), atMs: NOW_S * 1_000 }],
  ])
})

it('is nothing of a lot that another won, which is decided all the same', () => {
  const sold = (winnerAddress: `0x${string}` | null) =>
    recoveredOf(moment({ sold: [lotRow({ status: 'awarded', winnerAddress })] }), policy())
  expect(sold(RIVAL)).toEqual([
    { lot: POSITION, paidUsdMicros: 0n, cameUsdMicros: null, atMs: (NOW_S + 10) * 1_000 },
  ])
  expect([sold(FUND), sold(null)]).toEqual([[], []])
})

it.each([
  ['is still held', of({ holdingStatus: 'held' })],
  ['does not say when', of({ disposedAt: null })],
  ['does not say what it cost', of({ transferPriceAssets: null })],
  ['does not say what came', of({ recoveryValueAssets: null })],
  ['is another manager’s', of({}, { managerAddress: RIVAL })],
  ['is in a token of no price', of({}, { quoteAssetAddress: RIVAL })],
])('is nothing that %s', (_, found) => expect(found).toEqual([]))
