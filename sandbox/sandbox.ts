import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Clock } from '../src/clock.ts'
import { invariant } from '../src/errors.ts'
import { castEntities } from './cast/entities.ts'
import { fundCast } from './cast/funding.ts'
import { KEYED_ROLES, type KeyedRole, loadKeys, peopleOf, type SandboxKeys } from './cast/keys.ts'
import { castRecords } from './cast/records.ts'
import { BLOCKS_KEPT, type Chain, startChain } from './chain/chain.ts'
import { type NodeFront, startNodeFront } from './chain/node-front.ts'
import { createTransactions, type Transactions } from './chain/transactions.ts'
import { type Deployment, deploySandbox } from './deploy/deploy.ts'
import { readPins } from './deploy/pins.ts'
import { createPrivateDirectory, lockSandbox } from './files.ts'
import type { Canonical } from './indexer/canonical.ts'
import { createIndexer } from './indexer/indexer.ts'
import { publishInfo, retractInfo, type SandboxInfo } from './info.ts'
import { type Kms, startKms } from './kms/server.ts'
import type { Fault } from './service/faults/faults.ts'
import { createDonor } from './service/grants/donor.ts'
import { type SandboxService, type ServiceSettings, startService } from './service/service.ts'
import { newToken } from './service/store.ts'
import { readDeployment, storeDeployment } from './stored-deployment.ts'
import type { Scenario } from './story/scenarios.ts'
import { startStory } from './story/start-story.ts'
import type { Beginning, Weather } from './story/weather.ts'

/** How a sandbox is started. */
type SandboxOptions = {
  /** Keeps everything, so that a restart goes on; made when absent. */
  readonly directory: string
  /** Of the weather; absent, the directory's own. */
  readonly seed: number | undefined
  readonly scenario: Scenario
  readonly clock: Clock
  readonly weather: Beginning
  /** What the service does wrong from the start; nothing when absent. */
  readonly fault?: Fault | undefined
  /** Whether webhooks may be delivered to this machine. */
  readonly allowLoopbackWebhooks?: boolean | undefined
  /** Blocks that keep their transactions; {@link BLOCKS_KEPT} if absent. */
  readonly blocksKept?: bigint | undefined
  readonly onProgress: (text: string) => void
  /** Gets what went wrong inside while it runs, and does not end it. */
  readonly onTrouble: (cause: unknown) => void
}

/** A running sandbox, whole and in its parts. */
export type Sandbox = {
  readonly info: SandboxInfo
  readonly deployment: Deployment
  readonly keys: SandboxKeys
  readonly chain: Chain
  /** Have a block mined every so many seconds, in place of one; 0 leaves that to the caller. */
  readonly mineEvery: NodeFront['mineEvery']
  readonly kms: Kms
  readonly canonical: Canonical
  readonly service: SandboxService
  readonly weather: Weather
  readonly transactions: Transactions
  /** End every part, the chain's state saved, in under 1.5 s. */
  readonly stop: () => Promise<void>
}

const BLOCK_TIME_S = 1
/** The least that any role needs of the service. */
const ROLE_SCOPES = ['canonical:read', 'workflows:read', 'workflows:write'] as const
const KMS_REGION = 'us-east-1'
/** Where a console on this machine would be served from. */
const ORIGINS = ['http://127.0.0.1:3000', 'http://localhost:3000']

