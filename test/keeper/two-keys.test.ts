import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKeeperScene, type KeeperScene, reached } from '../support/keeper-scene.ts'

let world: KeeperScene
beforeAll(async () => {
  world = await createKeeperScene()
})
afterAll(() => world.stop())

it('takes each opportunity of a role once, whichever of its two keys sees it', async () => {
  const { keys } = world.kms
  const borrowers = [await world.openUnderWater(), await world.openUnderWater(), await world.openUnderWater()]
  const { events, until } = await world.start({
    agents: keys.map(({ arn: keyId, address }) => world.liquidator({ signer: { kms: { keyId, address } } })),
  })
  const ready = await until(({ type }) => type === 'ready')
  const addresses = keys.map(({ address }) => address.toLowerCase())
  expect(ready).toMatchObject({ signers: addresses.map((address) => ({ role: 'liquidator', address })) })
  await until(() => events.filter(reached('succeeded')).length >= borrowers.length)
  expect((await world.liquidated()).toSorted()).toEqual(borrowers.toSorted())
})
