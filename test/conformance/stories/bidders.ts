import { setTimeout as sleep } from 'node:timers/promises'
import { type Address, parseAbi, parseEventLogs, type TransactionReceipt } from 'viem'
import { newcomer, placeOf, query } from '../people.ts'
import type { Json } from '../shape-check.ts'
import type { Wallet } from '../wallet.ts'
import type { Stage, Story } from '../workflow-run.ts'
import type { World } from '../world.ts'

const ROLE = 'role.lender.distressedRecoveryFundV3'
const RFQ = {
  place: `${ROLE}RfqPlaceBid`,
  replace: `${ROLE}RfqReplaceBid`,
  cancel: `${ROLE}RfqCancelBid`,
  finalize: `${ROLE}RfqFinalize`,
  refund: `${ROLE}RfqClaimRefund`,
} as const
const AUCTION_BID = `${ROLE}AuctionBid`

const PLACED = parseAbi([
  'event RfqBidPlaced(uint256 indexed rfqId, uint256 indexed bidId, address indexed bidder, uint256 assets, uint64 expiresAt)',
])

const REQUEST = parseAbi([
  'struct Rfq { address seller; uint8 state; uint64 closesAt; bool sellerIsContract; uint256 holdingId; address asset; uint256 amount; address quoteAsset; uint256 reserveAssets; uint256 winningBidId; }',
  'function rfq(uint256 rfqId) view returns (Rfq asked)',
])

/** The best bid of a lender on an open lot. */
export const AUCTION_BIDDER: Story = {
  types: [AUCTION_BID],
  play: async (stage) => {
    const { world, carry } = stage
    const { chain } = world
    const quote = placeOf(world, 'sUSD')
    const wallet = await newcomer(world, quote)
    const lot = await latest(world, 'auctions', 'auctionAddress lotId nextBidAssets')
    const bidAssets = BigInt(String(lot.nextBidAssets))
    await carry(AUCTION_BID, {
      wallet,
      input: { auctionAddress: lot.auctionAddress, lotId: lot.lotId, bidAssets: String(bidAssets) },
      read: () => chain.number(quote, 'balanceOf(address)', wallet.address),
      moved: (before, after) => after === before - bidAssets,
    })
  },
}

/**
 * One bidder places, replaces and cancels a bid, then bids again to win; another one bids less. The first finalizes
 * the request once it has closed, and the second takes its assets back.
 */
export const RFQ_BIDDERS: Story = {
  types: Object.values(RFQ),
  play: async (stage) => {
    const { world } = stage
    const quote = placeOf(world, 'sUSD')
    const [first, second] = await Promise.all([newcomer(world, quote), newcomer(world, quote)])
    const asked = await latest(world, 'rfqs', 'rfqAddress rfqId reserveAssets')
    const desk = createDesk(stage, asked, quote)
    const bidId = await desk.place(first, 1n)
    await desk.change(RFQ.replace, first, bidId, 3n)
    await desk.change(RFQ.cancel, first, bidId)
    const [, lowBid] = await Promise.all([desk.place(first, 4n), desk.place(second, 2n)])
    await desk.closed()
    await desk.finalize(first)
    await desk.change(RFQ.refund, second, lowBid)
  },
}

const EXPIRES_AFTER_S = 3_600n
const POLL_MS = 250

/** What bidders do at one request; a bid is so many hundredths above the reserve. */
function createDesk({ world, carry }: Stage, asked: Json, quote: Address) {
  const { chain } = world
  const { rfqAddress, rfqId } = asked
  const reserve = BigInt(String(asked.reserveAssets))
  const closesAt = Date.parse(String(asked.closesAt)) / 1_000
  const desk: Address = `0x${String(rfqAddress).slice(2)}`
  const worth = (hundredths: bigint) => (reserve * (100n + hundredths)) / 100n
  const purse = (wallet: Wallet) => () => chain.number(quote, 'balanceOf(address)', wallet.address)
  const expiry = () => String(BigInt(Math.floor(closesAt)) + EXPIRES_AFTER_S)
  return {
    place: async (wallet: Wallet, hundredths: bigint): Promise<bigint> => {
      const assets = worth(hundredths)
      const receipts = await carry(RFQ.place, {
        wallet,
        input: { rfqAddress, rfqId, bidAssets: String(assets), expiresTimestamp: expiry() },
        read: purse(wallet),
        moved: (before, after) => after === before - assets,
      })
      return placedBid(receipts)
    },
    change: (type: string, wallet: Wallet, bidId: bigint, hundredths?: bigint) =>
      carry(type, {
        wallet,
        input: {
          rfqAddress,
          rfqId,
          bidId: String(bidId),
          ...(hundredths === undefined
            ? {}
            : { bidAssets: String(worth(hundredths)), expiresTimestamp: expiry() }),
        },
        read: purse(wallet),
        moved: (before, after) => (hundredths === undefined ? after > before : after < before),
      }),
    closed: async (): Promise<void> => {
      const selection = 'rfqs(status: closed) { items { rfqId } }'
      while (!(await query(world, 'rfqs', selection)).some((row) => row.rfqId === rfqId)) await sleep(POLL_MS)
    },
    finalize: (wallet: Wallet) =>
      carry(RFQ.finalize, {
        wallet,
        input: { rfqAddress, rfqId },
        read: async () => {
          const { winningBidId } = await chain.client.readContract({
            address: desk,
            abi: REQUEST,
            functionName: 'rfq',
            args: [BigInt(String(rfqId))],
          })
          return winningBidId
        },
        moved: (before, after) => before === 0n && after > 0n,
      }),
  }
}

function placedBid(receipts: readonly TransactionReceipt[]): bigint {
  const [placed] = parseEventLogs({ abi: PLACED, logs: receipts.flatMap(({ logs }) => logs) })
  if (placed === undefined) throw new Error('no bid was placed')
  return placed.args.bidId
}

/** Of what is open, the one that stays open longest. */
async function latest(world: World, name: string, members: string): Promise<Json> {
  const rows = await query(world, name, `${name}(status: open) { items { ${members} closesAt } }`)
  const [row] = rows.toSorted((a, b) => String(b.closesAt).localeCompare(String(a.closesAt)))
  if (row === undefined) throw new Error(`${name} lists nothing open`)
  return row
}
