import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox.ts'
import { utilizationBps } from '../../../sandbox/story/lending-story.ts'
import { SCENARIOS, scenarioOf } from '../../../sandbox/story/scenarios.ts'
import { story } from '../../../sandbox/story/story.ts'
import { systemClock } from '../../../src/clock.ts'
import { SCENARIOS as JUDGED } from '../../lab/judgement/judgement.ts'
import { failRun, removeDirectory, sandboxDirectory } from '../../support/sandbox.ts'

const directory = sandboxDirectory()
let sandbox: Sandbox
/** Every few seconds are bad, so that a test need not wait for one. */
const scenario = { ...SCENARIOS['source-off-by-1000'], spells: { everyS: 10, forS: 5 } }

beforeAll(async () => {
  sandbox = await startSandbox({
    directory,
    seed: 5,
    scenario,
    clock: systemClock,
    weather: 'at-once',
    onProgress: () => {},
    onTrouble: failRun,
  })
})
afterAll(async () => {
  await sandbox.stop()
  removeDirectory(directory)
})

it('knows every scenario that the roles are judged in, and names them to who asks for another', () => {
  expect(Object.keys(SCENARIOS)).toEqual(expect.arrayContaining([...JUDGED]))
  expect(scenarioOf(undefined)).toBe(SCENARIOS.lively)
  expect(() => scenarioOf('toString')).toThrow(/no scenario "toString".*choose one of lively, calm, volatile/)
})

it('makes blocks dear while a market crashes, in the scenario of that name alone', () => {
  const fees = (name: 'lively' | 'crash-with-congestion') =>
    Array.from({ length: 200 }, (_, tick) => story(SCENARIOS[name].markets, 3, tick).baseFeePerGasWei)
  expect(new Set(fees('lively'))).toEqual(new Set([null]))
  expect(new Set(fees('crash-with-congestion'))).toEqual(new Set([null, 25_000_000_000n]))
})

it('drives utilization in waves and in spikes', () => {
  const over = (name: 'lively' | 'rate-spike') =>
    Array.from({ length: 90 }, (_, s) => Number(utilizationBps(SCENARIOS[name].lending, s)))
  expect([Math.min(...over('lively')), Math.max(...over('lively'))]).toEqual([4_000, 8_500])
  expect(new Set(over('rate-spike'))).toEqual(new Set([4_500, 9_600]))
})

const perShare = z.object({
  asset: z.string(),
  perShare: z.object({ value: z.string().regex(/^\d+(\.\d{1,18})?$/), asOf: z.iso.datetime() }),
})

it('has sources that say what shares are worth, and one that is off by a thousand in a bad spell', async () => {
  const [administrator, custodian] = sandbox.info.sources
  if (administrator === undefined || !('url' in administrator)) throw new Error('no administrator')
  if (custodian === undefined || !('file' in custodian)) throw new Error('no custodian')
  const seen = new Set<boolean>()
  while (seen.size < 2) {
    await new Promise<void>((resolve) => {
      const end = sandbox.canonical.onSnapshot(() => resolve(end()))
    })
    const response = await fetch(administrator.url)
    if (response.status === 503) continue
    const { asset, perShare: said } = perShare.parse(await response.json())
    expect(asset).toBe(sandbox.info.contracts.recoveryFund)
    const isOff = Number(said.value) > 100
    seen.add(isOff)
    // The fund has held nothing but money for so short a time that a share is worth about one.
    expect(Number(said.value) / (isOff ? 1_000 : 1)).toBeCloseTo(1, 1)
    const line = readFileSync(join(directory, custodian.file), 'utf8').trim().split('\n').at(-1)
    expect(Number(line?.split(',')[1]) / 1e6).toBeCloseTo(1, 1)
  }
})

it('lets a whale move utilization and lend', async () => {
  const { markets, vaults } = sandbox.canonical.snapshot()
  for (const { utilizationWad } of markets) {
    expect(Number(utilizationWad) / 1e18).toBeGreaterThan(0.35)
    expect(Number(utilizationWad) / 1e18).toBeLessThan(0.9)
  }
  // It has lent to both vaults, beside what they were deployed with.
  const [prime = 0, growth = 0] = vaults.map(({ totalAssets }) => Number(totalAssets) / 1e6)
  expect(prime).toBeGreaterThan(5_250_000)
  expect(growth).toBeGreaterThan(2_100_000)
})
