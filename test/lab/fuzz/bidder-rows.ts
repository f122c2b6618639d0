import type { AuctionSeen, RfqBidderSeen, RfqBidSeen, RfqSeen } from '../../../agents/rfq-bidder/seen.ts'
import { BTC, NOW_S, RIVAL, SELF, SELLER, USD } from '../../agents/rfq-bidder/fixtures.ts'
import { createBidderScene, type Deed, PRICE, usd } from '../../guard/sanity/bidder-scene.ts'
import type { Dice } from '../judgement/dice.ts'
import { chance, pickFrom, whole } from './dice.ts'

/** What the shipped policy allows: stated here once more, so that a mistake in reading it does not pass twice. */
const ESCROW_MAX = usd(800_000)
const ESCROW_FOR_BTC_MAX = usd(500_000)
const INVENTORY_MAX = 50n * 10n ** 8n
const WORTH_BPS_MAX = 9_950n

const STATUSES = ['live', 'expired', 'displaced', 'lost', 'won', 'cancelled', 'refunded'] as const
const OFFERS = ['open', 'closed', 'over'] as const
const OTHERS = [RIVAL, SELLER, SELF, `0x${'e'.repeat(40)}`] as const

/** A world of rows: what is really on offer, what others do, and how the service shows it at each look. */
export function fuzzBidderRows(dice: Dice): {
  readonly checks: readonly string[]
  /** What refusals said. */
  readonly said: readonly string[]
  readonly problem: string | null
} {
  const opening = Array.from({ length: 1 + whole(dice, 14) }, () => offer(dice))
  const scene = createBidderScene(opening, (shown) => lie(shown, dice))
  const checks: string[] = []
  const looks = 2 + whole(dice, 4)
  for (let look = 0; look < looks; look += 1) {
    checks.push(...scene.look().map((check) => check ?? 'cleared'))
    const problem = beyondPolicy(scene)
    if (problem !== null) return { checks, said: scene.said, problem }
    scene.act(happening(dice))
  }
  return { checks, said: scene.said, problem: null }
}

/** An RFQ or an auction of up to 3 sBTC, its reserve between half and all of what that is worth. */
function offer(dice: Dice): Deed {
  const amount = BigInt(1 + whole(dice, 300_000_000))
  const worth = (amount * PRICE * usd(1)) / (10n ** 8n * 10n ** 18n)
  const reserveAssets = (worth * BigInt(5_000 + whole(dice, 5_000))) / 10_000n
  const terms = { amount, reserveAssets, closesAtS: NOW_S + 4 + whole(dice, 90) }
  const rival = reserveAssets + (worth * BigInt(whole(dice, 3_000))) / 10_000n
  const isAuction = chance(dice, 0.3)
  const hasRival = chance(dice, 0.4)
  return (world) => {
    if (isAuction) {
      const number = world.openAuction(terms)
      if (hasRival) world.raise(RIVAL, number, rival)
      return
    }
    const number = world.openRfq(terms)
    if (hasRival) world.place(RIVAL, number, rival, terms.closesAtS + 300)
  }
}

/** What others and the clock do between two looks. */
function happening(dice: Dice): Deed {
  const seconds = pickFrom(dice, [0, 1, 3, 20, 200, 900])
  const number = String(1 + whole(dice, 6))
  const assets = usd(1 + whole(dice, 120_000))
  const deed = whole(dice, 4)
  return (world) => {
    world.tick(seconds)
    if (deed === 0) world.place(RIVAL, number, assets, world.nowS() + 300)
    if (deed === 1) world.raise(RIVAL, number, assets)
    if (deed === 2) world.finalize(number)
    if (deed === 3) world.settle(number)
  }
}

/** Say what at stake passes the policy, by the world itself; null where nothing does. */
function beyondPolicy(scene: ReturnType<typeof createBidderScene>): string | null {
  const world = scene.world()
  const { rfqs, auctions } = world.shownTo(SELF)
  const waiting = (status: RfqBidSeen['status']) => !['won', 'cancelled', 'refunded'].includes(status)
  const atDesk = rfqs.flatMap((rfq) =>
    rfq.bids.filter(({ bidder, status }) => bidder === SELF && waiting(status)).map((bid) => ({ rfq, bid })),
  )
  const leading = auctions.filter(({ bestBidder, status }) => bestBidder === SELF && status !== 'over')
  const escrow =
    atDesk.reduce((sum, { bid }) => sum + bid.assets, 0n) +
    leading.reduce((sum, { bestAssets }) => sum + (bestAssets ?? 0n), 0n)
  if (escrow > ESCROW_MAX) return `${escrow} in escrow`
  // Everything here is for sBTC.
  if (escrow > ESCROW_FOR_BTC_MAX) return `${escrow} in escrow for one asset`
  const winnable =
    atDesk.filter(({ rfq }) => rfq.status !== 'over').reduce((sum, { rfq }) => sum + rfq.amount, 0n) +
    leading.reduce((sum, { amount }) => sum + amount, 0n)
  if (world.goods(SELF) + winnable > INVENTORY_MAX) return `${winnable} to be won beside ${world.goods(SELF)}`
  for (const { assets, amount } of [
    ...atDesk.map(({ rfq, bid }) => ({ assets: bid.assets, amount: rfq.amount })),
    ...leading.map(({ bestAssets, amount }) => ({ assets: bestAssets ?? 0n, amount })),
  ]) {
    const worth = (amount * PRICE * usd(1)) / (10n ** 8n * 10n ** 18n)
    if (assets * 10_000n > worth * WORTH_BPS_MAX) return `a bid of ${assets} for what is worth ${worth}`
  }
  const twice = rfqs.find(
    ({ bids }) => bids.filter((bid) => bid.bidder === SELF && bid.status === 'live').length > 1,
  )
  return twice === undefined ? null : `two bids on RFQ ${twice.number}`
}

