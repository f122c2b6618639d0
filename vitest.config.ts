import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.ts'
import { WAIT_MS_MAX } from './test/support/until.ts'

export default defineConfig({
  test: {
    globalSetup: ['test/support/setup.ts'],
    setupFiles: ['test/support/seeds.ts', 'test/support/compiled.ts'],
    // Only a system that hangs meets these: how fast something is, the benchmarks say.
    expect: { poll: { timeout: WAIT_MS_MAX, interval: 100 } },
    testTimeout: 5 * WAIT_MS_MAX,
    hookTimeout: 5 * WAIT_MS_MAX,
    retry: 0,
    // Most of them wait for a chain or a server: fewer leave two cores idle, six take no less time than four, and no verdict
    // hangs on how busy they are.
    maxWorkers: 4,
    // Shuffled they run as they fall.
    ...(process.argv.some((each) => each.startsWith('--sequence.shuffle'))
      ? {}
      : { sequence: { sequencer: LongestFirst } }),
    include: ['test/**/*.test.ts'],
    // What they share is loaded once a worker: loading it takes as long as most of them.
    isolate: false,
    // Node loads what it runs as it would without the tests; nothing is rewritten on the way.
    experimental: { viteModuleRunner: false },
  },
})
