import { type Address, concatHex, getContract, type Hex, maxUint256, parseAbi } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { acquisitionHouseAbi, recoveryAuctionAbi, rfqDeskAbi } from '../../sandbox/contracts/abis.ts'
import { by, createWorld } from './contracts/world.ts'

export type TradeWorld = Awaited<ReturnType<typeof createTradeWorld>>

/** What a fund is told. */
export const noticeAbi = parseAbi([
  'function recordHolding(bytes32 positionId, bytes32 lane, address asset, uint256 amount, uint256 transferPriceAssets, address market, address borrower)',
  'function recordDisposal(uint256 holdingId, uint256 proceedsAssets)',
  'function recordReturned(uint256 holdingId)',
])

/**
 * A fund in a few bytes of code: asked with a bare selector it names its quote asset; told anything it logs the whole
 * notice, or reverts.
 */
function fundCode(quoteAsset: Address, told: 'logs' | 'reverts'): Hex {
  const act: Hex = told === 'logs' ? '0x365f5f37365fa000' : '0x5f5ffd0000000000'
  return concatHex(['0x36600414600f57', act, '0x5b73', quoteAsset, '0x5f5260205ff3'])
}

/** Start a chain with the sandbox deployed, its blocks one second apart whatever the machine's speed. */
export async function createTradeWorld() {
  const world = await createWorld()
  const { client, contracts, sUSD, sETH } = world
  const venue = {
    house: getContract({ address: contracts.acquisitionHouse.address, abi: acquisitionHouseAbi, client }),
    auction: getContract({ address: contracts.recoveryAuction.address, abi: recoveryAuctionAbi, client }),
    desk: getContract({ address: contracts.rfqDesk.address, abi: rfqDeskAbi, client }),
  }
  await client.setBlockTimestampInterval({ interval: 1 })

  const trader = async (usdAssets: bigint, ethAssets: bigint): Promise<Address> => {
    const address = await world.person(usdAssets, ethAssets)
    for (const { address: spender } of Object.values(venue)) {
      await sUSD.write.approve([spender, maxUint256], by(address))
      await sETH.write.approve([spender, maxUint256], by(address))
    }
    return address
  }
  return {
    ...world,
    ...venue,
    /** Make an account with these balances, every venue approved for both. */
    trader,
    /** The same, as a contract that a venue takes for a fund with sUSD as its quote asset. */
    fund: async (
      usdAssets: bigint,
      ethAssets: bigint,
      told: 'logs' | 'reverts' = 'logs',
    ): Promise<Address> => {
      const address = await trader(usdAssets, ethAssets)
      await client.setCode({ address, bytecode: fundCode(sUSD.address, told) })
      return address
    },
    nowS: async (): Promise<bigint> => (await client.getBlock()).timestamp,
    /** Give the next block this time. */
    nextAt: (timestamp: bigint) => client.setNextBlockTimestamp({ timestamp }),
    /** Mine a block of this time: what is simulated then, is simulated at it. */
    mineAt: async (timestamp: bigint): Promise<void> => {
      await client.setNextBlockTimestamp({ timestamp })
      await client.mine({ blocks: 1 })
    },
    stranger: (): Address => privateKeyToAddress(generatePrivateKey()),
  }
}