/** Show the rows otherwise, each with a chance of its own. */
function lie(shown: RfqBidderSeen, dice: Dice): RfqBidderSeen {
  if (chance(dice, 0.1)) return shown
  const strength = dice.unit()
  return {
    ...shown,
    rfqs: shuffled(shown.rfqs, dice, strength).map((rfq) => rfqLie(rfq, dice, strength)),
    auctions: shuffled(shown.auctions, dice, strength).map((lot) => auctionLie(lot, dice, strength)),
  }
}

/** Rows that are left out, shown twice, or in another order. */
function shuffled<T>(rows: readonly T[], dice: Dice, strength: number): readonly T[] {
  return rows.flatMap((row) =>
    chance(dice, strength * 0.2) ? [] : chance(dice, strength * 0.2) ? [row, row] : [row],
  )
}

const amountLie = (value: bigint, dice: Dice, strength: number): bigint =>
  chance(dice, strength * 0.3)
    ? pickFrom(dice, [
        0n,
        1n,
        value + 1n,
        value / 2n,
        value * 2n,
        value * 10n,
        value * 10n ** 10n,
        2n ** 255n,
      ])
    : value

function offerLie<T extends RfqSeen | AuctionSeen>(row: T, dice: Dice, strength: number): T {
  const sometimes = (rate = 0.15) => chance(dice, strength * rate)
  return {
    ...row,
    amount: amountLie(row.amount, dice, strength),
    reserveAssets: amountLie(row.reserveAssets, dice, strength),
    status: sometimes() ? pickFrom(dice, OFFERS) : row.status,
    closesAtS: sometimes() ? row.closesAtS + pickFrom(dice, [-600, -10, 10, 600, 10 ** 7]) : row.closesAtS,
    asset: sometimes() ? pickFrom(dice, [BTC, USD, RIVAL]) : row.asset,
    quoteAsset: sometimes(0.05) ? pickFrom(dice, [BTC, USD, RIVAL]) : row.quoteAsset,
    seller: sometimes() ? pickFrom(dice, OTHERS) : row.seller,
    number: sometimes() ? String(1 + whole(dice, 20)) : row.number,
    lot: sometimes() ? `${row.venue}:${whole(dice, 20)}` : row.lot,
  }
}

function rfqLie(row: RfqSeen, dice: Dice, strength: number): RfqSeen {
  const sometimes = (rate: number) => chance(dice, strength * rate)
  const bids = shuffled(row.bids, dice, strength).map((each) => ({
    ...each,
    assets: amountLie(each.assets, dice, strength),
    bidder: sometimes(0.3) ? pickFrom(dice, OTHERS) : each.bidder,
    status: sometimes(0.3) ? pickFrom(dice, STATUSES) : each.status,
    refundable: sometimes(0.3) ? !each.refundable : each.refundable,
    bidId: sometimes(0.15) ? String(1 + whole(dice, 30)) : each.bidId,
    expiresAtS: sometimes(0.15) ? each.expiresAtS + pickFrom(dice, [-600, 600]) : each.expiresAtS,
  }))
  const invented: readonly RfqBidSeen[] = sometimes(0.5)
    ? [
        {
          bidId: String(90 + whole(dice, 9)),
          bidder: pickFrom(dice, OTHERS),
          status: pickFrom(dice, STATUSES),
          assets: amountLie(row.reserveAssets + usd(whole(dice, 5_000)), dice, 1),
          refundable: chance(dice, 0.5),
          expiresAtS: row.closesAtS + whole(dice, 600),
        },
      ]
    : []
  const traded = { ...row.terms, book: sometimes(0.2) ? ('sealed' as const) : row.terms.book }
  return { ...offerLie(row, dice, strength), terms: traded, bids: [...bids, ...invented] }
}

function auctionLie(row: AuctionSeen, dice: Dice, strength: number): AuctionSeen {
  const sometimes = (rate: number) => chance(dice, strength * rate)
  return {
    ...offerLie(row, dice, strength),
    bestBidder: sometimes(0.3) ? pickFrom(dice, OTHERS) : row.bestBidder,
    bestAssets: row.bestAssets === null ? null : amountLie(row.bestAssets, dice, strength),
    nextAssets: amountLie(row.nextAssets, dice, strength),
    owedAssets: sometimes(0.2) ? usd(whole(dice, 100_000)) : row.owedAssets,
  }
}
