import {
  type Address,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  parseUnits,
  stringToHex,
} from 'viem'
import {
  assetAbi,
  eligibilityRegistryAbi,
  fundFactoryAbi,
  fundLensAbi,
  navOracleAbi,
  recoveryFundAbi,
} from '../contracts/abis.ts'
import type { DeployedContract, Planner } from './planner.ts'
import type { TradeContracts } from './trade-plan.ts'

/** The recovery fund and all it is made of. */
export type FundContracts = {
  /** What funds and NAV oracles are clones of. */
  readonly fundImplementation: DeployedContract
  readonly navOracleImplementation: DeployedContract
  readonly fundFactory: DeployedContract
  readonly fundLens: DeployedContract
  readonly recoveryFund: DeployedContract
  readonly fundNavOracle: DeployedContract
  /** Of the Prime vault's shares. */
  readonly primeNavOracle: DeployedContract
  /** Bids for the same lots as the recovery fund. */
  readonly rivalFund: DeployedContract
  readonly rivalNavOracle: DeployedContract
}

type Roles = {
  readonly admin: Address
  readonly navReporter: Address
  readonly assetManager: Address
  readonly rivalManager: Address
}
type FundParts = Readonly<
  Record<'sUSD' | 'registry' | 'btcMarket' | 'ethMarket' | 'primeVault', DeployedContract>
> &
  TradeContracts

const ofFactory = { abi: fundFactoryAbi } as const
const ofFund = { abi: recoveryFundAbi } as const

const usd = (whole: string) => parseUnits(whole, 6)
const word = (name: string): Hex => stringToHex(name, { size: 32 })

/** How long an epoch of the sandbox's fund takes subscriptions. */
export const EPOCH_SECONDS = 60n
/** The first one is shorter, so that the fund soon has money to bid with. */
const FIRST_EPOCH_SECONDS = 5n
const FIRST_SUBSCRIPTION_ASSETS = usd('500000')

const terms = (quoteAsset: Address, name: string, symbol: string) => ({
  name,
  symbol,
  quoteAsset,
  epochDurationSeconds: EPOCH_SECONDS,
  minSubscriptionAssets: usd('1000'),
  maxSubscriptionAssets: usd('1000000'),
  carryRateBps: 2_000,
  performanceFeeBps: 1_000,
  preferredReturnBps: 800,
})

/**
 * Launch a fund that may buy and sell at every venue, its first epoch open and half a million in it, and one like it
 * that somebody else manages; create the NAV oracle of the Prime vault. The deployer governs; it manages until
 * everything is set.
 */
