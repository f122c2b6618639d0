import { createServer, type Server } from 'node:net'
import type { Address, Hex } from 'viem'
import { DATA_FEE_ORACLE } from '../../../src/chain/data-fee.ts'
import { systemClock } from '../../../src/clock.ts'
import type { Finding } from '../../../src/keeper/doctor/finding.ts'
import { createServiceClient } from '../../../src/service/client.ts'
import type { Scope } from '../../../src/service/contract/operations.ts'
import { SERVICE_TIMEOUTS } from '../../../src/service/http.ts'
import { listenOnLoopback } from '../../support/loopback.ts'
import type { NodeFault } from '../../support/node-proxy.ts'
import type { Ward, Written } from './ward.ts'

/** A misconfiguration: what is changed of a right configuration or of its world, and what the doctor has to say of it. */
export type Seed = {
  readonly check: Finding['check']
  readonly code: string
  readonly state?: 'warning'
  readonly about?: string
  readonly change?: (config: Written, ward: Ward) => void
  /** What is done to the world first; resolves to how it is undone. */
  readonly world?: (ward: Ward) => Promise<() => unknown>
  readonly offMs?: number
  /** What the message holds of what is wrong, and the fix of what to write instead. */
  readonly says: (ward: Ward) => readonly [wrong: string | RegExp, fix: string | RegExp]
}

const MINUTE = 60_000
const liquidator = (config: Written) =>
  config.agents.find(({ role }) => role === 'liquidator') as Written['agents'][number]
const allocator = (config: Written) =>
  config.agents.find(({ role }) => role === 'allocator') as Written['agents'][number]
const first = <T>([one]: readonly T[]): T => one as T
const NOWHERE = 'http://127.0.0.1:9'
const typo = (hash: string) => `${hash.slice(0, -1)}${hash.endsWith('0') ? '1' : '0'}`
const only = (config: Written, role: string) => {
  config.agents = config.agents.filter((agent) => agent.role === role)
}

/** A second node in front of the sandbox's, at fault. */
const oddNode = (...faults: readonly NodeFault[]) => ({
  world: async ({ proxy }: Ward) => {
    proxy.setFaults(...faults)
    return () => proxy.setFaults()
  },
  change: ({ chain: { nodes } }: Written, { proxy }: Ward) => {
    nodes.read.push(proxy.url)
    nodes.agree = '1'
  },
})
const blockOf = (change: (block: Record<string, string>) => unknown, tag = 'latest'): NodeFault => ({
  methods: ['eth_getBlockByNumber'],
  when: ({ params }) => params[0] === tag,
  deed: { kind: 'change', change: (block) => change(block as Record<string, string>) },
})

const MINED = `0x${'ab'.repeat(32)}`
const REFUSES = { kind: 'error', code: -32005, message: 'limit exceeded' } as const

async function keyWith(scopes: readonly Scope[], { sandbox, env }: Ward): Promise<() => void> {
  const { serviceUrl: baseUrl, secretKey } = sandbox.info
  const client = createServiceClient({ baseUrl, secretKey, timeouts: SERVICE_TIMEOUTS }, systemClock)
  const body = { kind: 'secret' as const, scopes: [...scopes] }
  const { answer } = await client.createKey({
    idempotencyKey: `doctor ${scopes}`.replaceAll(/[ ,]/g, '-'),
    body,
  })
  await client.close()
  env.NARROW = answer.token
  return () => delete env.NARROW
}
const narrow = (config: Written) => {
  liquidator(config).secretKey = 'env:NARROW'
}

const held: { port: number } = { port: 0 }
const holdPort = async () => {
  const server: Server = createServer()
  held.port = await listenOnLoopback(server)
  return () => server.close()
}

const signerOf = (role: 'liquidator' | 'allocator' | 'guest', { sandbox }: Ward) => sandbox.info.signers[role]
const lower = (text: string) => text.toLowerCase()

