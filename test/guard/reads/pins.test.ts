import { type Address, concatHex, type Hex, keccak256, padHex } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { checkFinal, type FinalOptions } from '../../../src/guard/checks/check-final.ts'
import { recheck } from '../../../src/guard/checks/recheck.ts'
import { compileRuleset } from '../../../src/guard/ruleset.ts'
import { provePins } from '../../../src/keeper/startup/pins.ts'
import type { Deployment, PinnedContract } from '../../../src/service/contract/deployment.ts'
import { usd } from '../../sandbox/contracts/world.ts'
import { sections } from '../fixtures.ts'
import { createScene, liquidationOf, type Scene } from '../scene.ts'

/** Source: EIP-1967. */
const SLOT: Hex = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
/** A proxy that delegates every call to what is in its slot. */
const PROXY = concatHex(['0x365f5f375f5f365f7f', SLOT, '0x545af43d5f5f3e6036573d5ffd5b3d5ff3'])
const at = (byte: string): Address => `0x${byte.repeat(20)}`
const [IMPLEMENTATION, OTHER] = [at('11'), at('22')]

let scene: Scene
let token: Address
let code: Hex
let borrower: Address
let snapshot: Hex
let deployment: Deployment

beforeAll(async () => {
  scene = await createScene()
  borrower = await scene.borrow()
  const { client, sUSD } = scene.world
  token = scene.deployment.assets[0]?.address ?? sUSD.address
  code = (await client.getCode({ address: token })) ?? '0x'
  await client.setCode({ address: IMPLEMENTATION, bytecode: code })
  // Another address with the same code: nothing but the slot shows that it was swapped.
  await client.setCode({ address: OTHER, bytecode: code })
  await client.setCode({ address: token, bytecode: PROXY })
  await swapTo(IMPLEMENTATION)
  const proxy = { implementation: IMPLEMENTATION, codeHash: keccak256(code) }
  deployment = withToken({ codeHash: keccak256(PROXY), proxy })
  snapshot = await client.snapshot()
})
afterAll(async () => {
  await scene?.stop()
})
beforeEach(async () => {
  const { client } = scene.world
  await client.revert({ id: snapshot })
  snapshot = await client.snapshot()
  await scene.world.price('2500')
})

const swapTo = (implementation: Address) =>
  scene.world.client.setStorageAt({ address: token, index: SLOT, value: padHex(implementation) })

const withToken = (pin: Partial<PinnedContract>): Deployment => ({
  ...scene.deployment,
  assets: scene.deployment.assets.map((asset) => (asset.address === token ? { ...asset, ...pin } : asset)),
})

/** A liquidation under the rules of a deployment. */
const options = async (pinned: Deployment): Promise<FinalOptions> => ({
  ...(await liquidationOf(scene, { borrower, repay: usd('5000') })),
  ruleset: compileRuleset(sections, pinned),
})
const check = async (pinned = deployment) => {
  const checked = await checkFinal(await options(pinned), { nodes: scene.nodes })
  return checked.ok ? 'cleared' : checked.check
}

describe('a proxy whose implementation is swapped', () => {
  it('is refused by every look, where every pin of its own code still holds', async () => {
    const cleared = await checkFinal(await options(deployment), { nodes: scene.nodes })
    if (!cleared.ok) throw new TypeError(cleared.message)
    const { workflow, ...rest } = await options(deployment)
    const lookAgain = () =>
      recheck({ ...rest, workflow: { ...workflow, clearance: cleared.clearance } }, { nodes: scene.nodes })
    expect(await lookAgain()).toEqual({ ok: true })
    await swapTo(OTHER)
    expect(await check(withToken({ codeHash: keccak256(PROXY) }))).toBe('cleared')
    expect(await check()).toBe('implementation_changed')
    expect(await lookAgain()).toMatchObject({ check: 'implementation_changed' })
    await expect(provePins(scene.nodes, deployment)).rejects.toMatchObject({
      code: 'deployment.implementation_changed',
    })
  })

  it('is refused where it is the same address with other code', async () => {
    await scene.world.client.setCode({ address: IMPLEMENTATION, bytecode: `${code}00` })
    expect(await check()).toBe('code_changed')
    await expect(provePins(scene.nodes, deployment)).rejects.toMatchObject({
      code: 'deployment.code_changed',
    })
  })

  it('takes no role to work where what it runs is not pinned', async () => {
    await provePins(scene.nodes, deployment)
    await expect(provePins(scene.nodes, withToken({ codeHash: keccak256(PROXY) }))).rejects.toMatchObject({
      code: 'deployment.proxy_not_pinned',
      facts: { address: token },
    })
  })
})