export function planFunds(
  planner: Planner,
  { admin, navReporter, assetManager, rivalManager }: Roles,
  parts: FundParts,
): FundContracts {
  const { sUSD, registry } = parts
  const fundImplementation = planner.create('RecoveryFund', (bytecode) =>
    encodeDeployData({ abi: recoveryFundAbi, bytecode }),
  )
  const navOracleImplementation = planner.create('NavOracle', (bytecode) =>
    encodeDeployData({ abi: navOracleAbi, bytecode }),
  )
  const codes = [fundImplementation.address, navOracleImplementation.address] as const
  const fundFactory = planner.create('FundFactory', (bytecode) =>
    encodeDeployData({
      abi: fundFactoryAbi,
      bytecode,
      args: [admin, ...codes, registry.address, navReporter],
    }),
  )
  const fundLens = planner.create('FundLens', (bytecode) => encodeDeployData({ abi: fundLensAbi, bytecode }))
  // A contract's first creation has the nonce 1.
  const created = (nonce: bigint) => getContractAddress({ from: fundFactory.address, nonce })
  const primeNavOracle = { contractName: 'NavOracle', address: created(1n) } as const
  const recoveryFund = { contractName: 'RecoveryFund', address: created(2n) } as const
  const fundNavOracle = { contractName: 'NavOracle', address: created(3n) } as const
  const rivalFund = { contractName: 'RecoveryFund', address: created(4n) } as const
  const rivalNavOracle = { contractName: 'NavOracle', address: created(5n) } as const

  for (const [kind, places] of Object.entries(placesByKind(parts))) {
    for (const { address } of places) {
      planner.call(
        `list a ${kind}`,
        fundFactory,
        encodeFunctionData({ ...ofFactory, functionName: 'setKind', args: [address, word(kind)] }),
      )
    }
  }
  const launchers = [assetManager, word('selfLaunch'), fundFactory.address, true] as const
  planner.call(
    'let the manager launch funds',
    registry,
    encodeFunctionData({ abi: eligibilityRegistryAbi, functionName: 'setAuthorization', args: launchers }),
  )
  const { address: primeVault } = parts.primeVault
  planner.call(
    "create the vault's NAV oracle",
    fundFactory,
    encodeFunctionData({ ...ofFactory, functionName: 'createOracle', args: [primeVault] }),
  )
  const launches = [
    {
      fund: recoveryFund,
      manager: assetManager,
      terms: terms(sUSD.address, 'Sandbox Recovery Fund I', 'srfONE'),
    },
    { fund: rivalFund, manager: rivalManager, terms: terms(sUSD.address, 'Sandbox Rival Fund', 'srfRIVAL') },
  ]
  for (const { fund, manager, terms } of launches) {
    const launch = { ...ofFactory, functionName: 'launchFor', args: [admin, terms] } as const
    planner.call('launch a fund', fundFactory, encodeFunctionData(launch))
    planSetup(planner, admin, sUSD, fund)
    const handOver = { ...ofFund, functionName: 'setManager', args: [manager] } as const
    planner.call('hand the fund over', fund, encodeFunctionData(handOver))
  }
  return {
    fundImplementation,
    navOracleImplementation,
    fundFactory,
    fundLens,
    recoveryFund,
    fundNavOracle,
    primeNavOracle,
    rivalFund,
    rivalNavOracle,
  }
}

const placesByKind = (parts: FundParts): Readonly<Record<string, readonly DeployedContract[]>> => ({
  market: [parts.btcMarket, parts.ethMarket],
  acquisition: [parts.acquisitionHouse],
  auction: [parts.recoveryAuction],
  rfq: [parts.rfqDesk],
})

/** Approve the fund, let it buy and sell, and put money into its first epoch. */
function planSetup(planner: Planner, admin: Address, sUSD: DeployedContract, fund: DeployedContract): void {
  planner.call(
    'approve the fund',
    fund,
    encodeFunctionData({ ...ofFund, functionName: 'setApprovals', args: [true, true] }),
  )
  planner.call(
    'let the fund buy',
    fund,
    encodeFunctionData({ ...ofFund, functionName: 'setPurchasesEnabled', args: [true] }),
  )
  for (const channel of ['acquisition', 'auction', 'rfq']) {
    const policy = [word(channel), true, usd('250000'), 9_500, 2_500] as const
    planner.call(
      `set its policy for ${channel}`,
      fund,
      encodeFunctionData({ ...ofFund, functionName: 'setChannelPolicy', args: policy }),
    )
  }
  const assets = FIRST_SUBSCRIPTION_ASSETS
  const mint = { abi: assetAbi, functionName: 'mint', args: [admin, assets] } as const
  const approve = { abi: assetAbi, functionName: 'approve', args: [fund.address, assets] } as const
  planner.call('mint a subscription', sUSD, encodeFunctionData(mint))
  planner.call('let the fund take it', sUSD, encodeFunctionData(approve))
  planner.call(
    'open its first epoch',
    fund,
    encodeFunctionData({ ...ofFund, functionName: 'openEpoch', args: [FIRST_EPOCH_SECONDS] }),
  )
  planner.call(
    'subscribe',
    fund,
    encodeFunctionData({ ...ofFund, functionName: 'subscribe', args: [assets] }),
  )
}
