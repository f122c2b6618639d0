import {
  type Address,
  createPublicClient,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  type PublicClient,
  stringToHex,
} from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { z } from 'zod'
import type { marketListingInput } from '../../src/service/contract/channel-inputs.ts'
import type { SandboxKeys } from '../cast/keys.ts'
import { TO_CHAIN } from '../chain/to-chain.ts'
import type { Call } from '../chain/transactions.ts'
import { lendingMarketAbi, lendingVaultAbi, partnerChannelAbi } from '../contracts/abis.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { lower } from '../indexer/logs.ts'
import type { ServiceRecord } from '../service/records.ts'
import { INVESTORS, type PartnerAct, partnerActs } from './partner-acts.ts'
import type { SideStory } from './weather.ts'

/** Who acts: none of them is a role of a keeper, whose nonces are its own. */
type Keys = Pick<SandboxKeys, 'weatherOwner' | 'weatherPartner' | 'channelInvestors'>

/** What calls are worked out from: the chain, and who is there. */
type Scene = {
  readonly reader: PublicClient
  readonly contracts: Deployment['contracts']
  readonly keys: Keys
  /** Saves what lives at the service. */
  readonly save: (record: ServiceRecord) => void
}

const BPS = 10_000n
const ALLOCATOR_ROLE = keccak256(stringToHex('ALLOCATOR_ROLE'))
/** Requests that are paid at once at most: there are never more than a few. */
const PAID_MAX = 8n
/** How often the vault's idle assets are looked at. */
const REFILL_TICKS = 5

/**
 * Create the story of the channels: investors deposit and redeem through them, queue shares of the weather's vault and are
 * paid, or send some to each other, its owner changes fees, its cap and who allocates, its curator keeps one of them out and hides its market for a while, and its partner claims what
 * it earned. What to do follows from the seed, the tick and the
 * chain alone, so that a restart goes on.
 */
export function createPartnerStory(
  rpcUrl: string,
  { contracts }: Deployment,
  keys: Keys,
  seed: number,
  save: Scene['save'],
): SideStory {
  const reader = createPublicClient({
    cacheTime: 0,
    transport: http(rpcUrl, { ...TO_CHAIN, batch: true }),
  })
  const scene = { reader, contracts, keys, save }
  return async (nowS, tick) => {
    const acts = partnerActs(seed, tick).map((act) => callsOf(scene, act, nowS))
    const refills = tick % REFILL_TICKS === 0 ? [refill(scene)] : []
    return (await Promise.all([...acts, ...refills])).flat()
  }
}

function callsOf(scene: Scene, act: PartnerAct, nowS: bigint): Promise<readonly Call[]> {
  const { contracts, keys } = scene
  const { weatherVault } = contracts
  const ofVault = (from: Hex, data: Hex) => Promise.resolve([{ from, to: weatherVault.address, data }])
  switch (act.act) {
    case 'deposit':
      return depositInto(scene, act.investor, contracts[act.channel].address, act.assets)
    case 'lend':
      return depositInto(scene, act.investor, weatherVault.address, act.assets)
    case 'redeem':
      return redeemFrom(scene, act.investor, contracts[act.channel].address, act.sharesBps)
    case 'queue':
      return queue(scene, act.investor, act.sharesBps)
    case 'pay':
      return pay(scene, act.investor)
    case 'send':
      return sendShares(scene, act.investor, act.sharesBps)
    case 'cap':
      return setCap(scene, act.absoluteCapAssets)
    case 'appoint': {
      const args = [ALLOCATOR_ROLE, privateKeyToAddress(keys.weatherPartner)] as const
      const functionName = act.appointed ? 'grantRole' : 'revokeRole'
      return ofVault(keys.weatherOwner, encodeFunctionData({ abi: lendingVaultAbi, functionName, args }))
    }
    case 'charge': {
      const recipient = privateKeyToAddress(keys.weatherOwner)
      const args = [act.managementFeeBps, act.performanceFeeBps, recipient] as const
      return ofVault(
        keys.weatherOwner,
        encodeFunctionData({ abi: lendingVaultAbi, functionName: 'setFeeConfig', args }),
      )
    }
    case 'charge borrowers': {
      const args = [act.borrowerManagerFeeBps, privateKeyToAddress(keys.weatherOwner)] as const
      return ofVault(
        keys.weatherOwner,
        encodeFunctionData({ abi: lendingVaultAbi, functionName: 'setCuratorFee', args }),
      )
    }
    case 'block':
      return Promise.resolve(keepOut(scene, act.investor, act.blocked))
    case 'list':
      list(scene, act.listed, nowS)
      return Promise.resolve([])
    case 'claim shares':
      return claimShares(scene)
    case 'claim assets':
      return claimAssets(scene)
  }
}

