import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { NO_FAULTS } from '../../../sandbox/kms/operations.ts'
import type { Passing } from '../../support/fault-proxy.ts'
import type { HttpDeed } from '../../support/http-deeds.ts'
import type { NodeFault } from '../../support/node-proxy.ts'
import type { View } from '../../support/node-view.ts'
import { LIMITS } from '../nodes/limits.ts'
import type { KeeperProcess } from './keeper-process.ts'
import type { ChaosWorld } from './world.ts'

/** What an episode can do while it lasts; each part is undone when it ends. */
export type Means = {
  readonly world: ChaosWorld
  readonly keeper: KeeperProcess
  /** Note that a fault met a call. */
  readonly hit: () => void
  /** Numbers of this episode alone, from 0 to 1. */
  readonly roll: () => number
  /** Which node lies or stalls in this seed: always the same one. */
  readonly liar: number
  readonly nodeFault: (node: number, fault: NodeFault) => void
  readonly nodeView: (node: number, view: View) => void
  readonly serviceRule: (rule: (passing: Passing) => HttpDeed | Rewrite | null) => void
  readonly kmsRule: (rule: (passing: Passing) => HttpDeed | Rewrite | null) => void
  /** Do this when the episode ends. */
  readonly undo: (work: () => unknown) => void
}
type Rewrite = { readonly kind: 'rewrite'; readonly change: (text: string) => string }

/** One kind of fault: how it begins; it lasts until its episode ends. */
type Kind = (means: Means) => unknown

/** Yes, and note it. */
const noted = (hit: () => void) => (): true => {
  hit()
  return true
}

const lying =
  (methods: readonly string[], change: (result: unknown) => unknown): Kind =>
  ({ nodeFault, liar, hit }) =>
    nodeFault(liar, {
      methods,
      deed: {
        kind: 'change',
        change: (result) => {
          hit()
          return change(result)
        },
      },
    })

const doing =
  (deed: HttpDeed): Kind =>
  ({ nodeFault, liar, hit }) =>
    nodeFault(liar, { deed, when: noted(hit) })

/** Every node does so at once. */
const allDo =
  (faultsOf: () => readonly NodeFault[]): Kind =>
  ({ world, nodeFault, hit }) => {
    for (const index of world.nodes.keys())
      for (const fault of faultsOf())
        nodeFault(index, {
          ...fault,
          when: (call, calls) => fault.when?.(call, calls) !== false && noted(hit)(),
        })
  }

const refusing = (method: string): Kind =>
  allDo(() => [{ methods: [method], deed: { kind: 'error', code: -32_601, message: 'no such method' } }])

const seeing =
  (view: (head: bigint, roll: number) => View): Kind =>
  async ({ world, nodeView, liar, hit, roll }) => {
    hit()
    nodeView(liar, view(BigInt(String(await world.rpc('eth_blockNumber'))), roll()))
  }

const serviceDoes =
  (deed: HttpDeed, fits: (passing: Passing) => boolean = () => true): Kind =>
  ({ serviceRule, hit }) =>
    serviceRule((passing) => (fits(passing) && noted(hit)() ? deed : null))

const serviceSays =
  (fits: (passing: Passing) => boolean, change: (text: string) => string): Kind =>
  ({ serviceRule, hit }) =>
    serviceRule((passing) => (fits(passing) && noted(hit)() ? { kind: 'rewrite', change } : null))

const serviceFault =
  (fault: Parameters<ChaosWorld['scene']['service']['setFault']>[0]): Kind =>
  ({ world, undo, hit }) => {
    hit()
    world.scene.service.setFault(fault)
    undo(() => world.scene.service.setFault({}))
  }

const kmsDoes =
  (deed: HttpDeed): Kind =>
  ({ kmsRule, hit }) =>
    kmsRule(() => (noted(hit)() ? deed : null))

const kmsFault =
  (fault: Parameters<ChaosWorld['scene']['kms']['setFault']>[0]): Kind =>
  ({ world, undo, hit }) => {
    hit()
    world.scene.kms.setFault(fault)
    undo(() => world.scene.kms.setFault(NO_FAULTS))
  }

const isPrepare = ({ path }: Passing) => path === '/v1/workflows/prepare'
const isProgress = ({ method, path }: Passing) => method === 'GET' && path.startsWith('/v1/workflows/')
const isRegistration = ({ path }: Passing) => /^\/v1\/workflows\/[^/]+\/transactions$/.test(path)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const reverted = (receipt: unknown): unknown =>
  Array.isArray(receipt)
    ? receipt.map(reverted)
    : isObject(receipt)
      ? { ...receipt, status: '0x0', logs: [] }
      : receipt
