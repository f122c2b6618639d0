import { seatOf } from './fleet.ts'
import type { Secret } from './secrets/secret.ts'

/** Where something listens; port 0 takes a free one. */
type Listener = { readonly host: string; readonly port: number }

/** What a run configuration says, as far as its parts can conflict. */
type ConfigParts = {
  readonly environment: 'sandbox' | 'production'
  readonly directory: string
  readonly watermark?: string | undefined
  readonly journal: { readonly redis?: object | undefined }
  readonly queue: 'timers' | 'bullmq'
  readonly fleet?: object | undefined
  readonly chain: {
    readonly nodes: Readonly<Record<'read' | 'send', readonly Secret[]>> & { readonly agree: number }
  }
  readonly service: {
    readonly url: string
    readonly streamUrl?: string | undefined
    readonly webhook?: Listener | undefined
  }
  readonly ops: Listener
  readonly console?: Listener | undefined
  readonly kms?: { readonly endpoint?: string | undefined } | undefined
  readonly traces?: { readonly url: Secret } | undefined
  readonly secrets: { readonly vault?: { readonly url: string } | undefined }
  readonly sources: readonly ({ readonly kind: 'http'; readonly url: Secret } | { readonly kind: 'file' })[]
  readonly alarms: readonly { readonly url: Secret }[]
  readonly replies?: Listener | undefined
  readonly agents: readonly {
    readonly role: string
    readonly mode: 'live' | 'shadow'
    readonly zone?: string | undefined
    readonly signer: { readonly kind: 'kms' | 'keystore'; readonly address: `0x${string}` }
  }[]
}

/** A place that does not go with the rest, and what to do about it. */
type Conflict = { readonly path: readonly PropertyKey[]; readonly message: string; readonly fix: string }

/**
 * Find what no part of a run configuration can see by itself: an agent whose KMS is not configured, and whatever
 * production refuses.
 * @param isWellKnown whether an address belongs to a published development key.
 */
export const conflicts = (
  config: ConfigParts,
  isWellKnown: (address: `0x${string}`) => boolean,
): readonly Conflict[] => [
  ...signerConflicts(config, isWellKnown),
  ...nodeConflicts(config),
  ...fleetConflicts(config),
  ...portConflicts(config),
  ...(config.watermark === config.directory
    ? [
        {
          path: ['watermark'],
          message: 'the directory has a watermark already, and a second copy there would be lost with it',
          fix: 'name a folder on another disk, or remove `watermark`',
        },
      ]
    : []),
  ...(config.environment === 'production' ? endpointConflicts(config) : []),
]

function fleetConflicts({
  journal,
  queue,
  fleet,
  watermark,
  replies,
  agents,
}: ConfigParts): readonly Conflict[] {
  const found: Conflict[] = []
  const conflict = (path: PropertyKey[], message: string, fix: string) => found.push({ path, message, fix })
  if (journal.redis !== undefined && fleet === undefined) {
    conflict(['fleet'], 'a journal on Redis is a fleet’s', 'add `fleet` with `name`, `instance` and `roster`')
  }
  if (journal.redis === undefined && fleet !== undefined) {
    conflict(['fleet'], 'a fleet shares a journal on Redis', 'add `journal: { redis: { url } }`')
  }
  if (journal.redis === undefined && queue === 'bullmq') {
    conflict(['queue'], 'BullMQ is on the Redis of the journal', 'add `journal: { redis: { url } }`')
  }
  if (journal.redis !== undefined && watermark !== undefined) {
    const message = 'in a fleet each instance witnesses what Redis acknowledged, in its own `directory`'
    conflict(['watermark'], message, 'remove `watermark`')
  }
  if (fleet !== undefined && replies !== undefined) {
    const message = 'in a fleet, answers go to its Redis and not to one instance'
    conflict(['replies'], message, 'remove `replies`, and answer with `rolekeeper approve --config FILE`')
  }
  for (const [index, agent] of agents.entries()) {
    if (agent.zone === undefined) continue
    const path = ['agents', index, 'zone']
    if (fleet === undefined) conflict(path, 'zones are those of a fleet', 'remove `zone`')
    const first = agents.findIndex((each) => each.zone !== undefined && seatOf(each) === seatOf(agent))
    if (agents[first]?.zone === agent.zone) continue
    const message = `agents[${first}] signs with the same key and prefers ${agents[first]?.zone}`
    conflict(path, message, 'give both the same zone: one instance holds that key')
  }
  return found
}

function portConflicts({ ops, console, service: { webhook }, replies }: ConfigParts): readonly Conflict[] {
  const listeners = { ops, console, 'service.webhook': webhook, replies }
  const taken = new Map<string, string>()
  return Object.entries(listeners).flatMap(([name, listener]) => {
    if (listener === undefined || listener.port === 0) return []
    const { host, port } = listener
    const first = taken.get(`${host}:${port}`)
    taken.set(`${host}:${port}`, first ?? name)
    if (first === undefined) return []
    const message = `${first} listens at ${host}:${port} already`
    return [{ path: [...name.split('.'), 'port'], message, fix: 'give each a port of its own' }]
  })
}

