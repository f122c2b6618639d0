import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { keccak256 } from 'viem'
import { z } from 'zod'
import { endpointOf } from '../../../src/config/redis.ts'
import { foundFleet } from '../../../src/journal/redis/link/generation.ts'
import { type Keys, keysOf } from '../../../src/journal/redis/link/keys.ts'
import { readRedisJournal } from '../../../src/journal/redis/open-reads.ts'
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.ts'
import { type NodeProxy, startNodeProxy } from '../../support/node-proxy.ts'
import { startRedis, type TestRedis } from '../../support/redis.ts'
import { DURABLE } from '../../support/redis-fleet.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { createPeople, type People } from './fleet-people.ts'
import { createGround, type Ground } from './ground.ts'
import { createKeeperProcess, type KeeperProcess } from './keeper-process.ts'
import { type ChaosWorld, wiring } from './world.ts'

/** What an instance asked of the outside for a signer: a signature, or to send raw bytes of a hash. */
type Deed = {
  readonly name: string
  readonly atMs: number
} & (
  | { readonly kind: 'sign'; readonly seat: string; readonly digest: string }
  | { readonly kind: 'send'; readonly raw: `0x${string}`; readonly hash: string }
)

/** One instance of the fleet with a way of its own to each part. */
export type Member = {
  readonly name: string
  /** The world as this instance reaches it. */
  readonly world: ChaosWorld
  readonly redis: TcpProxy
  readonly keeper: KeeperProcess
}

/** The Redis of a fleet: one that counts, and maybe a replica of it. */
export type FleetRedis = {
  readonly master: () => TestRedis
  /** End the master by SIGKILL if it runs, and start it again on its files. */
  readonly restart: () => Promise<void>
  /** A line to the master, past every proxy. */
  readonly line: () => Redis
  /** Where the replica hears its master; null where there is none. */
  readonly replication: TcpProxy | null
  /** Make the replica a master, whatever it heard, and lead every instance to it. */
  readonly promote: () => Promise<void>
  /** Lead every instance to the server that is no master now, which then is. */
  readonly lead: () => Promise<void>
  /** Let the server that is no master begin anew as a replica of the one that is. */
  readonly follow: () => Promise<void>
}

/** A fleet on one ground. */
export type FleetWorld = Ground & {
  readonly members: readonly Member[]
  readonly redis: FleetRedis
  readonly keys: Keys
  readonly seats: readonly string[]
  readonly deeds: () => readonly Deed[]
  readonly reads: ChaosWorld['reads']
  readonly replyTo: ChaosWorld['replyTo']
  readonly people: People
  readonly stop: () => Promise<void>
}

/** How large a fleet is. */
export type FleetSize = {
  readonly instances: number
  readonly signers: number
  readonly borrowers: number
  readonly nodes: number
  readonly confirmations: number
  readonly leaseMs: number
  /** Whether there is a replica, and whether barriers wait for it. */
  readonly hasReplica: boolean
  readonly replicas: 0 | 1
  /** Where logs go. */
  readonly keepIn: string
}

/** The fleet's name. */
export const FLEET = 'chaos'

/** Start a fleet's world; its instances are not started yet. */
export async function createFleetWorld(size: FleetSize): Promise<FleetWorld> {
  const ground = await createGround(size)
  const servers = await startServers(size.hasReplica)
  const { one: first } = servers
  const endpoint = (port: number) => endpointOf(`redis://127.0.0.1:${port}/0`)
  await foundFleet({
    endpoint: endpoint(first.port),
    fleet: FLEET,
    replicas: size.replicas,
  })
  const keys = keysOf(FLEET)
  const deeds: Deed[] = []
  const names = Array.from({ length: size.instances }, (_, index) => String.fromCharCode(97 + index))
  const members: Member[] = []
  const targets: { host: string; port: number }[] = []
  let master: TestRedis = first
  const reads = () => readRedisJournal({ endpoint: endpoint(master.port), fleet: FLEET })
  for (const name of names) {
    const target = { host: '127.0.0.1', port: first.port }
    targets.push(target)
    members.push(await createMember(name, names, { ground, size, target, deeds, reads }))
  }
  const redis = serving(
    servers,
    () => master,
    async (next) => {
      master = next
      for (const [index, { redis }] of members.entries()) {
        await redis.down()
        Object.assign(targets[index] ?? {}, { port: next.port })
        await redis.up()
      }
    },
  )
  const people = createPeople(ground, {
    fleet: FLEET,
    leaseMs: size.leaseMs,
    endpoint: () => endpoint(master.port),
  })
  return {
    ...ground,
    people,
    replyTo: async (id) => {
      const kept = await redis.line().get(keys.reply(id))
      return kept === null ? null : kept.slice(kept.indexOf(' ') + 1)
    },
    members,
    keys,
    deeds: () => deeds,
    reads,
    seats: ground.carriers.map(({ signer }) => signer.toLowerCase()),
    redis,
    stop: async () => {
      await people.stop()
      for (const { world, redis, keeper } of members) {
        await keeper.kill()
        await redis.stop()
        for (const proxy of [...world.nodes, world.service, world.kms]) await proxy.stop()
        cpSync(world.directory, join(size.keepIn, keeperName(world)), { recursive: true })
      }
      await servers.replication?.proxy.stop()
      for (const server of [servers.other, servers.one]) await server?.stop()
      await ground.scene.stop()
    },
  }
}

