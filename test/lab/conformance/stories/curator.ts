import { type Address, parseAbi } from 'viem'
import { putControl } from '../control.ts'
import { placeOf } from '../people.ts'
import { createKmsWallet, createWallet, type Wallet } from '../wallet.ts'
import type { Stage, Story } from '../workflow-run.ts'
import { itemsOf, type World } from '../world.ts'
import { deployChannel } from './channel.ts'

const DEPLOY = 'role.curator.partnerChannelDeploy'
const BLOCK = 'role.curator.partnerChannelBlockedUpdate'
const LISTING = 'role.curator.vaultMarketListingSave'
const SUBMIT = 'role.asset_issuer.assetSubmissionRequestCreate'

const CHANNEL = parseAbi(['function isBlocked(address account) view returns (bool)'])

/** A curator opens a channel for a partner, keeps somebody out of it, hides a market, and submits an asset of an issuer. */
export const CURATOR: Story = {
  types: [DEPLOY, BLOCK, LISTING, SUBMIT],
  play: async (stage) => {
    const wallet = createKmsWallet(stage.world.info, 'curator')
    await block(stage, wallet, await deployChannel(stage, DEPLOY, wallet, 'Curated'))
    await hideMarket(stage, wallet)
    await submitAsset(stage, wallet)
  },
}

async function block({ world, carry }: Stage, wallet: Wallet, channel: Address): Promise<void> {
  const account = createWallet().address
  await carry(BLOCK, {
    wallet,
    input: { channelAddress: channel, accountAddress: account, blocked: true },
    read: async () =>
      BigInt(
        await world.chain.client.readContract({
          address: channel,
          abi: CHANNEL,
          functionName: 'isBlocked',
          args: [account],
        }),
      ),
    moved: (before, after) => before === 0n && after === 1n,
  })
}

async function hideMarket({ world, carry }: Stage, wallet: Wallet): Promise<void> {
  const vaultAddress = placeOf(world, 'ownedVault')
  const marketAddress = placeOf(world, 'btcMarket')
  const shown = async () => {
    const rows = itemsOf(await world.ask(`GET /v1/vaults/${vaultAddress.toLowerCase()}/allocations`, {}))
    const row = rows.find((each) => String(each.marketAddress).toLowerCase() === marketAddress.toLowerCase())
    return BigInt(row?.listed === true)
  }
  await carry(LISTING, {
    wallet,
    input: { vaultAddress, marketAddress, listed: false },
    read: shown,
    moved: (before, after) => before === 1n && after === 0n,
  })
}

/** An asset that is on the chain and that the service does not list: the shares of a vault. It is listed once it was reviewed. */
async function submitAsset({ world, carry }: Stage, wallet: Wallet): Promise<void> {
  const assetAddress = placeOf(world, 'growthVault')
  const listed = async () => {
    const assets = itemsOf(await world.ask('GET /v1/assets', {}))
    return BigInt(assets.some(({ address }) => String(address).toLowerCase() === assetAddress.toLowerCase()))
  }
  const before = await listed()
  await carry(SUBMIT, {
    wallet,
    input: {
      assetAddress,
      name: 'Witnessed Share',
      symbol: 'WSHARE',
      decimals: 12,
      issuerName: 'Witnessed Issuer',
      website: 'https://witness.example',
      topCategory: 'fund share',
    },
    read: async () => {
      await review(world, 'asset_submission', assetAddress.toLowerCase())
      return listed()
    },
    moved: (unsubmitted, after) => before === 0n && unsubmitted === 0n && after === 1n,
  })
}

/** Approve what was submitted, as the service's own people would; what was not is not there to be approved. */
async function review({ info }: World, kind: string, key: string): Promise<void> {
  await putControl(info, 'reviews', { kind, key, status: 'approved' })
}
