import { type Address, encodeDeployData, encodeFunctionData, type Hex, parseUnits } from 'viem'
import { assetAbi, lendingMarketAbi, lendingVaultAbi, partnerChannelAbi } from '../contracts/abis.ts'
import { type DeployedContract, grantRole, type Planner } from './planner.ts'
import { EXIT_TERM_KIND } from './vault-plan.ts'

/** The vaults that are offered to others through a channel, and the channels. */
export type PartnerContracts = {
  /** Of the owner whom a person works by hand. */
  readonly ownedVault: DeployedContract
  readonly partnerChannel: DeployedContract
  /** The weather's: nothing of ours acts on them. */
  readonly weatherVault: DeployedContract
  readonly weatherChannel: DeployedContract
}

/** Who is who at the two vaults. */
export type PartnerRoles = {
  /** Deposits first, and lists the vaults at the markets. */
  readonly admin: Address
  readonly allocator: Address
  readonly assetManager: Address
  readonly vaultOwner: Address
  readonly curator: Address
  readonly partner: Address
  /** Owns, curates, manages and allocates the weather's. */
  readonly weatherOwner: Address
  readonly weatherPartner: Address
}

type PartnerParts = Readonly<Record<'sUSD' | 'registry' | 'btcMarket' | 'ethMarket', DeployedContract>>

/** One vault with its channel, and who is who at both. */
type PartnerTerms = {
  readonly name: string
  readonly symbol: string
  readonly depositAssets: bigint
  /** List the vault, so that it may lend there once its owner attaches them. */
  readonly markets: readonly DeployedContract[]
  readonly owner: Address
  readonly curator: Address
  readonly manager: Address
  readonly allocator: Address
  readonly reseller: Address
}

/** Where a vault's owner lends how much of the first deposit, and who gets what the vault charges. */
type OwnerTerms = {
  readonly curator: Address
  readonly feeRecipient: Address
  readonly market: Address
  readonly assets: bigint
}

const usd = (whole: string) => parseUnits(whole, 6)

/** Who leaves is paid at once, from a tenth of the assets. */
const LIQUIDITY_BUFFER_BPS = 1_000
const EXIT_TERMS = {
  kind: EXIT_TERM_KIND.instant,
  noticeSeconds: 0n,
  intervalSeconds: 0n,
  maturityTimestamp: 0n,
}
/** Of one deposit; the first one, of millions, is made before there is a limit. */
const DEPOSIT_ASSETS_MIN = usd('1')
const DEPOSIT_ASSETS_MAX = usd('1000000')
/** Of a vault in one market at most, and in assets: room for what holders bring beside the first deposit. */
const RELATIVE_CAP_BPS = 8_000
const ABSOLUTE_CAP_ASSETS = usd('10000000')
/** 1 % a year and a tenth of what a share gains; of what borrowers pay, 5 % to the curator. */
const MANAGEMENT_FEE_BPS = 100
const PERFORMANCE_FEE_BPS = 1_000
const BORROWER_MANAGER_FEE_BPS = 500
/** A channel's reseller takes 1 % a year, and 5 % of what its vault shares gain. */
const RESELLER_FEE_BPS = 100
const BORROWER_FEE_BPS = 500
const CHANNEL_CAP_ASSETS = usd('10000000')

/** Lay out the vault that is worked by hand and the one of the weather, each with a first deposit and a channel. */
export function planPartners(planner: Planner, roles: PartnerRoles, parts: PartnerParts): PartnerContracts {
  const { admin, allocator, assetManager, vaultOwner, curator, partner, weatherOwner, weatherPartner } = roles
  const { btcMarket, ethMarket } = parts
  const owned = planPartner(planner, admin, parts, {
    name: 'Sandbox Partner',
    symbol: 'svPartner',
    depositAssets: usd('2500000'),
    // The second one is for its owner to attach: a market has to list a vault before.
    markets: [btcMarket, ethMarket],
    owner: vaultOwner,
    curator,
    manager: assetManager,
    allocator,
    reseller: partner,
  })
  const weather = planPartner(planner, admin, parts, {
    name: 'Sandbox Weather',
    symbol: 'svWeather',
    depositAssets: usd('1000000'),
    markets: [btcMarket],
    owner: weatherOwner,
    curator: weatherOwner,
    manager: weatherOwner,
    allocator: weatherOwner,
    reseller: weatherPartner,
  })
  return {
    ownedVault: owned.vault,
    partnerChannel: owned.channel,
    weatherVault: weather.vault,
    weatherChannel: weather.channel,
  }
}

