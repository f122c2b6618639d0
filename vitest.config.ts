import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/setup.ts'],
    // Real anvil, HTTP and KMS servers start in hooks; two cores share them.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
    // Most of them wait for a chain or a server: one worker, as Vitest takes on two cores, leaves these idle.
    maxWorkers: 2,
  },
})
