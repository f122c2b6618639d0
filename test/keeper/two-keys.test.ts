import { afterAll, beforeAll, expect, it } from 'vitest'
import { lendingMarketAbi } from '../../sandbox/contracts/abis.ts'
import { BTC } from '../sandbox/indexer/scene.ts'
import {
  createKeeperScene,
  type KeeperScene,
  reached,
  startTestKeeper,
  type TestKeeper,
} from '../support/keeper-scene.ts'

let world: KeeperScene
let running: TestKeeper | undefined

beforeAll(async () => {
  world = await createKeeperScene()
})
afterAll(async () => {
  await running?.keeper.stop({ drainMs: 0 })
  await world.stop()
})

it('takes each opportunity of a role once, whichever of its two keys sees it', async () => {
  const [agent] = world.config().agents
  const { scene, kms } = world
  const borrowers = await world.quickly(async () => {
    await scene.price(BTC, '60000')
    const opened = [await world.openBorrower(), await world.openBorrower(), await world.openBorrower()]
    await scene.price(BTC, '47000')
    return opened
  })
  const agents = kms.keys.map(({ arn: keyId, address }) => ({
    ...{ role: 'liquidator', mode: 'live', policy: agent?.policy },
    signer: { kms: { keyId, address } },
  }))
  running = await startTestKeeper(world.config({ agents }))
  const ready = await running.until(({ type }) => type === 'ready')
  const addresses = kms.keys.map(({ address }) => address.toLowerCase())
  expect(ready).toMatchObject({ signers: addresses.map((address) => ({ role: 'liquidator', address })) })
  const { events, until } = running
  await until(() => events.filter(reached('succeeded')).length >= borrowers.length)
  const liquidated = await scene.client.getContractEvents({
    address: scene.at(BTC.market),
    abi: lendingMarketAbi,
    eventName: 'Liquidated',
    fromBlock: 0n,
  })
  expect(liquidated.map(({ args }) => args.borrower).sort()).toEqual(borrowers.toSorted())
})
