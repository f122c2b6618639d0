import { type Address, createPublicClient, type Hex, http, keccak256 } from 'viem'
import { RolekeeperError } from '../../src/errors.ts'
import { TO_CHAIN } from '../chain/to-chain.ts'
import type { Deployment } from './deploy.ts'

type Pin = { readonly address: Address; readonly codeHash: Hex }
type NamedPin = Pin & { readonly name: string }

/** A deployment as a run configuration pins it: every scalar is text. */
export type DeploymentPins = {
  readonly namespace: string
  readonly assets: readonly (Pin & {
    readonly symbol: string
    readonly decimals: string
    readonly price?: string
  })[]
  readonly markets: readonly (NamedPin & {
    readonly loanAsset: Address
    readonly collateralAsset: Address
    readonly oracle: Address
    readonly oracleCodeHash: Hex
  })[]
  readonly vaults: readonly (NamedPin & { readonly asset: Address })[]
  readonly funds: readonly (NamedPin & { readonly quoteAsset: Address })[]
  readonly contracts: readonly NamedPin[]
}

/** The vaults of ours: nobody else's are acted on. */
const VAULTS = ['primeVault', 'growthVault', 'ownedVault'] as const

/** What is pinned by its name alone, beside assets, markets, vaults and our fund. */
const NAMED = [
  'rfqDesk',
  'recoveryAuction',
  'acquisitionHouse',
  'fundFactory',
  'fundNavOracle',
  'primeNavOracle',
  'btcReferenceOracle',
  'ethReferenceOracle',
  'btcExit',
  'ethExit',
  'registry',
  'btcRateModel',
  'ethRateModel',
  'fundLens',
  'lens',
  'partnerChannel',
] as const

/** Read the code of a deployment's contracts and pin it. Throws `sandbox.contracts_missing` when one is not there. */
export async function readPins(
  rpcUrl: string,
  { namespace, contracts }: Deployment,
): Promise<DeploymentPins> {
  const reader = createPublicClient({ transport: http(rpcUrl, { ...TO_CHAIN, batch: true }) })
  const names = Object.keys(contracts)
  const codes = await Promise.all(Object.values(contracts).map(({ address }) => reader.getCode({ address })))
  const hashes = new Map<Address, Hex>()
  for (const [index, { address }] of Object.values(contracts).entries()) {
    const code = codes[index]
    if (code === undefined) throw missing(names[index] ?? '')
    hashes.set(address, keccak256(code))
  }
  const pin = (address: Address): Pin => {
    const codeHash = hashes.get(address)
    if (codeHash === undefined) throw missing(address)
    return { address, codeHash }
  }
  const { sUSD, sBTC, sETH, btcMarket, btcOracle, ethMarket, ethOracle } = contracts
  const market = (name: string, at: Address, collateralAsset: Address, oracle: Address) => {
    const oracleCodeHash = pin(oracle).codeHash
    return { name, ...pin(at), loanAsset: sUSD.address, collateralAsset, oracle, oracleCodeHash }
  }
  return {
    namespace,
    assets: [
      { ...pin(sUSD.address), symbol: 'sUSD', decimals: '6', price: '1 USD' },
      { ...pin(sBTC.address), symbol: 'sBTC', decimals: '8' },
      { ...pin(sETH.address), symbol: 'sETH', decimals: '18' },
    ],
    markets: [
      market('btcMarket', btcMarket.address, sBTC.address, btcOracle.address),
      market('ethMarket', ethMarket.address, sETH.address, ethOracle.address),
    ],
    vaults: VAULTS.map((name) => ({ name, ...pin(contracts[name].address), asset: sUSD.address })),
    funds: [{ name: 'recoveryFund', ...pin(contracts.recoveryFund.address), quoteAsset: sUSD.address }],
    contracts: NAMED.map((name) => ({ name, ...pin(contracts[name].address) })),
  }
}

const missing = (name: string) =>
  new RolekeeperError('sandbox.contracts_missing', `The saved chain does not hold ${name}.`, {
    fix: 'start over with `--fresh`.',
  })
