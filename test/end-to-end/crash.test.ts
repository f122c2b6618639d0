import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Address, parseTransaction } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import type { KeeperEvent } from '../../src/ops/events.ts'
import { BTC } from '../sandbox/indexer/scene.ts'
import { inOrder } from '../support/in-order.ts'
import { createKeeperScene, ENVIRONMENT, type KeeperScene, liquidationOf } from '../support/keeper-scene.ts'
import { startTap, type Tap, type Tapped } from '../support/tap.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

let world: KeeperScene
let taps: Readonly<Record<'service' | 'node' | 'kms', Tap>>
let file: string
let borrowers: readonly Opened[]

type Opened = { readonly borrower: Address; readonly price: string }

/** Open borrowers whose health falls below 1 one after the other, each at a price 1 % lower than the one before. */
async function openAll(count: number): Promise<readonly Opened[]> {
  const opened: Opened[] = []
  for (let index = 0; index < count; index += 1) {
    const debt = 40_000 * 0.99 ** index
    const borrower = await world.openBorrower(debt.toFixed(0))
    opened.push({ borrower, price: ((debt / 0.8) * 0.998).toFixed(0) })
  }
  return opened
}

beforeAll(async () => {
  world = await createKeeperScene()
  borrowers = await world.quickly(() => openAll(CASES.length))
  const { rpcUrl, chainId } = world.scene.chain
  taps = {
    service: await startTap(world.service.url),
    node: await startTap(rpcUrl),
    kms: await startTap(world.kms.url),
  }
  const { kms, agents } = world.config()
  const [agent] = agents
  if (kms === undefined || agent === undefined) throw new TypeError('the scene signs with a KMS')
  file = world.configFile({
    chain: {
      id: String(chainId),
      finality: { confirmations: '1' },
      nodes: { read: [taps.node.url], send: [taps.node.url] },
    },
    // Sessions name the service's own host; the stream goes to it directly.
    service: { url: taps.service.url, streamUrl: world.service.streamUrl, secretKey: 'env:TEST_SECRET_KEY' },
    kms: {
      region: kms.region,
      endpoint: taps.kms.url,
      accessKeyId: kms.accessKeyId?.reveal(),
      secretAccessKey: 'env:TEST_KMS_SECRET',
    },
  })
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const tap of Object.values(taps)) await tap.stop()
  await world.stop()
})

type Child = {
  readonly process: ChildProcess
  readonly events: KeeperEvent[]
  readonly until: (fits: (event: KeeperEvent) => boolean) => Promise<void>
}

/** Each that was started. */
const children: ChildProcess[] = []

function startChild(): Child {
  const child = spawn(process.execPath, [MAIN, 'run', '--config', file, '--json'], {
    env: { ...process.env, ...ENVIRONMENT },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  children.push(child)
  const events: KeeperEvent[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    events.push(JSON.parse(line))
    for (const look of waiting) look()
  })
  return {
    process: child,
    events,
    until: (fits) =>
      new Promise((resolve) => {
        const look = () => {
          if (!events.some(fits)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
  }
}

const prepare = ({ path }: Tapped) => path === '/v1/workflows/prepare'
const sign = ({ body, method }: Tapped) => method === 'POST' && body.includes('ECDSA_SHA_256')
const send = ({ body }: Tapped) => body.includes('eth_sendRawTransaction')
const register = ({ path }: Tapped) => /^\/v1\/workflows\/[^/]+\/transactions$/.test(path)
const receipt = ({ body }: Tapped) => body.includes('eth_getTransactionReceipt')
const progress = ({ path, method }: Tapped) => method === 'GET' && path.startsWith('/v1/workflows/')

const BOTH = ['before', 'after'] as const
/** What only reads is cut off once. */
const POINTS = [
  ['service', 'prepare', prepare, BOTH],
  ['kms', 'sign', sign, BOTH],
  ['node', 'send', send, BOTH],
  ['service', 'register', register, BOTH],
  ['node', 'read a receipt', receipt, ['after']],
  ['service', 'read the progress', progress, ['before']],
] as const

const CASES = POINTS.flatMap(([at, name, matches, cuts]) => cuts.map((when) => ({ at, name, matches, when })))

inOrder('a keeper killed with SIGKILL', () => {
  // Who survives one case is the victim of the next.
  let victim: Child
  beforeAll(async () => {
    victim = startChild()
    await victim.until(({ type }) => type === 'ready')
  })

  for (const [index, { at, name, matches, when }] of CASES.entries()) {
    it(`${when} it could ${name} resumes, with one effect on the chain`, async () => {
      const { borrower, price } = borrowers[index] ?? { borrower: '0x', price: '0' }
      const is = liquidationOf(borrower)
      const died = once(victim.process, 'exit')
      // Not for what an earlier one still does.
      taps[at].setRule((tapped) =>
        matches(tapped) && victim.events.some(is('discovered'))
          ? { when, act: () => victim.process.kill('SIGKILL') }
          : null,
      )
      await world.quickly(() => world.scene.price(BTC, price))
      await died
      taps[at].setRule(null)
      victim = startChild()
      await victim.until(is('succeeded'))
      expect(await world.liquidated(borrower)).toHaveLength(1)
    })
  }

  it('signed nothing that the ledger does not hold, and one payload for each nonce', async () => {
    const ended = once(victim.process, 'exit')
    victim.process.kill('SIGTERM')
    await ended
    const journal = readSqliteJournal(world.config().directory)
    const signed = world.kms
      .calls()
      .filter(({ operation, outcome }) => operation === 'Sign' && outcome === 'ok')
    for (const { digest, keyId } of signed) {
      const signer = world.kms.keys.find(({ arn }) => arn === keyId)?.address ?? '0x'
      expect(await journal.ledgerEntry(`0x${digest}`, signer), `digest ${digest}`).not.toBeNull()
    }
    for (const workflow of await journal.list(1_000)) {
      for (const slot of workflow.slots) {
        // On a busy machine one may wait until it is offered more: that is the same payload.
        const payloads = slot.attempts.filter(({ purpose }) => purpose === 'payload')
        const texts = payloads.map(({ unsigned }) => {
          const { to, data, value, nonce } = parseTransaction(unsigned)
          return JSON.stringify([to, data, String(value), nonce])
        })
        expect(new Set(texts).size).toBe(1)
      }
    }
    const count = await world.scene.client.getTransactionCount({ address: world.signer })
    const nonces = (await journal.list(1_000)).flatMap(({ slots }) => slots.map(({ nonce }) => nonce))
    expect(nonces.filter((nonce) => nonce < count).toSorted((a, b) => a - b)).toEqual([
      ...Array(count).keys(),
    ])
    await journal.close()
  })
})
