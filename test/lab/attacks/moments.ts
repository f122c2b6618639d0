import type { Address } from 'viem'
import { systemClock } from '../../../src/clock.ts'
import { checkFinal } from '../../../src/guard/checks/check-final.ts'
import { recheck } from '../../../src/guard/checks/recheck.ts'
import { recheckPublic } from '../../../src/guard/checks/recheck-public.ts'
import { createLossBudget } from '../../../src/keeper/money/loss-budget.ts'
import { createStandingAllowances } from '../../../src/keeper/signer/standing-allowances.ts'
import { createLog } from '../../../src/ops/log.ts'
import { carryOut, createScene, FEES, liquidationOf } from '../../guard/scene.ts'
import { by, usd } from '../../sandbox/contracts/world.ts'
import { attemptOf, slotOf, workflowOf } from '../../support/workflows.ts'
import type { Deed } from './deeds.ts'

const log = createLog({ level: 'silent', secrets: [] })
const MINUTE_MS = 60_000
const REPAY = usd('5000')

/** A liquidation of ours on a real chain, and what happens there between its clearing and its end. */
export async function createMoments(): Promise<{
  readonly deeds: readonly Deed[]
  readonly stop: () => Promise<void>
}> {
  const scene = await createScene()
  const { world, nodes, liquidator, deployment } = scene
  const borrower = await scene.borrow()
  let snapshot = await world.client.snapshot()
  /** Under water, and nothing has happened. */
  const begin = async () => {
    await world.client.revert({ id: snapshot })
    snapshot = await world.client.snapshot()
    await world.price('2500')
    await nodes.head()
  }
  const clear = async () => {
    const options = await liquidationOf(scene, { borrower, repay: REPAY })
    const checked = await checkFinal(options, { nodes })
    if (!checked.ok) throw new TypeError(`refused before anything happened: ${checked.message}`)
    return { options, clearance: checked.clearance }
  }
  const beforeSignature = async (happens: () => Promise<unknown>) => {
    await begin()
    const { options, clearance } = await clear()
    await happens()
    const { ruleset, nowMs } = options
    const looked = await recheck({ workflow: { ...options.workflow, clearance }, ruleset, nowMs }, { nodes })
    return [looked.ok ? null : looked.check]
  }
  const beforeRaise = async (happens: () => Promise<unknown>) => {
    await begin()
    const { options, clearance } = await clear()
    await happens()
    const { ruleset, nowMs, signer } = options
    const slots = clearance.payloads.map((each, index) =>
      slotOf({ ...each, nonce: signer.nextNonce + index, signer: liquidator, attempts: [attemptOf(FEES)] }),
    )
    const workflow = { ...workflowOf('in_flight'), ...options.workflow, clearance, slots }
    const looked = await recheckPublic({ workflow, ruleset, pending: [], nowMs }, { nodes })
    return [looked.ok ? null : looked.check]
  }
  const happenings: readonly (readonly [string, string, () => Promise<unknown>])[] = [
    ['the price moves', 'price_moved', () => world.price('2000')],
    [
      'somebody was first',
      'position_healthy',
      async () => {
        const rival = await world.person(usd('50000'), 0n)
        const { market, prime } = world
        await market.write.liquidate([prime.address, borrower, usd('9000'), 1n, rival, 2n ** 40n], by(rival))
      },
    ],
    ['the market is paused', 'market_paused', () => world.market.write.setPaused([true], by(world.admin))],
    [
      'our money is gone',
      'insufficient_balance',
      () => world.sUSD.write.transfer([world.admin, usd('99000')], by(liquidator)),
    ],
    [
      'the market runs other code',
      'code_changed',
      () => world.client.setCode({ address: world.market.address, bytecode: '0x6000' }),
    ],
    [
      'the chain goes back to before the price that made it unhealthy',
      'price_moved',
      async () => {
        await world.client.revert({ id: snapshot })
        snapshot = await world.client.snapshot()
        await world.client.mine({ blocks: 5 })
        await nodes.head()
      },
    ],
  ]
  const moments = happenings.flatMap(([name, check, happens]): readonly Deed[] => [
    { name: `between clearing and signature: ${name}`, check, play: () => beforeSignature(happens) },
    { name: `between claim and raise: ${name}`, check, play: () => beforeRaise(happens) },
  ])
  const allowed = async (spender: Address, assets: bigint) => {
    await begin()
    await world.sUSD.write.approve([spender, assets], by(liquidator))
    const clock = { ...systemClock, nowMs: () => 0 }
    const standing = await createStandingAllowances(liquidator, deployment, { nodes, clock, log }).now()
    const options = await liquidationOf(scene, { borrower, repay: REPAY })
    const checked = await checkFinal({ ...options, signer: { ...options.signer, standing } }, { nodes })
    return [checked.ok ? null : checked.check]
  }
  const late: readonly Deed[] = [
    {
      name: 'between preparing and clearing: our key allows another contract what it owns',
      incident: 'JaredFromSubway, 2026',
      check: 'limit_standing',
      play: () => allowed(world.growth.address, usd('10000000')),
    },
    {
      name: 'between clearing and signature: the key is asked when the answer is old',
      check: 'stale_snapshot',
      play: async () => {
        await begin()
        const { options, clearance } = await clear()
        const { ruleset, nowMs, workflow } = options
        const at = { ruleset, nowMs: nowMs + 10 * MINUTE_MS }
        const looked = await recheck({ workflow: { ...workflow, clearance }, ...at }, { nodes })
        return [looked.ok ? null : looked.check]
      },
    },
    {
      name: 'between clearing and signature: a record says cleared, and keeps no clearance',
      check: 'not_cleared',
      play: async () => {
        await begin()
        const { ruleset, nowMs, workflow } = (await clear()).options
        const looked = await recheck({ workflow, ruleset, nowMs }, { nodes })
        return [looked.ok ? null : looked.check]
      },
    },
    {
      name: 'between clearing and signature: the rules are others',
      check: 'ruleset_changed',
      play: async () => {
        await begin()
        const { options, clearance } = await clear()
        const { nowMs, workflow } = options
        const ruleset = { ...options.ruleset, hash: 'others' }
        const looked = await recheck({ workflow: { ...workflow, clearance }, ruleset, nowMs }, { nodes })
        return [looked.ok ? null : looked.check]
      },
    },
  ]
  const losing = async (lose: (look: () => Promise<void>) => Promise<unknown>) => {
    await begin()
    const { look, safe } = watchLosses(liquidator, deployment, nodes)
    await look()
    await lose(look)
    await look()
    return [safe[0] ?? null]
  }
  const taken = (assets: bigint) => world.sUSD.write.transfer([world.admin, assets], by(liquidator))
  const losses: readonly Deed[] = [
    {
      name: 'losses: tokens are taken',
      check: 'loss_above_limit',
      play: () => losing(() => taken(usd('2001'))),
    },
    {
      name: 'losses: tokens are taken in small parts',
      check: 'loss_above_limit',
      play: () =>
        losing(async (look) => {
          for (let part = 0; part < 5; part += 1) {
            await taken(usd('401'))
            if (part < 4) await look()
          }
        }),
    },
    {
      name: 'losses: what is claimed is worth less',
      check: 'loss_above_limit',
      play: () =>
        losing(async (look) => {
          const { clearance } = await clear()
          await carryOut(clearance, scene)
          await look()
          await world.price('1500')
        }),
    },
  ]
  return { deeds: [...moments, ...late, ...losses], stop: scene.stop }
}

