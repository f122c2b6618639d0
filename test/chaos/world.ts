import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, parseUnits } from 'viem'
import { parse, stringify } from 'yaml'
import { assetAbi, priceOracleAbi } from '../../sandbox/contracts/abis.ts'
import { writeSubmission } from '../../src/ops/orders.ts'
import { BTC, SENT, usd } from '../sandbox/indexer/scene.ts'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts'
import { createKeeperScene, type KeeperScene } from '../support/keeper-scene.ts'
import { type NodeProxy, startNodeProxy } from '../support/node-proxy.ts'

/** How large a seed's world is. */
export type Size = { readonly nodes: number; readonly borrowers: number; readonly confirmations: number }

/** A borrower, and the price of one BTC below which it can be liquidated. */
type Borrower = { readonly address: Address; readonly price: number }

/** A whole sandbox behind proxies that do what the weather says, with people to liquidate. */
export type ChaosWorld = {
  readonly scene: KeeperScene
  readonly nodes: readonly NodeProxy[]
  readonly service: FaultProxy
  readonly kms: FaultProxy
  readonly configFile: string
  /** The keeper's state directory. */
  readonly directory: string
  /** The highest price first. */
  readonly borrowers: readonly Borrower[]
  /** Publish a price of one BTC in whole dollars, again where a reorg took it back; resolves when it is sent. */
  readonly price: (whole: number) => Promise<void>
  /** Ask the keeper to deposit so many base units of sUSD. */
  readonly order: (id: string, assets: bigint) => void
  /** Let the next block have the time of the clock: a reorg turns anvil's back, a little more each time. */
  readonly onTime: () => Promise<void>
  readonly rpc: (method: string, ...params: readonly unknown[]) => Promise<unknown>
  readonly stop: () => Promise<void>
}

/** sBTC of one borrower, and what it owes of the first; each next one owes a little less. */
const COLLATERAL = '0.1'
const DEBT = 4_000
const STEP = 0.998
/** Far above every limit that one seed could meet by honest work. */
const PURSE = '500000000'

/** Start a world with all its people, before anything is wrong. */
export async function createChaosWorld(size: Size): Promise<ChaosWorld> {
  const scene = await createKeeperScene()
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
  const borrowers = await scene.quickly(async () => {
    await mint(scene, scene.signer, usd(PURSE))
    return openBorrowers(scene, size.borrowers)
  })
  const nodes: NodeProxy[] = []
  for (let index = 0; index < size.nodes; index += 1) nodes.push(await startNodeProxy(rpcUrl))
  const service = await startFaultProxy(scene.service.url)
  const kms = await startFaultProxy(scene.kms.url)
  const policy = join(scene.directory, 'chaos.yaml')
  writeFileSync(policy, chaosPolicy(readFileSync(join(scene.directory, 'liquidator.yaml'), 'utf8')))
  const config = scene.config()
  const [agent] = config.agents
  if (config.kms === undefined || agent === undefined) throw new TypeError('the scene signs with a KMS')
  const urls = nodes.map(({ url }) => url)
  const { region, accessKeyId } = config.kms
  mkdirSync(join(scene.directory, 'watermark'))
  const configFile = scene.configFile({
    chain: {
      id: String(chainId),
      finality: { confirmations: String(size.confirmations) },
      nodes: { read: [...urls], send: [...urls] },
    },
    service: { url: service.url, secretKey: 'env:TEST_SECRET_KEY' },
    watermark: join(scene.directory, 'watermark'),
    kms: { region, endpoint: kms.url, accessKeyId, secretAccessKey: 'env:TEST_KMS_SECRET' },
    agents: [
      {
        ...{ role: 'liquidator', mode: 'live', policy },
        signer: { kms: { keyId: scene.kms.keys[0]?.arn, address: scene.signer } },
      },
    ],
  })
  const { client, deployment, at } = scene.scene
  return {
    ...{ scene, nodes, service, kms, configFile, directory: config.directory, borrowers, rpc },
    onTime: async () => void (await rpc('anvil_setTime', Math.floor(Date.now() / 1_000))),
    price: async (whole) => {
      const { timestamp } = await client.getBlock()
      await client.writeContract({
        ...{ address: at(BTC.oracle), abi: priceOracleAbi, account: deployment.admin, gas: SENT.gas },
        functionName: 'setPrice',
        args: [parseUnits(String(whole), 18), timestamp],
        // Mined whatever the weather makes of the base fee.
        ...{ maxFeePerGas: 10n ** 13n, maxPriorityFeePerGas: 10n ** 9n },
      })
    },
    order: (id, assets) => {
      const input = {
        vaultAddress: at('primeVault'),
        ...{ assets: String(assets), receiverAddress: scene.signer, minShares: '1' },
      }
      writeSubmission(config.directory, id, {
        ...{ role: 'liquidator', workflowType: 'deposit', input, shadow: false },
      })
    },
    stop: async () => {
      for (const proxy of [...nodes, service, kms]) await proxy.stop()
      await scene.stop()
    },
  }
}

