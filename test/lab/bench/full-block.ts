import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { type Address, parseGwei } from 'viem'
import { z } from 'zod'
import { invariant } from '../../../src/errors.ts'
import { BTC } from '../../sandbox/indexer/scene.ts'
import { createKeeperScene, ENVIRONMENT, type KeeperScene } from '../../support/keeper-scene.ts'
import { MAIN } from '../chaos/keeper-process.ts'

/** How a block that is full goes past a keeper that has a transaction in it. */
export type FullBlockFigures = {
  readonly gasLimit: number
  readonly fillings: readonly {
    readonly name: string
    /** Bytes of the block as JSON, with its transactions. */
    readonly jsonBytes: number
    /** From the block on until the keeper had its transaction in it, ms, at the median and at most. */
    readonly p50Ms: number
    readonly mostMs: number
    /** What the keeper's process held more at most than before the block, in resident bytes. */
    readonly moreBytes: number
  }[]
}

const GAS_LIMIT = 150_000_000n
/** For the keeper's own transactions and what the world does. */
const SPARED_GAS = 6_000_000n
const ROUNDS = 5
/** As much as the chain takes in one request. */
const ZEROS = 650_000
/** Source: EIP-7623, 10 gas for a byte that is zero. */
const ZEROS_GAS = 21_000n + 10n * BigInt(ZEROS)
const TRANSFER_GAS = 21_000n
const LOOK_MS = 5

type Filling = { readonly name: string; readonly gas: bigint; readonly data: string }
const FILLINGS: readonly (Filling | null)[] = [
  null,
  { name: 'zeros', gas: ZEROS_GAS, data: `0x${'00'.repeat(ZEROS)}` },
  { name: 'transfers', gas: TRANSFER_GAS, data: '0x' },
]

/** Fill blocks of 150 M gas, as nobody is kept from doing, and measure what they cost a keeper in a process of its own. */
export async function measureFullBlock(say: (text: string) => void): Promise<FullBlockFigures> {
  const world = await createKeeperScene()
  const keeper = await startKeeper(world)
  try {
    await request(world, 'evm_setBlockGasLimit', `0x${GAS_LIMIT.toString(16)}`)
    const from = await world.scene.actor()
    const fillings: FullBlockFigures['fillings'][number][] = []
    for (const filling of FILLINGS) {
      const name = filling?.name ?? 'nothing'
      const rounds: Round[] = []
      for (let round = 0; round < ROUNDS; round += 1) {
        say(`${name}, round ${round + 1} of ${ROUNDS}`)
        rounds.push(await play(filling, from, world, keeper))
      }
      const times = rounds.map(({ ms }) => ms).toSorted((a, b) => a - b)
      fillings.push({
        name,
        jsonBytes: rounds[0]?.jsonBytes ?? 0,
        p50Ms: times[Math.floor(times.length / 2)] ?? 0,
        mostMs: times.at(-1) ?? 0,
        moreBytes: Math.max(...rounds.map(({ moreBytes }) => moreBytes)),
      })
    }
    return { gasLimit: Number(GAS_LIMIT), fillings }
  } finally {
    await keeper.stop()
    await world.stop()
  }
}

type Round = { readonly ms: number; readonly jsonBytes: number; readonly moreBytes: number }

/** One block: the keeper's liquidation waits in the pool, what fills the block beside it, and it is mined. */
async function play(
  filling: Filling | null,
  from: Address,
  world: KeeperScene,
  keeper: RunningKeeper,
): Promise<Round> {
  const { client, price } = world.scene
  await world.mineEvery(0)
  await client.setAutomine(true)
  await price(BTC, '60000')
  const borrower = await world.openBorrower()
  await price(BTC, '47000')
  await client.setAutomine(false)
  const { id } = await keeper.until(
    ({ type, subject }) => type === 'workflow' && subject?.endsWith(borrower.toLowerCase()) === true,
  )
  const own = (state: string) =>
    keeper.until((event) => event.type === 'slot' && event.id === id && event.state === state)
  await own('sent')
  if (filling !== null) await fill(filling, from, world)
  const before = keeper.residentBytes()
  let most = before
  const looking = setInterval(() => {
    most = Math.max(most, keeper.residentBytes())
  }, LOOK_MS)
  const mined = own('mined')
  await client.mine({ blocks: 1 })
  const startedAtMs = performance.now()
  const { blockNumber } = await mined
  const ms = performance.now() - startedAtMs
  const ended = keeper.until((event) => event.id === id && event.state === 'succeeded')
  await world.mineEvery(1)
  await ended
  clearInterval(looking)
  const whole = await request(world, 'eth_getBlockByNumber', hex(BigInt(blockNumber ?? 0)), true)
  return { ms, jsonBytes: whole.length, moreBytes: most - before }
}

const hex = (value: bigint) => `0x${value.toString(16)}`

/** Fill the next block, but for what the keeper has in the pool. */
async function fill({ gas, data }: Filling, from: Address, world: KeeperScene): Promise<void> {
  const fees = { maxFeePerGas: hex(parseGwei('500')), maxPriorityFeePerGas: hex(1n) }
  const count = (GAS_LIMIT - SPARED_GAS) / gas
  for (let sent = 0n; sent < count; sent += 1n)
    await request(world, 'eth_sendTransaction', { from, to: from, data, gas: hex(gas), ...fees })
}

/** Ask the chain; its answer as text. */
async function request(
  { scene }: KeeperScene,
  method: string,
  ...params: readonly unknown[]
): Promise<string> {
  const answer = await fetch(scene.chain.rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const text = await answer.text()
  invariant(!text.startsWith('{"jsonrpc":"2.0","id":1,"error"'), `${method}: ${text.slice(0, 300)}`)
  return text
}

const event = z.object({
  type: z.string(),
  id: z.string().optional(),
  state: z.string().optional(),
  subject: z.string().optional(),
  blockNumber: z.string().optional(),
})
type Event = z.output<typeof event>

type RunningKeeper = {
  /** Resolve with the first event, past or to come, that fits. */
  readonly until: (fits: (event: Event) => boolean) => Promise<Event>
  readonly residentBytes: () => number
  readonly stop: () => Promise<void>
}

/** Start a keeper in a process of its own, and wait until it is ready. */
async function startKeeper(world: KeeperScene): Promise<RunningKeeper> {
  const child = spawn(process.execPath, [MAIN, 'run', '--config', world.configFile(), '--json'], {
    env: { ...process.env, ...ENVIRONMENT },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = once(child, 'exit')
  const events: Event[] = []
  const waiting = new Set<(event: Event) => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const said = event.parse(JSON.parse(line))
    events.push(said)
    for (const tell of [...waiting]) tell(said)
  })
  const until: RunningKeeper['until'] = async (fits) => {
    const known = events.find(fits)
    if (known !== undefined) return known
    return new Promise((resolve, reject) => {
      const tell = (said: Event) => {
        if (!fits(said)) return
        waiting.delete(tell)
        resolve(said)
      }
      waiting.add(tell)
      void exited.then(() => reject(new TypeError('the keeper ended')))
    })
  }
  await until(({ type }) => type === 'ready')
  return {
    until,
    residentBytes: () => {
      const [, kb] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
      return Number(kb) * 1_024
    },
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}
