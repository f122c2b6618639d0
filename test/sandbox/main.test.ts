import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import { removeDirectory, sandboxDirectory } from '../support/sandbox.ts'

const MAIN = fileURLToPath(new URL('../../sandbox/main.ts', import.meta.url))
/** Starts the sandbox as the command line does and passes on what it says, and to it what we write. */
const PARENT = `
  const { spawn } = require('node:child_process')
  const child = spawn(process.execPath, [${JSON.stringify(MAIN)}, '--directory', process.argv[1], '--seed', '5', ...process.argv.slice(2)], {
    detached: true, stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  child.on('message', (message) => console.log(JSON.stringify(message)))
  process.stdin.once('data', (line) => child.send(String(line))).unref()
  child.on('exit', (code) => { process.exitCode = code })`
const markets = z.object({
  freshness: z.object({ blockNumber: z.string() }),
  items: z.array(z.object({ totalDebt: z.string() })),
})
const report = z.object({
  type: z.string(),
  text: z.string().optional(),
  code: z.string().optional(),
  fix: z.string().optional(),
})

let directory: string
let parent: ChildProcess
beforeEach(() => {
  directory = sandboxDirectory()
})
afterEach(() => {
  parent.kill('SIGKILL')
  removeDirectory(directory)
})

const start = (...args: string[]) => {
  parent = spawn(process.execPath, ['-e', PARENT, directory, ...args], { stdio: 'pipe' })
}

/** Collect what the sandbox says until it is ready or has failed. */
async function whatItSays(): Promise<z.infer<typeof report>[]> {
  const said: z.infer<typeof report>[] = []
  let text = ''
  for await (const chunk of parent.stdout ?? []) {
    text += chunk
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    said.push(...lines.map((line) => report.parse(JSON.parse(line))))
    if (said.some(({ type }) => type === 'ready' || type === 'failed')) return said
  }
  return said
}

it('reports to its parent how it starts, and leaves nothing behind when the parent is killed', async () => {
  start()
  const said = await whatItSays()
  expect(said.map(({ type }) => type)).toEqual(['progress', 'progress', 'progress', 'ready'])
  const { rpcUrl } = JSON.parse(readFileSync(join(directory, 'sandbox.json'), 'utf8'))
  const question = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
  const headers = { 'content-type': 'application/json' }
  const ask = () => fetch(rpcUrl, { method: 'POST', headers, body: question })
  expect((await ask()).ok).toBe(true)

  parent.kill('SIGKILL')
  // The sandbox has the parent's standard error too, so it closes when both have ended.
  await once(parent, 'close')
  await expect(ask()).rejects.toThrow()
  expect(existsSync(join(directory, 'sandbox.json'))).toBe(false)
})

it('reports to its parent why it cannot start', async () => {
  mkdirSync(join(directory, 'sandbox'))
  writeFileSync(join(directory, 'sandbox', 'keys.json'), '{}')
  start()
  expect(await whatItSays()).toMatchObject([{ type: 'failed', code: 'sandbox.file' }])
  expect((await once(parent, 'exit'))[0]).toBe(1)
})

it('says that its disk takes no more, and not to start over', async () => {
  // As a disk of a few blocks: no file becomes longer, and a program hears of it as of any failed write.
  const small = 'trap "" XFSZ; ulimit -f 8; exec "$@"'
  parent = spawn('sh', ['-c', small, 'sh', process.execPath, '-e', PARENT, directory], { stdio: 'pipe' })
  expect((await whatItSays()).at(-1)).toMatchObject({
    type: 'failed',
    code: 'sandbox.file',
    fix: 'make room there and start again: what is there stays.',
  })
})

it('says that its lock is damaged, and not that another sandbox runs', async () => {
  writeFileSync(join(directory, 'lock.sandbox.sqlite'), 'no database '.repeat(100))
  start()
  expect(await whatItSays()).toMatchObject([{ type: 'failed', fix: expect.stringMatching(/^remove it/) }])
})

/** The story of the sandbox in a directory: what it shows, and what its control token may do. */
function storyOf(folder: string) {
  const { serviceUrl, controlToken } = JSON.parse(readFileSync(join(folder, 'sandbox.json'), 'utf8'))
  const look = async () => markets.parse(await (await fetch(`${serviceUrl}/v1/markets`)).json())
  const ask = async (method: 'GET' | 'PUT', body?: object, token = controlToken) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const asked = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const answer = await fetch(`${serviceUrl}/sandbox-control/story`, asked)
    return [answer.status, await answer.json()]
  }
  return {
    look,
    ask,
    block: async () => Number((await look()).freshness.blockNumber),
    pause: (paused: boolean) => ask('PUT', { paused }),
    tick: (): number => JSON.parse(readFileSync(join(folder, 'sandbox', 'weather.json'), 'utf8')).tick,
  }
}

it('lets a story wait after its first tick, with borrowers in every market, until its parent says so', async () => {
  start('--waits')
  await whatItSays()
  const { look, block, tick } = storyOf(directory)
  const { items } = await look()
  expect(items.map(({ totalDebt }) => BigInt(totalDebt) > 0n)).toEqual([true, true])
  const ready = await block()
  await expect.poll(block).toBeGreaterThanOrEqual(ready + 3)
  expect(tick()).toBe(1)
  parent.stdin?.write('begin')
  await expect.poll(tick).toBeGreaterThan(1)
})

it('begins no story that was paused before, until the pause is taken back', async () => {
  start('--waits')
  await whatItSays()
  const { block, pause, tick } = storyOf(directory)
  expect(await pause(true)).toEqual([200, { paused: true }])
  parent.stdin?.write('begin')
  const at = await block()
  await expect.poll(block).toBeGreaterThanOrEqual(at + 3)
  expect(tick()).toBe(1)
  await pause(false)
  await expect.poll(tick).toBeGreaterThan(1)
})

it('holds its story still for whoever has its control token, while blocks go on', async () => {
  start()
  await whatItSays()
  const { ask, block, pause, tick } = storyOf(directory)
  expect((await ask('PUT', { paused: true }, 'ctl_other'))[0]).toBe(401)
  expect((await ask('PUT', { paused: 'yes' }))[0]).toBe(400)
  expect(await ask('GET')).toEqual([200, { paused: false }])
  expect(await pause(true)).toEqual([200, { paused: true }])
  const [held, at] = [tick(), await block()]
  await expect.poll(block).toBeGreaterThanOrEqual(at + 3)
  expect([tick(), await ask('GET')]).toEqual([held, [200, { paused: true }]])
  expect(await pause(false)).toEqual([200, { paused: false }])
  await expect.poll(tick).toBeGreaterThan(held)
})
