import {
  type Address,
  encodeFunctionData,
  type Hex,
  keccak256,
  parseAbi,
  parseEventLogs,
  stringToHex,
} from 'viem'
import { newcomer, placeOf } from '../people.ts'
import type { World } from '../world.ts'

/** What is for sale at a venue, and for how long. Amounts in base units of sUSD. */
export type Offer = {
  readonly venue: Address
  readonly id: bigint
  readonly reserveAssets: bigint
  /** Unix seconds. */
  readonly closesAt: bigint
}

const SALE = parseAbi([
  'function open(uint256 holdingId, address asset, uint256 amount, address quoteAsset, uint256 reserveAssets, uint64 closesAt) returns (uint256 id)',
  'event RfqOpened(uint256 indexed id, address indexed seller, uint256 holdingId, address asset, uint256 amount, address quoteAsset, uint256 reserveAssets, uint64 closesAt)',
  'event AuctionOpened(uint256 indexed id, address indexed seller, uint256 holdingId, address asset, uint256 amount, address quoteAsset, uint256 reserveAssets, uint64 closesAt)',
])
const HOUSE = parseAbi([
  'struct LotTerms { bytes32 positionId; bytes32 lane; address market; address borrower; address asset; uint256 amount; address quoteAsset; uint256 reserveAssets; uint64 closesAt; }',
  'function open(LotTerms terms) returns (uint256 id)',
  'event LotOpened(uint256 indexed id, address indexed seller, LotTerms terms)',
])
const TOKEN = parseAbi(['function approve(address spender, uint256 amount) returns (bool)'])

/** A hundredth of an sBTC for a fifth of what it is worth, or less: rivals go up to half as much again. */
const SOLD = { amount: 1_000_000n, reserveAssets: 100_000_000n } as const
/** Longer than whatever is done at it takes: the sandbox's own offers close within a minute, which a busy machine does not make. */
const LASTS_S = 3_600n

/** Ask for bids on something of ours that is open for so many seconds. */
export const openRfq = (world: World, lastsS = LASTS_S): Promise<Offer> => sell(world, 'rfqDesk', lastsS)

/** Put something of ours up for auction. */
export const openAuction = (world: World): Promise<Offer> => sell(world, 'recoveryAuction', LASTS_S)

/** Put something of ours up for funds to acquire. */
export const openAcquisition = (world: World): Promise<Offer> => sell(world, 'acquisitionHouse', LASTS_S)

async function sell(world: World, name: string, lastsS: bigint): Promise<Offer> {
  const { chain } = world
  const [venue, asset, quoteAsset] = [placeOf(world, name), placeOf(world, 'sBTC'), placeOf(world, 'sUSD')]
  const seller = await newcomer(world, asset)
  const { amount, reserveAssets } = SOLD
  const approve = encodeFunctionData({ abi: TOKEN, functionName: 'approve', args: [venue, amount] })
  await chain.send(seller, [{ target: asset, calldata: approve, value: 0n }])
  const closesAt = (await chain.client.getBlock()).timestamp + lastsS
  const terms = { asset, amount, quoteAsset, reserveAssets, closesAt }
  const calldata: Hex =
    name === 'acquisitionHouse'
      ? encodeFunctionData({
          abi: HOUSE,
          functionName: 'open',
          args: [{ ...terms, ...positionOf(world, seller.address) }],
        })
      : encodeFunctionData({
          abi: SALE,
          functionName: 'open',
          args: [0n, asset, amount, quoteAsset, reserveAssets, closesAt],
        })
  const receipts = await chain.send(seller, [{ target: venue, calldata, value: 0n }])
  const logs = receipts.flatMap((receipt) => receipt.logs)
  const [opened] = parseEventLogs({ abi: [...SALE, ...HOUSE], logs })
  if (opened === undefined) throw new Error(`nothing was opened at the ${name}`)
  return { venue, id: opened.args.id, reserveAssets, closesAt }
}

const positionOf = (world: World, borrower: Address) => ({
  positionId: keccak256(borrower),
  lane: stringToHex('liquid', { size: 32 }),
  market: placeOf(world, 'btcMarket'),
  borrower,
})
