import { z } from 'zod'
import { decide } from '../../../agents/rfq-bidder/decide.ts'
import type { RfqBidderSeen } from '../../../agents/rfq-bidder/seen.ts'
import type { Refusal } from '../../../src/errors.ts'
import { createReads } from '../../../src/guard/reads/views.ts'
import type { Deployment } from '../../../src/service/contract/deployment.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { BTC, NOW_S, observed, policy, price, SELF, USD } from '../../agents/rfq-bidder/fixtures.ts'
import { createTradeWorld, type TradeWorld } from '../../agents/rfq-bidder/world.ts'
import { policyOf } from '../../support/policies.ts'
import { judgementsOf } from '../fixtures.ts'
import { tradeChain, VENUES } from './trade-chain.ts'

/** Base units of whole dollars. */
export const usd = (whole: number) => BigInt(whole) * 1_000_000n
const FUNDS = usd(50_000_000)
/** Another signer of ours. */
export const COLLEAGUE = `0x${'c7'.repeat(20)}` as const
/** Of one sBTC. */
export const PRICE = 50_000n * 10n ** 18n

const { sanity } = z
  .object({ guard: z.object({ sanity: z.record(z.string(), z.unknown()) }) })
  .parse(policyOf('rfq-bidder')).guard
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

/** What somebody does at a venue, or what time does. */
export type Deed = (world: TradeWorld) => void

/** A desk and an auction, our bidder with its shipped policy, and a service between them that says what it likes. */
export function createBidderScene(opening: readonly Deed[], lie: (shown: RfqBidderSeen) => RfqBidderSeen) {
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
  const said: string[] = []
  const checkOf = (refusal: Refusal | null | undefined): string | null => {
    if (refusal) said.push(refusal.message)
    return refusal?.check ?? null
  }
  /** The check that refuses a proposal by what the chain shows before it and after it, or null. */
  const refused = (proposal: Proposal): string | null => {
    const [before, after] = [createReads(), createReads()]
    const subject = {
      input: proposal.input,
      self: SELF,
      ours: [SELF, COLLEAGUE],
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
    if (wrong !== null) return checkOf(wrong)
    const then = build()
    if (!then.carryOut(SELF, proposal)) return 'simulation_reverted'
    after.fill(after.calls.map(chainOf(then)))
    const changeOf = (token: string) => balanceOf(then, token) - balanceOf(world, token)
    return checkOf(judgement.checkOutcome({ timestampS: world.nowS(), gasWei: 1n, changeOf }))
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
  /** What others do between two looks. */
  const act = (deed: Deed): void => {
    deeds.push(deed)
    world = build()
  }
  return {
    /** What refusals said so far. */
    said,
    look,
    act,
    bidsOf,
    spent: () => -world.money(SELF),
    world: () => world,
  }
}
