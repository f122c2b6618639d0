import {
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  createTestClient,
  custom,
  getContract,
  http,
  parseUnits,
  publicActions,
  type RpcTransactionReceipt,
  stringToHex,
  walletActions,
} from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import {
  assetAbi,
  eligibilityRegistryAbi,
  lendingMarketAbi,
  lendingVaultAbi,
  priceOracleAbi,
  stateLensAbi,
} from '../../../sandbox/contracts/abis.ts'
import { loadArtifacts } from '../../../sandbox/contracts/artifacts.ts'
import { deploySandbox } from '../../../sandbox/deploy/deploy.ts'
import { EXIT_TERM_KIND } from '../../../sandbox/deploy/vault-plan.ts'
import { startAnvil } from '../../support/anvil.ts'

/** Whole sUSD in base units. */
export const usd = (whole: string) => parseUnits(whole, 6)
/** Whole sETH in base units. */
export const eth = (whole: string) => parseUnits(whole, 18)

export const wad = 10n ** 18n
export const ray = 10n ** 27n
/** A deadline that never passes. */
export const never = 2n ** 64n
export const ceilDiv = (a: bigint, b: bigint) => (a + b - 1n) / b

/**
 * Name who sends a transaction. The accounts are the node's to sign for, and it knows its chain. The gas is not
 * estimated: an estimate in the second of the last accrual leaves out what the next accrual costs.
 */
export const by = (account: Address) => ({ account, chain: null, gas: 8_000_000n }) as const
/** Name who would send a simulated one. */
export const from = (account: Address) => ({ account }) as const

/** Return the error a call reverts with, as its name and arguments; fail if it does not revert. */
export async function refusal(call: Promise<unknown>): Promise<readonly [string, ...unknown[]]> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  const cause =
    error instanceof BaseError ? error.walk((e) => e instanceof ContractFunctionRevertedError) : null
  if (!(cause instanceof ContractFunctionRevertedError) || cause.data === undefined) {
    throw new TypeError('The call did not revert with an error of the contract.', { cause: error })
  }
  return [cause.data.errorName, ...(cause.data.args ?? [])]
}

/** Exit terms as the vault takes them. */
export type ExitTerms = {
  readonly kind: number
  readonly noticeSeconds: bigint
  readonly intervalSeconds: bigint
  readonly maturityTimestamp: bigint
}
export const EXIT_AT_ONCE: ExitTerms = {
  kind: EXIT_TERM_KIND.instant,
  noticeSeconds: 0n,
  intervalSeconds: 0n,
  maturityTimestamp: 0n,
}

export type World = Awaited<ReturnType<typeof createWorld>>

/** Start a chain with the sandbox deployed; every write is mined at once. The market is the sETH one, its gate open. */
export async function createWorld() {
  const chain = await startAnvil()
  const deployment = await deploySandbox({
    rpcUrl: chain.rpcUrl,
    deployerKey: generatePrivateKey(),
    feeder: randomAddress(),
    allocator: randomAddress(),
    assetManager: randomAddress(),
    navReporter: randomAddress(),
    rivalManager: randomAddress(),
    vaultOwner: randomAddress(),
    curator: randomAddress(),
    partner: randomAddress(),
    weatherOwner: randomAddress(),
    weatherPartner: randomAddress(),
  })
  await chain.setAutomine(false)
  const { admin, feeder, allocator, assetManager, contracts } = deployment
  // A cached block number would be wrong after each revert to a snapshot.
  const client = createTestClient({ mode: 'anvil', transport: strict(chain.rpcUrl), cacheTime: 0 })
    .extend(publicActions)
    .extend(walletActions)
  for (const address of [admin, feeder, allocator, assetManager]) await client.impersonateAccount({ address })
  const assetAt = (address: Address) => getContract({ address, abi: assetAbi, client })
  const vaultAt = (address: Address) => getContract({ address, abi: lendingVaultAbi, client })

  const market = getContract({ address: contracts.ethMarket.address, abi: lendingMarketAbi, client })
  const oracle = getContract({ address: contracts.ethOracle.address, abi: priceOracleAbi, client })
  const registry = getContract({ address: contracts.registry.address, abi: eligibilityRegistryAbi, client })
  const lens = getContract({ address: contracts.lens.address, abi: stateLensAbi, client })
  const sUSD = assetAt(contracts.sUSD.address)
  const sETH = assetAt(contracts.sETH.address)
  await market.write.setLiquidatorGate([false], by(admin))

  return {
    chain,
    client,
    deployment,
    contracts,
    admin,
    feeder,
    allocator,
    assetManager,
    market,
    oracle,
    registry,
    lens,
    sUSD,
    sETH,
    vaultAt,
    prime: vaultAt(contracts.primeVault.address),
    growth: vaultAt(contracts.growthVault.address),
    rival: vaultAt(contracts.rivalVault.address),
    stop: chain.stop,
    /** Make an account with ether, this much sUSD and sETH, and the market approved for both. */
    person: async (usdAssets: bigint, ethAssets: bigint): Promise<Address> => {
      const address = randomAddress()
      await client.impersonateAccount({ address })
      await client.setBalance({ address, value: eth('1000') })
      await sUSD.write.mint([address, usdAssets], by(admin))
      await sETH.write.mint([address, ethAssets], by(admin))
      await sUSD.write.approve([market.address, usdAssets], by(address))
      await sETH.write.approve([market.address, ethAssets], by(address))
      return address
    },
    /** Deploy another vault for sUSD without a buffer, its owner, allocator and manager the deployer. */
    newVault: async (exitTerms: ExitTerms = EXIT_AT_ONCE) => {
      const setup = {
        asset: sUSD.address,
        name: 'Another Vault',
        symbol: 'sv',
        directory: registry.address,
        owner: admin,
        allocator: admin,
        manager: admin,
        liquidityBufferBps: 0,
        exitTerms,
      }
      const { bytecode } = loadArtifacts().LendingVault
      const hash = await client.deployContract({
        ...by(admin),
        abi: lendingVaultAbi,
        bytecode,
        args: [setup],
      })
      const { contractAddress } = await client.getTransactionReceipt({ hash })
      if (typeof contractAddress !== 'string') throw new TypeError('The deployment created no contract.')
      return vaultAt(contractAddress)
    },
    /** Publish a price in whole sUSD as of the chain's time. */
    price: async (whole: string) => {
      const { timestamp } = await client.getBlock()
      await oracle.write.setPrice([parseUnits(whole, 18), timestamp], by(admin))
    },
    authorize: (wallet: Address) =>
      registry.write.setAuthorization(
        [wallet, stringToHex('liquidate', { size: 32 }), market.address, true],
        by(admin),
      ),
    /** Move the chain's time and mine a block then. */
    pass: async (seconds: number) => {
      await client.increaseTime({ seconds })
      await client.mine({ blocks: 1 })
    },
  }
}

/** Mine each transaction, and throw where it reverts: anvil's own miner works a moment later, and says nothing of that. */
function strict(rpcUrl: string) {
  const { request } = http(rpcUrl, TO_CHAIN)({})
  return custom({
    request: async ({ method, params }: { method: string; params?: unknown }) => {
      const answer = await request({ method, params })
      if (method !== 'eth_sendTransaction') return answer
      await request({ method: 'evm_mine' })
      const receipt: RpcTransactionReceipt = await request({
        method: 'eth_getTransactionReceipt',
        params: [answer],
      })
      if (receipt.status !== '0x1') throw new TypeError(`Reverted: ${receipt.transactionHash}`)
      return answer
    },
  })
}

function randomAddress(): Address {
  return privateKeyToAddress(generatePrivateKey())
}
