import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { checkFinal } from '../../../src/guard/checks/check-final.ts'
import { readWorth } from '../../../src/guard/limits/valuation.ts'
import {
  createLossBudget,
  type LossBudget,
  lossOf,
  type Mark,
  withMark,
} from '../../../src/keeper/money/loss-budget.ts'
import { createLog } from '../../../src/ops/log.ts'
import { carryOut, createScene, liquidationOf, type Scene } from '../../guard/scene.ts'
import { by, usd } from '../../sandbox/contracts/world.ts'
import { inOrder } from '../../support/in-order.ts'

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
const counted = () => ({
  deployment: scene.deployment,
  nativePriceUsdMicros: 0n,
  pricesUsdMicros: { sUSD: 1_000_000n },
})
const worth = async () => {
  await scene.nodes.head()
  return (await readWorth({ ...counted(), owners: [scene.liquidator] }, scene.nodes)).usdMicros
}

inOrder('what may be lost, on one chain', () => {
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

  /** Loss budgets of 2,000 USD an hour and 3,000 a day, over one journal, and what they made SAFE. */
  function createWatch(limit = usd('2000')) {
    const [now, chain] = [{ ms: 10 * HOUR_MS }, { isDown: false }]
    const [safe, values] = [[] as string[], new Map<string, string>()]
    let [asked, looked] = [() => {}, () => {}]
    const create = (signer = scene.liquidator, sharing: readonly Address[] = []) =>
      createLossBudget(
        {
          ...counted(),
          role: 'liquidator',
          signer,
          sharing,
          loss: { perHourUsdMicros: limit, perDayUsdMicros: (limit * 3n) / 2n },
        },
        {
          nodes: {
            ...scene.nodes,
            recent: () => {
              asked()
              return chain.isDown ? Promise.reject(new TypeError('no node')) : scene.nodes.recent()
            },
          },
          log,
          clock: { ...systemClock, nowMs: () => now.ms, monotonicMs: () => now.ms },
          journal: {
            getValue: async (key) => values.get(key) ?? null,
            setValue: async (key, value) => {
              values.set(key, value ?? '')
              // The last that a look writes.
              if (key.startsWith('worth:')) looked()
            },
          },
          signers: { safe: (who, { check, message }) => safe.push(`${who} ${check}: ${message}`) },
        },
      )
    return {
      now,
      chain,
      safe,
      create,
      /** Look once more, after so long by every clock. */
      look: async (budget: LossBudget, afterMs = 6 * MINUTE_MS) => {
        now.ms += afterMs
        await scene.world.pass(afterMs / 1_000)
        await scene.nodes.head()
        const { promise, resolve } = Promise.withResolvers<void>()
        looked = resolve
        budget.look()
        await promise
      },
      /** Look where nothing answers. */
      lookInVain: async (budget: LossBudget) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        asked = resolve
        budget.look()
        await promise
        await new Promise(setImmediate)
      },
    }
  }
  const lose = async (assets: bigint, from = scene.liquidator) =>
    scene.world.sUSD.write.transfer([scene.world.market.address, assets], by(from))

  test('a role that loses more than its policy allows is halted: nothing but outflow was counted', async () => {
    const { safe, create, look } = createWatch()
    let budget = create()
    await look(budget)
    await lose(usd('1500'))
    await look(budget)
    // Another start knows what was owned before.
    budget = create()
    await lose(usd('500'))
    await look(budget)
    expect(safe).toEqual([])
    await lose(1n)
    await look(budget)
    expect(safe).toEqual([
      `${scene.liquidator} loss_above_limit: The liquidator lost $2,000.00 in the last hour; the policy allows $2,000.`,
    ])
    // Released, it has one budget more: what was lost before is not lost again.
    await lose(usd('1000'))
    await look(budget)
    expect(safe).toHaveLength(1)
  })

  test('a clock that ran two days ahead and was put back hides no loss: by it, what was owned before was a day old', async () => {
    const { now, safe, create, look } = createWatch()
    const budget = create()
    await look(budget)
    await lose(usd('1500'))
    now.ms += 48 * HOUR_MS
    await look(budget)
    now.ms -= 48 * HOUR_MS
    await lose(usd('501'))
    await look(budget)
    expect(safe).toHaveLength(1)
  })

  test('keys that share a policy share its budget, and lose nothing to each other: each had one of its own', async () => {
    const other = await scene.world.person(usd('50000'), 0n)
    const { safe, create, look } = createWatch()
    const keys = [scene.liquidator, `0x${other.slice(2).toLowerCase()}`] as const
    const budgets = keys.map((key) => create(key, keys))
    const lookAll = async () => {
      for (const budget of budgets) await look(budget)
    }
    await lookAll()
    await scene.world.sUSD.write.transfer([scene.liquidator, usd('40000')], by(other))
    await lose(usd('1500'))
    await lookAll()
    expect(safe).toEqual([])
    await lose(usd('501'), other)
    await lookAll()
    expect(safe.map((each) => each.split(' ').slice(0, 2))).toEqual(
      keys.map((key) => [key, 'loss_above_limit:']),
    )
  })

  test('opens nothing new once what is owned could not be read for five minutes, until it is read again', async () => {
    const { now, chain, create, look, lookInVain } = createWatch()
    const budget = create()
    chain.isDown = true
    expect(budget.unread()).toBeNull()
    await lookInVain(budget)
    now.ms += 5 * MINUTE_MS - 1
    await lookInVain(budget)
    expect(budget.unread()).toBeNull()
    now.ms += 1
    expect(budget.unread()).toMatchObject({ check: 'worth_not_read' })
    // A clock that is put back makes nothing known.
    now.ms -= HOUR_MS
    expect(budget.unread()).toMatchObject({ check: 'worth_not_read' })
    chain.isDown = false
    await look(budget)
    expect(budget.unread()).toBeNull()
  })

  test('halts, too, where it is started anew every few minutes: each start had five minutes of its own', async () => {
    const { now, chain, create, look, lookInVain } = createWatch()
    chain.isDown = true
    for (const isRead of [false, true]) {
      if (isRead) {
        chain.isDown = false
        await look(create())
        chain.isDown = true
      }
      const checks = []
      for (let starts = 0; starts < 3; starts += 1) {
        const budget = create()
        await lookInVain(budget)
        checks.push(budget.unread()?.check)
        now.ms += 4 * MINUTE_MS
      }
      expect(checks).toEqual([undefined, undefined, 'worth_not_read'])
    }
  })

  const marksOf = (...marks: readonly (readonly [minutes: number, usdMicros: bigint])[]): readonly Mark[] =>
    marks.map(([minutes, usdMicros]) => ({ fromMs: minutes * MINUTE_MS, usdMicros }))

  test('a mark keeps the most of five minutes, and goes once all of it is older than a day', () => {
    expect(withMark([], { usdMicros: 5n, atMs: 0 })).toEqual(marksOf([0, 5n]))
    expect(withMark(marksOf([0, 5n]), { usdMicros: 4n, atMs: 299_999 })).toEqual(marksOf([0, 5n]))
    expect(withMark(marksOf([0, 5n]), { usdMicros: 6n, atMs: 299_999 })).toEqual(marksOf([0, 6n]))
    expect(withMark(marksOf([0, 5n]), { usdMicros: 4n, atMs: 300_000 })).toEqual(marksOf([0, 5n], [5, 4n]))
    const day = 24 * 60
    expect(withMark(marksOf([0, 5n]), { usdMicros: 4n, atMs: (day + 5) * MINUTE_MS - 1 })[0]).toEqual(
      marksOf([0, 5n])[0],
    )
    expect(withMark(marksOf([0, 5n]), { usdMicros: 4n, atMs: (day + 5) * MINUTE_MS })).toEqual(
      marksOf([day + 5, 4n]),
    )
  })

  test('a loss is from the most that was owned in the window, and a gain is none', () => {
    const marks = marksOf([0, 9n], [30, 7n], [60, 8n])
    expect(lossOf(marks, { usdMicros: 6n, atMs: 60 * MINUTE_MS }, HOUR_MS)).toBe(3n)
    expect(lossOf(marks, { usdMicros: 6n, atMs: 65 * MINUTE_MS - 1 }, HOUR_MS)).toBe(3n)
    expect(lossOf(marks, { usdMicros: 6n, atMs: 65 * MINUTE_MS }, HOUR_MS)).toBe(2n)
    expect(lossOf(marks, { usdMicros: 10n, atMs: 60 * MINUTE_MS }, HOUR_MS)).toBe(0n)
  })
})
