import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { checkFinal } from '../../src/guard/check-final.ts'
import { readWorth } from '../../src/guard/worth.ts'
import { createLossBudget, lossOf, type Mark, withMark } from '../../src/keeper/loss-budget.ts'
import { createLog } from '../../src/ops/log.ts'
import { carryOut, createScene, liquidationOf, type Scene } from '../guard/scene.ts'
import { by, usd } from '../sandbox/contracts/world.ts'

const log = createLog({ level: 'silent', secrets: [] })
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

let scene: Scene
beforeAll(async () => {
  scene = await createScene()
})
afterAll(async () => {
  await scene?.stop()
})

/** Gas costs nothing here: what is lost is tokens. */
const owned = () => ({
  ...{ owner: scene.liquidator, deployment: scene.deployment },
  ...{ pricesUsdMicros: { sUSD: 1_000_000n }, nativePriceUsdMicros: 0n },
})
const worth = async () => {
  await scene.nodes.head()
  return readWorth(owned(), scene.nodes)
}

test('a liquidation is no loss while its claim is not settled: its collateral counts at the oracle’s price', async () => {
  const borrower = await scene.borrow()
  await scene.world.price('2500')
  const before = await worth()
  expect(before).toBe(usd('100000'))
  const cleared = await checkFinal(await liquidationOf(scene, { borrower, repay: usd('5000') }), scene)
  if (!cleared.ok) throw new TypeError(cleared.message)
  await carryOut(cleared.clearance, scene)
  // Repaid 5,000; seized 5,350 of sETH: 7 % more.
  expect(await worth()).toBe(before + usd('350'))
  await scene.world.price('2000')
  expect(await worth()).toBe(before - usd('5000') + (usd('5350') * 4n) / 5n)
})

test('a role that loses more than its policy allows is halted: nothing but outflow was counted', async () => {
  const [now, safe, values] = [{ ms: 10 * HOUR_MS }, [] as string[], new Map<string, string>()]
  const loss = { perHourUsdMicros: usd('2000'), perDayUsdMicros: usd('3000') }
  const create = () =>
    createLossBudget(
      { ...owned(), role: 'liquidator', loss },
      {
        ...{ nodes: scene.nodes, log, clock: { ...systemClock, nowMs: () => now.ms } },
        journal: {
          getValue: async (key) => values.get(key) ?? null,
          setValue: async (key, value) => void values.set(key, value ?? ''),
        },
        signers: { safe: (signer, { check, message }) => safe.push(`${signer} ${check}: ${message}`) },
      },
    )
  let { look } = create()
  const lookAfter = async (ms: number) => {
    const before = [...values.values()].join()
    now.ms += ms
    await scene.nodes.head()
    look()
    await expect.poll(() => [...values.values()].join()).not.toBe(before)
  }
  const lose = async (assets: bigint) =>
    scene.world.sUSD.write.transfer([scene.world.market.address, assets], by(scene.liquidator))
  await lookAfter(0)
  await lose(usd('1500'))
  await lookAfter(6 * MINUTE_MS)
  // Another start knows what was owned before.
  look = create().look
  await lose(usd('500'))
  await lookAfter(6 * MINUTE_MS)
  expect(safe).toEqual([])
  await lose(1n)
  await lookAfter(6 * MINUTE_MS)
  expect(safe).toEqual([
    `${scene.liquidator} loss_above_limit: The liquidator lost 2,000.000001 USD in the last hour; the policy allows 2,000 USD.`,
  ])
  // Released, it has one budget more: what was lost before is not lost again.
  await lose(usd('1000'))
  await lookAfter(6 * MINUTE_MS)
  expect(safe).toHaveLength(1)
})

test('opens nothing new once what is owned could not be read for five minutes, until it is read again', async () => {
  const [now, failed, chain] = [{ ms: 10 * HOUR_MS }, { count: 0 }, { isDown: true }]
  const values = new Map<string, string>()
  const budget = createLossBudget(
    { ...owned(), role: 'liquidator', loss: { perHourUsdMicros: 1n, perDayUsdMicros: 1n } },
    {
      nodes: {
        ...scene.nodes,
        recent: () => {
          failed.count += 1
          return chain.isDown ? Promise.reject(new TypeError('no node')) : scene.nodes.recent()
        },
      },
      ...{ log, clock: { ...systemClock, nowMs: () => now.ms }, signers: { safe: () => undefined } },
      journal: {
        getValue: async (key) => values.get(key) ?? null,
        setValue: async (key, value) => void values.set(key, value ?? ''),
      },
    },
  )
  const lookAgain = async () => {
    const before = failed.count
    budget.look()
    await expect.poll(() => failed.count).toBeGreaterThan(before)
    await new Promise(setImmediate)
  }
  expect(budget.unread()).toBeNull()
  await lookAgain()
  now.ms += 5 * MINUTE_MS - 1
  await lookAgain()
  expect(budget.unread()).toBeNull()
  now.ms += 1
  expect(budget.unread()).toMatchObject({ check: 'worth_not_read' })
  // A clock that is put back makes nothing known.
  now.ms -= HOUR_MS
  expect(budget.unread()).toMatchObject({ check: 'worth_not_read' })
  chain.isDown = false
  await lookAgain()
  await expect.poll(() => values.size).toBe(1)
  await expect.poll(() => budget.unread()).toBeNull()
})

const marksOf = (...marks: readonly (readonly [minutes: number, usdMicros: bigint])[]): readonly Mark[] =>
  marks.map(([minutes, usdMicros]) => ({ fromMs: minutes * MINUTE_MS, usdMicros }))

test('a mark keeps the most of five minutes, and goes once all of it is older than a day', () => {
  expect(withMark([], 5n, 0)).toEqual(marksOf([0, 5n]))
  expect(withMark(marksOf([0, 5n]), 4n, 299_999)).toEqual(marksOf([0, 5n]))
  expect(withMark(marksOf([0, 5n]), 6n, 299_999)).toEqual(marksOf([0, 6n]))
  expect(withMark(marksOf([0, 5n]), 4n, 300_000)).toEqual(marksOf([0, 5n], [5, 4n]))
  const day = 24 * 60
  expect(withMark(marksOf([0, 5n]), 4n, (day + 5) * MINUTE_MS - 1)[0]).toEqual(marksOf([0, 5n])[0])
  expect(withMark(marksOf([0, 5n]), 4n, (day + 5) * MINUTE_MS)).toEqual(marksOf([day + 5, 4n]))
})

test('a loss is from the most that was owned in the window, and a gain is none', () => {
  const marks = marksOf([0, 9n], [30, 7n], [60, 8n])
  expect(lossOf(marks, 6n, 60 * MINUTE_MS, HOUR_MS)).toBe(3n)
  expect(lossOf(marks, 6n, 65 * MINUTE_MS - 1, HOUR_MS)).toBe(3n)
  expect(lossOf(marks, 6n, 65 * MINUTE_MS, HOUR_MS)).toBe(2n)
  expect(lossOf(marks, 10n, 60 * MINUTE_MS, HOUR_MS)).toBe(0n)
})