/** Create a vault with a deposit in it, list it at its markets, and create a channel of it. */
function planPartner(
  planner: Planner,
  admin: Address,
  { sUSD, registry }: PartnerParts,
  terms: PartnerTerms,
) {
  const { name, symbol, depositAssets, markets, owner, curator, manager, allocator, reseller } = terms
  const directory = registry.address
  const vault = planner.create('LendingVault', (bytecode) => {
    const names = { name: `${name} Vault`, symbol, asset: sUSD.address }
    const exit = { liquidityBufferBps: LIQUIDITY_BUFFER_BPS, exitTerms: EXIT_TERMS }
    const setup = { ...names, ...exit, directory, owner, allocator, manager }
    return encodeDeployData({ abi: lendingVaultAbi, bytecode, args: [setup] })
  })
  const mint = { abi: assetAbi, functionName: 'mint', args: [admin, depositAssets] } as const
  const approve = { abi: assetAbi, functionName: 'approve', args: [vault.address, depositAssets] } as const
  const depositAll = { abi: lendingVaultAbi, functionName: 'deposit', args: [depositAssets, admin] } as const
  planner.call('mint a deposit', sUSD, encodeFunctionData(mint))
  planner.call('approve it', sUSD, encodeFunctionData(approve))
  planner.call('deposit it', vault, encodeFunctionData(depositAll))
  for (const market of markets) {
    const list = { abi: lendingMarketAbi, functionName: 'addVault', args: [vault.address] } as const
    planner.call('list the vault', market, encodeFunctionData(list))
  }
  const channel = planner.create('PartnerChannel', (bytecode) => {
    const names = { name: `${name} Channel`, symbol: `${symbol}C`, shareClass: 'retail' }
    const fees = { resellerFeeBps: RESELLER_FEE_BPS, borrowerFeeBps: BORROWER_FEE_BPS }
    const place = { vault: vault.address, directory, reseller, curator, capAssets: CHANNEL_CAP_ASSETS }
    return encodeDeployData({ abi: partnerChannelAbi, bytecode, args: [{ ...place, ...names, ...fees }] })
  })
  return { vault, channel }
}

/**
 * Encode the calls by which the owner of one of these vaults sets it up, in their order: who curates, which market it lends to
 * and sends deposits on to, what is charged, and how much a deposit may be. Pure.
 */
export function ownerSetup({ curator, feeRecipient, market, assets }: OwnerTerms): readonly Hex[] {
  const vault = { abi: lendingVaultAbi } as const
  const caps = { relativeCapBps: RELATIVE_CAP_BPS, absoluteCapAssets: ABSOLUTE_CAP_ASSETS }
  const listing = { approved: true, allocationEnabled: true, ...caps }
  const fees = [MANAGEMENT_FEE_BPS, PERFORMANCE_FEE_BPS, feeRecipient] as const
  const limits = [DEPOSIT_ASSETS_MIN, DEPOSIT_ASSETS_MAX] as const
  const settings = [LIQUIDITY_BUFFER_BPS, EXIT_TERMS, ...limits] as const
  return [
    grantRole('CURATOR_ROLE', curator),
    encodeFunctionData({ ...vault, functionName: 'setListing', args: [market, listing] }),
    encodeFunctionData({ ...vault, functionName: 'allocate', args: [market, assets] }),
    encodeFunctionData({ ...vault, functionName: 'setRouting', args: [[market]] }),
    encodeFunctionData({ ...vault, functionName: 'setFeeConfig', args: fees }),
    encodeFunctionData({
      ...vault,
      functionName: 'setCuratorFee',
      args: [BORROWER_MANAGER_FEE_BPS, curator],
    }),
    encodeFunctionData({ ...vault, functionName: 'setSettings', args: settings }),
  ]
}
