import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type Address, concatHex, type Hex, keccak256, padHex } from 'viem'
import { invariant } from '../../../src/errors.ts'
import { readSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { BTC } from '../../sandbox/indexer/scene.ts'
import {
  createKeeperScene,
  type KeeperScene,
  liquidationOf,
  type TestKeeper,
} from '../../support/keeper-scene.ts'
import { type NodeFault, type NodeProxy, startNodeProxy } from '../../support/node-proxy.ts'
import type { View } from '../../support/node-view.ts'
import { STRANGER } from './attack.ts'
import type { Deed } from './deeds.ts'

/** What one node of three says of itself; of all else it is honest. */
type Lie = { readonly faults?: readonly NodeFault[]; readonly view?: (head: bigint) => View }

type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
/** Change each object that a method answers with, in a list or alone; null stays. */
const each =
  (change: (fields: Fields) => Fields) =>
  (result: unknown): unknown =>
    Array.isArray(result) ? result.map(each(change)) : isFields(result) ? change(result) : result
const says = (methods: readonly string[], change: (result: unknown) => unknown): NodeFault => ({
  methods,
  deed: { kind: 'change', change },
})
const simulates = (change: (ran: Fields) => Fields): NodeFault =>
  says(
    ['eth_simulateV1'],
    each((block) => ({ ...block, calls: each(change)(block.calls) })),
  )
const nothing = (hex: unknown): Hex => `0x${'0'.repeat(Math.max(String(hex).length - 2, 1))}`
const RECEIPTS = ['eth_getTransactionReceipt']
const OTHER_LOG = { address: STRANGER, topics: [padHex('0x07')], data: '0x' }

/** Lies in spite of which a liquidation goes to its end. */
const LIES: readonly (readonly [name: string, lie: Lie])[] = [
  ['we own nothing', { faults: [says(['eth_getBalance', 'eth_call'], nothing)] }],
  [
    'nothing has code',
    {
      faults: [
        says(['eth_getCode'], () => '0x'),
        simulates((ran) => ({ ...ran, returnData: nothing(ran.returnData) })),
      ],
    },
  ],
  ['what we send reverts', { faults: [simulates((ran) => ({ ...ran, status: '0x0' }))] }],
  ['what we send logs something else', { faults: [simulates((ran) => ({ ...ran, logs: [OTHER_LOG] }))] }],
  ['the last blocks are others', { view: (head) => ({ kind: 'fork', above: head - 3n }) }],
  ['there is no newer block', { view: (head) => ({ kind: 'still', at: head }) }],
  [
    'a block is of another time and fee',
    {
      faults: [
        says(
          ['eth_getBlockByNumber', 'eth_getBlockByHash'],
          each((block) => ({ ...block, timestamp: '0x1', baseFeePerGas: '0x1' })),
        ),
      ],
    },
  ],
  [
    'our transactions reverted',
    {
      faults: [
        says(
          RECEIPTS,
          each((receipt) => ({ ...receipt, status: '0x0', logs: [] })),
        ),
      ],
    },
  ],
  [
    'our transactions logged something else',
    {
      faults: [
        says(
          RECEIPTS,
          each((receipt) => ({ ...receipt, logs: [OTHER_LOG] })),
        ),
      ],
    },
  ],
  ['we sent nothing', { faults: [says(['eth_getTransactionCount'], () => '0x0')] }],
]

/** A keeper that works above three nodes of which two must say the same, and one lies. */
export async function createBeneath(): Promise<{
  readonly deeds: readonly Deed[]
  readonly stop: () => Promise<void>
}> {
  const world = await createKeeperScene(1)
  const { id, finality, nodes } = world.config().chain
  const [front] = nodes.read
  invariant(front !== undefined, 'the scene reads by a node')
  const proxies = await Promise.all([1, 2, 3].map(() => startNodeProxy(front.reveal())))
  const read = proxies.map(({ url }) => url)
  const staff = createStaff(world, { id: String(id), finality, nodes: { read, send: [...read] } })
  /** Let one node lie while something is done: the first that is asked; what came of it. */
  const beneath: Beneath = async (lie, work) => {
    let liar: NodeProxy | undefined
    if (lie.view !== undefined) {
      liar = proxies[0]
      liar?.setView(lie.view(await world.scene.client.getBlockNumber()))
    }
    for (const proxy of proxies) {
      const when = () => {
        liar ??= proxy
        return liar === proxy
      }
      proxy.setFaults(...(lie.faults ?? []).map((fault) => ({ ...fault, when })))
    }
    try {
      const came = await work()
      return [liar === undefined ? 'nobody asked the liar' : came]
    } finally {
      for (const proxy of proxies) {
        proxy.setFaults()
        proxy.setView({ kind: 'honest' })
      }
    }
  }
  const liquidate = async () => {
    const is = liquidationOf(await world.openUnderWater())
    await (await staff.keeper()).until(is('succeeded'))
    return 'succeeded'
  }
  const honestWork = LIES.map(([name, lie]) => ({
    name: `beneath a keeper, one node says: ${name}`,
    check: 'succeeded',
    play: () => beneath(lie, liquidate),
  }))
  return {
    deeds: [...honestWork, ...wrongFacts(world, staff, beneath)],
    stop: async () => {
      await world.stop()
      for (const { stop } of proxies) await stop()
    },
  }
}

type Staff = ReturnType<typeof createStaff>

/** The keeper that works, and its journal. */
function createStaff(world: KeeperScene, chain: Fields) {
  let running: Promise<TestKeeper> | undefined
  let directory = world.config().directory
  return {
    keeper: () => {
      running ??= world.start({ directory, chain })
      return running
    },
    /** Let another begin, that knows of nothing. */
    anew: async () => {
      await world.rest()
      running = undefined
      directory = join(world.directory, randomUUID())
    },
    journal: async <T>(read: (from: ReturnType<typeof readSqliteJournal>) => Promise<T>): Promise<T> => {
      const from = readSqliteJournal(directory)
      try {
        return await read(from)
      } finally {
        await from.close()
      }
    },
  }
}

type Beneath = (lie: Lie, work: () => Promise<string | null>) => Promise<readonly (string | null)[]>

/** What is not so, and only one node says that it is. */
function wrongFacts(world: KeeperScene, staff: Staff, beneath: Beneath): readonly Deed[] {
  const { client, at } = world.scene
  /** Whether the KMS was asked for anything of a borrower's. */
  const wasSigned = (borrower: Address) =>
    staff.journal(async (from) => {
      for (const { operation, digest } of world.kms.calls()) {
        const entry = operation === 'Sign' ? await from.ledgerEntry(`0x${digest}`, world.signer) : null
        const workflow = await from.get(entry?.workflowId ?? '')
        if (workflow?.proposal.subject.endsWith(borrower.toLowerCase())) return true
      }
      return false
    })
  return [
    {
      name: 'beneath a keeper, one node says: what reverted went through',
      check: 'reverted_on_chain',
      play: () =>
        beneath(
          {
            faults: [
              says(
                RECEIPTS,
                each((receipt) => ({ ...receipt, status: '0x1' })),
              ),
            ],
          },
          async () => {
            const is = liquidationOf(await world.openUnderWater())
            const { until, untilSlot } = await staff.keeper()
            await until(is('cleared'))
            await world.mineEvery(0)
            await untilSlot(is('cleared'), 'sent')
            // In the block that holds our transactions, before them.
            await world.recoverInNextBlock()
            await world.mineEvery(1)
            const ended = await until((event) => is('reverted')(event) || is('succeeded')(event))
            return ended.type === 'workflow' ? (ended.check ?? ended.state) : null
          },
        ),
    },
    {
      name: 'beneath a keeper, one node says: the code is what we pinned',
      check: 'code_changed',
      play: async () => {
        const address = at(BTC.oracle)
        const code = (await client.getCode({ address })) ?? '0x'
        // The same to everyone who calls it.
        await client.setCode({ address, bytecode: concatHex([code, '0x00']) })
        const [pinned, other] = [code, concatHex([code, '0x00'])].map((each) => keccak256(each).slice(2))
        const hides = (text: unknown) => String(text).replaceAll(other ?? '', pinned ?? '')
        const lie: Lie = {
          faults: [
            says(['eth_getCode'], (said) => (said === concatHex([code, '0x00']) ? code : said)),
            simulates((ran) => ({ ...ran, returnData: hides(ran.returnData) })),
          ],
        }
        try {
          return await beneath(lie, async () => {
            const borrower = await world.openUnderWater()
            const is = liquidationOf(borrower)
            const ended = await (await staff.keeper()).until(
              (event) => is('refused')(event) || is('cleared')(event),
            )
            return (await wasSigned(borrower)) || ended.type !== 'workflow' ? null : (ended.check ?? null)
          })
        } finally {
          await client.setCode({ address, bytecode: code })
        }
      },
    },
    {
      name: 'beneath a keeper, one node says: we own what is gone',
      check: 'out_of_funds',
      play: async () => {
        // Of what one keeper saw go, it would say that it was lost.
        await staff.anew()
        const [address, own, one] = [at('sUSD'), padHex(world.signer), padHex('0x01')]
        const index = keccak256(concatHex([own, padHex('0x00')]))
        const held = await client.getStorageAt({ address, slot: index })
        await client.setStorageAt({ address, index, value: one })
        const lie: Lie = {
          faults: [
            says(['eth_call'], (said) => (said === one ? held : said)),
            simulates((ran) => (ran.returnData === one ? { ...ran, returnData: held } : ran)),
          ],
        }
        return beneath(lie, async () => {
          const borrower = await world.openUnderWater()
          const { until } = await staff.keeper()
          const is = liquidationOf(borrower)
          await until(
            (event) =>
              is('cleared')(event) ||
              (event.type === 'health' && event.subject.endsWith(borrower.toLowerCase())),
          )
          // Its decision is in the journal by then.
          await world.rest()
          if (await wasSigned(borrower)) return null
          const [decision] = await staff.journal((from) => from.decisions(borrower, 1))
          return decision?.check ?? null
        })
      },
    },
  ]
}
