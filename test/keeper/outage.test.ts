import { createTestClient, http, keccak256, publicActions } from 'viem'
import { generatePrivateKey, privateKeyToAccount, sign } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Chain } from '../../sandbox/chain/chain.ts'
import { TO_CHAIN } from '../../sandbox/chain/to-chain.ts'
import { createNodes } from '../../src/chain/http-nodes.ts'
import type { Nodes } from '../../src/chain/nodes.ts'
import { systemClock } from '../../src/clock.ts'
import { RolekeeperError } from '../../src/errors.ts'
import type { Journal } from '../../src/journal/journal.ts'
import type { RedisStore } from '../../src/journal/redis/link/store.ts'
import { createFollowingStages } from '../../src/keeper/stages/live.ts'
import { createRunQueue, createSerial } from '../../src/keeper/term/run-queue.ts'
import type { Stages } from '../../src/pipeline/pipeline.ts'
import { type ChainView, watchChain } from '../../src/pipeline/transactions/chain-view.ts'
import { createGasMarket } from '../../src/pipeline/transactions/gas-market.ts'
import { createSigners, type Signers } from '../../src/pipeline/transactions/safe.ts'
import { orderAttempt } from '../../src/pipeline/transactions/transaction.ts'
import type { Queue } from '../../src/queue/queue.ts'
import { createTimers } from '../../src/queue/timers.ts'
import type { Signer } from '../../src/sign/signer.ts'
import type { Slot } from '../../src/workflow/slot.ts'
import { moved, wait } from '../../src/workflow/step.ts'
import { move, type Workflow } from '../../src/workflow/workflow.ts'
import { startAnvil, testChainId } from '../support/anvil.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE, journalOf, newStore, takeSeat } from '../support/redis-fleet.ts'
import { until } from '../support/until.ts'
import { FEE_POLICY, MARKET, workflowOf } from '../support/workflows.ts'

const FEES = { maxFeePerGasWei: 5_000_000_000n, maxPriorityFeePerGasWei: 1_000_000_000n }

let redis: TestRedis
let anvil: Chain
let chainClient: ReturnType<typeof clientOf>
let nodes: Nodes
const clientOf = ({ rpcUrl }: Chain) =>
  createTestClient({ mode: 'anvil', transport: http(rpcUrl, TO_CHAIN) }).extend(publicActions)

beforeAll(async () => {
  const started = await Promise.all([startRedis(DURABLE), startAnvil()])
  redis = started[0]
  anvil = started[1]
  chainClient = clientOf(anvil)
  await chainClient.setAutomine(false)
  nodes = await createNodes({
    chainId: testChainId,
    read: [anvil.rpcUrl],
    send: [anvil.rpcUrl],
    agree: 1,
    clock: systemClock,
    timeoutMs: 5_000,
    pollMs: 20,
    finality: { confirmations: 1n },
  })
})
afterAll(async () => {
  nodes.close()
  await redis.stop()
  await anvil.stop()
})

/** A term of one signer on a real Redis and a real chain, from the claim on. */
type Scene = {
  readonly store: RedisStore
  readonly journal: Journal
  readonly address: `0x${string}`
  readonly signers: Signers
  readonly chain: ChainView
  readonly queue: Queue
  readonly live: Map<string, Workflow>
  /** What the key was asked for. */
  readonly asked: string[]
  /** Steps that were strikes, and runs that failed. */
  readonly faults: string[]
}
let scene: Scene
beforeEach(async () => {
  scene = await createScene()
})
afterEach(async () => {
  redis.resume()
  await scene.queue.close()
  await scene.chain.stop()
  scene.store.close()
})

