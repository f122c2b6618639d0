import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, keccak256, parseEther, parseGwei, parseUnits } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { stringify } from 'yaml'
import { type NodeFront, startNodeFront } from '../../sandbox/chain/node-front.ts'
import { assetAbi, lendingMarketAbi, priceOracleAbi } from '../../sandbox/contracts/abis.ts'
import type { Canonical } from '../../sandbox/indexer/canonical.ts'
import { type Kms, startKms } from '../../sandbox/kms/server.ts'
import { type SandboxService, startService } from '../../sandbox/service/service.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import { loadRunConfig, type RunConfig } from '../../src/config/config.ts'
import { createKeeper, type Keeper } from '../../src/keeper/keeper.ts'
import type { KeeperEvent } from '../../src/ops/events.ts'
import { createLog } from '../../src/ops/log.ts'
import { isWellKnown } from '../../src/sign/well-known.ts'
import { BTC, createScene, ETH, type Scene, usd } from '../sandbox/indexer/scene.ts'
import { newDirectory } from './directory.ts'
import { poorDonor } from './donor.ts'
import { policyOfOneOracle } from './policies.ts'

const KMS_CREDENTIALS = { accessKeyId: 'AKIDTEST', secretAccessKey: 'kms-secret-0123456789' }
const SECRET_KEY = 'sk_test_0123456789abcdef'
/** The environment that a run configuration of the scene refers to. */
export const ENVIRONMENT = { TEST_SECRET_KEY: SECRET_KEY, TEST_KMS_SECRET: KMS_CREDENTIALS.secretAccessKey }

