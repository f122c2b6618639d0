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
    const lot = await latest(world, 'auctions', 'auctionAddress lotId reserveAssets')
    // Rivals of the sandbox's story stay below this, so that none comes between.
    const bidAssets = 2n * BigInt(String(lot.reserveAssets))
    await carry(AUCTION_BID, {
      wallet,
      input: { auctionAddress: lot.auctionAddress, lotId: lot.lotId, bidAssets: String(bidAssets) },
      read: () => chain.number(quote, 'balanceOf(address)', wallet.address),
      moved: (before, after) => after === before - bidAssets,
    })
  },
}

/** A bidder places a bid, replaces it and thinks better of it. */
export const RFQ_WAVERER: Story = {
  types: [RFQ.place, RFQ.replace, RFQ.cancel],
  play: async (stage) => {
    const quote = placeOf(stage.world, 'sUSD')
    const wallet = await newcomer(stage.world, quote)
    const desk = createDesk(stage, await openFor(stage.world, 15), quote)
    const bidId = await desk.place(wallet, 1n)
    await desk.change(RFQ.replace, wallet, bidId, 3n)
    await desk.change(RFQ.cancel, wallet, bidId)
  },
}

/** Two bidders stay: once the request has closed, the better one finalizes it and the other takes its assets back. */
export const RFQ_BIDDERS: Story = {
  types: [RFQ.finalize, RFQ.refund],
  play: async (stage) => {
    const quote = placeOf(stage.world, 'sUSD')
    const [better, other] = await Promise.all([newcomer(stage.world, quote), newcomer(stage.world, quote)])
    const desk = createDesk(stage, await openFor(stage.world, 10), quote)
    const [, lowBid] = await Promise.all([desk.place(better, 4n), desk.place(other, 2n)])
    await desk.closed()
    await desk.finalize(better)
    await desk.change(RFQ.refund, other, lowBid)
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

const OFFER_MS_MAX = 40_000

/** Wait for a request that stays open for so many seconds; of several, the one that closes first. */
async function openFor(world: World, seconds: number): Promise<Json> {
  const deadline = Date.now() + OFFER_MS_MAX
  while (Date.now() < deadline) {
    const rows = await query(
      world,
      'rfqs',
      'rfqs(status: open) { items { rfqAddress rfqId reserveAssets closesAt } }',
    )
    const [found] = rows
      .filter(({ closesAt }) => Date.parse(String(closesAt)) >= Date.now() + seconds * 1_000)
      .toSorted((a, b) => String(a.closesAt).localeCompare(String(b.closesAt)))
    if (found !== undefined) return found
    await sleep(POLL_MS)
  }
  throw new Error(`no RFQ is open for ${seconds} s`)
}

/** Of what is open, the one that stays open longest. */
async function latest(world: World, name: string, members: string): Promise<Json> {
  const rows = await query(world, name, `${name}(status: open) { items { ${members} closesAt } }`)
  const [row] = rows.toSorted((a, b) => String(b.closesAt).localeCompare(String(a.closesAt)))
  if (row === undefined) throw new Error(`${name} lists nothing open`)
  return row
}