/** Watch what a signer loses, of which 2,000 USD an hour may be: the checks by which it was made SAFE. */
function watchLosses(
  owner: Address,
  deployment: Awaited<ReturnType<typeof createScene>>['deployment'],
  nodes: Awaited<ReturnType<typeof createScene>>['nodes'],
) {
  const safe: string[] = []
  let [nowMs, looked] = [0, () => {}]
  const values = new Map<string, string>()
  const budget = createLossBudget(
    {
      signer: owner,
      sharing: [],
      deployment,
      role: 'liquidator',
      nativePriceUsdMicros: 0n,
      pricesUsdMicros: { sUSD: 1_000_000n },
      loss: { perHourUsdMicros: usd('2000'), perDayUsdMicros: usd('3000') },
    },
    {
      nodes,
      log,
      clock: { ...systemClock, nowMs: () => nowMs, monotonicMs: () => nowMs },
      journal: {
        getValue: async (key) => values.get(key) ?? null,
        setValue: async (key, value) => {
          values.set(key, value ?? '')
          // The last that a look writes.
          if (key.startsWith('worth:')) looked()
        },
      },
      signers: { safe: (_signer, { check }) => safe.push(check) },
    },
  )
  const look = async () => {
    nowMs += 6 * MINUTE_MS
    await nodes.head()
    const { promise, resolve } = Promise.withResolvers<void>()
    looked = resolve
    budget.look()
    await promise
  }
  return { look, safe }
}
