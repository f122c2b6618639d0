import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestClient, http, parseEther, publicActions } from 'viem'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Chain, startChain } from '../../../sandbox/chain/chain.ts'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import { until } from '../../support/until.ts'

const chainId = 731_337
const someone = '0x00000000000000000000000000000000000000a1'

let directory: string
let stateFile: string
let started: Chain[]
let parents: ChildProcess[]
/** The anvil of each parent, and its watchdog. */
let families: number[]

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'rolekeeper-chain-'))
  stateFile = join(directory, 'chain.json')
  started = []
  parents = []
  families = []
})
afterEach(async () => {
  for (const parent of parents) parent.kill('SIGKILL')
  await Promise.all(started.map((chain) => chain.stop()))
  // A chain that goes with its parent saves its state first.
  await until(() => expect(families.some(isRunning)).toBe(false), 20)
  await rm(directory, { recursive: true })
})

async function start(port?: number): Promise<Chain> {
  const chain = await startChain({ stateFile, chainId, ...(port === undefined ? {} : { port }) })
  started.push(chain)
  return chain
}

const clientOf = ({ rpcUrl }: { rpcUrl: string }) =>
  createTestClient({ mode: 'anvil', transport: http(rpcUrl, TO_CHAIN), cacheTime: 0 }).extend(publicActions)

/** Whether a process runs; one that only waits for init to reap it does not. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** The process that started this one: an anvil's watchdog. */
function parentOf(pid: number): number {
  const ppid =
    process.platform === 'linux'
      ? /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      : execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' })
  return Number(ppid)
}

/** Start a chain from another process, in a process group of its own, that ignores Ctrl-C. */
async function startInParent(): Promise<{ parent: ChildProcess; chain: { rpcUrl: string; pid: number } }> {
  const script = `
    import { startChain } from ${JSON.stringify(join(import.meta.dirname, '../../../sandbox/chain/chain.ts'))}
    process.on('SIGINT', () => console.log('interrupted'))
    const { rpcUrl, pid } = await startChain(${JSON.stringify({ stateFile, chainId })})
    console.log(JSON.stringify({ rpcUrl, pid }))`
  const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  parents.push(parent)
  const [said] = await once(parent.stdout, 'data')
  const chain = JSON.parse(String(said))
  families.push(chain.pid, parentOf(chain.pid))
  return { parent, chain }
}

test('a restart keeps blocks, balances and the chain id', async () => {
  const first = await start()
  const client = clientOf(first)
  await client.setBalance({ address: someone, value: parseEther('7') })
  await client.mine({ blocks: 5 })
  const block = await client.getBlock({ blockNumber: 3n })
  await first.stop()

  const again = clientOf(await start())
  expect(await again.getBlockNumber()).toBe(5n)
  expect((await again.getBlock({ blockNumber: 3n })).hash).toBe(block.hash)
  expect(await again.getBalance({ address: someone })).toBe(parseEther('7'))
  expect(await again.getChainId()).toBe(chainId)
})

test("a restart goes on from the chain's own time where the machine's clock was set back", async () => {
  const first = await start()
  const client = clientOf(first)
  const { timestamp } = await client.getBlock()
  const ahead = timestamp + 3_600n
  await client.setNextBlockTimestamp({ timestamp: ahead })
  await client.mine({ blocks: 1 })
  await first.stop()

  const again = clientOf(await start())
  // The code that a call of nobody to nowhere runs: it returns the block's time.
  const { data } = await again.call({ data: '0x4260005260206000f3' })
  expect(Number(data)).toBeGreaterThanOrEqual(Number(ahead))
  await again.mine({ blocks: 1 })
  expect((await again.getBlock()).timestamp).toBeGreaterThan(ahead)
})

test('no block comes unless one is asked for, and finality is two blocks behind', async () => {
  const chain = await start()
  await chain.setAutomine(false)
  const client = clientOf(chain)
  await client.mine({ blocks: 5 })
  const [height, finalized] = [
    await client.getBlockNumber(),
    await client.getBlock({ blockTag: 'finalized' }),
  ]
  expect([height, finalized.number]).toEqual([5n, 3n])
})

test('no account with a well-known key holds anything', async () => {
  const client = clientOf(await start())
  const first = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
  expect(await client.getBalance({ address: first })).toBe(0n)
})

test('stopping ends the chain, and may be asked for twice', async () => {
  const chain = await start()
  await Promise.all([chain.stop(), chain.stop()])
  expect(isRunning(chain.pid)).toBe(false)
})

test('a killed parent takes its chain with it, and the state is saved', async () => {
  const { parent, chain } = await startInParent()
  await clientOf(chain).setBalance({ address: someone, value: parseEther('7') })
  parent.kill('SIGKILL')
  await until(() => expect(families.some(isRunning)).toBe(false), 20)
  expect(await clientOf(await start()).getBalance({ address: someone })).toBe(parseEther('7'))
})

test('a chain that is killed says that it died, one that is stopped does not', async () => {
  const [killed, stopped] = [await start(), await startChain({ stateFile: `${stateFile}.other`, chainId })]
  started.push(stopped)
  await stopped.stop()
  process.kill(killed.pid, 'SIGKILL')
  const first = await Promise.race([stopped.died.then(() => 'stopped'), killed.died])
  expect(first).toMatchObject({
    code: 'sandbox.chain_ended',
    fix: expect.stringContaining('start the sandbox again'),
  })
})

test("a Ctrl-C to the parent's process group does not reach the chain", async () => {
  const { parent, chain } = await startInParent()
  const heard = parent.stdout === null ? undefined : once(parent.stdout, 'data')
  process.kill(-(parent.pid ?? 0), 'SIGINT')
  await heard
  expect(await clientOf(chain).getChainId()).toBe(chainId)
})

test('an anvil whose watchdog was killed is ended before the next starts on its state', async () => {
  const first = await start()
  await clientOf(first).mine({ blocks: 4 })
  process.kill(parentOf(first.pid), 'SIGKILL')
  expect(await clientOf(first).getBlockNumber()).toBe(4n)

  const second = await start()
  // Its pid may linger until init reaps it; its port does not.
  await expect(clientOf(first).getBlockNumber()).rejects.toThrow()
  expect(await clientOf(second).getBlockNumber()).toBe(4n)
})

test('half a state dump does not replace the state before it', async () => {
  const first = await start()
  await clientOf(first).mine({ blocks: 4 })
  await first.stop()
  await writeFile(`${stateFile}.part`, '{"block":{"number":9')
  expect(await clientOf(await start()).getBlockNumber()).toBe(4n)
})

test('a process that only has the pid of a former anvil is left alone', async () => {
  await writeFile(`${stateFile}.pid`, String(process.pid))
  await start()
  expect(isRunning(process.pid)).toBe(true)
})

test('a port in use is refused by its number', async () => {
  const { rpcUrl } = await start()
  const port = Number(new URL(rpcUrl).port)
  await expect(startChain({ stateFile: join(directory, 'other.json'), chainId, port })).rejects.toMatchObject(
    {
      code: 'sandbox.chain_port_in_use',
      message: `Port ${port} is in use. Fix: end the program that listens there, or choose another port.`,
    },
  )
})

test('a state that anvil cannot read is an error with its fix', async () => {
  await writeFile(stateFile, 'not a state')
  await expect(start()).rejects.toMatchObject({
    code: 'sandbox.chain_exited',
    fix: 'start over with `--fresh` if the saved state is at fault.',
  })
})
