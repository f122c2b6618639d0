import {
  type Address,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  keccak256,
  parseUnits,
  toHex,
} from 'viem'
import {
  assetAbi,
  eligibilityRegistryAbi,
  kinkedRateModelAbi,
  lendingMarketAbi,
  lendingVaultAbi,
  priceOracleAbi,
  stateLensAbi,
} from './contracts/abis.ts'
import { type ContractName, loadArtifacts } from './contracts/artifacts.ts'

/** One deployed contract: which of our contracts it is an instance of, and where it is. */
export type DeployedContract = { readonly contractName: ContractName; readonly address: Address }

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
  readonly lens: DeployedContract
}

/** One transaction of the deployer; without `to` it creates a contract. */
export type DeployStep = { readonly name: string; readonly to: Address | null; readonly data: Hex }

/** What the plan depends on. */
export type PlanInput = {
  readonly admin: Address
  readonly feeder: Address
  readonly allocator: Address
  /** The admin's next nonce: the contracts' addresses follow from it. */
  readonly nonce: number
  /** When the first prices were observed, in seconds; not later than the chain's time. */
  readonly sourceAsOfS: bigint
}

const usd = (whole: string) => parseUnits(whole, 6)
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
  const planner = createPlanner(input)
  const sUSD = planner.createAsset('sUSD', 'Sandbox USD', 6)
  const sBTC = planner.createAsset('sBTC', 'Sandbox BTC', 8)
  const sETH = planner.createAsset('sETH', 'Sandbox ETH', 18)
  const registry = planner.create('EligibilityRegistry', (bytecode) =>
    encodeDeployData({ abi: eligibilityRegistryAbi, bytecode, args: [input.admin] }),
  )
  const btc = planMarket(planner, input, parseUnits('60000', 18), {
    loanAsset: sUSD.address,
    collateralAsset: sBTC.address,
    registry: registry.address,
    lltvBps: 7_500,
    liquidationThresholdBps: 8_000,
    liquidationBonusBps: 500,
  })
  const eth = planMarket(planner, input, parseUnits('3000', 18), {
    loanAsset: sUSD.address,
    collateralAsset: sETH.address,
    registry: registry.address,
    lltvBps: 7_000,
    liquidationThresholdBps: 7_800,
    liquidationBonusBps: 700,
  })
  const gate = { abi: lendingMarketAbi, functionName: 'setLiquidatorGate', args: [true] } as const
  planner.call('gate the sETH market', eth.market, encodeFunctionData(gate))
  const primeVault = planVault(planner, input, sUSD, 'Prime', usd('5000000'), [
    { market: btc.market, capAssets: usd('4000000'), assets: usd('3000000') },
    { market: eth.market, capAssets: usd('2000000'), assets: usd('1000000') },
  ])
  const growthVault = planVault(planner, input, sUSD, 'Growth', usd('2000000'), [
    { market: eth.market, capAssets: usd('2000000'), assets: usd('1500000') },
  ])
  const lens = planner.create('StateLens', (bytecode) => encodeDeployData({ abi: stateLensAbi, bytecode }))
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
      lens,
    },
  }
}

type Planner = ReturnType<typeof createPlanner>

function createPlanner({ admin, nonce }: PlanInput) {
  const artifacts = loadArtifacts()
  const steps: DeployStep[] = []
  const create = (contractName: ContractName, encode: (bytecode: Hex) => Hex): DeployedContract => {
    const address = getContractAddress({ from: admin, nonce: BigInt(nonce + steps.length) })
    steps.push({
      name: `create ${contractName}`,
      to: null,
      data: encode(artifacts[contractName].bytecode),
    })
    return { contractName, address }
  }
  return {
    steps,
    create,
    createAsset: (symbol: string, name: string, decimals: number) =>
      create('Asset', (bytecode) =>
        encodeDeployData({ abi: assetAbi, bytecode, args: [name, symbol, decimals] }),
      ),
    call: (name: string, to: DeployedContract, data: Hex) => {
      steps.push({ name, to: to.address, data })
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

/** Create a market with its own oracle, priced and healthy, and its own rate model. */
function planMarket(
  planner: Planner,
  { admin, feeder, sourceAsOfS }: PlanInput,
  priceWad: bigint,
  terms: MarketTerms,
) {
  const oracle = planner.create('PriceOracle', (bytecode) =>
    encodeDeployData({ abi: priceOracleAbi, bytecode, args: [admin, admin, priceAgeSecondsMax] }),
  )
  const abi = priceOracleAbi
  const setPrice = { abi, functionName: 'setPrice', args: [priceWad, sourceAsOfS] } as const
  planner.call('set the first price', oracle, encodeFunctionData(setPrice))
  planner.call('vouch for it', oracle, encodeFunctionData({ abi, functionName: 'setState', args: [1] }))
  planner.call('let the feeder feed', oracle, grantRole('FEEDER_ROLE', feeder))
  const rateModel = planner.create('KinkedRateModel', (bytecode) =>
    encodeDeployData({ abi: kinkedRateModelAbi, bytecode, args: rateCurve }),
  )
  const parts = { oracle: oracle.address, rateModel: rateModel.address }
  const market = planner.create('LendingMarket', (bytecode) =>
    encodeDeployData({
      abi: lendingMarketAbi,
      bytecode,
      args: [{ ...terms, ...parts, closeFactorBps: 5_000, claimDelaySeconds: 2n }, admin],
    }),
  )
  return { oracle, rateModel, market }
}

type Funding = { readonly market: DeployedContract; readonly capAssets: bigint; readonly assets: bigint }

/** Create a vault, deposit into it as the admin, and fund its markets under their caps. */
function planVault(
  planner: Planner,
  { admin, allocator }: PlanInput,
  asset: DeployedContract,
  name: string,
  deposit: bigint,
  fundings: readonly Funding[],
): DeployedContract {
  const abi = lendingVaultAbi
  const vault = planner.create('LendingVault', (bytecode) =>
    encodeDeployData({
      abi,
      bytecode,
      args: [asset.address, `Sandbox ${name} Vault`, `sv${name}`, admin, admin],
    }),
  )
  planner.call('let the allocator allocate', vault, grantRole('ALLOCATOR_ROLE', allocator))
  const mint = { abi: assetAbi, functionName: 'mint', args: [admin, deposit] } as const
  const approve = { abi: assetAbi, functionName: 'approve', args: [vault.address, deposit] } as const
  const depositAll = { abi, functionName: 'deposit', args: [deposit, admin] } as const
  planner.call('mint a deposit', asset, encodeFunctionData(mint))
  planner.call('approve it', asset, encodeFunctionData(approve))
  planner.call('deposit it', vault, encodeFunctionData(depositAll))
  for (const { market, capAssets, assets } of fundings) {
    const list = { abi: lendingMarketAbi, functionName: 'addVault', args: [vault.address] } as const
    const cap = { abi, functionName: 'setCap', args: [market.address, capAssets] } as const
    const fund = { abi, functionName: 'allocate', args: [market.address, assets] } as const
    planner.call('list the vault', market, encodeFunctionData(list))
    planner.call('cap the market', vault, encodeFunctionData(cap))
    planner.call('fund the market', vault, encodeFunctionData(fund))
  }
  return vault
}

function grantRole(role: 'FEEDER_ROLE' | 'ALLOCATOR_ROLE', account: Address): Hex {
  const args = [keccak256(toHex(role)), account] as const
  return encodeFunctionData({ abi: priceOracleAbi, functionName: 'grantRole', args })
}
