import { expect, it, onTestFinished } from 'vitest'
import { createKeeperScene, liquidationOf } from '../support/keeper-scene.ts'
import { type NodeFault, startNodeProxy } from '../support/node-proxy.ts'

/** A keeper's world whose node does otherwise. */
async function onChain(fault: NodeFault, finality: 'finalized' | { readonly confirmations: string }) {
  const world = await createKeeperScene()
  onTestFinished(() => world.stop())
  const proxy = await startNodeProxy(world.scene.chain.rpcUrl)
  onTestFinished(() => proxy.stop())
  proxy.setFaults(fault)
  const nodes = { read: [proxy.url], send: [proxy.url] }
  const chain = { id: String(world.scene.chain.chainId), finality, nodes }
  return { world, start: () => world.start({ chain }) }
}

it('works on a chain with four blocks a second, a base fee of nothing and no finalized tag', async () => {
  const isFinalized: NodeFault['when'] = ({ params }) => params[0] === 'finalized'
  const { world, start } = await onChain(
    { deed: { kind: 'error', code: -32_000, message: 'unknown block' }, when: isFinalized },
    { confirmations: '8' },
  )
  const { until } = await start()
  const borrower = await world.openUnderWater()
  await world.scene.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 0n })
  await world.mineEvery(0.25)
  await until(liquidationOf(borrower)('succeeded'))
  expect(await world.liquidated(borrower)).toHaveLength(1)
})

it('does not start on a chain whose blocks have no base fee, and says so', async () => {
  const { start } = await onChain(
    {
      deed: {
        kind: 'change',
        change: (block) => {
          const { baseFeePerGas: _, ...before } = Object(block)
          return before
        },
      },
      methods: ['eth_getBlockByNumber'],
    },
    'finalized',
  )
  await expect(start()).rejects.toMatchObject({
    code: 'node.no_base_fee',
    fix: expect.stringContaining('work on a chain with EIP-1559'),
  })
})