async function createScene(): Promise<Scene> {
  const privateKey = generatePrivateKey()
  const { address } = privateKeyToAccount(privateKey)
  await chainClient.setBalance({ address, value: 10n ** 18n })
  const { store } = await newStore(redis.port)
  const journal = await journalOf(await takeSeat(store, address.toLowerCase()), store)
  const [live, asked, faults] = [new Map<string, Workflow>(), [] as string[], [] as string[]]
  const { nowMs } = systemClock
  const alarm = () => undefined
  const signers = await createSigners([address], { nowMs, chainId: testChainId, journal, alarm })
  const signer: Signer = {
    address,
    keyId: 'test',
    signDigest: async (digest) => {
      asked.push(digest)
      const { r, s, yParity } = await sign({ hash: digest, privateKey })
      return { r, s, yParity: yParity === 1 ? 1 : 0 }
    },
  }
  const chain = await watchChain({
    scope: '',
    nowMs,
    clock: systemClock,
    nodes,
    journal,
    alarm,
    signers: [address],
    safe: signers.safe,
    onHead: () => {
      for (const id of live.keys()) queue.wake(id, 0)
    },
    onFailed: () => undefined,
  })
  const gas = createGasMarket({ nodes, monotonicMs: nowMs })
  const following = createFollowingStages({
    confirmationMsMax: 120_000,
    deployment: { assets: [] },
    nowMs,
    clock: systemClock,
    journal,
    nodes,
    chain,
    gas,
    signer,
    signers,
    alarm,
    fees: FEE_POLICY,
    rulesetHash: 'rules',
    gasWeiMax: 10n ** 18n,
    urgentOf: () => [],
    gate: () => ({ closed: false, paused: false }),
    client: { prepareWorkflow: absent, getWorkflow: absent },
    recheck: async () => ({ ok: true }),
    prove: () => null,
    lookAgain: async () => ({ ok: true }),
    checkBudget: async () => ({ ok: true }),
    reserve: async (workflow, reservation) => journal.write(workflow, reservation),
  })
  const unused = async () => wait(60_000)
  const stages: Stages = {
    request: unused,
    prepare: unused,
    attest: unused,
    clear: unused,
    ...following,
    claim: async (workflow) => {
      const claimed = await claim(workflow, address, journal)
      return claimed === 'lost'
        ? moved(move(workflow, 'attested', nowMs()))
        : { type: 'written', workflow: claimed }
    },
  }
  const queue = createRunQueue({
    clock: systemClock,
    journal,
    signers,
    alone: createSerial(),
    createQueue: createTimers,
    stagesOf: () => stages,
    remembered: (id: string) => live.get(id),
    onMove: (_before, after) => void live.set(after.id, after),
    metrics: { struck: () => void faults.push('struck') },
    log: { error: (text) => void faults.push(text) },
  })
  return { store, journal, address, signers, chain, queue, live, asked, faults }
}

const absent = () => Promise.reject(new RolekeeperError('service.absent', 'x', { retry: 'later' }))

async function claim(workflow: Workflow, signer: `0x${string}`, journal: Journal) {
  const nonce = (await journal.nextNonce(testChainId, signer)) ?? 0
  const payload = { to: MARKET, data: '0x', valueWei: 0n, gasLimit: 30_000n } as const
  const bare = { index: 0, kind: 'intent', chainId: testChainId, signer, nonce, payload } as const
  const attempts = [orderAttempt(bare, 'payload', FEES, Date.now())]
  const slot: Slot = { ...bare, predicted: { gasUsed: 21_000n, tokens: [] }, state: 'open', attempts }
  return journal.claim(move(workflow, 'in_flight', Date.now(), { slots: [slot] }), null)
}

/** Open a workflow that would claim next; nothing wakes it yet. */
async function cleared(id: string): Promise<Workflow> {
  const { address: signer, journal, live } = scene
  const { clearance } = workflowOf('cleared')
  const workflow = workflowOf('cleared', {
    id,
    opportunity: id,
    signer,
    chainId: testChainId,
    ...(clearance === undefined ? {} : { clearance: { ...clearance, notAfterMs: Date.now() + 600_000 } }),
  })
  await journal.open(workflow)
  live.set(id, workflow)
  return workflow
}