/** A sandbox without weather, whose people do what a test tells them, and a signer with money. */
export type KeeperScene = {
  readonly scene: Scene
  readonly canonical: Canonical
  readonly service: SandboxService
  readonly kms: Kms
  readonly signer: Address
  readonly directory: string
  /** Write a run configuration; `changes` replaces top-level parts. */
  readonly configFile: (changes?: Readonly<Record<string, unknown>>) => string
  readonly config: (changes?: Readonly<Record<string, unknown>>) => RunConfig
  /** Have a block mined every so many seconds, in place of one; 0 mines none. */
  readonly mineEvery: NodeFront['mineEvery']
  /** Do something with each transaction mined at once, instead of waiting for a block each time. */
  readonly quickly: <T>(work: () => Promise<T>) => Promise<T>
  /** Open a borrower of the BTC market with one BTC; its health is 1 at a price of its debt / 0.8. */
  readonly openBorrower: (usdDebt?: string) => Promise<Address>
  /** Open a borrower of the BTC market and let its price fall, so that all who are open are under water. */
  readonly openUnderWater: () => Promise<Address>
  /** Let BTC be worth $60,000 again from the next block's first transaction on; resolves before there is one. */
  readonly recoverInNextBlock: () => Promise<void>
  /** Whose position in the BTC market was liquidated, once for each time; of one borrower where one is given. */
  readonly liquidated: (borrower?: Address) => Promise<readonly Address[]>
  /** The liquidator of a run configuration; `changes` replaces parts. */
  readonly liquidator: (changes?: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
  /** Start a keeper by a configuration with these changes; one at a time. */
  readonly start: (changes?: Readonly<Record<string, unknown>>) => Promise<TestKeeper>
  /** Stop the keeper that runs, if one does, without waiting for what is in flight. */
  readonly rest: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Start the scene: one block a second, as the sandbox has. Its KMS has a key for each signer; the first one is `signer`. */
export async function createKeeperScene(signers = 2): Promise<KeeperScene> {
  const directory = newDirectory()
  const scene = await createScene()
  const keys = Array.from({ length: signers }, (_, index) => ({
    id: `${String(index + 1).repeat(8)}-2222-4333-8444-555555555555`,
    privateKey: generatePrivateKey(),
  }))
  const kms = await startKms({
    clock: systemClock,
    region: 'us-east-1',
    credentials: KMS_CREDENTIALS,
    keys,
  })
  const signer = kms.keys[0]?.address ?? '0x'
  const mint = {
    address: scene.at('sUSD'),
    abi: assetAbi,
    account: scene.deployment.admin,
    gas: 1_000_000n,
  } as const
  for (const { address } of kms.keys) {
    await scene.client.setBalance({ address, value: parseEther('100') })
    await scene.client.writeContractSync({ ...mint, functionName: 'mint', args: [address, usd('1000000')] })
    await scene.authorize(address, ETH, true)
  }
  await scene.price(BTC, '60000')
  const canonical = await scene.index()
  const front = await startNodeFront(scene.chain.rpcUrl)
  const service = await startService({
    canonical,
    deployment: scene.deployment,
    entities: [],
    rpcUrl: front.url,
    clock: systemClock,
    dbFile: join(directory, 'service.sqlite'),
    host: '127.0.0.1',
    credentials: { secretKey: SECRET_KEY, publishableKey: 'pk_test', origins: [] },
    donor: poorDonor,
  })
  const pins = await pinsOf(scene)
  const { mineEvery } = front
  await scene.client.setAutomine(false)
  await mineEvery(1)
  const quickly = async <T>(work: () => Promise<T>): Promise<T> => {
    await mineEvery(0)
    await scene.client.setAutomine(true)
    try {
      return await work()
    } finally {
      await scene.client.setAutomine(false)
      await mineEvery(1)
    }
  }
  const policyFile = join(directory, 'liquidator.yaml')
  writeFileSync(policyFile, stringify(policyOfOneOracle(), { defaultStringType: 'QUOTE_DOUBLE' }))
  const liquidator = (changes: Readonly<Record<string, unknown>> = {}) => ({
    role: 'liquidator',
    mode: 'live',
    policy: policyFile,
    signer: { kms: { keyId: kms.keys[0]?.arn, address: signer } },
    ...changes,
  })
  const configFile = (changes: Readonly<Record<string, unknown>> = {}) => {
    const file = join(directory, `run-${Math.random().toString(36).slice(2)}.yaml`)
    const value = {
      environment: 'sandbox',
      directory: join(directory, 'state'),
      chain: {
        id: String(scene.chain.chainId),
        finality: 'finalized',
        nodes: { read: [front.url], send: [front.url] },
      },
      service: { url: service.url, secretKey: 'env:TEST_SECRET_KEY' },
      kms: {
        region: 'us-east-1',
        endpoint: kms.url,
        accessKeyId: KMS_CREDENTIALS.accessKeyId,
        secretAccessKey: 'env:TEST_KMS_SECRET',
      },
      ops: { host: '127.0.0.1', port: '0' },
      deployment: pins,
      agents: [liquidator()],
      ...changes,
    }
    writeFileSync(file, stringify(value, { defaultStringType: 'QUOTE_DOUBLE' }))
    return file
  }
  const config = (changes?: Readonly<Record<string, unknown>>) =>
    loadRunConfig(configFile(changes), { env: ENVIRONMENT, isWellKnown })
  const openBorrower = async (usdDebt = '40000') => {
    const borrower = await scene.actor()
    await scene.deposit(BTC, borrower, '1')
    await scene.borrow(BTC, 'primeVault', borrower, usd(usdDebt))
    return borrower
  }
  let running: TestKeeper | undefined
  const rest = async () => {
    await running?.keeper.stop({ drainMs: 0 })
    running = undefined
  }
  return {
    scene,
    canonical,
    service,
    kms,
    signer,
    directory,
    mineEvery,
    quickly,
    configFile,
    config,
    liquidator,
    openBorrower,
    openUnderWater: () =>
      quickly(async () => {
        await scene.price(BTC, '60000')
        const borrower = await openBorrower()
        await scene.price(BTC, '47000')
        return borrower
      }),
    recoverInNextBlock: async () => {
      const { timestamp } = await scene.client.getBlock()
      await scene.client.writeContract({
        chain: null,
        address: scene.at(BTC.oracle),
        abi: priceOracleAbi,
        gas: 200_000n,
        account: scene.deployment.admin,
        functionName: 'setPrice',
        args: [parseUnits('60000', 18), timestamp],
        maxFeePerGas: parseGwei('100'),
        maxPriorityFeePerGas: parseGwei('90'),
      })
    },
    liquidated: async (borrower) => {
      const events = await scene.client.getContractEvents({
        address: scene.at(BTC.market),
        abi: lendingMarketAbi,
        eventName: 'Liquidated',
        fromBlock: 0n,
        ...(borrower === undefined ? {} : { args: { borrower } }),
      })
      return events.flatMap(({ args }) => args.borrower ?? [])
    },
    start: async (changes) => {
      running = await startTestKeeper(config(changes))
      return running
    },
    rest,
    stop: async () => {
      await rest()
      await service.stop()
      await canonical.stop()
      await kms.stop()
      await front.stop()
      await scene.stop()
      rmSync(directory, { recursive: true })
    },
  }
}

async function pinsOf({ client, at, deployment }: Scene) {
  const pin = async (address: Address) => ({
    address,
    codeHash: keccak256((await client.getCode({ address })) ?? '0x'),
  })
  const asset = async (name: 'sUSD' | 'sBTC' | 'sETH', decimals: string) => ({
    ...(await pin(at(name))),
    symbol: name,
    decimals,
  })
  const market = async (side: typeof BTC | typeof ETH) => {
    const oracle = await pin(at(side.oracle))
    return {
      ...(await pin(at(side.market))),
      loanAsset: at('sUSD'),
      collateralAsset: at(side.collateral),
      oracle: oracle.address,
      oracleCodeHash: oracle.codeHash,
    }
  }
  return {
    namespace: deployment.namespace,
    assets: [await asset('sUSD', '6'), await asset('sBTC', '8'), await asset('sETH', '18')],
    markets: [await market(BTC), await market(ETH)],
    vaults: [
      { name: 'primeVault', ...(await pin(at('primeVault'))) },
      { name: 'growthVault', ...(await pin(at('growthVault'))) },
    ],
  }
}

/** A keeper that runs in the test's own process, with every event it told. */
export type TestKeeper = {
  readonly keeper: Keeper
  readonly events: readonly KeeperEvent[]
  readonly log: readonly string[]
  /** Resolve with the first event, past or to come, that fits. */
  readonly until: (fits: Fits) => Promise<KeeperEvent>
  /** Resolve once a slot of a workflow that an event fits is so, or further; others of the signer may be on their way, too. */
  readonly untilSlot: (fits: Fits, state: 'sent' | 'mined') => Promise<void>
  /** What its ops server has at a path. */
  readonly page: (path: string) => Promise<string>
}

/** Whether an event is the one that is meant. */
type Fits = (event: KeeperEvent) => boolean

const FROM_SENT: readonly string[] = ['sent', 'mined', 'final']

/** Create and start a keeper; its log is kept, not printed. */
export async function startTestKeeper(config: RunConfig, clock: Clock = systemClock): Promise<TestKeeper> {
  const events: KeeperEvent[] = []
  const log: string[] = []
  const waiting = new Set<(event: KeeperEvent) => void>()
  const keeper = createKeeper(config, {
    version: 'test',
    clock,
    log: createLog({ level: 'info', secrets: [], write: (line) => log.push(line) }),
  })
  keeper.onEvent((event) => {
    events.push(event)
    for (const tell of waiting) tell(event)
  })
  await keeper.start().catch(async (error: unknown) => {
    await keeper.stop({ drainMs: 0 })
    throw error
  })
  const until = (fits: Fits): Promise<KeeperEvent> => {
    const known = events.find(fits)
    if (known !== undefined) return Promise.resolve(known)
    return new Promise((resolve) => {
      const tell = (event: KeeperEvent) => {
        if (!fits(event)) return
        waiting.delete(tell)
        resolve(event)
      }
      waiting.add(tell)
    })
  }
  return {
    keeper,
    events,
    log,
    until,
    untilSlot: async (fits, state) => {
      // One that came too late is followed by another: either may be the one that gets there.
      const isMeant = (id: string) =>
        events.some((event) => event.type === 'workflow' && event.id === id && fits(event))
      // Between two looks of a busy keeper a slot may have gone further.
      const states = FROM_SENT.slice(FROM_SENT.indexOf(state))
      await until(() =>
        events.some((event) => event.type === 'slot' && states.includes(event.state) && isMeant(event.id)),
      )
    },
    page: async (path) => {
      const ready = await until(({ type }) => type === 'ready')
      return (await fetch(`${ready.type === 'ready' ? ready.opsUrl : ''}${path}`)).text()
    },
  }
}

/** Whether an event says that a workflow of a type reached a state. */
export const reached =
  (state: string, type = 'role.liquidator.liquidate'): Fits =>
  (event) =>
    event.type === 'workflow' && event.workflowType === type && event.state === state

/** Whether an event says that the liquidation of a borrower reached a state. */
export const liquidationOf =
  (borrower: Address) =>
  (state: string): Fits =>
  (event) =>
    reached(state)(event) && event.type === 'workflow' && event.subject.endsWith(borrower.toLowerCase())