const mint = ({ scene }: KeeperScene, to: Address, assets: bigint) =>
  scene.client.writeContractSync({
    ...{ ...SENT, address: scene.at('sUSD'), abi: assetAbi, account: scene.deployment.admin },
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
      ...{ ...token, account: deployment.admin, functionName: 'mint', args: [address, assets] },
    })
  }
  await all(({ address }) =>
    client.writeContractSync({
      ...{ ...token, account: address, functionName: 'approve', args: [at(BTC.market), assets] },
    }),
  )
  await all(({ address }) =>
    client.writeContractSync({
      ...{ ...market(BTC), account: address, functionName: 'depositCollateral', args: [assets] },
    }),
  )
  await all(({ address, debt }) =>
    client.writeContractSync({
      ...{ ...market(BTC), account: address, functionName: 'borrow' },
      args: [at('primeVault'), usd(String(debt))],
    }),
  )
  return people
}

/** The liquidator's policy, with deposits that a person orders, and limits that honest work does not meet. */
function chaosPolicy(text: string): string {
  const policy = parse(text, { schema: 'failsafe' })
  const gas = '1000000000000000000000'
  policy.limits.perHour = { usdMicrosMax: '1000000000000000', gasWeiMax: gas, revertsMax: '1000' }
  policy.limits.perDay = { ...policy.limits.perHour }
  policy.strategy.repayUsdMicrosPerHourMax = '1000000000000000'
  policy.strategy.collaterals.sBTC.inventoryAssetsMax = '2500000000000'
  policy.strategy.lostRace.revertedGasPerHourMax = '900000000'
  policy.approval.aboveAssets.sUSD = '1000000000000'
  policy.guard.allow.push(
    {
      ...{ id: 'approve-deposit', workflowType: 'deposit', target: '$asset.sUSD' },
      function: 'function approve(address spender, uint256 amount) returns (bool)',
      params: { spender: { eq: '$input.vaultAddress' }, amount: { eq: '$input.assets' } },
      ...{ valueWeiMax: '0', gasMax: '120000' },
    },
    {
      ...{ id: 'deposit', workflowType: 'deposit', target: '$vault' },
      function:
        'function depositNow(uint256 assets, address receiver, uint256 minShares) returns (uint256 shares)',
      params: { assets: { eq: '$input.assets' }, receiver: { eq: '$self' }, minShares: { min: '1' } },
      ...{ valueWeiMax: '0', gasMax: '900000' },
    },
  )
  policy.guard.effects.push({
    ...{ workflowType: 'deposit', out: [{ token: '$asset.sUSD', assetsMax: '$input.assets' }], in: [] },
  })
  return stringify(policy, { defaultStringType: 'QUOTE_DOUBLE' })
}
