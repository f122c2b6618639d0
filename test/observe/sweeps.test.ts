import { expect, it } from 'vitest'
import { RolekeeperError } from '../../src/errors.ts'
import { createProofs } from '../../src/observe/arming.ts'
import { waitAndSay } from '../../src/observe/sweeps.ts'

it('says every minute that the first sweep goes on, until it ends', async () => {
  const sweeping = Promise.withResolvers<void>()
  const said: number[] = []
  const slept: number[] = []
  const clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    sleep: async (ms: number, signal?: AbortSignal) => {
      signal?.throwIfAborted()
      slept.push(ms)
      if (slept.length > 2) {
        sweeping.resolve()
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      }
    },
  }
  await waitAndSay(sweeping.promise, clock, (ms) => said.push(ms))
  expect(said).toEqual([60_000, 120_000])
  expect(slept).toEqual([60_000, 60_000, 60_000])
})

it('throws the first proof that fails, and reports a later one, after which it tries again', async () => {
  const world = { nowMs: 0, tries: 0, fails: true }
  const failed: unknown[] = []
  const proofs = createProofs(
    async () => {
      world.tries += 1
      if (world.fails) throw new RolekeeperError('node.timeout', 'Late.', { retry: 'later' })
      return new Map()
    },
    { monotonicMs: () => world.nowMs },
    { onArmed: () => {}, onFailed: (error) => failed.push(error) },
  )
  await expect(proofs.proveIfDue()).rejects.toThrow('Late.')
  world.fails = false
  await proofs.proveIfDue()
  world.fails = true
  world.nowMs = 300_000
  await proofs.proveIfDue()
  await proofs.proveIfDue()
  await new Promise(setImmediate)
  expect(failed).toMatchObject([{ code: 'node.timeout' }])
  await proofs.proveIfDue()
  expect(world.tries).toBe(4)
})
