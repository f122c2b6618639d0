import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createStandingAllowances } from '../../../src/keeper/signer/standing-allowances.ts'
import { createLog } from '../../../src/ops/log.ts'
import { createScene, type Scene } from '../../guard/scene.ts'
import { by } from '../../sandbox/contracts/world.ts'

const log = createLog({ level: 'silent', secrets: [] })

let scene: Scene
beforeAll(async () => {
  scene = await createScene()
})
afterAll(async () => {
  await scene?.stop()
})

test('finds what contracts may take, whoever allowed it, and until it is gone: an ended workflow’s was forgotten', async () => {
  const { world, liquidator: owner, deployment } = scene
  const [now, asked] = [{ ms: 1_000 }, [] as number[]]
  const nodes: Pick<Scene['nodes'], 'calls'> = {
    calls: (calls) => {
      asked.push(calls.length)
      return scene.nodes.calls(calls)
    },
  }
  const clock = { ...systemClock, monotonicMs: () => now.ms }
  const allow = async (spender: Address, assets: bigint) => {
    await world.sUSD.write.approve([spender, assets], by(owner))
    // Reads are at the newest head.
    await scene.nodes.head()
  }
  const token = world.sUSD.address.toLowerCase()
  const market = deployment.markets[0]?.address ?? owner
  const vault = deployment.vaults[0]?.address ?? owner
  await allow(market, 7n)
  const standing = createStandingAllowances(owner, deployment, { nodes, clock, log })
  expect(await standing.now()).toEqual([{ token, spender: market, assets: 7n }])
  // Three assets, and five contracts that are none; then the one pair that stands.
  expect(asked).toEqual([15, 1])
  await allow(market, 3n)
  expect(await standing.now()).toEqual([{ token, spender: market, assets: 3n }])
  await allow(market, 0n)
  await allow(vault, 5n)
  expect(await standing.now()).toEqual([])
  now.ms += 60_000
  standing.begin()
  await expect.poll(() => standing.now()).toEqual([{ token, spender: vault, assets: 5n }])
})

test('knows nothing of what stands once the looks at all have failed for five minutes: what was seen last was taken for all', async () => {
  const { liquidator: owner, deployment } = scene
  const [now, token] = [{ ms: 1_000 }, { answers: true }]
  const nodes: Pick<Scene['nodes'], 'calls'> = {
    // One of the tokens says nothing any more.
    calls: async (calls) =>
      token.answers || calls.length < 15 ? scene.nodes.calls(calls) : calls.map(() => null),
  }
  const clock = { ...systemClock, monotonicMs: () => now.ms }
  const standing = createStandingAllowances(owner, deployment, { nodes, clock, log })
  await standing.now()
  token.answers = false
  now.ms += 299_999
  await standing.now()
  now.ms += 1
  await expect(standing.now()).rejects.toMatchObject({ code: 'allowance.not_read' })
  token.answers = true
  await standing.now()
})

test('finds what a workflow of ours allowed as soon as it landed, though its workflow reverted or expired before the next look', async () => {
  const { world, liquidator: owner, deployment, nodes } = scene
  const clock = { ...systemClock, monotonicMs: () => 1_000 }
  const token = world.sUSD.address.toLowerCase() as Address
  const market = deployment.markets[0]?.address ?? owner
  const vault = deployment.vaults[0]?.address ?? owner
  await world.sUSD.write.approve([vault, 0n], by(owner))
  await nodes.head()
  const standing = createStandingAllowances(owner, deployment, { nodes, clock, log })
  expect(await standing.now()).toEqual([])
  // It claims; its approval lands, its action does not; it has ended, and no minute has passed.
  standing.expect([{ token, spender: market }])
  await world.sUSD.write.approve([market, 9n], by(owner))
  await nodes.head()
  expect(await standing.now()).toEqual([{ token, spender: market, assets: 9n }])
})

test('is asked once for those who ask within a second of what was asked ahead, and anew once something else is allowed', async () => {
  const { liquidator: owner, deployment } = scene
  const [now, asked] = [{ ms: 1_000 }, [] as number[]]
  const nodes: Pick<Scene['nodes'], 'calls'> = {
    calls: async (calls) => {
      asked.push(calls.length)
      return scene.nodes.calls(calls)
    },
  }
  const standing = createStandingAllowances(owner, deployment, {
    nodes,
    log,
    clock: { ...systemClock, monotonicMs: () => now.ms },
  })
  const [token, spender] = [deployment.assets[0]?.address ?? owner, deployment.vaults[0]?.address ?? owner]
  standing.expect([{ token, spender }])
  await standing.now()
  asked.splice(0)
  standing.ahead()
  standing.expect([{ token, spender }])
  await Promise.all([standing.now(), standing.now()])
  expect(asked).toHaveLength(1)
  standing.expect([{ token, spender: deployment.markets[0]?.address ?? owner }])
  await standing.now()
  expect(asked).toHaveLength(2)
  standing.ahead()
  now.ms += 1_000
  await standing.now()
  expect(asked).toHaveLength(4)
})
