import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import { WAIT_MS_MAX } from './test/support/until.ts'

// Start keepers, processes or servers that a test may leave behind: each file has a worker of its own.
const APART = [
  'test/docs.test.ts',
  'test/lab/attacks/beneath.test.ts',
  'test/lab/{conformance,simulation}/**/*.test.ts',
  'test/{end-to-end,fleet,queue}/**/*.test.ts',
  'test/keeper/{base-fee,fleet,fleet-*,keeper,lying-venue,outage,start,two-keys}.test.ts',
  'test/keeper/{doctor/doctor,health/quiet}.test.ts',
  'test/journal/redis/*.test.ts',
]

// A process that one has started, the next one need not compile again.
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/compiled')

export default defineConfig({
  test: {
    globalSetup: ['test/support/setup.ts'],
    setupFiles: ['test/support/seeds.ts'],
    // Only a system that hangs meets these: how fast something is, the benchmarks say.
    expect: { poll: { timeout: WAIT_MS_MAX, interval: 100 } },
    testTimeout: 5 * WAIT_MS_MAX,
    hookTimeout: 5 * WAIT_MS_MAX,
    retry: 0,
    // Most of them wait for a chain or a server: fewer leave two cores idle, and no verdict hangs on how busy they are.
    maxWorkers: 4,
    // In the order of their names: what is short comes last, and fills both workers to the end.
    projects: [
      { extends: true, test: { name: 'apart', include: APART } },
      {
        extends: true,
        // These load what they share once for all, which takes as long as most of them.
        test: { name: 'together', isolate: false, include: ['test/**/*.test.ts'], exclude: APART },
      },
    ],
  },
})
