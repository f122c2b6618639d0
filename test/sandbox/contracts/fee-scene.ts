import { type Address, getContract } from 'viem'
import { partnerChannelAbi } from '../../../sandbox/contracts/abis.ts'
import { loadArtifacts } from '../../../sandbox/contracts/artifacts.ts'
import { by, eth, never, usd, type World } from './world.ts'

export const DAY_S = 86_400n
export const YEAR_S = 365n * DAY_S
/** What a market may be lent without end. */
const UNBOUNDED = {
  approved: true,
  allocationEnabled: true,
  relativeCapBps: 10_000,
  absoluteCapAssets: 2n ** 128n,
}

export type FeeScene = Awaited<ReturnType<typeof createFeeScene>>

/**
 * Build a vault without fees, listed at the sETH market, whose gains and losses come to the unit and at their second; blocks
 * are a second apart. Its owner, allocator and manager is the deployer; `holder` has approved it.
 */
export async function createFeeScene(world: World) {
  const { client, sUSD, market, admin } = world
  await client.setBlockTimestampInterval({ interval: 1 })
  const vault = await world.newVault()
  await market.write.addVault([vault.address], by(admin))
  await vault.write.setListing([market.address, UNBOUNDED], by(admin))
  // To lose, a vault has to send.
  await client.impersonateAccount({ address: vault.address })
  await client.setBalance({ address: vault.address, value: eth('1') })
  const holder = await world.person(usd('10000000'), 0n)
  await sUSD.write.approve([vault.address, never], by(holder))
  const now = async () => (await client.getBlock()).timestamp
  return {
    vault,
    holder,
    now,
    /** Raise the vault's idle assets. */
    gain: (assets: bigint) => sUSD.write.mint([vault.address, assets], by(admin)),
    /** Take assets out of the vault, as a thief would. */
    lose: (assets: bigint) => sUSD.write.transfer([admin, assets], by(vault.address)),
    /** Let the next block be this many seconds after the last one. */
    later: async (seconds: bigint) => client.setNextBlockTimestamp({ timestamp: (await now()) + seconds }),
    /** Deploy a channel of the vault that charges nothing, unless said; its cap is ten million sUSD. */
    newChannel: (terms: Partial<ChannelTerms> = {}) => deployChannel(world, vault.address, terms),
  }
}

/** What a test says of a channel. */
type ChannelTerms = {
  readonly reseller: Address
  readonly curator: Address
  readonly resellerFeeBps: number
  readonly borrowerFeeBps: number
  readonly capAssets: bigint
}

async function deployChannel(world: World, vault: Address, terms: Partial<ChannelTerms>) {
  const { client, admin, registry } = world
  const setup = {
    vault,
    name: 'A Channel',
    symbol: 'svC',
    directory: registry.address,
    shareClass: 'retail',
    reseller: admin,
    curator: admin,
    resellerFeeBps: 0,
    borrowerFeeBps: 0,
    capAssets: usd('10000000'),
    ...terms,
  }
  const { bytecode } = loadArtifacts().PartnerChannel
  const hash = await client.deployContract({
    ...by(admin),
    abi: partnerChannelAbi,
    bytecode,
    args: [setup],
  })
  const { contractAddress } = await client.getTransactionReceipt({ hash })
  if (typeof contractAddress !== 'string') throw new TypeError('The deployment created no contract.')
  return getContract({ address: contractAddress, abi: partnerChannelAbi, client })
}