/** Forty and more, each by what a person would call it. */
export const SEEDS: Readonly<Record<string, Seed>> = {
  'the clock five minutes fast': {
    check: 'clock',
    code: 'clock.off',
    offMs: 5 * MINUTE,
    says: () => [/[45] min(?: \d+ s)? ahead of/, 'timedatectl set-ntp true'],
  },
  'the clock five minutes slow': {
    check: 'clock',
    code: 'clock.off',
    offMs: -5 * MINUTE,
    says: () => [/[45] min(?: \d+ s)? behind/, 'chrony'],
  },
  'directory: /proc/x': {
    check: 'directory',
    code: 'journal.failed',
    change: (config) => {
      config.directory = '/proc/x'
    },
    says: () => ['/proc/x', 'make it a folder that this user may write'],
  },
  'a directory below a file': {
    check: 'directory',
    code: 'journal.failed',
    change: (config) => {
      config.directory = '/etc/hostname/state'
    },
    says: () => ['/etc/hostname/state', 'correct its path in the configuration'],
  },
  'a directory in memory': {
    check: 'directory',
    code: 'directory.unfit',
    state: 'warning',
    change: (config) => {
      config.directory = '/dev/shm/rolekeeper-seed'
    },
    says: () => ['/dev/shm/rolekeeper-seed is in memory', 'on a disk of its own'],
  },
  'the ops port in use': {
    check: 'port',
    code: 'ops.port_in_use',
    about: 'ops',
    world: holdPort,
    change: ({ ops }) => {
      ops.port = String(held.port)
    },
    says: () => [`127.0.0.1:${held.port} (it is in use)`, 'set another ops.port'],
  },
  'the port of the console in use': {
    check: 'port',
    code: 'ops.port_in_use',
    about: 'console',
    world: holdPort,
    change: (config) => {
      config.console = { host: '127.0.0.1', port: String(held.port) }
    },
    says: () => [`127.0.0.1:${held.port} (it is in use)`, 'set another console.port'],
  },
  'the port of signed answers in use': {
    check: 'port',
    code: 'ops.port_in_use',
    about: 'replies',
    world: holdPort,
    change: (config) => {
      config.replies = { host: '127.0.0.1', port: String(held.port) }
    },
    says: () => [`127.0.0.1:${held.port} (it is in use)`, 'set another replies.port'],
  },
  'an ops host of another machine': {
    check: 'port',
    code: 'ops.port_in_use',
    about: 'ops',
    change: ({ ops }) => {
      Object.assign(ops, { host: '203.0.113.7', port: '9464' })
    },
    says: () => ['203.0.113.7:9464 (EADDRNOTAVAIL)', 'correct ops.host'],
  },
  'a dead node': {
    check: 'node',
    code: 'node.unreachable',
    about: 'read-2',
    change: ({ chain: { nodes } }) => {
      nodes.read.push(NOWHERE)
      nodes.agree = '1'
    },
    says: () => ['Node read-2 cannot be reached', 'chain.nodes.read[1]'],
  },
  'a node for transactions that is dead': {
    check: 'node',
    code: 'node.unreachable',
    about: 'send-2',
    change: ({ chain: { nodes } }) => {
      nodes.send.push(NOWHERE)
    },
    says: () => ['Node send-2 cannot be reached', 'chain.nodes.send[1]'],
  },
  'a node of another chain': {
    check: 'node',
    code: 'node.wrong_chain',
    about: 'read-2',
    ...oddNode({ methods: ['eth_chainId'], deed: { kind: 'result', result: '0x1' } }),
    says: () => [
      'Node read-2 is on chain 1',
      'write the address of a node of that chain as chain.nodes.read[1]',
    ],
  },
  'a chain id with a typo': {
    check: 'node',
    code: 'node.wrong_chain',
    about: 'read-1',
    change: ({ chain }) => {
      chain.id = `${chain.id}1`
    },
    says: ({ sandbox }) => [
      `is on chain ${sandbox.info.chainId}, not on chain ${sandbox.info.chainId}1`,
      'correct chain.id',
    ],
  },
  'a node that lags': {
    check: 'node',
    code: 'node.behind',
    state: 'warning',
    about: 'read-2',
    // No further than the states that the sandbox keeps, however long it has run.
    ...oddNode(blockOf((block) => ({ ...block, number: `0x${(Number(block.number) - 20).toString(16)}` }))),
    // A block may come between the readings of the two.
    says: () => [
      /Node read-2 is at block \d+, [12]\d blocks behind/,
      'name another node as chain.nodes.read[1]',
    ],
  },
  'a node whose head no other has': {
    check: 'node',
    code: 'node.ahead',
    state: 'warning',
    about: 'read-2',
    ...oddNode(
      blockOf((block) => ({ ...block, number: `0x${(Number(block.number) + 1_000).toString(16)}` })),
    ),
    says: () => [
      /Node read-2 is at block \d+, \d+ ahead of all others/,
      'name another node as chain.nodes.read[1]',
    ],
  },
  'a node that stands still': {
    check: 'node',
    code: 'node.stale',
    state: 'warning',
    about: 'read-2',
    ...oddNode(
      blockOf((block) => ({ ...block, timestamp: `0x${(Number(block.timestamp) - 600).toString(16)}` })),
    ),
    says: () => [/newest block of node read-2, \d+, is/, 'chain.nodes.read[1]'],
  },
  'a node without simulations': {
    check: 'node',
    code: 'node.refused',
    about: 'read-2',
    ...oddNode({ methods: ['eth_simulateV1'], deed: { kind: 'error', code: -32_601, message: 'no' } }),
    says: () => ['Node read-2 refused eth_simulateV1', 'use a node that supports eth_simulateV1'],
  },
  'a node that takes ten calls at once': {
    check: 'node',
    code: 'node.lacks_batch',
    state: 'warning',
    about: 'read-2',
    // Calls in one request count from 0.
    ...oddNode({ methods: ['eth_chainId'], when: ({ id }) => Number(id) >= 10, deed: REFUSES }),
    says: () => [
      'asked for 100 calls in one request, takes 6 calls at once',
      'name another node as chain.nodes.read[1]',
    ],
  },
  'a node of few blocks of logs': {
    check: 'node',
    code: 'node.lacks_range',
    state: 'warning',
    about: 'read-2',
    ...oddNode({ methods: ['eth_getLogs'], deed: REFUSES }),
    says: () => ['eth_getLogs over 2,000 blocks, refuses it (-32005)', 'without that limit'],
  },
  'a node without receipts': {
    check: 'node',
    code: 'node.lacks_receipts',
    state: 'warning',
    about: 'read-2',
    ...oddNode(
      {
        methods: ['eth_getBlockByHash'],
        deed: { kind: 'change', change: (block) => ({ ...(block as object), transactions: [MINED] }) },
      },
      { methods: ['eth_getTransactionReceipt'], deed: { kind: 'result', result: null } },
    ),
    says: () => ['a transaction in its newest block, answers something else', 'chain.nodes.read[1]'],
  },
  'a node without a history of fees': {
    check: 'node',
    code: 'node.lacks_fee_history',
    state: 'warning',
    about: 'read-2',
    ...oddNode({ methods: ['eth_feeHistory'], deed: { kind: 'result', result: { reward: null } } }),
    says: () => ["a first offer tips the policy's least", 'chain.nodes.read[1]'],
  },
  'a node that gives no large answer': {
    check: 'node',
    code: 'node.lacks_size',
    state: 'warning',
    about: 'read-2',
    ...oddNode({
      methods: ['eth_call'],
      when: ({ params }) => JSON.stringify(params).length > 100_000,
      deed: REFUSES,
    }),
    says: () => ['asked for an answer of 512 KiB, refuses it', 'chain.nodes.read[1]'],
  },
  'a node without finality': {
    check: 'node',
    code: 'node.no_finalized',
    about: 'read-2',
    ...oddNode(blockOf(() => null, 'finalized')),
    says: () => ['Node read-2 knows no finalized block', 'chain.finality: { confirmations:'],
  },
  'too few nodes left to agree': {
    check: 'quorum',
    code: 'node.quorum_missing',
    change: ({ chain: { nodes } }) => {
      nodes.read.push(NOWHERE)
    },
    says: () => [
      '1 of 2 nodes that are read are well; 2 must agree',
      'add one of another provider to chain.nodes.read',
    ],
  },
  'a code hash with a typo': {
    check: 'code',
    code: 'deployment.code_changed',
    about: 'deployment.markets[0] (btcMarket)',
    change: ({ deployment: { markets } }) => {
      first(markets).codeHash = typo(first(markets).codeHash)
    },
    says: ({ sandbox: { info } }) => [
      first(info.deployment.markets).codeHash,
      'find out what was deployed there',
    ],
  },
  "an oracle's code hash with a typo": {
    check: 'code',
    code: 'deployment.code_changed',
    change: ({ deployment: { markets } }) => {
      first(markets).oracleCodeHash = typo(first(markets).oracleCodeHash)
    },
    says: ({ sandbox: { info } }) => [first(info.deployment.markets).oracleCodeHash, 'before pinning it'],
  },
  'a vault where no contract is': {
    check: 'code',
    code: 'deployment.code_changed',
    change: ({ deployment: { vaults } }) => {
      first(vaults).address = `0x${'12'.repeat(20)}`
    },
    says: () => [`0x${'12'.repeat(20)} hashes to nothing`, 'find out what was deployed there'],
  },
  'decimals 18 for 6': {
    check: 'units',
    code: 'deployment.units_differ',
    about: 'deployment.assets[0] (sUSD)',
    change: ({ deployment: { assets } }) => {
      first(assets).decimals = '18'
    },
    says: () => ['is 18 by the deployment; the chain says 6', 'write `decimals: "6"`'],
  },
  'symbols of two assets swapped': {
    check: 'symbol',
    code: 'deployment.units_differ',
    about: 'deployment.assets[1] (sETH)',
    change: ({ deployment: { assets } }) => {
      const [, btc, eth] = assets
      if (btc === undefined || eth === undefined) return
      btc.symbol = 'sETH'
      eth.symbol = 'sBTC'
    },
    says: () => ['is sETH by the deployment; the chain says sBTC', 'write `symbol: sBTC`'],
  },
  'loan and collateral swapped': {
    check: 'units',
    code: 'deployment.units_differ',
    about: 'deployment.markets[0] (btcMarket)',
    change: ({ deployment: { markets } }) => {
      const market = first(markets)
      Object.assign(market, { loanAsset: market.collateralAsset, collateralAsset: market.loanAsset })
    },
    says: ({ sandbox: { info } }) => [
      lower(first(info.deployment.markets).collateralAsset),
      `write \`loanAsset: "${lower(first(info.deployment.markets).loanAsset)}"\``,
    ],
  },
  'the oracle of another market': {
    check: 'market',
    code: 'market.differs',
    about: 'ethMarket',
    change: ({ deployment: { markets } }) => {
      const [btc, eth] = markets
      if (btc !== undefined && eth !== undefined)
        Object.assign(eth, { oracle: btc.oracle, oracleCodeHash: btc.oracleCodeHash })
    },
    says: ({ sandbox: { info } }) => [
      lower(first(info.deployment.markets).oracle),
      `write \`oracle: "${lower(info.deployment.markets[1]?.oracle ?? '')}"\``,
    ],
  },
  'a fund that counts in another token': {
    check: 'units',
    code: 'deployment.units_differ',
    about: 'deployment.funds[0] (recoveryFund)',
    change: ({ deployment: { funds, assets } }) => {
      first(funds).quoteAsset = assets[1]?.address ?? ''
    },
    says: ({ sandbox: { info } }) => [
      lower(info.deployment.assets[1]?.address ?? '?'),
      `write \`quoteAsset: "${lower(first(info.deployment.assets).address)}"\``,
    ],
  },
  'a service that is down': {
    check: 'service',
    code: 'service.unreachable',
    change: ({ service }) => {
      service.url = NOWHERE
    },
    says: () => ['127.0.0.1:9 gave no answer', `service.url, ${NOWHERE}, is right`],
  },
  'a namespace with a typo': {
    check: 'service',
    code: 'service.other_namespace',
    change: ({ deployment }) => {
      deployment.namespace = 'sandbx'
    },
    says: ({ sandbox: { info } }) => [
      'deployment.namespace is sandbx',
      `write namespace: ${info.deployment.namespace}`,
    ],
  },
  'a market that the service does not know': {
    check: 'market',
    code: 'market.unknown',
    state: 'warning',
    change: ({ deployment: { markets, vaults } }) => {
      first(markets).address = first(vaults).address
    },
    says: ({ sandbox: { info } }) => [
      `no market ${lower(first(info.deployment.vaults).address)}`,
      'correct its address',
    ],
  },
  'a secret key that is wrong': {
    check: 'scopes',
    code: 'service.unauthorized',
    about: 'service.secretKey',
    change: ({ service }) => {
      service.secretKey = 'env:ROLEKEEPER_KMS_SECRET_ACCESS_KEY'
    },
    says: () => ['answered 401', 'check `service.secretKey`'],
  },
  "a role's key as the keeper's own": {
    check: 'scopes',
    code: 'service.forbidden',
    about: 'service.secretKey',
    change: ({ service }) => {
      service.secretKey = 'env:ROLEKEEPER_LIQUIDATOR_SECRET_KEY'
    },
    says: () => ['insufficient_scope', 'the scope `events:read`'],
  },
  'a key that may not read': {
    check: 'scopes',
    code: 'service.forbidden',
    about: 'liquidator',
    world: (ward) => keyWith(['workflows:read'], ward),
    change: narrow,
    says: () => ['/v1/positions', 'agents[0].secretKey` the scope `canonical:read`'],
  },
  'a key that may not follow workflows': {
    check: 'scopes',
    code: 'service.forbidden',
    about: 'liquidator',
    world: (ward) => keyWith(['canonical:read'], ward),
    change: narrow,
    says: () => ['/v1/workflows/', 'the scope `workflows:read`'],
  },
  'a key that may not write workflows': {
    check: 'scopes',
    code: 'service.forbidden',
    about: 'liquidator',
    world: (ward) => keyWith(['canonical:read', 'workflows:read'], ward),
    change: narrow,
    says: () => ['insufficient_scope', 'the scope `workflows:write`'],
  },
  "another role's KMS key": {
    check: 'key',
    code: 'key.of_another_role',
    about: 'liquidator',
    change: (config) => {
      liquidator(config).signer.kms.keyId = allocator(config).signer.kms.keyId
    },
    says: (ward) => [
      `${lower(signerOf('allocator', ward).address)}, that of agents[1], the allocator`,
      `write the key of ${lower(signerOf('liquidator', ward).address)}`,
    ],
  },
  'the signers of two roles swapped': {
    check: 'eligibility',
    code: 'key.of_another_role',
    about: 'allocator',
    change: (config) => {
      const [one, other] = [liquidator(config), allocator(config)]
      const signer = one.signer
      one.signer = other.signer
      other.signer = signer
    },
    says: (ward) => [
      `${lower(signerOf('liquidator', ward).address)}, the signer of agents[1], the allocator, may not act at primeVault, growthVault, ownedVault`,
      `write ${lower(signerOf('allocator', ward).address)} with its key as agents[1].signer`,
    ],
  },
  "another role's signer besides its own role's": {
    check: 'eligibility',
    code: 'key.of_another_role',
    about: 'liquidator',
    change: (config) => {
      liquidator(config).signer = allocator(config).signer
    },
    says: (ward) => [
      `${lower(signerOf('allocator', ward).address)}, the signer of agents[0], the liquidator, may not act at ethMarket`,
      "give agents[0] the liquidator's own signer",
    ],
  },
  'a signer whom nobody let in': {
    check: 'eligibility',
    code: 'eligibility.none',
    about: 'allocator',
    change: (config, ward) => {
      only(config, 'allocator')
      allocator(config).signer.kms = signerOf('guest', ward)
    },
    says: (ward) => [`${lower(signerOf('guest', ward).address)}, the signer of agents[0]`, 'to admit'],
  },
  'a key that is not there': {
    check: 'key',
    code: 'kms.not_found',
    about: 'liquidator',
    change: (config) => {
      liquidator(config).signer.kms.keyId =
        'arn:aws:kms:us-east-1:000000000000:key/99999999-2222-4333-8444-555555555555'
    },
    says: () => ['has no such key', "check the pinned key's ARN"],
  },
  'keys that are disabled': {
    check: 'key',
    code: 'kms.disabled',
    about: 'liquidator',
    world: async ({ sandbox: { kms } }) => {
      kms.setFault({ keyState: 'Disabled' })
      return () => kms.setFault({ keyState: 'Enabled' })
    },
    says: () => [/not enabled|disabled/, 'enable the key'],
  },
  'an identity that may not sign': {
    check: 'key',
    code: 'kms.denied',
    about: 'liquidator',
    world: async ({ sandbox: { kms } }) => {
      kms.setFault({ deny: true })
      return () => kms.setFault({ deny: false })
    },
    says: () => ['denies us the key', 'allow kms:Sign'],
  },
  'a KMS that is down': {
    check: 'key',
    code: 'kms.unreachable',
    about: 'liquidator',
    change: ({ kms }) => {
      kms.endpoint = NOWHERE
    },
    says: () => ['could not be reached', 'check the KMS endpoint'],
  },
  'a signer without gas': {
    check: 'gas',
    code: 'gas.short',
    about: 'liquidator',
    world: (ward) => setWei('0x0', ward),
    says: (ward) => [`${lower(signerOf('liquidator', ward).address)} has 0 ETH`, 'send at least 2 ETH'],
  },
  'a signer with little gas': {
    check: 'gas',
    code: 'gas.low',
    state: 'warning',
    about: 'liquidator',
    world: (ward) => setWei('0xde0b6b3a7640000', ward),
    says: () => ['has 1 ETH; an hour may cost 2 ETH', 'send 1 ETH'],
  },
  'limits a thousand times too large': {
    check: 'limits',
    code: 'limits.beyond_size',
    about: 'liquidator',
    change: (config, ward) => {
      liquidator(config).policy = ward.policy('liquidator', THOUSANDFOLD)
    },
    says: () => [
      /movedMax is 100,000,000 USD, and all vaults together hold [\d,.]+ USD/,
      /write at most "[\d,]+ USD"/,
    ],
  },
  'a comment that says $100,000': {
    check: 'policy',
    code: 'policy.comment_contradicts',
    about: 'liquidator',
    change: (config, ward) => {
      liquidator(config).policy = ward.policy('liquidator', COMMENTED)
    },
    says: () => ['it is "100,000,000 USD", and the comment there says $100,000', 'write "100,000 USD"'],
  },
  'a native price of $0.003': {
    check: 'prices',
    code: 'prices.native_implausible',
    about: 'liquidator',
    change: (config, ward) => {
      const nativePrice = 'nativePrice: "0.003 USD"'
      liquidator(config).policy = ward.policy('liquidator', `strategy: { gas: { ${nativePrice} } }\n`)
    },
    says: () => ['strategy.gas.nativePrice is 0.003 USD', /write nativePrice: "[\d,]+ USD"/],
  },
  'bounds that leave the native price out': {
    check: 'prices',
    code: 'prices.native_implausible',
    state: 'warning',
    about: 'liquidator',
    change: (config, ward) => {
      const bounds = 'nativePrice: { priceMin: "500 USD", priceMax: "1,000 USD" }'
      liquidator(config).policy = ward.policy('liquidator', `strategy: { gas: { ${bounds} } }\n`)
    },
    says: () => ['between 500 USD and 1,000 USD', 'write bounds around'],
  },
  "a token at another one's price": {
    check: 'prices',
    code: 'prices.implausible',
    about: 'liquidator',
    change: (config, ward) => {
      const prices = 'prices: { sBTC: "3,000 USD" }'
      liquidator(config).policy = ward.policy('liquidator', `limits: { ${prices} }\n`)
    },
    says: () => [/limits.prices.sBTC is 3,000 USD.*near the price of sETH/, /write sBTC: "[\d,]+ USD"/],
  },
  'a policy that is not there': {
    check: 'policy',
    code: 'config.unreadable',
    about: 'liquidator',
    change: (config) => {
      liquidator(config).policy = '/nowhere/liquidator.yaml'
    },
    says: () => ['/nowhere/liquidator.yaml cannot be read', 'check the path'],
  },
  'a policy with a token that is not there': {
    check: 'policy',
    code: 'policy.weak',
    state: 'warning',
    about: 'liquidator',
    change: (config, ward) => {
      liquidator(config).policy = ward.policy('liquidator', 'limits: { prices: { sBTCC: "60,000 USD" } }\n')
    },
    says: () => ['sBTCC is no token of deployment.assets', 'write sBTC'],
  },
  'a policy with a slip of the pen': {
    check: 'policy',
    code: 'policy.far',
    state: 'warning',
    about: 'liquidator',
    change: (config, ward) => {
      const second = 'secondPrice: { sBTC/sUSD: { divergenceMax: "100 %" } }'
      liquidator(config).policy = ward.ownPolicy('liquidator', `strategy: { ${second} }\n`)
    },
    says: () => [
      'far from the shipped policy: strategy.secondPrice.sBTC/sUSD.divergenceMax.',
      'rolekeeper policy check says how far',
    ],
  },
  'a public name that nothing stands behind': {
    check: 'webhook',
    code: 'webhook.unreachable',
    state: 'warning',
    change: (config) => {
      config.service.webhook = webhook({ publicHost: 'keeper.invalid' })
    },
    says: () => ['https://keeper.invalid/webhooks', 'point the name keeper.invalid at a proxy'],
  },
  "a webhook's port in use": {
    check: 'port',
    code: 'ops.port_in_use',
    about: 'service.webhook',
    world: holdPort,
    change: (config) => {
      config.service.webhook = webhook({ port: String(held.port) })
    },
    says: () => [`127.0.0.1:${held.port}`, 'set another service.webhook.port'],
  },
  'a chain whose operator takes a fee of its own': {
    check: 'gas',
    code: 'chain.operator_fee',
    // Whatever it is asked, it says 7.
    world: (ward) => setCode(DATA_FEE_ORACLE, '0x600760005260206000f3', ward),
    says: () => ['7 wei for a million gas', 'without an operator fee'],
  },
  "a chain of Arbitrum's kind": {
    check: 'gas',
    code: 'chain.arbitrum',
    world: (ward) => setCode('0x0000000000000000000000000000000000000064', '0x600760005260206000f3', ward),
    says: () => ['part of its gas', 'as the OP stack does'],
  },
  'a source that cannot be read': {
    check: 'source',
    code: 'source.source_unreadable',
    state: 'warning',
    about: 'extra',
    change: (config) => {
      config.sources.push({ name: 'extra', file: '/nowhere/nav.csv' })
    },
    says: () => ['extra: It cannot be read (ENOENT)', 'correct sources['],
  },
  'a Redis that is down': {
    check: 'redis',
    code: 'journal.unreachable',
    change: (config) => {
      config.journal = { redis: { url: 'redis://127.0.0.1:9/0' } }
      config.fleet = { name: 'seeded', instance: 'a', roster: ['a', 'b'] }
    },
    says: () => ['127.0.0.1:9', /./],
  },
}

