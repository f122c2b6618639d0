import { type Address, getContractAddress, parseAbi, parseAbiItem, size, stringToHex } from 'viem'
import { eventually } from '../eventually.ts'
import { placeOf } from '../people.ts'
import { createKmsWallet, type Wallet } from '../wallet.ts'
import type { Stage, Story } from '../workflow-run.ts'
import { deployChannel } from './channel.ts'
import { openAcquisition } from './offers.ts'

const ROLE = 'role.asset_manager'
const DEPLOY = `${ROLE}.vaultDeploy`
const MOBILITY = `${ROLE}.vaultShareMobilityManagerAction`
const LAUNCH = `${ROLE}.distressedRecoveryFundV3SelfLaunch`
const POLICY = `${ROLE}.distressedRecoveryFundV3ChannelPolicySet`
const BID = `${ROLE}.distressedRecoveryAcquisitionV3Bid`
const CHANNEL = 'role.vault_manager.partnerChannelDeploy'

const CHANNELS = parseAbi([
  'function channelPolicy(bytes32 channel) view returns (bool enabled, uint256 maxAssetsPerEpoch, uint16 maxPriceBps, uint16 maxPositionBps)',
])
const LAUNCHED = parseAbiItem(
  'event FundLaunched(address indexed fund, address indexed manager, address indexed navOracle)',
)
/** One unit of the quote asset, which has six decimals. */
const UNIT = 1_000_000n

/** The manager deploys a vault and pauses its shares, opens a channel, launches a fund, and lets the fund it has buy a position. */
export const ASSET_MANAGER: Story = {
  types: [DEPLOY, MOBILITY, CHANNEL, LAUNCH, POLICY, BID],
  play: async (stage) => {
    const wallet = createKmsWallet(stage.world.info, 'asset-manager')
    await pauseShares(stage, wallet, await deployVault(stage, wallet))
    await deployChannel(stage, CHANNEL, wallet, 'Managed')
    await launchFund(stage, wallet)
    await widenPolicy(stage, wallet)
    await bidForLot(stage, wallet)
  },
}

async function deployVault({ world, carry }: Stage, wallet: Wallet): Promise<Address> {
  const { client } = world.chain
  const { address } = wallet
  const nonce = BigInt(await client.getTransactionCount({ address }))
  const vault = getContractAddress({ from: address, nonce })
  await carry(DEPLOY, {
    wallet,
    input: {
      name: 'Witnessed Vault',
      symbol: 'WV',
      baseAssetAddress: placeOf(world, 'sUSD'),
      ownerAddress: address,
      allocatorAddress: address,
      managerAddress: address,
      liquidityBufferBps: 500,
      exitTermKind: 'instant',
      noticeSeconds: '0',
      intervalSeconds: '0',
      maturityTimestamp: '0',
    },
    read: async () => BigInt(size((await client.getCode({ address: vault })) ?? '0x')),
    moved: (before, after) => before === 0n && after > 0n,
  })
  return vault
}

async function pauseShares({ world, carry }: Stage, wallet: Wallet, vaultAddress: Address): Promise<void> {
  const { timestamp } = await world.chain.client.getBlock()
  const restoreAfter = timestamp + 3_600n
  await carry(MOBILITY, {
    wallet,
    input: {
      vaultAddress,
      action: 'pause',
      restoreAfterTimestamp: String(restoreAfter),
      reason: 'Witnessed',
    },
    read: () => world.chain.number(vaultAddress, 'restoreAfter()'),
    moved: (before, after) => before === 0n && after === restoreAfter,
  })
}

async function launchFund({ world, carry }: Stage, wallet: Wallet): Promise<void> {
  const launches = {
    address: placeOf(world, 'fundFactory'),
    event: LAUNCHED,
    args: { manager: wallet.address },
    fromBlock: 0n,
  } as const
  await carry(LAUNCH, {
    wallet,
    input: {
      name: 'Witnessed Recovery',
      symbol: 'WRF',
      quoteAssetAddress: placeOf(world, 'sUSD'),
      epochDurationSeconds: '3600',
      minSubscriptionAssets: '1000000',
      maxSubscriptionAssets: '1000000000000',
      carryRateBps: 1_000,
      performanceFeeBps: 500,
      preferredReturnBps: 800,
    },
    read: async () => BigInt((await world.chain.client.getLogs(launches)).length),
    moved: (before, after) => after === before + 1n,
  })
}

async function widenPolicy({ world, carry }: Stage, wallet: Wallet): Promise<void> {
  const fundAddress = placeOf(world, 'recoveryFund')
  const budget = async () => {
    const [, maxAssetsPerEpoch] = await world.chain.client.readContract({
      address: fundAddress,
      abi: CHANNELS,
      functionName: 'channelPolicy',
      args: [stringToHex('acquisition', { size: 32 })],
    })
    return maxAssetsPerEpoch
  }
  const wider = (await budget()) + UNIT
  await carry(POLICY, {
    wallet,
    input: {
      fundAddress,
      channel: 'acquisition',
      enabled: true,
      maxAssetsPerEpoch: String(wider),
      maxPriceBps: 10_000,
      maxPositionBps: 10_000,
    },
    read: budget,
    moved: (_, after) => after === wider,
  })
}

/** A lot of our own stays open until the fund's money is idle, which it is once the first epoch has closed. */
async function bidForLot({ world, carry }: Stage, wallet: Wallet): Promise<void> {
  const fundAddress = placeOf(world, 'recoveryFund')
  const { venue, id, reserveAssets } = await openAcquisition(world)
  // The rival fund stays below this, so that no bid of its comes between.
  const bidAssets = 2n * reserveAssets
  const affordable = async () =>
    (await world.chain.number(fundAddress, 'idleAssets()')) >= bidAssets ? true : undefined
  await eventually(affordable, 'the fund has no money that is idle', 2)
  await carry(BID, {
    wallet,
    input: {
      fundAddress,
      acquisitionAddress: venue,
      lotId: String(id),
      bidAssets: String(bidAssets),
    },
    read: () => world.chain.number(fundAddress, 'lastReservationId()'),
    moved: (before, after) => after === before + 1n,
  })
}