/** The key of an investor, and where it is. */
function investorOf({ keys }: Scene, investor: number) {
  const key = keys.channelInvestors[investor]
  return key === undefined ? undefined : { key, address: privateKeyToAddress(key) }
}

/** Deposit into a vault or a channel, which are one kind of contract, as much as it takes now. */
async function depositInto(
  scene: Scene,
  investor: number,
  at: Address,
  wanted: bigint,
): Promise<readonly Call[]> {
  const who = investorOf(scene, investor)
  if (who === undefined) return []
  const of = { address: at, abi: lendingVaultAbi } as const
  const most = await scene.reader.readContract({ ...of, functionName: 'maxDeposit', args: [who.address] })
  const assets = wanted < most ? wanted : most
  if (assets === 0n) return []
  const data = encodeFunctionData({ ...of, functionName: 'deposit', args: [assets, who.address] })
  return [{ from: who.key, to: at, data }]
}

/** Redeem a part of the shares of a channel, as far as its vault can pay. */
async function redeemFrom(
  scene: Scene,
  investor: number,
  at: Address,
  sharesBps: bigint,
): Promise<readonly Call[]> {
  const who = investorOf(scene, investor)
  if (who === undefined) return []
  const of = { address: at, abi: partnerChannelAbi } as const
  const [held, most] = await Promise.all([
    scene.reader.readContract({ ...of, functionName: 'balanceOf', args: [who.address] }),
    scene.reader.readContract({ ...of, functionName: 'maxRedeem', args: [who.address] }),
  ])
  const wanted = (held * sharesBps) / BPS
  const shares = wanted < most ? wanted : most
  if (shares === 0n) return []
  const data = encodeFunctionData({ ...of, functionName: 'redeem', args: [shares, who.address, who.address] })
  return [{ from: who.key, to: at, data }]
}

async function queue(scene: Scene, investor: number, sharesBps: bigint): Promise<readonly Call[]> {
  const who = investorOf(scene, investor)
  if (who === undefined) return []
  const of = { address: scene.contracts.weatherVault.address, abi: lendingVaultAbi } as const
  const held = await scene.reader.readContract({ ...of, functionName: 'balanceOf', args: [who.address] })
  const shares = (held * sharesBps) / BPS
  if (shares === 0n) return []
  const data = encodeFunctionData({ ...of, functionName: 'requestWithdrawal', args: [shares, who.address] })
  return [{ from: who.key, to: of.address, data }]
}

/** Send a part of an investor's shares of the weather's vault to the next investor. */
async function sendShares(scene: Scene, investor: number, sharesBps: bigint): Promise<readonly Call[]> {
  const [who, next] = [investorOf(scene, investor), investorOf(scene, (investor + 1) % INVESTORS)]
  if (who === undefined || next === undefined) return []
  const of = { address: scene.contracts.weatherVault.address, abi: lendingVaultAbi } as const
  const held = await scene.reader.readContract({ ...of, functionName: 'balanceOf', args: [who.address] })
  const shares = (held * sharesBps) / BPS
  if (shares === 0n) return []
  const data = encodeFunctionData({ ...of, functionName: 'transfer', args: [next.address, shares] })
  return [{ from: who.key, to: of.address, data }]
}

/** Change how much the weather's vault may lend to its market, and nothing else of its listing. */
async function setCap(
  { reader, contracts, keys }: Scene,
  absoluteCapAssets: bigint,
): Promise<readonly Call[]> {
  const of = { address: contracts.weatherVault.address, abi: lendingVaultAbi } as const
  const market = contracts.btcMarket.address
  const listing = await reader.readContract({ ...of, functionName: 'listing', args: [market] })
  const args = [market, { ...listing, absoluteCapAssets }] as const
  const data = encodeFunctionData({ ...of, functionName: 'setListing', args })
  return [{ from: keys.weatherOwner, to: of.address, data }]
}