/**
 * Start chain, contracts, KMS, indexer, service and weather in a directory: in a new one everything is made, in an
 * old one it goes on where it stopped. What started before something fails is stopped.
 * Throws RolekeeperError `sandbox.locked`, `sandbox.contracts_missing`, `sandbox.outdated` and what the parts throw.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const directory = resolve(options.directory)
  createPrivateDirectory(directory)
  const { release } = lockSandbox(directory)
  const stops: (() => Promise<void>)[] = []
  const end = async () => {
    // Last started, first stopped; the chain is the first that started.
    for (const stopPart of stops.toReversed()) await stopPart().catch(options.onTrouble)
    retractInfo(directory)
    release()
  }
  let ending: Promise<void> | undefined
  const stop = () => {
    ending ??= end()
    return ending
  }
  try {
    retractInfo(directory)
    const folder = join(directory, 'sandbox')
    createPrivateDirectory(folder)
    const started: Start['started'] = (part) => {
      stops.push(part.stop)
      return part
    }
    // First: another release also has other keys.
    const stored = readDeployment(directory, folder)
    const parts = await startParts({ ...options, directory, folder, stored, keys: loadKeys(folder), started })
    return { ...parts, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** What every step of a start works with: the options, the directory whole, and what is kept in it. */
type Start = SandboxOptions & {
  /** The sandbox's own, inside the directory. */
  readonly folder: string
  /** The deployment that the directory holds already. */
  readonly stored: Deployment | undefined
  readonly keys: SandboxKeys
  /** Note a part that runs, so that it is stopped with the sandbox. */
  readonly started: <Part extends { readonly stop: () => Promise<void> }>(part: Part) => Part
}

async function startParts(start: Start): Promise<Omit<Sandbox, 'stop'>> {
  const { directory, keys, clock, started, onProgress } = start
  const onChain = await startChainWithContracts(start)
  const { chain, deployment, transactions } = onChain
  const { url: rpcUrl, mineEvery } = started(await startNodeFront(chain.rpcUrl, start.scenario.isOpStack))
  const pins = await readPins(rpcUrl, deployment)
  await chain.setAutomine(false)
  await mineEvery(BLOCK_TIME_S)

  onProgress('starting the service and the KMS')
  const [canonical, kms] = await Promise.all([
    createIndexer({
      rpcUrl,
      chainUrl: chain.rpcUrl,
      deployment,
      clock,
      // Named for its chain, as its state is.
      checkpointFile: join(start.folder, `index-${keys.chainId}`),
      blocksKept: start.blocksKept ?? BLOCKS_KEPT,
    }).then(started),
    startKeys(start).then(started),
  ])
  // Of this run alone: one of an earlier run is worth nothing.
  const controlToken = newToken('ctl')
  const story = Promise.withResolvers<Weather>()
  const service = started(
    await startServiceOn(start, onChain, canonical, { rpcUrl, controlToken, story: story.promise }),
  )
  const { sources, weather } = await startStory(
    {
      ...start,
      rpcUrl,
      chain,
      chainId: keys.chainId,
      deployment,
      transactions,
      canonical,
      service,
      begins: start.weather,
      fault: start.fault ?? {},
      weatherFile: join(start.folder, 'weather.json'),
    },
    started,
  )
  story.resolve(weather)
  const info: SandboxInfo = {
    serviceUrl: service.url,
    streamUrl: service.streamUrl,
    rpcUrl,
    chainId: keys.chainId,
    kmsUrl: kms.url,
    kmsRegion: KMS_REGION,
    kmsAccessKeyId: keys.kms.accessKeyId,
    kmsSecretAccessKey: keys.kms.secretAccessKey,
    secretKey: keys.secretKey,
    secretKeys: byRole((role) => keys.roles[role].secretKey),
    controlToken,
    publishableKey: keys.publishableKey,
    origins: ORIGINS,
    contracts: Object.fromEntries(
      Object.entries(deployment.contracts).map(([name, { address }]) => [name, address]),
    ),
    signers: signersOf(kms),
    deployment: pins,
    sources: sources.pins,
    pid: process.pid,
  }
  publishInfo(directory, info)
  return { info, deployment, keys, chain, mineEvery, kms, canonical, service, weather, transactions }
}

/** The chain, what stands on it, and who sends to it. */
type OnChain = Pick<Sandbox, 'chain' | 'deployment' | 'transactions'>

