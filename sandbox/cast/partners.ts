import { type Address, encodeFunctionData, type Hex, parseUnits } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { Call } from '../chain/transactions.ts'
import { lendingVaultAbi } from '../contracts/abis.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { ownerSetup } from '../deploy/partner-plan.ts'
import type { SandboxKeys } from './keys.ts'
import { approve, mint } from './token-calls.ts'

const usd = (whole: string) => parseUnits(whole, 6)

/** What an investor puts into a vault itself at the start, and through its channel. */
const DIRECT_ASSETS = usd('50000')
const CHANNEL_ASSETS = usd('25000')
/** What each investor of the weather has, for years of weather. */
const INVESTOR_ASSETS = usd('1000000000')

/**
 * Let both owners set up their vaults, give sUSD to who pays with it, and let vaults and channels take it: of a role's just what
 * it deposits at the start. Pure.
 * @param purseAssets what a role starts with, in base units of sUSD.
 */
export function partnerCalls(
  { contracts }: Deployment,
  keys: SandboxKeys,
  purseAssets: bigint,
): readonly Call[] {
  const { sUSD, btcMarket, ownedVault, partnerChannel, weatherVault, weatherChannel } = contracts
  const { 'vault-owner': owner, partner, curator, investor } = keys.roles
  const ownedSetup = ownerSetup({
    curator: privateKeyToAddress(curator.privateKey),
    feeRecipient: privateKeyToAddress(owner.privateKey),
    market: btcMarket.address,
    assets: usd('1500000'),
  })
  const weatherOwner = privateKeyToAddress(keys.weatherOwner)
  const weatherSetup = ownerSetup({
    curator: weatherOwner,
    feeRecipient: weatherOwner,
    market: btcMarket.address,
    assets: usd('500000'),
  })
  return [
    ...ownedSetup.map((data) => ({ from: owner.privateKey, to: ownedVault.address, data })),
    ...[...weatherSetup, ...keys.channelInvestors.map(trust)].map((data) => ({
      from: keys.weatherOwner,
      to: weatherVault.address,
      data,
    })),
    ...[owner, partner, investor].map(({ privateKey }) => mint(keys, sUSD.address, privateKey, purseAssets)),
    approve(investor.privateKey, sUSD.address, ownedVault.address, DIRECT_ASSETS),
    approve(investor.privateKey, sUSD.address, partnerChannel.address, CHANNEL_ASSETS),
    ...keys.channelInvestors.flatMap((key) => [
      mint(keys, sUSD.address, key, INVESTOR_ASSETS),
      ...[weatherVault, weatherChannel, partnerChannel].map(({ address }) =>
        approve(key, sUSD.address, address),
      ),
    ]),
  ]
}

/** Name an investor as one whom shares may go to, should its vault's manager ever say that not everybody is. */
const trust = (investor: Hex): Hex =>
  encodeFunctionData({
    abi: lendingVaultAbi,
    functionName: 'setTrustedRecipient',
    args: [privateKeyToAddress(investor), true],
  })

/** Let the investors deposit what {@link partnerCalls} gave them, in vaults and through channels. Pure. */
export function firstDeposits({ contracts }: Deployment, keys: SandboxKeys): readonly Call[] {
  const { ownedVault, partnerChannel, weatherVault, weatherChannel } = contracts
  const { privateKey: investor } = keys.roles.investor
  return [
    deposit(investor, ownedVault.address, DIRECT_ASSETS),
    deposit(investor, partnerChannel.address, CHANNEL_ASSETS),
    ...keys.channelInvestors.flatMap((key) => [
      deposit(key, weatherVault.address, DIRECT_ASSETS),
      deposit(key, weatherChannel.address, CHANNEL_ASSETS),
    ]),
  ]
}

/** A channel is a vault of shares, so a deposit is the same call at either. */
const deposit = (from: Hex, at: Address, assets: bigint): Call => ({
  from,
  to: at,
  data: encodeFunctionData({
    abi: lendingVaultAbi,
    functionName: 'deposit',
    args: [assets, privateKeyToAddress(from)],
  }),
})