const begun = (id: string) => {
  scene.queue.wake(id, 0)
  return until(() => expect(lastOf(id)?.state).toBe('sent'))
}
const lastOf = (id: string) => scene.live.get(id)?.slots[0]?.attempts.at(-1)
const isMined = (raw: `0x${string}` | undefined) =>
  chainClient.getTransactionReceipt({ hash: keccak256(raw ?? '0x') }).then(
    () => true,
    () => false,
  )
/** Mine one block after another until something is so. */
const mineUntil = (what: () => Promise<void> | void) =>
  until(async () => {
    await chainClient.mine({ blocks: 1 })
    await what()
  }, 150)
const confirmed = (...ids: readonly string[]) =>
  mineUntil(() => {
    for (const id of ids) expect(scene.live.get(id)?.state).toBe('confirmed')
  })

it.each([
  ['stopped', () => redis.pause(), () => redis.resume()],
  ['killed and started again', () => redis.kill(), () => redis.restart()],
] as const)(
  'Redis %s: nothing is claimed or signed, what a node dropped goes out again, and all goes on when it is back',
  async (_, leave, comeBack) => {
    const { journal, asked, faults, signers, queue, address } = scene
    await cleared('public')
    await begun('public')
    const ordered = await claim(await cleared('ordered'), address, journal)
    if (ordered === 'lost') throw new TypeError('nobody else claims')
    scene.live.set('ordered', ordered)
    await cleared('next')
    await leave()

    // Long enough that what is public would be replaced, which cannot be written.
    const sent = lastOf('public')
    await chainClient.dropTransaction({ hash: keccak256(sent?.raw ?? '0x') })
    queue.wake('ordered', 0)
    queue.wake('next', 0)
    await mineUntil(async () => expect(await isMined(sent?.raw)).toBe(true))
    expect(asked).toEqual([sent?.digest])
    expect(scene.live.get('ordered')).toBe(ordered)
    expect(scene.live.get('next')?.state).toBe('cleared')

    await comeBack()
    await confirmed('public', 'ordered', 'next')
    const payloads = ['public', 'ordered', 'next'].map(
      (id): string | undefined => scene.live.get(id)?.slots[0]?.attempts[0]?.digest,
    )
    // Each once; which of the two that waited goes first hangs on when each was last tried.
    expect(asked.filter((digest) => payloads.includes(digest)).toSorted()).toEqual(payloads.toSorted())
    expect(scene.live.get('next')?.slots[0]?.nonce).toBe(2)
    expect({ faults, safe: signers.reasonsOf(address) }).toEqual({ faults: [], safe: [] })
    for (const id of ['public', 'ordered', 'next'])
      expect(await journal.get(id)).toMatchObject({ state: 'confirmed', strikes: 0 })
  },
)

it('Redis full: nothing is opened or claimed, what is under way is signed, sent and ends, and the rest follows once there is room', async () => {
  const { journal, faults, signers, queue, address } = scene
  await cleared('public')
  await begun('public')
  const ordered = await claim(await cleared('ordered'), address, journal)
  if (ordered === 'lost') throw new TypeError('nobody else claims')
  scene.live.set('ordered', ordered)
  await cleared('next')
  const admin = redis.client()
  await admin.config('SET', 'maxmemory', '1mb')

  await expect(cleared('more')).rejects.toMatchObject({ code: 'journal.full' })
  queue.wake('ordered', 0)
  queue.wake('next', 0)
  await confirmed('public', 'ordered')
  expect(await journal.nextNonce(testChainId, address)).toBe(2)
  expect(await journal.get('next')).toMatchObject({ state: 'cleared', strikes: 0 })

  await admin.config('SET', 'maxmemory', '0')
  await cleared('more')
  queue.wake('more', 0)
  await confirmed('next', 'more')
  expect({ faults, safe: signers.reasonsOf(address) }).toEqual({ faults: [], safe: [] })
})