async function pay(scene: Scene, investor: number): Promise<readonly Call[]> {
  const who = investorOf(scene, investor)
  const of = { address: scene.contracts.weatherVault.address, abi: lendingVaultAbi } as const
  const [head, end] = await Promise.all([
    scene.reader.readContract({ ...of, functionName: 'queueHead' }),
    scene.reader.readContract({ ...of, functionName: 'queueEnd' }),
  ])
  if (who === undefined || head === end) return []
  const data = encodeFunctionData({ ...of, functionName: 'processQueue', args: [PAID_MAX] })
  return [{ from: who.key, to: of.address, data }]
}

/** Keep an investor out of the weather's channel, or let it in again; its curator is the vault's owner. */
function keepOut(scene: Scene, investor: number, blocked: boolean): readonly Call[] {
  const who = investorOf(scene, investor)
  if (who === undefined) return []
  const args = [who.address, blocked] as const
  const data = encodeFunctionData({ abi: partnerChannelAbi, functionName: 'setBlocked', args })
  return [{ from: scene.keys.weatherOwner, to: scene.contracts.weatherChannel.address, data }]
}

/** Show the weather's market to its vault's public, or not, as its curator. */
function list({ contracts, keys, save }: Scene, listed: boolean, nowS: bigint): void {
  const [vaultAddress, marketAddress] = [
    lower(contracts.weatherVault.address),
    lower(contracts.btcMarket.address),
  ]
  save({
    kind: 'market_listing',
    key: `${vaultAddress}:${marketAddress}`,
    status: 'saved',
    body: { vaultAddress, marketAddress, listed } satisfies z.input<typeof marketListingInput>,
    wallet: lower(privateKeyToAddress(keys.weatherOwner)),
    atMs: Number(nowS) * 1_000,
  })
}

async function claimShares({ reader, contracts, keys }: Scene): Promise<readonly Call[]> {
  const of = { address: contracts.weatherChannel.address, abi: partnerChannelAbi } as const
  const shares = await reader.readContract({ ...of, functionName: 'feeShares' })
  if (shares === 0n) return []
  const args = [shares, privateKeyToAddress(keys.weatherPartner)] as const
  const data = encodeFunctionData({ ...of, functionName: 'claimFeeShares', args })
  return [{ from: keys.weatherPartner, to: of.address, data }]
}

/** Take the part of borrowers' interest, which its vault pays at once or not at all. */
async function claimAssets({ reader, contracts, keys }: Scene): Promise<readonly Call[]> {
  const of = { address: contracts.weatherChannel.address, abi: partnerChannelAbi } as const
  const [assets, most] = await Promise.all([
    reader.readContract({ ...of, functionName: 'borrowerFeeAssets' }),
    reader.readContract({
      address: contracts.weatherVault.address,
      abi: lendingVaultAbi,
      functionName: 'maxWithdraw',
      args: [of.address],
    }),
  ])
  if (assets === 0n || assets > most) return []
  const args = [privateKeyToAddress(keys.weatherPartner), assets] as const
  const data = encodeFunctionData({ ...of, functionName: 'claimBorrowerFee', args })
  return [{ from: keys.weatherPartner, to: of.address, data }]
}

/** Call cash back from the market once half of the vault's buffer is gone: what leaves is paid from it. */
async function refill({ reader, contracts, keys }: Scene): Promise<readonly Call[]> {
  const of = { address: contracts.weatherVault.address, abi: lendingVaultAbi } as const
  const market = contracts.btcMarket.address
  const [idle, queued, total, bufferBps, [cash]] = await Promise.all([
    reader.readContract({ ...of, functionName: 'idleAssets' }),
    reader.readContract({ ...of, functionName: 'queuedAssets' }),
    reader.readContract({ ...of, functionName: 'totalAssets' }),
    reader.readContract({ ...of, functionName: 'liquidityBufferBps' }),
    reader.readContract({
      address: market,
      abi: lendingMarketAbi,
      functionName: 'partition',
      args: [of.address],
    }),
  ])
  const buffer = (total * BigInt(bufferBps)) / BPS
  const missing = queued + buffer - idle
  const assets = missing < cash ? missing : cash
  if (missing <= buffer / 2n || assets === 0n) return []
  const data = encodeFunctionData({ ...of, functionName: 'deallocate', args: [market, assets] })
  return [{ from: keys.weatherOwner, to: of.address, data }]
}
