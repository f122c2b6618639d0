import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalReads } from '../../../src/journal/journal.ts'
import { readSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { replyKey } from '../../../src/ops/mail.ts'
import { writeSubmission } from '../../../src/ops/orders.ts'
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.ts'
import { type NodeProxy, startNodeProxy } from '../../support/node-proxy.ts'
import { createGround, type Ground } from './ground.ts'

/** How large a seed's world is. */
export type Size = { readonly nodes: number; readonly borrowers: number; readonly confirmations: number }

/** A sandbox behind proxies that do what the weather says, with people to liquidate. */
export type ChaosWorld = Ground & {
  readonly nodes: readonly NodeProxy[]
  readonly service: FaultProxy
  readonly kms: FaultProxy
  readonly configFile: string
  /** The keeper's state directory. */
  readonly directory: string
  /** Open what the keeper recorded. */
  readonly reads: () => JournalReads
  /** What the author of an order was told; null while nobody took it. */
  readonly replyTo: (orderId: string) => Promise<string | null>
  /** Ask the keeper to deposit so many base units of sUSD. */
  readonly order: (id: string, assets: bigint) => void
  readonly stop: () => Promise<void>
}

/** Start a world with all its people, before anything is wrong. */
export async function createChaosWorld(size: Size): Promise<ChaosWorld> {
  const ground = await createGround({ ...size, signers: 1 })
  const { scene } = ground
  const nodes: NodeProxy[] = []
  for (let index = 0; index < size.nodes; index += 1)
    nodes.push(await startNodeProxy(scene.scene.chain.rpcUrl))
  const service = await startFaultProxy(scene.service.url)
  const kms = await startFaultProxy(scene.kms.url)
  const watermark = join(scene.directory, 'watermark')
  mkdirSync(watermark)
  const config = scene.config()
  const configFile = scene.configFile({ ...wiring(ground, { nodes, service, kms }), watermark })
  return {
    ...ground,
    nodes,
    service,
    kms,
    configFile,
    directory: config.directory,
    reads: () => readSqliteJournal(config.directory),
    replyTo: async (id) => {
      const journal = readSqliteJournal(config.directory)
      return journal.getValue(replyKey(id)).finally(() => journal.close())
    },
    order: (id, assets) => writeSubmission(config.directory, id, depositOf(ground, 0, assets)),
    stop: async () => {
      for (const proxy of [...nodes, service, kms]) await proxy.stop()
      await scene.stop()
    },
  }
}

/** What a keeper's configuration says of a ground that it reaches by these proxies. */
export function wiring(
  { scene, config }: Ground,
  { nodes, service, kms }: Pick<ChaosWorld, 'nodes' | 'service' | 'kms'>,
): Readonly<Record<string, unknown>> {
  const urls = nodes.map(({ url }) => url)
  const { region, accessKeyId } = scene.config().kms ?? {}
  return {
    ...config,
    chain: { ...Object(config.chain), nodes: { read: [...urls], send: [...urls] } },
    service: { url: service.url, secretKey: 'env:TEST_SECRET_KEY' },
    kms: {
      region,
      endpoint: kms.url,
      accessKeyId: accessKeyId?.reveal(),
      secretAccessKey: 'env:TEST_KMS_SECRET',
    },
  }
}

/** An order to one of those who carry orders. */
export function depositOf({ scene, carriers }: Ground, carrier: number, assets: bigint) {
  const { role, signer } = carriers[carrier] ?? { role: 'liquidator', signer: scene.signer }
  const input = {
    vaultAddress: scene.scene.at('primeVault'),
    assets: String(assets),
    receiverAddress: signer,
    minShares: '1',
  }
  return { by: { user: 'people@chaos' }, role, workflowType: 'deposit', input, shadow: false }
}
