import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { newDirectory } from './directory.ts'

const SETUP = new URL('setup.ts', import.meta.url).href
/** A test run that has started a process, which has started another, and one that knows only where it works; it says their ids. */
const RUN = `
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
const { default: setup } = await import(${JSON.stringify(SETUP)})
const end = await setup()
writeFileSync(process.env.TMPDIR + '/left', '')
const idle = 'setInterval(() => undefined, 1e6)'
const inner = 'const child = require("node:child_process").spawn(process.execPath, ["-e", ' + JSON.stringify(idle) + '], { detached: true, stdio: "ignore" }); console.log(child.pid); ' + idle
const child = spawn(process.execPath, ['-e', inner], { stdio: ['ignore', 'pipe', 'inherit'] })
const bare = spawn(process.execPath, ['-e', idle], { env: {}, cwd: process.env.TMPDIR, detached: true, stdio: 'ignore' })
child.stdout.once('data', (text) => console.log(JSON.stringify({ folder: process.env.TMPDIR, ids: [child.pid, Number(text), bare.pid] })))
process.once('SIGUSR2', () => void end().then(() => process.exit(0)))
`

async function startRun(): Promise<{ run: ChildProcess; folder: string; ids: readonly number[] }> {
  const file = join(newDirectory(), 'run.mjs')
  writeFileSync(file, RUN)
  const run = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: run.stdout }), 'line')
  return { run, ...JSON.parse(line) }
}

/** Whether a process runs; one that ended and that nobody asked about runs no more. */
const runs = (id: number) => {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${id}/stat`, 'utf8'))
  } catch {
    return false
  }
}

it.each(['SIGINT', 'SIGKILL'] as const)(
  'leaves no process and no file after %s in the middle',
  async (signal) => {
    const { run, folder, ids } = await startRun()
    expect([existsSync(folder), ...ids.map(runs)]).toEqual([true, true, true, true])
    run.kill(signal)
    await expect.poll(() => [existsSync(folder), ...ids.map(runs)]).toEqual([false, false, false, false])
  },
)

it('leaves what a run that ended by itself still has to that run, and removes its files', async () => {
  const { run, folder, ids } = await startRun()
  run.kill('SIGUSR2')
  await once(run, 'exit')
  expect([existsSync(folder), ...ids.map(runs)]).toEqual([false, true, true, true])
  for (const id of ids) process.kill(id)
})
