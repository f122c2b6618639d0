import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { decide } from '../../../agents/rfq-bidder/decide.ts'
import type { RfqBidderSeen } from '../../../agents/rfq-bidder/seen.ts'
import { loadYaml } from '../../../src/config/yaml.ts'
import { createReads } from '../../../src/guard/views.ts'
import type { Deployment } from '../../../src/service/contract/deployment.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import {
  auction,
  BTC,
  bid,
  NOW_S,
  observed,
  policy,
  price,
  RIVAL,
  SELF,
  USD,
} from '../../agents/rfq-bidder/fixtures.ts'
import { createTradeWorld, type TradeWorld } from '../../agents/rfq-bidder/world.ts'
import { judgementsOf } from '../fixtures.ts'
import { tradeChain, VENUES } from './trade-chain.ts'

const usd = (whole: number) => BigInt(whole) * 1_000_000n
const FUNDS = usd(50_000_000)
const PRICE = 50_000n * 10n ** 18n

const { sanity } = z
  .object({ guard: z.object({ sanity: z.record(z.string(), z.unknown()) }) })
  .parse(loadYaml('policies/rfq-bidder.yaml').value).guard
const judgements = judgementsOf('rfq-bidder', sanity)

const { deployment } = observed()
const pinned: Deployment = {
  namespace: 'test',
  assets: deployment.assets.map((each) => ({ ...each, codeHash: '0x' })),
  markets: deployment.markets.map((each) => ({ ...each, codeHash: '0x', oracleCodeHash: '0x' })),
  vaults: [],
  funds: [],
  contracts: [...VENUES],
}

type Deed = (world: TradeWorld) => void

/** A desk and an auction, our bidder with its shipped policy, and a service between them that says what it likes. */
function createScene(opening: readonly Deed[], lie: (shown: RfqBidderSeen) => RfqBidderSeen) {
  const deeds = [...opening]
  const build = () => {
    const world = createTradeWorld(NOW_S)
    for (const deed of deeds) deed(world)
    return world
  }
  let world = build()
  const balanceOf = (at: TradeWorld, token: string) =>
    token === USD ? FUNDS + at.money(SELF) : token === BTC ? at.goods(SELF) : 0n
  const chainOf = (at: TradeWorld) =>
    tradeChain({
      ...at.shownTo(SELF),
      balanceOf: (token) => balanceOf(at, token),
      price: [PRICE, BigInt(at.nowS()), BigInt(at.nowS()), 1],
    })
  /** The check that refuses a proposal by what the chain shows before it and after it, or null. */
  const refused = (proposal: Proposal): string | null => {
    const [before, after] = [createReads(), createReads()]
    const subject = {
      input: proposal.input,
      self: SELF,
      deadlineS: BigInt(world.nowS() + 60),
      market: null,
      vault: null,
      fund: null,
      deployment: pinned,
    }
    const judgement = judgements
      .get(proposal.workflowType)
      ?.judge({ subject, proposal, calls: [], before, after })
    if (judgement === undefined) throw new TypeError(`nothing judges ${proposal.workflowType}`)
    before.fill(before.calls.map(chainOf(world)))
    const wrong = judgement.checkState(world.nowS())
    if (wrong !== null) return wrong.check
    const then = build()
    if (!then.carryOut(SELF, proposal)) return 'simulation_reverted'
    after.fill(after.calls.map(chainOf(then)))
    const changeOf = (token: string) => balanceOf(then, token) - balanceOf(world, token)
    return judgement.checkOutcome({ gasWei: 1n, changeOf })?.check ?? null
  }
  const look = (): readonly (string | null)[] => {
    const read = { priceWad: PRICE, sourceAsOfS: world.nowS(), state: 1 }
    const shown = lie({ ...world.shownTo(SELF), prices: [] })
    const seen = observed({
      ...shown,
      chain: { ...observed().chain, timestampS: world.nowS() },
      nowMs: world.nowS() * 1_000,
      nativeBalanceWei: 10n ** 21n,
      balances: { [USD]: balanceOf(world, USD), [BTC]: balanceOf(world, BTC) },
      prices: [price({ oracle: read, reference: read, servicePriceWad: PRICE })],
    })
    return decide(seen, policy()).proposals.map((proposal) => {
      const check = refused(proposal)
      if (check === null) {
        deeds.push((at) => at.carryOut(SELF, proposal))
        world = build()
      }
      return check
    })
  }
  const bidsOf = () =>
    world.shownTo(SELF).rfqs.flatMap(({ bids }) => bids.filter(({ bidder }) => bidder === SELF))
  return { look, bidsOf, spent: () => -world.money(SELF), world: () => world }
}