const webhook = (changes: Readonly<Record<string, string>>) => ({
  host: '127.0.0.1',
  port: '0',
  path: '/webhooks',
  secrets: ['env:ROLEKEEPER_SECRET_KEY'],
  ...changes,
})

export const THOUSANDFOLD = `limits:
  perWorkflow: { movedMax: "100,000,000 USD" }
  perHour: { movedMax: "2,000,000,000 USD" }
  perDay: { movedMax: "20,000,000,000 USD" }
`
export const COMMENTED = `limits:
  # $100,000 in one workflow
  perWorkflow: { movedMax: "100,000,000 USD" }
  perHour: { movedMax: "2,000,000,000 USD" }
  perDay: { movedMax: "20,000,000,000 USD" }
`

/** Change the chain by a method of anvil's, in a block of its own. */
async function changeChain(method: string, params: readonly unknown[], { sandbox }: Ward): Promise<void> {
  for (const one of [
    { method, params },
    { method: 'evm_mine', params: [] },
  ])
    await fetch(sandbox.chain.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...one }),
    })
}

async function setWei(wei: string, ward: Ward): Promise<() => Promise<unknown>> {
  const { address } = signerOf('liquidator', ward)
  await changeChain('anvil_setBalance', [address, wei], ward)
  return () => changeChain('anvil_setBalance', [address, '0x3635c9adc5dea00000'], ward)
}

async function setCode(address: Address, code: Hex, ward: Ward): Promise<() => Promise<unknown>> {
  await changeChain('anvil_setCode', [address, code], ward)
  return () => changeChain('anvil_setCode', [address, '0x'], ward)
}
