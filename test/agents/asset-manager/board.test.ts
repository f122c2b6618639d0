import { expect, it } from 'vitest'
import type { Moment } from '../../../agents/agent.ts'
import { board } from '../../../agents/asset-manager/board.ts'
import { decide } from '../../../agents/asset-manager/decide.ts'
import type { ManagerSeen } from '../../../agents/asset-manager/seen.ts'
import { FUND, HOUSE, iso, lot, moment, NOW_S, outbid, policy, RIVAL_FUND, usd } from './fixtures.ts'

const shown = (changes: Partial<Moment & ManagerSeen>) => {
  const seen = moment(changes)
  return board(seen, decide(seen, policy())).lots ?? []
}

it('shows a lot with its reserve, our limit and what is decided of it', () => {
  const [row] = shown({ lots: [lot()] })
  expect(row).toMatchObject({
    subject: `${HOUSE}:1`,
    venue: 'acquisition',
    status: 'open',
    what: '1 sBTC, liquid',
    reserve: '30,000 sUSD',
    reserveAmount: 30_000,
    closesAtS: NOW_S + 10,
    bids: [],
  })
  expect(row?.check).not.toBeNull()
})

it('tells our fund from others, the highest bid first', () => {
  const bidOf = (fundAddress: string, whole: number, status: string) => ({
    id: `${HOUSE}:1:${whole}`,
    fundAddress,
    assets: String(usd(whole)),
    placedAt: iso(NOW_S - 5),
    status,
  })
  const bids = [bidOf(FUND, 31_000, 'outbid'), bidOf(RIVAL_FUND, 32_000, 'leading')]
  const [row] = shown({ lots: [lot({ bids } as never)] })
  expect(row?.bids).toEqual([
    { who: RIVAL_FUND, ours: false, status: 'leading', text: '32,000 sUSD', amount: 32_000 },
    { who: FUND, ours: true, status: 'outbid', text: '31,000 sUSD', amount: 31_000 },
  ])
})

it('shows one limit, the least of all that bound a bid, and what is closed last', () => {
  const [row] = shown({ lots: [lot()] })
  const decided = decide(moment({ lots: [lot()] }), policy())
  const [{ reason } = { reason: {} }] = [...decided.proposals, ...decided.passedOver]
  const bounds = Object.entries(reason).flatMap(([name, assets]) =>
    name.endsWith('LimitAssets') ? Number(assets) : [],
  )
  expect(bounds.length).toBeGreaterThan(5)
  expect(row?.limitAmount).toBe(Math.min(...bounds) / 1e6)
  const at = (closesAtS: number) =>
    lot({ lotId: String(closesAtS + 100), closesAt: iso(NOW_S + closesAtS) } as never)
  const rows = shown({ lots: [at(-90), at(-5), at(40), at(10)] })
  expect(rows.map(({ closesAtS }) => closesAtS - NOW_S)).toEqual([10, 40, -5, -90])
})

it('has a limit only where the decision came so far', () => {
  const [high] = shown({ lots: [outbid(usd(60_000))] })
  expect(high?.check).not.toBe('proposed')
  const [free] = shown({ lots: [lot()], nativeBalanceWei: 0n })
  expect(free).toMatchObject({ check: 'out_of_funds' })
})
