import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, parseUnits } from 'viem'
import { parse, stringify } from 'yaml'
import { assetAbi, priceOracleAbi } from '../../../sandbox/contracts/abis.ts'
import { readPins } from '../../../sandbox/deploy/pins.ts'
import { BTC, SENT, usd } from '../../sandbox/indexer/scene.ts'
import { createKeeperScene, type KeeperScene } from '../../support/keeper-scene.ts'
import { policyOf, policyOfOneOracle } from '../../support/policies.ts'

/** A borrower, and the price of one BTC below which it can be liquidated. */
type Borrower = { readonly address: Address; readonly price: number }

/** Who deposits what people order: the first is the liquidator, and has liquidations beside. */
const ROLES = ['liquidator', 'allocator', 'asset-manager', 'rfq-bidder'] as const

/** One role that carries orders, with the key that it signs with. */
type Carrier = { readonly role: (typeof ROLES)[number]; readonly signer: Address }

/** A whole sandbox with people to liquidate, before any proxy stands in front of it. */
export type Ground = {
  readonly scene: KeeperScene
  /** Each with a signer of its own. */
  readonly carriers: readonly Carrier[]
  /** The highest price first. */
  readonly borrowers: readonly Borrower[]
  /** What a run configuration says of all this, but for where it is reached. */
  readonly config: Readonly<Record<string, unknown>>
  /** Publish a price of one BTC in whole dollars, again where a reorg took it back; resolves when it is sent. */
  readonly price: (whole: number) => Promise<void>
  /** Let the next block have the time of the clock: a reorg turns anvil's back, a little more each time. */
  readonly onTime: () => Promise<void>
  readonly rpc: (method: string, ...params: readonly unknown[]) => Promise<unknown>
}

/** How much there is to do, and for how many signers. */
export type GroundSize = {
  readonly borrowers: number
  readonly confirmations: number
  readonly signers: number
}

/** sBTC of one borrower, and what it owes of the first; each next one owes a little less. */
const COLLATERAL = '0.1'
const DEBT = 4_000
const STEP = 0.998
/** Far above every limit that one seed could meet by honest work. */
const PURSE = '500000000'

/** Start a sandbox with all its people, before anything is wrong. */
export async function createGround({
  borrowers: count,
  confirmations,
  signers,
}: GroundSize): Promise<Ground> {
  const scene = await createKeeperScene(signers)
  const { rpcUrl, chainId } = scene.scene.chain
  const rpc = async (method: string, ...params: readonly unknown[]) => {
    const answer = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const said = (await answer.json()) as { result?: unknown; error?: { message: string } }
    if (said.error !== undefined) throw new TypeError(`${method}: ${said.error.message}`)
    return said.result
  }
  await rpc('anvil_setTime', Math.floor(Date.now() / 1_000))
  const { keys } = scene.kms
  const borrowers = await scene.quickly(async () => {
    for (const { address } of keys) await mint(scene, address, usd(PURSE))
    return openBorrowers(scene, count)
  })
  const carriers = keys.map(({ address }, index) => ({ role: ROLES[index] ?? 'liquidator', signer: address }))
  const config = {
    chain: { id: String(chainId), finality: { confirmations: String(confirmations) } },
    deployment: await readPins(rpcUrl, scene.scene.deployment),
    agents: carriers.map(({ role, signer }, index) => ({
      role,
      mode: 'live',
      policy: writePolicy(role, scene.directory),
      signer: { kms: { keyId: keys[index]?.arn, address: signer } },
    })),
  }
  const { client, deployment, at } = scene.scene
  return {
    scene,
    carriers,
    borrowers,
    config,
    rpc,
    onTime: async () => void (await rpc('anvil_setTime', Math.floor(Date.now() / 1_000))),
    price: async (whole) => {
      const { timestamp } = await client.getBlock()
      await client.writeContract({
        address: at(BTC.oracle),
        abi: priceOracleAbi,
        account: deployment.admin,
        gas: SENT.gas,
        functionName: 'setPrice',
        args: [parseUnits(String(whole), 18), timestamp],
        // Mined whatever the weather makes of the base fee.
        maxFeePerGas: 10n ** 13n,
        maxPriorityFeePerGas: 10n ** 9n,
      })
    },
  }
}

