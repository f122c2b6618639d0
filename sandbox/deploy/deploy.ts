import {
  type Address,
  createPublicClient,
  createTestClient,
  type Hex,
  http,
  parseEther,
  parseGwei,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { RolekeeperError } from '../../src/errors.ts'
import { TO_CHAIN } from '../chain/to-chain.ts'
import { type DeployedContracts, planDeployment } from './deploy-plan.ts'

/** The sandbox's contracts on one chain; plain JSON. */
export type Deployment = {
  readonly chainId: number
  readonly namespace: string
  /** The block before the first contract. */
  readonly startBlock: number
  /** Owns the assets, the markets and the registry, and administers the oracles and the vaults. */
  readonly admin: Address
  readonly feeder: Address
  readonly allocator: Address
  readonly assetManager: Address
  readonly navReporter: Address
  /** Owns the vault that a person works by hand. */
  readonly vaultOwner: Address
  readonly curator: Address
  readonly partner: Address
  readonly contracts: DeployedContracts
}

/** To whom the deployer hands roles. */
export type DeployPeople = {
  /** May set prices, beside the deployer. */
  readonly feeder: Address
  /** May move the vaults' assets, beside the deployer. */
  readonly allocator: Address
  /** Manages the recovery fund and the mobility of the vaults' shares. */
  readonly assetManager: Address
  /** Signs the NAV reports. */
  readonly navReporter: Address
  /** Manages the fund that bids against ours. */
  readonly rivalManager: Address
  /** Owns the vault that a person works by hand. */
  readonly vaultOwner: Address
  /** Curates that vault and its channel. */
  readonly curator: Address
  /** Resells it through that channel. */
  readonly partner: Address
  /** The same, at the vault and the channel of the weather. */
  readonly weatherOwner: Address
  readonly weatherPartner: Address
}

/** Who deploys, and where. */
type DeployOptions = DeployPeople & {
  /** Of a chain that mines each transaction at once. */
  readonly rpcUrl: string
  readonly deployerKey: Hex
}

/** Far above what the largest contract takes, so that nothing has to be estimated. */
const gas = 8_000_000n

/**
 * Deploy two markets, five vaults that fund them, two of them with a channel, two recovery funds and all they need, in a third of
 * a second, and give the deployer and its first four people 1,000 ether each. There are as many blocks as steps, each with what
 * fits; afterwards anvil mines each transaction at once. The addresses follow from the deployer's address and nonce alone.
 * Throws `sandbox.deploy_reverted`, naming the first step that failed.
 */
export async function deploySandbox(options: DeployOptions): Promise<Deployment> {
  const { rpcUrl, deployerKey, ...people } = options
  const { feeder, allocator, assetManager, navReporter, vaultOwner, curator, partner } = people
  const deployer = privateKeyToAccount(deployerKey)
  const admin = deployer.address
  // A retried send would come back as "already known".
  const transport = http(rpcUrl, { ...TO_CHAIN, batch: true })
  const reader = createPublicClient({ transport })
  const tester = createTestClient({ mode: 'anvil', transport })
  const [chainId, nonce, block] = await Promise.all([
    reader.getChainId(),
    reader.getTransactionCount({ address: admin }),
    reader.getBlock(),
    ...[admin, feeder, allocator, assetManager, navReporter].map((address) =>
      tester.setBalance({ address, value: parseEther('1000') }),
    ),
  ])
  const { steps, contracts } = planDeployment({
    ...people,
    admin,
    nonce,
    sourceAsOfS: block.timestamp,
  })
  // Anvil's own miner works a moment after it accepts: what a request has mined has its receipt as that is answered.
  await tester.setAutomine(false)
  const signed = await Promise.all(
    steps.map(({ to, data }, index) =>
      deployer.signTransaction({
        type: 'eip1559',
        chainId,
        nonce: nonce + index,
        gas,
        maxFeePerGas: parseGwei('100'),
        maxPriorityFeePerGas: 0n,
        to,
        data,
      }),
    ),
  )
  const hashes = await Promise.all(
    signed.map((serializedTransaction) => reader.sendRawTransaction({ serializedTransaction })),
  )
  await tester.mine({ blocks: steps.length })
  const receipts = await Promise.all(hashes.map((hash) => reader.getTransactionReceipt({ hash })))
  const failed = steps.find((_, index) => receipts[index]?.status !== 'success')
  if (failed !== undefined)
    throw new RolekeeperError('sandbox.deploy_reverted', `Deploying failed at: ${failed.name}.`, {
      fix: 'start over with `--fresh`; if it fails again, the contracts and this deployment disagree.',
    })
  await tester.setAutomine(true)
  const startBlock = Number(block.number)
  const roles = { admin, feeder, allocator, assetManager, navReporter, vaultOwner, curator, partner }
  return { chainId, namespace: `sandbox-${chainId}`, startBlock, ...roles, contracts }
}
