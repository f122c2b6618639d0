import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/clock.ts'
import {
  createKeeperScene,
  type KeeperScene,
  liquidationOf,
  startTestKeeper,
} from '../support/keeper-scene.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

let world: KeeperScene
const proxies: TcpProxy[] = []
beforeAll(async () => {
  world = await createKeeperScene()
})
afterAll(async () => {
  await world.stop()
  await Promise.all(proxies.map((proxy) => proxy.stop()))
})

/** Where a server is reached through a proxy that can be cut. */
async function cuttable(url: string): Promise<string> {
  const { hostname: host, port } = new URL(url)
  const proxy = await startTcpProxy({ host, port: Number(port) })
  proxies.push(proxy)
  return `http://${proxy.host}:${proxy.port}`
}

it('makes up with what failed while the clock was an hour ahead as soon as it is there', async () => {
  let aheadMs = 0
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs }
  const { chain } = world.config()
  const node = await cuttable(chain.nodes.read[0]?.reveal() ?? '')
  const keeper = await startTestKeeper(
    world.config({
      chain: { id: String(chain.id), finality: 'finalized', nodes: { read: [node], send: [node] } },
      service: { url: await cuttable(world.service.url), secretKey: 'env:TEST_SECRET_KEY' },
    }),
    clock,
  )
  aheadMs = 3_600_000
  await Promise.all(proxies.map((proxy) => proxy.down()))
  await until(() => expect(keeper.log.join('\n')).toContain('"phase":"open"'))
  await Promise.all(proxies.map((proxy) => proxy.up()))
  aheadMs = 0
  const borrower = await world.openUnderWater()
  await keeper.until(liquidationOf(borrower)('succeeded'))
  expect(await world.liquidated(borrower)).toEqual([borrower])
  await keeper.keeper.stop({ drainMs: 0 })
})
