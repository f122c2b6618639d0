import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromiumPath } from './chromium.ts'
import { promtool } from './prometheus.ts'
import { redisServer } from './redis.ts'

/**
 * End a test run with one line where what it needs beside Node is missing, before any test has begun; and give it a folder of
 * its own for what its tests write. @returns what takes that away again.
 */
export default async function setup(): Promise<() => void> {
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
  process.env.TMPDIR = folder
  // What a test killed may still be writing.
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
}
