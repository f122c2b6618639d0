import { type Address, parseAbi, parseEventLogs, type TransactionReceipt } from 'viem'
import { eventually, WAIT_MS_MAX } from '../eventually.ts'
import { newcomer, placeOf, query } from '../people.ts'
import type { Wallet } from '../wallet.ts'
import type { Stage, Story } from '../workflow-run.ts'
import { type Offer, openAuction, openRfq } from './offers.ts'

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
    const { venue, id, reserveAssets } = await openAuction(world)
    // Rivals of the sandbox's story stay below this, so that none comes between.
    const bidAssets = 2n * reserveAssets
    await carry(AUCTION_BID, {
      wallet,
      input: { auctionAddress: venue, lotId: String(id), bidAssets: String(bidAssets) },
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
    const desk = createDesk(stage, await openRfq(stage.world), quote)
    const bidId = await desk.place(wallet, 1n)
    await desk.change(RFQ.replace, wallet, bidId, 3n)
    await desk.change(RFQ.cancel, wallet, bidId)
  },
}

/** Bids that stay must be placed within it, and what follows waits for its end. */
const BIDS_WITHIN_S = BigInt(WAIT_MS_MAX / 1_000)

/** Two bidders stay: once the request has closed, the better one finalizes it and the other takes its assets back. */
export const RFQ_BIDDERS: Story = {
  types: [RFQ.finalize, RFQ.refund],
  play: async (stage) => {
    const quote = placeOf(stage.world, 'sUSD')
    const [better, other] = await Promise.all([newcomer(stage.world, quote), newcomer(stage.world, quote)])
    const desk = createDesk(stage, await openRfq(stage.world, BIDS_WITHIN_S), quote)
    const [, lowBid] = await Promise.all([desk.place(better, 4n), desk.place(other, 2n)])
    await desk.finalize(better)
    await desk.change(RFQ.refund, other, lowBid)
  },
}

const EXPIRES_AFTER_S = 3_600n

/** What bidders do at one request; a bid is so many hundredths above the reserve. */
function createDesk({ world, carry }: Stage, { venue, id, reserveAssets, closesAt }: Offer, quote: Address) {
  const { chain } = world
  const [rfqAddress, rfqId] = [venue, String(id)]
  const worth = (hundredths: bigint) => (reserveAssets * (100n + hundredths)) / 100n
  const purse = (wallet: Wallet) => () => chain.number(quote, 'balanceOf(address)', wallet.address)
  const expiry = () => String(closesAt + EXPIRES_AFTER_S)
  const closed = async () => {
    const rows = await query(world, 'rfqs', 'rfqs(status: closed) { items { rfqId } }')
    return rows.find((row) => row.rfqId === rfqId)
  }
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
    finalize: (wallet: Wallet) =>
      carry(RFQ.finalize, {
        wallet,
        input: { rfqAddress, rfqId },
        when: async () => {
          await eventually(closed, 'the RFQ does not close', 2)
          return {}
        },
        read: async () => {
          const { winningBidId } = await chain.client.readContract({
            address: venue,
            abi: REQUEST,
            functionName: 'rfq',
            args: [id],
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
