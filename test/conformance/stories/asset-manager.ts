import { type Address, parseAbi, parseEventLogs, stringToHex } from 'viem'
import { placeOf, query } from '../people.ts'
import { createKmsWallet, type Wallet } from '../wallet.ts'
import type { Stage, Story } from '../workflow-run.ts'
import { itemsOf } from '../world.ts'

const CHANNELS = parseAbi([
  'function channelPolicy(bytes32 channel) view returns (bool enabled, uint256 maxAssetsPerEpoch, uint16 maxPriceBps, uint16 maxPositionBps)',
])
const LAUNCHED = parseAbi([
  'event FundLaunched(address indexed fund, address indexed manager, address indexed navOracle)',
])

const FUND = [
  'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet',
  'role.asset_manager.distressedRecoveryAcquisitionV3Bid',
  'role.asset_manager.distressedRecoveryFundV3SelfLaunch',
] as const
const VAULT = [
  'role.asset_manager.vaultDeploy',
  'role.asset_manager.vaultShareMobilityManagerAction',
] as const

/** The manager widens what its fund may buy, bids for a lot, launches another fund, deploys a vault and pauses it. */
export const ASSET_MANAGER: Story = {
  types: [...FUND, ...VAULT],
  play: async (stage) => {
    const wallet = createKmsWallet(stage.world.info, 'asset-manager')
    await manageFund(stage, wallet)
    await manageVault(stage, wallet)
  },
}

async function manageFund({ world, carry }: Stage, wallet: Wallet): Promise<void> {
  const { chain } = world
  const [policySet, bid, selfLaunch] = FUND
  const funds = itemsOf(await world.ask('GET /v1/funds', world.secret))
  const own = funds.find(({ managerAddress }) => sameAddress(managerAddress, wallet.address))
  if (own === undefined) throw new Error('no fund has the asset manager')
  const fundAddress: Address = `0x${String(own.address).slice(2)}`
  const budget = async () => {
    const [, maxAssetsPerEpoch] = await chain.client.readContract({
      address: fundAddress,
      abi: CHANNELS,
      functionName: 'channelPolicy',
      args: [stringToHex('acquisition', { size: 32 })],
    })
    return maxAssetsPerEpoch
  }
  const wider = (await budget()) + 1_000_000n
  await carry(policySet, {
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
  const [lot] = (
    await query(
      world,
      'acquisitions',
      'acquisitions(status: open) { items { acquisitionAddress lotId reserveAssets bestBidAssets closesAt } }',
    )
  ).toSorted((a, b) => String(b.closesAt).localeCompare(String(a.closesAt)))
  if (lot === undefined) throw new Error('no acquisition lot is open')
  const reserve = BigInt(String(lot.reserveAssets))
  const best = BigInt(String(lot.bestBidAssets ?? 0))
  const bidAssets = (reserve > best ? reserve : best) + 1_000_000n
  await carry(bid, {
    wallet,
    input: {
      fundAddress,
      acquisitionAddress: lot.acquisitionAddress,
      lotId: lot.lotId,
      bidAssets: String(bidAssets),
    },
    read: () => chain.number(fundAddress, 'lastReservationId()'),
    moved: (before, after) => after === before + 1n,
  })
  const receipts = await carry(selfLaunch, {
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
    read: () => chain.client.getBlockNumber(),
    moved: (before, after) => after > before,
  })
  const [launched] = parseEventLogs({ abi: LAUNCHED, logs: receipts.flatMap(({ logs }) => logs) })
  if (!sameAddress(launched?.args.manager, wallet.address))
    throw new Error('no fund of the manager was launched')
}

async function manageVault({ world, carry }: Stage, wallet: Wallet): Promise<void> {
  const { chain } = world
  const [deploy, act] = VAULT
  const { address } = wallet
  const [created] = await carry(deploy, {
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
    read: () => chain.client.getTransactionCount({ address }).then(BigInt),
    moved: (before, after) => after > before,
  })
  const vaultAddress = created?.contractAddress
  if (!vaultAddress) throw new Error('the deployment created no contract')
  const { timestamp } = await chain.client.getBlock()
  await carry(act, {
    wallet,
    input: {
      vaultAddress,
      action: 'pause',
      restoreAfterTimestamp: String(timestamp + 3_600n),
      reason: 'Witnessed',
    },
    read: () => chain.number(vaultAddress, 'restoreAfter()'),
    moved: (before, after) => before === 0n && after === timestamp + 3_600n,
  })
}

const sameAddress = (one: unknown, other: string) => String(one).toLowerCase() === other.toLowerCase()