/** Start the chain, and deploy the contracts to it when the directory holds no deployment yet. */
async function startChainWithContracts({
  folder,
  stored,
  keys,
  scenario: { isOpStack },
  blocksKept,
  started,
  onProgress,
}: Start): Promise<OnChain> {
  onProgress('starting the chain')
  const { chainId } = keys
  // Named for its chain: one that is still ending after `--fresh` cannot write over the next one's.
  const stateFile = join(folder, `chain-${chainId}.json`)
  // Half a deployment is no deployment.
  if (stored === undefined) rmSync(stateFile, { force: true })
  const chain = started(await startChain({ stateFile, chainId, isOpStack, blocksKept }))
  const { rpcUrl } = chain
  const transactions = createTransactions(rpcUrl, chainId)
  if (stored !== undefined) return { chain, deployment: stored, transactions }
  onProgress('deploying the contracts')
  const deployment = await createDeployment(rpcUrl, keys, transactions)
  storeDeployment(folder, deployment)
  return { chain, deployment, transactions }
}

const startKeys = ({ clock, folder, keys }: Start): Promise<Kms> =>
  startKms({
    clock,
    region: KMS_REGION,
    credentials: keys.kms,
    keys: KEYED_ROLES.map((role) => {
      const { id, privateKey } = keys.roles[role]
      return { id, privateKey, alias: `alias/${role}` }
    }),
    logFile: join(folder, 'kms.jsonl'),
  })

function startServiceOn(
  start: Start,
  { chain, deployment, transactions }: OnChain,
  canonical: Canonical,
  /** Reads go to the front, which does not mine meanwhile. */
  settings: Pick<ServiceSettings, 'rpcUrl' | 'controlToken' | 'story'>,
): Promise<SandboxService> {
  const { keys, clock, folder } = start
  return startService({
    canonical,
    deployment,
    entities: castEntities(keys),
    records: castRecords(deployment, keys, clock.nowMs()),
    clock,
    dbFile: join(folder, 'service.sqlite'),
    host: '127.0.0.1',
    credentials: {
      secretKey: keys.secretKey,
      publishableKey: keys.publishableKey,
      origins: ORIGINS,
      narrowKeys: KEYED_ROLES.map((role) => ({
        name: role.replaceAll('-', '_'),
        secretKey: keys.roles[role].secretKey,
        scopes: ROLE_SCOPES,
      })),
    },
    donor: createDonor(chain.rpcUrl, keys.deployer, transactions),
    ...settings,
    fault: start.fault ?? {},
    allowLoopbackWebhooks: start.allowLoopbackWebhooks === true,
    onCrash: start.onTrouble,
  })
}

/** Name each role's key in the KMS, which holds them in the roles' order. */
function signersOf(kms: Kms): SandboxInfo['signers'] {
  return byRole((role) => {
    const key = kms.keys[KEYED_ROLES.indexOf(role)]
    invariant(key !== undefined, 'the KMS holds the keys that it was given, in their order')
    return { keyId: key.arn, address: key.address }
  })
}

const byRole = <T>(of: (role: KeyedRole) => T): Readonly<Record<KeyedRole, T>> => ({
  liquidator: of('liquidator'),
  allocator: of('allocator'),
  'nav-reporter': of('nav-reporter'),
  'asset-manager': of('asset-manager'),
  'rfq-bidder': of('rfq-bidder'),
  'vault-owner': of('vault-owner'),
  partner: of('partner'),
  curator: of('curator'),
  investor: of('investor'),
  guest: of('guest'),
})

async function createDeployment(
  rpcUrl: string,
  keys: SandboxKeys,
  transactions: Transactions,
): Promise<Deployment> {
  const deployment = await deploySandbox({
    rpcUrl,
    deployerKey: keys.deployer,
    ...peopleOf(keys),
  })
  await fundCast(rpcUrl, deployment, keys, transactions)
  return deployment
}
