import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKeeperScene, type KeeperScene, reached, startTestKeeper } from './support/keeper-scene.ts'

let world: KeeperScene
beforeAll(async () => {
  world = await createKeeperScene()
})
afterAll(() => world.stop())

it('carries a liquidation and its settlement to final success', async () => {
  await world.openBorrower()
  const { keeper, events, until, log } = await startTestKeeper(world.config())
  const timer = setInterval(() => console.log(events.slice(-6), log.slice(-3)), 8_000)
  await world.crash()
  await until(reached('succeeded'))
  await until(reached('succeeded', 'role.liquidator.settleLiquidationClaim'))
  clearInterval(timer)
  await keeper.stop({ drainMs: 0 })
  console.log(
    events
      .filter((e) => e.type !== 'decision' && e.type !== 'health')
      .map((e) => JSON.stringify(e))
      .join('\n'),
  )
  expect(events.filter(reached('succeeded'))).toHaveLength(1)
})