const keeperName = ({ directory }: ChaosWorld) => directory.split('/').at(-1) ?? ''

type Servers = {
  readonly one: TestRedis
  readonly other?: TestRedis
  /** What the replica hears its master by. */
  readonly replication?: { readonly proxy: TcpProxy; readonly target: { host: string; port: number } }
}

async function startServers(hasReplica: boolean): Promise<Servers> {
  const one = await startRedis(DURABLE)
  if (!hasReplica) return { one }
  const target = { host: one.host, port: one.port }
  const proxy = await startTcpProxy(target)
  const other = await startRedis({ ...DURABLE, replicaof: `127.0.0.1 ${proxy.port}` })
  while ((await one.client().wait(1, 1_000)) < 1);
  return { one, other, replication: { proxy, target } }
}

function serving(
  { one, other, replication }: Servers,
  master: () => TestRedis,
  leadTo: (next: TestRedis) => Promise<void>,
): FleetRedis {
  const lines = new Map<TestRedis, Redis>()
  const second = () => {
    const found = master() === one ? other : one
    if (found === undefined || replication === undefined) throw new TypeError('there is no replica')
    return { found, ...replication }
  }
  return {
    master,
    // One that was a replica has that among its settings.
    restart: () => master().restart({ replicaof: 'no one' }),
    line: () => {
      const line = lines.get(master()) ?? master().client()
      lines.set(master(), line)
      return line
    },
    replication: replication?.proxy ?? null,
    promote: async () => {
      const { found } = second()
      await found.client().replicaof('NO', 'ONE')
      await leadTo(found)
    },
    lead: () => leadTo(second().found),
    follow: async () => {
      const { found, proxy, target } = second()
      await found.kill()
      rmSync(join(found.directory, 'appendonlydir'), { recursive: true, force: true })
      target.port = master().port
      proxy.setRule('toClient', null)
      await found.restart({ replicaof: `127.0.0.1 ${proxy.port}` })
    },
  }
}

const signing = z.object({ KeyId: z.string(), Message: z.base64() })

async function createMember(
  name: string,
  roster: readonly string[],
  {
    ground,
    size,
    target,
    deeds,
    reads,
  }: {
    readonly ground: Ground
    readonly size: FleetSize
    readonly target: { readonly host: string; readonly port: number }
    readonly deeds: Deed[]
    readonly reads: ChaosWorld['reads']
  },
): Promise<Member> {
  const { scene } = ground
  const redis = await startTcpProxy(target)
  const onCall = ({ method, params }: { readonly method: string; readonly params: readonly unknown[] }) => {
    if (method !== 'eth_sendRawTransaction') return
    const raw = z.templateLiteral(['0x', z.string()]).parse(params[0])
    deeds.push({ name, atMs: Date.now(), kind: 'send', raw, hash: keccak256(raw) })
  }
  const nodes: NodeProxy[] = []
  for (let index = 0; index < size.nodes; index += 1)
    nodes.push(await startNodeProxy(scene.scene.chain.rpcUrl, onCall))
  const service = await startFaultProxy(scene.service.url)
  const kms = watched(await startFaultProxy(scene.kms.url), (body) => {
    const asked = signing.safeParse(JSON.parse(body))
    if (!asked.success) return
    const index = scene.kms.keys.findIndex(({ arn }) => arn === asked.data.KeyId)
    const seat = ground.carriers[index]?.signer.toLowerCase() ?? asked.data.KeyId
    const digest = `0x${Buffer.from(asked.data.Message, 'base64').toString('hex')}`
    deeds.push({ name, atMs: Date.now(), kind: 'sign', seat, digest })
  })
  const directory = join(scene.directory, name)
  mkdirSync(directory, { mode: 0o700 })
  const configFile = scene.configFile({
    ...wiring(ground, { nodes, service, kms }),
    directory,
    journal: { redis: { url: `redis://127.0.0.1:${redis.port}/0`, replicas: String(size.replicas) } },
    queue: 'bullmq',
    fleet: { name: FLEET, instance: name, roster: [...roster], leaseMs: String(size.leaseMs) },
  })
  const order = () => {
    throw new TypeError('a fleet is given orders by its journal')
  }
  const replyTo = async () => null
  const stop = async () => undefined
  const world = { ...ground, nodes, service, kms, configFile, directory, reads, order, replyTo, stop }
  const keeper = createKeeperProcess(configFile, join(size.keepIn, `${name}.log`))
  return { name, world, redis, keeper }
}

/** A KMS's proxy that shows each body that arrives, whatever is done to it. */
function watched(proxy: FaultProxy, see: (body: string) => void): FaultProxy {
  const setRule: FaultProxy['setRule'] = (rule) =>
    proxy.setRule((passing) => {
      see(passing.body)
      return rule?.(passing) ?? null
    })
  setRule(null)
  return { ...proxy, setRule }
}
