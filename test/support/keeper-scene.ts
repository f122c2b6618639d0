import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Address, keccak256, parseEther } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { parse, stringify } from 'yaml'
import { startNodeFront } from '../../sandbox/chain/node-front.ts'
import { assetAbi } from '../../sandbox/contracts/abis.ts'
import type { Canonical } from '../../sandbox/indexer/canonical.ts'
import { type Kms, startKms } from '../../sandbox/kms/server.ts'
import { type SandboxService, startService } from '../../sandbox/service/service.ts'
import { systemClock } from '../../src/clock.ts'
import { loadRunConfig, type RunConfig } from '../../src/config/config.ts'
import { createKeeper, type Keeper } from '../../src/keeper/keeper.ts'
import type { KeeperEvent } from '../../src/ops/events.ts'
import { createLog } from '../../src/ops/log.ts'
import { isWellKnown } from '../../src/sign/well-known.ts'
import { BTC, createScene, ETH, type Scene, usd } from '../sandbox/indexer/scene.ts'
import { poorDonor } from './donor.ts'

const KMS_CREDENTIALS = { accessKeyId: 'AKIDTEST', secretAccessKey: 'kms-secret-0123456789' }
const SECRET_KEY = 'sk_test_0123456789abcdef'
/** The environment that a run configuration of the scene refers to. */
export const ENVIRONMENT = { TEST_SECRET_KEY: SECRET_KEY, TEST_KMS_SECRET: KMS_CREDENTIALS.secretAccessKey }
const SHIPPED_POLICY = fileURLToPath(new URL('../../policies/liquidator.yaml', import.meta.url))

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
  /** Do something with each transaction mined at once, instead of waiting for a block each time. */
  readonly quickly: <T>(work: () => Promise<T>) => Promise<T>
  /** Open a borrower of the BTC market with one BTC; its health is 1 at a price of its debt / 0.8. */
  readonly openBorrower: (usdDebt?: string) => Promise<Address>
  readonly stop: () => Promise<void>
}

/** Start the scene: one block a second, as the sandbox has. */
export async function createKeeperScene(): Promise<KeeperScene> {
  const directory = mkdtempSync(join(tmpdir(), 'keeper-'))
  const scene = await createScene()
  const keys = ['11111111-2222-4333-8444-555555555555', '22222222-2222-4333-8444-555555555555'].map((id) => ({
    id,
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
    rpcUrl: scene.chain.rpcUrl,
    clock: systemClock,
    dbFile: join(directory, 'service.sqlite'),
    host: '127.0.0.1',
    credentials: { secretKey: SECRET_KEY, publishableKey: 'pk_test', origins: [] },
    donor: poorDonor,
  })
  const pins = await pinsOf(scene)
  await scene.rpc('evm_setIntervalMining', 1)
  const quickly = async <T>(work: () => Promise<T>): Promise<T> => {
    await scene.client.setAutomine(true)
    try {
      return await work()
    } finally {
      await scene.client.setAutomine(false)
      await scene.client.setIntervalMining({ interval: 1 })
    }
  }
  const policyFile = join(directory, 'liquidator.yaml')
  writeFileSync(policyFile, policyOfOneOracle())
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
      agents: [
        {
          role: 'liquidator',
          mode: 'live',
          policy: policyFile,
          signer: { kms: { keyId: kms.keys[0]?.arn, address: signer } },
        },
      ],
      ...changes,
    }
    writeFileSync(file, stringify(value, { defaultStringType: 'QUOTE_DOUBLE' }))
    return file
  }
  return {
    scene,
    canonical,
    service,
    kms,
    signer,
    directory,
    quickly,
    configFile,
    config: (changes) => loadRunConfig(configFile(changes), { env: ENVIRONMENT, isWellKnown }),
    openBorrower: async (usdDebt = '40000') => {
      const borrower = await scene.actor()
      await scene.deposit(BTC, borrower, '1')
      await scene.borrow(BTC, 'primeVault', borrower, usd(usdDebt))
      return borrower
    },
    stop: async () => {
      await service.stop()
      await canonical.stop()
      await kms.stop()
      await front.stop()
      await scene.stop()
      rmSync(directory, { recursive: true })
    },
  }
}

/** The shipped policy, but for the second price: nobody feeds another oracle here. */
function policyOfOneOracle(): string {
  const policy = parse(readFileSync(SHIPPED_POLICY, 'utf8'), { schema: 'failsafe' })
  policy.strategy.secondPrice = 'none'
  return stringify(policy, { defaultStringType: 'QUOTE_DOUBLE' })
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
    vaults: [await pin(at('primeVault')), await pin(at('growthVault'))],
  }
}

/** A keeper that runs in the test's own process, with every event it told. */
export type TestKeeper = {
  readonly keeper: Keeper
  readonly events: readonly KeeperEvent[]
  readonly log: readonly string[]
  /** Resolve with the first event, past or to come, that fits. */
  readonly until: (fits: (event: KeeperEvent) => boolean) => Promise<KeeperEvent>
}

/** Create and start a keeper; its log is kept, not printed. */
export async function startTestKeeper(config: RunConfig): Promise<TestKeeper> {
  const events: KeeperEvent[] = []
  const log: string[] = []
  const waiting = new Set<(event: KeeperEvent) => void>()
  const keeper = createKeeper(config, {
    version: 'test',
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
  return {
    keeper,
    events,
    log,
    until: (fits) => {
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
    },
  }
}

/** Whether an event says that a workflow of a type reached a state. */
export const reached =
  (state: string, type = 'role.liquidator.liquidate') =>
  (event: KeeperEvent): boolean =>
    event.type === 'workflow' && event.workflowType === type && event.state === state