/** RFQs of 1 sBTC each at most, for 40,000 sUSD at least, that stay open. */
const OPENINGS = Array.from(
  { length: 24 },
  (): Deed => (world) => {
    world.openRfq({ amount: 100_000_000n, reserveAssets: usd(40_000), closesAtS: NOW_S + 600 })
  },
)

describe('own bids that the service shows otherwise', () => {
  /** Half of the RFQs at a look, and our bids on them changed, or left out. */
  const ours = (change: object | null) => {
    let looks = 0
    return (shown: RfqBidderSeen) => {
      looks += 1
      return {
        ...shown,
        rfqs: shown.rfqs
          .filter(({ number }) => Number(number) % 2 === looks % 2)
          .map((rfq) => ({
            ...rfq,
            bids: rfq.bids.flatMap((each) =>
              each.bidder !== SELF ? each : change === null ? [] : { ...each, ...change },
            ),
          })),
      }
    }
  }

  it.each([
    ['as cancelled', ours({ status: 'cancelled' })],
    ['as refunded', ours({ status: 'refunded' })],
    ['not at all', ours(null)],
    ['as of somebody else', ours({ bidder: RIVAL, assets: usd(30_000) })],
  ])('%s: one bid an RFQ, and no more in escrow than the policy says', (_, lie) => {
    const scene = createScene(OPENINGS, lie)
    const answers = Array.from({ length: 20 }, () => scene.look()).flat()
    expect(answers.filter((check) => check === null).length).toBe(scene.bidsOf().length)
    expect(scene.bidsOf()).toHaveLength(12)
    // $500,000 for one asset.
    expect(scene.spent()).toBe(usd(480_000))
    expect(new Set(answers.filter((check) => check !== null))).toEqual(
      new Set(['bid_stands', 'asset_escrow_above_limit']),
    )
  })
})

describe('a rival that the service invents', () => {
  it.each([1, 3])('%i of them raise no bid on an RFQ: its reserve is the price', (rivals) => {
    const opening: Deed = (world) => world.openRfq({ closesAtS: NOW_S + 600 })
    let highest = 8_200
    const scene = createScene([opening], (shown) => ({
      ...shown,
      rfqs: shown.rfqs.map((rfq) => ({
        ...rfq,
        bids: [
          ...rfq.bids,
          ...Array.from({ length: rivals }, (_, index) =>
            bid({ bidId: `9${index}`, bidder: `0x${'9'.repeat(39)}${index}`, assets: usd(highest - index) }),
          ),
        ],
      })),
    }))
    const answers: (string | null)[] = []
    for (; highest < 9_900; highest += 100) answers.push(...scene.look())
    expect(scene.spent()).toBe(0n)
    expect(new Set(answers)).toEqual(new Set(['bid_above_rivals']))
  })

  it('raises no bid at an auction either', () => {
    const opening: Deed = (world) => world.openAuction({ closesAtS: NOW_S + 15 })
    const scene = createScene([opening], (shown) => ({
      ...shown,
      auctions: shown.auctions.map((lot) =>
        auction({
          ...lot,
          bestBidder: RIVAL,
          bestAssets: usd(9_000),
          nextAssets: usd(9_090),
          bids: [{ bidder: RIVAL, assets: usd(9_000) }],
        }),
      ),
    }))
    expect(scene.look()).toEqual(['bid_above_rivals'])
    expect(scene.spent()).toBe(0n)
  })
})

it('bids as before where the service says what is there', () => {
  const opening: Deed = (world) => {
    world.openRfq({ closesAtS: NOW_S + 600 })
    world.place(RIVAL, '1', usd(8_500), NOW_S + 900)
    world.openAuction({ closesAtS: NOW_S + 15, amount: 30_000_000n })
    world.raise(RIVAL, '1', usd(8_500))
  }
  const scene = createScene([opening], (shown) => shown)
  expect(scene.look()).toEqual([null, null])
  expect(scene.look()).toEqual([])
  expect(scene.bidsOf().map(({ assets }) => assets)).toEqual([8_508_500_000n])
})