const mint = ({ scene }: KeeperScene, to: Address, assets: bigint) =>
  scene.client.writeContractSync({
    ...SENT,
    address: scene.at('sUSD'),
    abi: assetAbi,
    account: scene.deployment.admin,
    functionName: 'mint',
    args: [to, assets],
  })

/** Open borrowers side by side, one step of all after the other. Each transaction is mined at once. */
async function openBorrowers({ scene }: KeeperScene, count: number): Promise<readonly Borrower[]> {
  const { client, deployment, at, market } = scene
  const token = { ...SENT, address: at(BTC.collateral), abi: assetAbi } as const
  const assets = parseUnits(COLLATERAL, BTC.decimals)
  const people = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const debt = Math.round(DEBT * STEP ** index)
      return { address: await scene.actor(), debt, price: debt / Number(COLLATERAL) / 0.8 }
    }),
  )
  const all = (work: (one: (typeof people)[number]) => Promise<unknown>) => Promise.all(people.map(work))
  for (const { address } of people) {
    await client.writeContract({
      ...token,
      account: deployment.admin,
      functionName: 'mint',
      args: [address, assets],
    })
  }
  await all(({ address }) =>
    client.writeContractSync({
      ...token,
      account: address,
      functionName: 'approve',
      args: [at(BTC.market), assets],
    }),
  )
  await all(({ address }) =>
    client.writeContractSync({
      ...market(BTC),
      account: address,
      functionName: 'depositCollateral',
      args: [assets],
    }),
  )
  await all(({ address, debt }) =>
    client.writeContractSync({
      ...market(BTC),
      account: address,
      functionName: 'borrow',
      args: [at('primeVault'), usd(String(debt))],
    }),
  )
  return people
}

/** Write a role's policy, with deposits that a person orders, and limits that honest work does not meet. */
function writePolicy(role: Carrier['role'], directory: string): string {
  const policy = parse(stringify(role === 'liquidator' ? policyOfOneOracle() : policyOf(role)), {
    schema: 'failsafe',
  })
  const gasMax = '1,000 ETH'
  policy.limits.perHour = { movedMax: '1,000,000,000 USD', gasMax, revertsMax: '1000' }
  policy.limits.perDay = { ...policy.limits.perHour }
  policy.approval.aboveAssets.sUSD = '1,000,000 sUSD'
  if (role === 'liquidator') {
    policy.strategy.repayPerHourMax = '1,000,000,000 USD'
    policy.strategy.collaterals.sBTC.inventoryMax = '25,000 sBTC'
    policy.guard.sanity.inventoryMax.sBTC = '25,000 sBTC'
    policy.strategy.lostRace.revertedGasPerHourMax = '900,000,000 gas'
  }
  // A person would have to approve them.
  if (role === 'asset-manager') Object.assign(policy.strategy.declared, { vaults: [], funds: [] })
  policy.guard.allow.push(
    {
      id: 'approve-deposit',
      workflowType: 'deposit',
      target: '$asset.sUSD',
      function: 'function approve(address spender, uint256 amount) returns (bool)',
      params: { spender: { eq: '$input.vaultAddress' }, amount: { eq: '$input.assets' } },
      valueMax: '0 ETH',
      gasMax: '120,000 gas',
    },
    {
      id: 'deposit',
      workflowType: 'deposit',
      target: '$vault',
      function:
        'function depositNow(uint256 assets, address receiver, uint256 minShares) returns (uint256 shares)',
      params: {
        assets: { eq: '$input.assets' },
        receiver: { eq: '$self' },
        minShares: { eq: '$input.minShares' },
      },
      valueMax: '0 ETH',
      gasMax: '900,000 gas',
    },
  )
  policy.guard.effects.push({
    workflowType: 'deposit',
    out: [{ token: '$asset.sUSD', assetsMax: '$input.assets' }],
    in: [],
  })
  const file = join(directory, `chaos-${role}.yaml`)
  writeFileSync(file, stringify(policy, { defaultStringType: 'QUOTE_DOUBLE' }))
  return file
}
