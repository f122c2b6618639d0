import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromiumPath } from './chromium.ts'
import { promtool } from './prometheus.ts'
import { redisServer } from './redis.ts'

const REAPER = fileURLToPath(new URL('reaper.ts', import.meta.url))

/**
 * End a test run with one line where what it needs beside Node is missing, before any test has begun; and give it a folder of
 * its own for what its tests write. @returns what takes that away again.
 */
export default async function setup(): Promise<() => Promise<void>> {
  try {
    await redisServer()
    await chromiumPath()
    await promtool()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    console.error(error.message)
    process.exit(1)
  }
  const folder = mkdtempSync(join(tmpdir(), 'rolekeeper-'))
  // Some tests run a program as another user.
  chmodSync(folder, 0o711)
  // In a session of its own: what ends this run, Ctrl-C too, does not end it.
  const reaper = spawn(process.execPath, [REAPER, folder], {
    ...{ detached: true, stdio: ['pipe', 'ignore', 'inherit'] },
  })
  process.env.TMPDIR = folder
  return async () => {
    reaper.stdin?.end('over')
    await once(reaper, 'exit')
  }
}
