import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { BTC } from '../sandbox/indexer/scene.ts'
import { createKeeperScene, ENVIRONMENT } from '../support/keeper-scene.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

it('a keeper whose screen has been closed and whose log is full works on, says so, and parks when it is told to', async () => {
  const world = await createKeeperScene()
  onTestFinished(() => world.stop())
  const borrower = await world.openBorrower('40000')
  const child = spawn(process.execPath, [MAIN, 'run', '--config', world.configFile({}), '--json'], {
    env: { ...process.env, ...ENVIRONMENT },
    stdio: ['ignore', 'pipe', openSync('/dev/full', 'w')],
  })
  const { stdout } = child
  if (stdout === null) return expect.fail('it has no screen')
  const exited = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: stdout })
  const { opsUrl } = await new Promise<{ readonly opsUrl: string }>((resolve, reject) => {
    void exited.then(() => reject(new Error('it ended')))
    lines.on('line', (line) => {
      const event = JSON.parse(line)
      if (event.type === 'ready') resolve(event)
    })
  })
  lines.close()
  stdout.destroy()
  await world.scene.price(BTC, '49000')
  while ((await world.liquidated(borrower)).length === 0) {
    expect(child.exitCode).toBeNull()
    await world.scene.client.mine({ blocks: 1 })
  }
  const page = async () => (await fetch(`${opsUrl}/metrics`)).text()
  await expect.poll(page).toContain('rolekeeper_facet_state{facet="output",about="screen"} 1')
  expect(await page()).toContain('rolekeeper_facet_state{facet="output",about="log"} 1')
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})
