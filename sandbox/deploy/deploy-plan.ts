import { type Address, encodeDeployData, encodeFunctionData, parseUnits } from 'viem'
import {
  eligibilityRegistryAbi,
  exitPoolAbi,
  kinkedRateModelAbi,
  lendingMarketAbi,
  priceOracleAbi,
  stateLensAbi,
} from '../contracts/abis.ts'
import { type FundContracts, planFunds } from './fund-plan.ts'
import { type PartnerContracts, type PartnerRoles, planPartners } from './partner-plan.ts'
import { createPlanner, type DeployedContract, type DeployStep, grantRole, type Planner } from './planner.ts'
import { planTrade, type TradeContracts } from './trade-plan.ts'
import { planRivalVault, planVaults } from './vault-plan.ts'

/** What the sandbox deploys, by the name it has in the deployment. */
export type DeployedContracts = {
  readonly sUSD: DeployedContract
  readonly sBTC: DeployedContract
  readonly sETH: DeployedContract
  readonly registry: DeployedContract
  readonly btcOracle: DeployedContract
  readonly ethOracle: DeployedContract
  readonly btcRateModel: DeployedContract
  readonly ethRateModel: DeployedContract
  readonly btcMarket: DeployedContract
  readonly ethMarket: DeployedContract
  readonly primeVault: DeployedContract
  readonly growthVault: DeployedContract
  /** Of another keeper, beside whom ours lend. */
  readonly rivalVault: DeployedContract
  readonly lens: DeployedContract
  /** Say the same prices from elsewhere: a second source to hold the markets' own oracles against. */
  readonly btcReferenceOracle: DeployedContract
  readonly ethReferenceOracle: DeployedContract
  /** Where what was seized can be sold. */
  readonly btcExit: DeployedContract
  readonly ethExit: DeployedContract
} & TradeContracts &
  FundContracts &
  PartnerContracts

/** What the plan depends on. */
type PlanInput = PartnerRoles & {
  readonly feeder: Address
  readonly navReporter: Address
  /** Manages the fund that bids against ours. */
  readonly rivalManager: Address
  /** The admin's next nonce: the contracts' addresses follow from it. */
  readonly nonce: number
  /** When the first prices were observed, in seconds; not later than the chain's time. */
  readonly sourceAsOfS: bigint
}

const yearS = 31_536_000n
/** A rate of so many percent a year, as a wad a second. */
const percentAYear = (percent: bigint) => (percent * 10n ** 16n) / yearS
/** 1 % a year when idle, 5 % at 80 % utilization, 80 % when nothing is left to borrow. */
const rateCurve = [percentAYear(1n), percentAYear(4n), percentAYear(75n), parseUnits('0.8', 18)] as const
/** An hour: the feeder is expected every few seconds. */
const priceAgeSecondsMax = 3_600n