function nodeConflicts({ environment, chain: { nodes } }: ConfigParts): readonly Conflict[] {
  const { read, agree } = nodes
  const path = ['chain', 'nodes']
  const found: Conflict[] = (['read', 'send'] as const).flatMap((use) => {
    const urls = nodes[use].map((url) => nodeAt(url.reveal()))
    return urls.flatMap((url, index) => {
      const first = urls.indexOf(url)
      if (first === index) return []
      const message = `this is the node of ${use}[${first}] again, and a node counts once`
      return [{ path: [...path, use, index], message, fix: 'name another node, or remove this one' }]
    })
  })
  if (environment === 'production' && Math.min(agree, read.length) < 2) {
    const message = `production believes no node alone: at least 2 must agree, and \`read\` has ${read.length}`
    const fix = read.length < 2 ? 'add a node of another provider to `read`' : 'ask for agree: "2"'
    found.push({ path: [...path, 'agree'], message, fix })
  }
  if (agree > read.length) {
    const message = `${agree} nodes must agree, and \`read\` has ${read.length}`
    found.push({ path: [...path, 'agree'], message, fix: 'add nodes to `read`, or lower `agree`' })
  }
  return found
}

/** What tells two nodes apart of a URL: not as whom one asks, and not another spelling of the same place. */
function nodeAt(text: string): string {
  const { protocol, hostname, port, pathname, search } = new URL(text)
  return [protocol, hostname.replace(/\.$/, ''), port, pathname.replace(/\/+$/, ''), search].join(' ')
}

function signerConflicts(
  { environment, kms, agents }: ConfigParts,
  isWellKnown: (address: `0x${string}`) => boolean,
): readonly Conflict[] {
  return agents.flatMap(({ signer }, index) => {
    const path = ['agents', index, 'signer']
    const found: Conflict[] = []
    if (signer.kind === 'kms' && kms === undefined) {
      const message = 'agents sign with a KMS, and none is configured'
      found.push({ path: ['kms'], message, fix: 'add `kms` with its region' })
    }
    if (environment !== 'production') return found
    if (signer.kind === 'keystore') {
      const message = 'a keystore is for the sandbox only'
      found.push({ path: [...path, 'keystore'], message, fix: 'sign with a KMS in production' })
    }
    if (isWellKnown(signer.address)) {
      const message = 'the key of this address is public'
      found.push({ path: [...path, signer.kind, 'address'], message, fix: 'use a key of your own' })
    }
    return found
  })
}

function endpointConflicts(config: ConfigParts): readonly Conflict[] {
  const plain = [...endpoints(config), ...beside(config).filter(([, text]) => !isLoopback(text))].filter(
    ([, text]) => ['http:', 'ws:'].includes(new URL(text).protocol),
  )
  const found: Conflict[] = plain.map(([path]) => ({
    path,
    message: 'production refuses an unencrypted endpoint',
    fix: 'use https or wss, or environment: sandbox',
  }))
  if (config.kms?.endpoint !== undefined && isLoopback(config.kms.endpoint)) {
    const message = 'production refuses a KMS on this machine'
    found.push({ path: ['kms', 'endpoint'], message, fix: 'remove the endpoint to use AWS' })
  }
  return found
}

function endpoints({
  chain,
  service,
  kms,
  sources: given,
  alarms,
}: ConfigParts): readonly (readonly [PropertyKey[], string])[] {
  const nodes = (['read', 'send'] as const).flatMap((use) =>
    chain.nodes[use].map((node, index) => [['chain', 'nodes', use, index], node.reveal()] as const),
  )
  const others = [
    [['service', 'url'], service.url],
    [['service', 'streamUrl'], service.streamUrl],
    [['kms', 'endpoint'], kms?.endpoint],
  ] as const
  const sources = given.flatMap((one, index) =>
    one.kind === 'http' ? [[['sources', index, 'url'], one.url.reveal()] as const] : [],
  )
  const targets = alarms.map(({ url }, index) => [['alarms', index, 'url'], url.reveal()] as const)
  return [...nodes, ...others, ...sources, ...targets].flatMap(([path, text]) =>
    text === undefined ? [] : [[[...path], text] as const],
  )
}

/** An agent of Vault or a collector of spans may well be on this machine, and then needs no TLS. */
const beside = ({
  traces,
  secrets: { vault },
}: ConfigParts): readonly (readonly [PropertyKey[], string])[] => [
  ...(traces === undefined
    ? []
    : ([[['traces', 'url'], traces.url.reveal()]] satisfies [PropertyKey[], string][])),
  ...(vault === undefined
    ? []
    : ([[['secrets', 'vault', 'url'], vault.url]] satisfies [PropertyKey[], string][])),
]

const isLoopback = (text: string) => {
  const hostname = new URL(text).hostname.replace(/\.$/, '')
  return ['localhost', '[::1]', '[::]', '0.0.0.0'].includes(hostname) || /^127\./.test(hostname)
}
