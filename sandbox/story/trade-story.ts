import { type Address, encodeFunctionData, type Hex, keccak256, parseUnits, stringToHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type {
  AcquisitionResource,
  AuctionResource,
  RfqResource,
} from '../../src/service/contract/trade-resources.ts'
import type { SandboxKeys } from '../cast/keys.ts'
import type { Call } from '../chain/transactions.ts'
import { acquisitionHouseAbi, recoveryAuctionAbi, recoveryFundAbi, rfqDeskAbi } from '../contracts/abis.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { MARKET_NAMES, type MarketName, marketContracts } from '../deploy/markets.ts'
import type { Snapshot } from '../indexer/canonical.ts'
import { lower } from '../indexer/logs.ts'
import type { Trade } from './scenarios.ts'
import { roll } from './story.ts'
import type { SideStory } from './weather.ts'

/** What the story of the trades works on. */
type TradeStoryOptions = {
  readonly deployment: Deployment
  readonly keys: Pick<SandboxKeys, 'deployer' | 'rivals' | 'rivalManager'>
  readonly seed: number
  readonly trade: Trade
  /** The indexed chain: what is on offer follows from it alone, so that a restart goes on. */
  readonly snapshot: () => Snapshot
}

/** What was sent is in a block by then, or never will be. */
const RESEND_S = 4n
/** A rival's bid binds so much longer than the RFQ is open: past the grace. */
const BIND_S = 60
/** What is sent so late is in a block before the close, and an answer to it is not. */
const LAST_S = 3
const BPS = 10_000n
/** An offer's reserve is 70 to 85 % of what the oracle says; a rival bids up to half as much again. */
const RESERVE_BPS = 7_000
const RESERVE_BPS_SPREAD = 1_500
const RIVAL_BPS_SPREAD = 5_000

/**
 * Create the story of what is on offer: at all times at least one RFQ, one auction lot and one acquisition lot, for
 * 0.05 to 0.5 sBTC or 1 to 10 sETH that the deployer sells. Two rivals bid at auctions and on RFQs, and take back
 * what they are owed; a rival fund bids for acquisition lots. What nobody else closes is closed after a grace.
 */
export function createTradeStory(options: TradeStoryOptions): SideStory {
  const { snapshot } = options
  const sent = new Map<string, bigint>()
  const stories = [
    openings(options),
    rfqBids(options),
    auctionBids(options),
    acquisitionBids(options),
    closings(options),
  ]

  return async (nowS) => {
    for (const [key, sentS] of sent) if (nowS - sentS >= RESEND_S) sent.delete(key)
    const acts = stories.flatMap((story) => story(snapshot(), Number(nowS)))
    const due = acts.filter(({ key }) => !sent.has(key))
    for (const { key } of due) sent.set(key, nowS)
    return due.map(({ call }) => call)
  }
}

/** A call under the name that keeps it from being sent again before it can show. */
type Act = { readonly key: string; readonly call: Call }
type Story = (snapshot: Snapshot, nowS: number) => readonly Act[]

const secondsOf = (time: string): number => Date.parse(time) / 1_000
const isOpen = (row: { readonly status: string }) => row.status === 'open'

/** Open the next of each kind when the last one is about to close. */
function openings({ deployment, keys, seed, trade }: TradeStoryOptions): Story {
  const { acquisitionHouse, recoveryAuction, rfqDesk, sUSD } = deployment.contracts
  const [openS, openSMost] = trade.openS
  const venues = [
    { kind: 'rfq', at: rfqDesk.address, rowsOf: ({ rfqs }: Snapshot) => rfqs },
    { kind: 'auction', at: recoveryAuction.address, rowsOf: ({ auctions }: Snapshot) => auctions },
    {
      kind: 'acquisition',
      at: acquisitionHouse.address,
      rowsOf: ({ acquisitions }: Snapshot) => acquisitions,
    },
  ] as const

  return (snapshot, nowS) =>
    venues.flatMap(({ kind, at, rowsOf }) => {
      const rows = rowsOf(snapshot)
      if (rows.some((row) => isOpen(row) && secondsOf(row.closesAt) > nowS + trade.overlapS)) return []
      // Follows from what was offered before, so that it is another each time and the same for a seed.
      const number = rows.length === 0 ? 0 : BigInt(rows[0]?.id.split(':')[1] ?? 0)
      const chance = (what: string) => roll(seed, kind, String(number), what)
      const offer = offerOf(snapshot, deployment, chance)
      if (offer === null) return []
      const closesAt = BigInt(nowS + openS + Math.floor((openSMost - openS) * chance('open')))
      const { asset, amount, reserveAssets, market } = offer
      const position = {
        positionId: keccak256(stringToHex(`position:${seed}:${number}`)),
        lane: stringToHex(chance('lane') < 0.7 ? 'liquid' : 'restricted', { size: 32 }),
        market,
        borrower: borrowerOf(snapshot, market, chance('borrower')),
      }
      const sale = [0n, asset, amount, sUSD.address, reserveAssets, closesAt] as const
      const lot = { ...position, asset, amount, quoteAsset: sUSD.address, reserveAssets, closesAt }
      const data =
        kind === 'acquisition'
          ? encodeFunctionData({ abi: acquisitionHouseAbi, functionName: 'open', args: [lot] })
          : // Desk and auction are opened alike.
            encodeFunctionData({ abi: rfqDeskAbi, functionName: 'open', args: sale })
      return [{ key: `open ${kind}`, call: { from: keys.deployer, to: at, data } }]
    })
}

/** Null while the oracle has no price. */
function offerOf(snapshot: Snapshot, deployment: Deployment, chance: (what: string) => number) {
  const name = MARKET_NAMES[Math.floor(MARKET_NAMES.length * chance('market'))] ?? 'btc'
  const { market, collateral: asset, collateralDecimals } = marketContracts(deployment, name)
  const whole = (name === 'btc' ? 0.05 : 1) * (1 + 9 * chance('amount'))
  const amount = parseUnits(whole.toFixed(4), collateralDecimals)
  const worth = worthOf(snapshot, deployment, name, amount)
  if (worth === null) return null
  const reserveAssets =
    (worth * BigInt(RESERVE_BPS + Math.floor(RESERVE_BPS_SPREAD * chance('reserve')))) / BPS
  return { market, asset, amount, reserveAssets }
}

/** What an amount of a market's collateral is worth in sUSD; null while the oracle has no price. */
function worthOf(
  snapshot: Snapshot,
  deployment: Deployment,
  name: MarketName,
  amount: bigint,
): bigint | null {
  const { oracle, collateralDecimals } = marketContracts(deployment, name)
  const price = snapshot.oracles.find(({ address }) => address === lower(oracle))
  if (price === undefined || price.priceWad === 0n) return null
  // The price is whole sUSD, of six decimals, for one whole collateral token, times 10^18.
  return (amount * price.priceWad) / 10n ** BigInt(collateralDecimals + 12)
}

/** One of those who have a position in the market; the market itself while nobody has. */
function borrowerOf(snapshot: Snapshot, market: Address, chance: number): Address {
  const there = snapshot.positions.filter(({ marketAddress }) => marketAddress === lower(market))
  return there[Math.floor(there.length * chance)]?.walletAddress ?? market
}

/** When a rival comes to an offer, in seconds since it opened, and how far it goes; null for one that stays away. */
function rivalry(
  { seed, trade }: TradeStoryOptions,
  row: RfqResource | AuctionResource | AcquisitionResource,
  rival: number,
) {
  // By kind and number, not by the contract's address: the same seed is the same story anywhere.
  const name =
    'rfqId' in row
      ? `rfq ${row.rfqId}`
      : `${'auctionAddress' in row ? 'auction' : 'acquisition'} ${row.lotId}`
  const chance = (what: string) => roll(seed, name, rival, what)
  if (chance('comes') > trade.comes) return null
  // A late bid moves an auction's close on, and a fund's is answered at once.
  const snipes = 'rfqId' in row && chance('snipes') < trade.snipes
  // What it takes the lot to be worth, with an error of its own.
  const most = BPS + BigInt(snipes ? RIVAL_BPS_SPREAD : Math.floor(RIVAL_BPS_SPREAD * chance('most')))
  return {
    fromS: snipes
      ? secondsOf(row.closesAt) - LAST_S
      : secondsOf(row.openedAt) + 3 + rival * 4 + Math.floor(3 * chance('from')),
    mostAssets: (BigInt(row.reserveAssets) * most) / BPS,
    improves: chance('improves') < trade.improves,
  }
}

/** Each rival bids once on an RFQ, some improve their bid later, and both claim what is refundable. */
function rfqBids(options: TradeStoryOptions): Story {
  const { keys } = options
  const rivals = keys.rivals.map((key) => ({ key, address: lower(privateKeyToAddress(key)) }))
  const abi = rfqDeskAbi

  return ({ rfqs }, nowS) =>
    rfqs.flatMap((row) =>
      rivals.flatMap(({ key, address }, index): readonly Act[] => {
        const act = (name: string, data: Hex): Act => ({
          key: `${name} ${row.id} ${index}`,
          call: { from: key, to: row.rfqAddress, data },
        })
        const own = row.bids.filter(({ bidderAddress }) => bidderAddress === address)
        const refunds = own
          .filter(({ refundable }) => refundable)
          .map(({ bidId }) => {
            const args = [BigInt(bidId)] as const
            return act(`claim ${bidId}`, encodeFunctionData({ abi, functionName: 'claimRefund', args }))
          })
        const plan = rivalry(options, row, index)
        if (!isOpen(row) || plan === null || nowS < plan.fromS) return refunds
        const expiresAt = BigInt(secondsOf(row.closesAt) + BIND_S)
        const [bid] = own
        if (bid === undefined) {
          const args = [BigInt(row.rfqId), plan.mostAssets, expiresAt] as const
          return [act('bid', encodeFunctionData({ abi, functionName: 'placeBid', args }))]
        }
        const once = bid.status === 'live' && BigInt(bid.assets) === plan.mostAssets
        if (!once || !plan.improves || nowS < plan.fromS + 6) return refunds
        const args = [BigInt(bid.bidId), plan.mostAssets + plan.mostAssets / 50n, expiresAt] as const
        return [act('improve', encodeFunctionData({ abi, functionName: 'replaceBid', args }))]
      }),
    )
}

/** Each rival raises a lot by the least there is, up to its limit. */
function auctionBids(options: TradeStoryOptions): Story {
  const { keys } = options
  const rivals = keys.rivals.map((key) => ({ key, address: lower(privateKeyToAddress(key)) }))
  const abi = recoveryAuctionAbi

  return ({ auctions }, nowS) =>
    auctions.flatMap((row) =>
      rivals.flatMap(({ key, address }, index): readonly Act[] => {
        if (!isOpen(row)) return []
        const plan = rivalry(options, row, index)
        const next = BigInt(row.nextBidAssets)
        if (plan === null || nowS < plan.fromS) return []
        if (row.bestBidderAddress === address || next > plan.mostAssets) return []
        const data = encodeFunctionData({ abi, functionName: 'bid', args: [BigInt(row.lotId), next] })
        return [{ key: `bid ${row.id} ${index}`, call: { from: key, to: row.auctionAddress, data } }]
      }),
    )
}

/** What a fund's policy for acquisitions lets it pay, of what its market says. */
const PRICE_BPS_MAX = 9_500n

/** The rival fund raises a lot by one part in fifty, up to its limit; a lot without a bid it takes at its reserve. */
function acquisitionBids(options: TradeStoryOptions): Story {
  const { deployment, keys } = options
  const fund = lower(deployment.contracts.rivalFund.address)

  return (snapshot, nowS) => {
    const own = snapshot.funds.find(({ address }) => address === fund)
    // Before its first epoch closes it has nothing to bid with.
    if (own === undefined || BigInt(own.totalSupply ?? 0) === 0n) return []
    return snapshot.acquisitions.filter(isOpen).flatMap((row): readonly Act[] => {
      const plan = rivalry(options, row, 0)
      const name = MARKET_NAMES.find(
        (each) => lower(marketContracts(deployment, each).market) === row.marketAddress,
      )
      const worth = name === undefined ? null : worthOf(snapshot, deployment, name, BigInt(row.assetAmount))
      const best = BigInt(row.bestBidAssets ?? 0)
      const next = best === 0n ? BigInt(row.reserveAssets) : best + best / 50n
      if (plan === null || worth === null || nowS < plan.fromS || row.bestFundAddress === fund) return []
      if (next > plan.mostAssets || next > (worth * PRICE_BPS_MAX) / BPS) return []
      const args = [row.acquisitionAddress, BigInt(row.lotId), next] as const
      const data = encodeFunctionData({ abi: recoveryFundAbi, functionName: 'bidAcquisition', args })
      return [{ key: `bid ${row.id}`, call: { from: keys.rivalManager, to: fund, data } }]
    })
  }
}

/** Close what has been over for a while. */
function closings({ keys, trade }: TradeStoryOptions): Story {
  return ({ rfqs, auctions, acquisitions }, nowS) => {
    const due = (row: { readonly status: string; readonly closesAt: string }) =>
      row.status === 'closed' && nowS >= secondsOf(row.closesAt) + trade.graceS
    const act = (id: string, to: Address, data: Hex): Act => ({
      key: `close ${id}`,
      call: { from: keys.deployer, to, data },
    })
    return [
      ...rfqs.filter(due).map(({ id, rfqAddress, rfqId }) => {
        const args = [BigInt(rfqId)] as const
        return act(id, rfqAddress, encodeFunctionData({ abi: rfqDeskAbi, functionName: 'finalize', args }))
      }),
      ...auctions.filter(due).map(({ id, auctionAddress, lotId }) => {
        const args = [BigInt(lotId)] as const
        const data = encodeFunctionData({ abi: recoveryAuctionAbi, functionName: 'settle', args })
        return act(id, auctionAddress, data)
      }),
      ...acquisitions.filter(due).map(({ id, acquisitionAddress, lotId }) => {
        const args = [BigInt(lotId)] as const
        const data = encodeFunctionData({ abi: acquisitionHouseAbi, functionName: 'award', args })
        return act(id, acquisitionAddress, data)
      }),
    ]
  }
}