/** Raise every value that a call or a simulated call returned. */
const raised = (value: unknown): unknown => {
  if (typeof value === 'string' && /^0x[0-9a-f]{64,}$/i.test(value))
    return value.replace(/.$/, (last) => (last === 'f' ? '0' : 'f'))
  if (Array.isArray(value)) return value.map(raised)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === 'calls' || key === 'returnData' ? raised(item) : key === 'gasUsed' ? '0x5208' : item,
    ]),
  )
}

const SEND = 'eth_sendRawTransaction'
/** 59 M gas of zeros: 11 MiB of JSON where a block is read whole. */
const FULL_BLOCK = {
  payloads: 9,
  transaction: { data: `0x${'00'.repeat(650_000)}`, gas: '0x64c268', maxFeePerGas: '0x2540be400' },
}

/** What is written ahead in a second or two of work. */
const DISK_KB = 400

/** Every kind of fault by its name: what is wrong, then how. Any of them may meet any step of the keeper. */
export const FAULTS: Readonly<Record<string, Kind>> = {
  'node.lag': seeing((_head, roll) => ({ kind: 'lag', blocks: 2n + BigInt(Math.floor(roll * 8)) })),
  'node.still': seeing((head) => ({ kind: 'still', at: head })),
  'node.ahead': seeing((_head, roll) => ({ kind: 'ahead', blocks: 1n + BigInt(Math.floor(roll * 5)) })),
  'node.fork': seeing((head, roll) => ({ kind: 'fork', above: head - BigInt(Math.floor(roll * 4)) })),
  'node.other_chain': seeing(() => ({ kind: 'other_chain', chainId: 1 })),
  'node.count_far': lying(['eth_getTransactionCount'], () => '0xf4240'),
  'node.count_zero': lying(['eth_getTransactionCount'], () => '0x0'),
  'node.receipt_reverted': lying(['eth_getTransactionReceipt'], reverted),
  'node.receipt_gone': lying(['eth_getTransactionReceipt'], () => null),
  'node.simulation_altered': lying(['eth_simulateV1'], raised),
  'node.call_altered': lying(['eth_call'], raised),
  'node.call_empty': lying(['eth_call'], () => '0x'),
  'node.code_altered': lying(['eth_getCode'], (code) => `${code}00`),
  'node.block_altered': lying(['eth_getBlockByNumber', 'eth_getBlockByHash'], (block) =>
    isObject(block) ? { ...block, baseFeePerGas: '0x1', timestamp: '0x1' } : block,
  ),
  'node.balance_altered': lying(['eth_getBalance'], () => '0x0'),
  'node.swallows_sends': ({ nodeFault, liar, hit }) =>
    nodeFault(liar, {
      methods: ['eth_sendRawTransaction'],
      deed: { kind: 'swallow' },
      when: noted(hit),
    }),
  'nodes.swallow_sends': allDo(() => [{ methods: [SEND], deed: { kind: 'swallow' } }]),
  'nodes.send_reply_lost': allDo(() => [{ methods: [SEND], deed: { kind: 'drop_after' } }]),
  'nodes.no_sends': refusing(SEND),
  'nodes.no_calls': refusing('eth_call'),
  'nodes.no_simulations': refusing('eth_simulateV1'),
  'nodes.no_counts': refusing('eth_getTransactionCount'),
  'nodes.no_receipts': refusing('eth_getTransactionReceipt'),
  'nodes.no_blocks': refusing('eth_getBlockByHash'),
  ...Object.fromEntries(Object.entries(LIMITS).map(([name, { faults }]) => [`nodes.${name}`, allDo(faults)])),
  'node.error': ({ nodeFault, liar, hit }) =>
    nodeFault(liar, {
      deed: { kind: 'error', code: -32_603, message: 'internal error' },
      when: noted(hit),
    }),
  'node.hang': doing({ kind: 'hang' }),
  'node.headers_only': doing({ kind: 'headers_only' }),
  'node.half_body': doing({ kind: 'half_body' }),
  'node.slow': doing({ kind: 'delay', ms: 1_500 }),
  'node.rate_limited': doing({ kind: 'status', status: 429, retryAfterS: 1 }),
  'node.garbage': doing({ kind: 'garbage' }),
  'node.down': async ({ world, undo, hit, liar }) => {
    hit()
    const node = world.nodes[liar]
    await node?.down()
    undo(() => node?.up())
  },
  'service.down': async ({ world, undo, hit }) => {
    hit()
    await world.service.down()
    undo(() => world.service.up())
  },
  'service.hang': serviceDoes({ kind: 'hang' }),
  'service.headers_only': serviceDoes({ kind: 'headers_only' }),
  'service.unauthorized': serviceDoes({ kind: 'status', status: 401 }),
  'service.rate_limited': serviceDoes({ kind: 'status', status: 429, retryAfterS: 2 }),
  'service.unavailable': serviceDoes({ kind: 'status', status: 503 }),
  'service.garbage': serviceDoes({ kind: 'garbage' }),
  'service.prepare_reply_lost': serviceDoes({ kind: 'drop_after' }, isPrepare),
  'service.registration_reply_lost': serviceDoes({ kind: 'drop_after' }, isRegistration),
  'service.never_expires': serviceSays(isPrepare, (text) =>
    text.replace(/"expiresAt":"[^"]*"/, '"expiresAt":"2099-01-01T00:00:00.000Z"'),
  ),
  'service.early_success': serviceSays(isProgress, (text) =>
    text.replace(/"status":"(prepared|submitted|mined)"/, '"status":"final_success"'),
  ),
  'service.hostile_approval': serviceFault({ hostile: 'larger_approval' }),
  'service.hostile_target': serviceFault({ hostile: 'foreign_target' }),
  'service.indexer_late': serviceFault({ indexer: { lagMs: 4_000, admits: false } }),
  'service.stream_lossy': serviceFault({ stream: { drop: 0.5, duplicate: 0.2, reorder: 0.2, seed: 1 } }),
  'service.preflight_blocked': serviceFault({ blockPreflight: 'maintenance' }),
  'kms.down': async ({ world, undo, hit }) => {
    hit()
    await world.kms.down()
    undo(() => world.kms.up())
  },
  'kms.hang': kmsDoes({ kind: 'hang' }),
  'kms.headers_only': kmsDoes({ kind: 'headers_only' }),
  'kms.garbage': kmsDoes({ kind: 'garbage' }),
  'kms.reply_lost': kmsFault({ dropRate: 0.5 }),
  'kms.throttled': kmsFault({ throttleRate: 0.7 }),
  'kms.denied': kmsFault({ deny: true }),
  'kms.disabled': kmsFault({ keyState: 'Disabled' }),
  'kms.wrong_key': kmsFault({ wrongKey: true }),
  'kms.malformed': kmsFault({ malformedDer: true }),
  'kms.high_s': kmsFault({ highS: true }),
  'kms.slow': kmsFault({ latencyMs: 800 }),
  'chain.reorg': async ({ world, hit, roll }) => {
    hit()
    await world.rpc('anvil_reorg', 1 + Math.floor(roll() * 3), [])
    await world.onTime()
  },
  'chain.mempool_lost': async ({ world, hit }) => {
    hit()
    await world.rpc('anvil_dropAllTransactions')
  },
  'chain.fee_spike': async ({ world, hit }) => {
    hit()
    const block = await world.scene.scene.client.getBlock()
    await world.rpc(
      'anvil_setNextBlockBaseFeePerGas',
      `0x${((block.baseFeePerGas ?? 1n) * 20n).toString(16)}`,
    )
  },
  'chain.full_block': async ({ world, hit }) => {
    hit()
    const from = await world.scene.scene.actor()
    for (let count = 0; count < FULL_BLOCK.payloads; count += 1)
      await world.rpc('eth_sendTransaction', { from, to: from, ...FULL_BLOCK.transaction })
  },
  'chain.halt': async ({ world, undo, hit }) => {
    hit()
    await world.scene.mineEvery(0)
    undo(() => world.scene.mineEvery(1))
  },
  'chain.burst': async ({ world, hit }) => {
    hit()
    await world.rpc('anvil_mine', '0x5', '0x0')
    await world.onTime()
  },
  'disk.full': async ({ keeper, hit }) => {
    hit()
    keeper.limitNext(DISK_KB)
    await keeper.kill()
  },
  'process.killed': async ({ keeper, hit }) => {
    hit()
    await keeper.kill()
  },
  'process.terminated': async ({ keeper, hit }) => {
    hit()
    await keeper.stop()
  },
  'process.stopped': ({ keeper, hit, undo }) => {
    hit()
    keeper.signal('SIGSTOP')
    undo(() => keeper.signal('SIGCONT'))
  },
}

/** What a person has to look at afterwards: each once in a seed that has it, its two parts some time apart. */
export const INCIDENTS: Readonly<Record<string, Kind>> = {
  'disk.saved': ({ world, keeper, hit }) =>
    keeper.hold(async () => {
      hit()
      rmSync(backupOf(world), { recursive: true, force: true })
      cpSync(world.directory, backupOf(world), { recursive: true })
    }),
  'disk.restored': ({ world, keeper, hit }) =>
    keeper.hold(async () => {
      hit()
      // The orders that wait are no part of it.
      for (const name of journalFiles(world.directory))
        rmSync(join(world.directory, name), { recursive: true })
      for (const name of journalFiles(backupOf(world)))
        cpSync(join(backupOf(world), name), join(world.directory, name), { recursive: true })
    }),
}

const journalFiles = (directory: string) => readdirSync(directory).filter((name) => name !== 'orders')

const backupOf = ({ directory }: ChaosWorld) => `${directory}-backup`
