import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { chromiumPath } from './chromium.ts'
import { newDirectory } from './directory.ts'
import { promtool } from './prometheus.ts'
import { redisServer } from './redis.ts'

/** A disk that fills up in the middle fails tests that say nothing of it. */
const ROOM_MB_MIN = 2_000
const REAPER = fileURLToPath(new URL('reaper.ts', import.meta.url))

/**
 * End a test run with one line where what it needs beside Node is missing, before any test has begun; and give it a folder of
 * its own for what its tests write. @returns what takes that away again.
 */
export default async function setup(): Promise<() => Promise<void>> {
  try {
    assertRoom()
    await redisServer()
    await chromiumPath()
    await promtool()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    console.error(error.message)
    process.exit(1)
  }
  const folder = newDirectory()
  // Some tests run a program as another user.
  chmodSync(folder, 0o711)
  // In a session of its own: what ends this run, Ctrl-C too, does not end it.
  const reaper = spawn(process.execPath, [REAPER, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  process.env.TMPDIR = folder
  return async () => {
    reaper.stdin?.end('over')
    await once(reaper, 'exit')
  }
}

/** Throws with one line where the disk has too little room for a run. */
function assertRoom(): void {
  const { bavail, bsize } = statfsSync(tmpdir())
  const freeMb = Math.floor((bavail * bsize) / 1e6)
  if (freeMb >= ROOM_MB_MIN) return
  throw new TypeError(
    `The tests need ${ROOM_MB_MIN} MB in ${tmpdir()}, and ${freeMb} MB are free: make room there, or set TMPDIR to a folder with more.`,
  )
}
