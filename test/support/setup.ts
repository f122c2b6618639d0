import { chromiumPath } from './chromium.ts'
import { promtool } from './prometheus.ts'
import { redisServer } from './redis.ts'

/** End a test run with one line where what it needs beside Node is missing, before any test has begun. */
export default async function setup(): Promise<void> {
  try {
    await redisServer()
    await chromiumPath()
    await promtool()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    console.error(error.message)
    process.exit(1)
  }
}