/** Lay out every transaction in nonce order, and where the contracts will be. */
export function planDeployment(input: PlanInput): {
  readonly steps: readonly DeployStep[]
  readonly contracts: DeployedContracts
} {
  const planner = createPlanner(input.admin, input.nonce)
  const sUSD = planner.createAsset('sUSD', 'Sandbox USD', 6)
  const sBTC = planner.createAsset('sBTC', 'Sandbox BTC', 8)
  const sETH = planner.createAsset('sETH', 'Sandbox ETH', 18)
  const registry = planner.create('EligibilityRegistry', (bytecode) =>
    encodeDeployData({ abi: eligibilityRegistryAbi, bytecode, args: [input.admin] }),
  )
  const btcPriceWad = parseUnits('60000', 18)
  const ethPriceWad = parseUnits('3000', 18)
  const btc = planMarket(planner, input, btcPriceWad, {
    loanAsset: sUSD.address,
    collateralAsset: sBTC.address,
    registry: registry.address,
    lltvBps: 7_500,
    liquidationThresholdBps: 8_000,
    liquidationBonusBps: 500,
  })
  const eth = planMarket(planner, input, ethPriceWad, {
    loanAsset: sUSD.address,
    collateralAsset: sETH.address,
    registry: registry.address,
    lltvBps: 7_000,
    liquidationThresholdBps: 7_800,
    liquidationBonusBps: 700,
  })
  const gate = { abi: lendingMarketAbi, functionName: 'setLiquidatorGate', args: [true] } as const
  planner.call('gate the sETH market', eth.market, encodeFunctionData(gate))
  const markets = { btcMarket: btc.market, ethMarket: eth.market }
  const { primeVault, growthVault } = planVaults(planner, input, { sUSD, registry, ...markets })
  const lens = planner.create('StateLens', (bytecode) => encodeDeployData({ abi: stateLensAbi, bytecode }))
  const btcReferenceOracle = planOracle(planner, input, btcPriceWad)
  const ethReferenceOracle = planOracle(planner, input, ethPriceWad)
  const trade = planTrade(planner)
  const funds = planFunds(planner, input, { sUSD, registry, ...markets, primeVault, ...trade })
  const [btcExit, ethExit] = [sBTC, sETH].map(({ address }) =>
    planner.create('ExitPool', (bytecode) =>
      encodeDeployData({ abi: exitPoolAbi, bytecode, args: [address, sUSD.address] }),
    ),
  ) as [DeployedContract, DeployedContract]
  const rivalVault = planRivalVault(planner, input, { sUSD, registry, ...markets })
  const partners = planPartners(planner, input, { sUSD, registry, ...markets })
  return {
    steps: planner.steps,
    contracts: {
      sUSD,
      sBTC,
      sETH,
      registry,
      btcOracle: btc.oracle,
      ethOracle: eth.oracle,
      btcRateModel: btc.rateModel,
      ethRateModel: eth.rateModel,
      btcMarket: btc.market,
      ethMarket: eth.market,
      primeVault,
      growthVault,
      rivalVault,
      lens,
      btcReferenceOracle,
      ethReferenceOracle,
      ...trade,
      ...funds,
      btcExit,
      ethExit,
      ...partners,
    },
  }
}

type MarketTerms = {
  readonly loanAsset: Address
  readonly collateralAsset: Address
  readonly registry: Address
  readonly lltvBps: number
  readonly liquidationThresholdBps: number
  readonly liquidationBonusBps: number
}

/** Create an oracle, priced and healthy, that the feeder feeds. */
function planOracle(planner: Planner, { admin, feeder, sourceAsOfS }: PlanInput, priceWad: bigint) {
  const oracle = planner.create('PriceOracle', (bytecode) =>
    encodeDeployData({ abi: priceOracleAbi, bytecode, args: [admin, admin, priceAgeSecondsMax] }),
  )
  const abi = priceOracleAbi
  const setPrice = { abi, functionName: 'setPrice', args: [priceWad, sourceAsOfS] } as const
  planner.call('set the first price', oracle, encodeFunctionData(setPrice))
  planner.call('vouch for it', oracle, encodeFunctionData({ abi, functionName: 'setState', args: [1] }))
  planner.call('let the feeder feed', oracle, grantRole('FEEDER_ROLE', feeder))
  return oracle
}

/** Create a market with its own oracle and its own rate model. */
function planMarket(planner: Planner, input: PlanInput, priceWad: bigint, terms: MarketTerms) {
  const oracle = planOracle(planner, input, priceWad)
  const rateModel = planner.create('KinkedRateModel', (bytecode) =>
    encodeDeployData({ abi: kinkedRateModelAbi, bytecode, args: rateCurve }),
  )
  const parts = { oracle: oracle.address, rateModel: rateModel.address }
  const market = planner.create('LendingMarket', (bytecode) =>
    encodeDeployData({
      abi: lendingMarketAbi,
      bytecode,
      args: [{ ...terms, ...parts, closeFactorBps: 5_000, claimDelaySeconds: 2n }, input.admin],
    }),
  )
  return { oracle, rateModel, market }
}
