import { createTestClient, http, parseEther, publicActions, walletActions } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { expect, test } from 'vitest'
import { TO_CHAIN } from '../../sandbox/chain/to-chain.ts'
import { startAnvil } from './anvil.ts'
import { startNodeProxy } from './node-proxy.ts'
import { receiptActions } from './receipts.ts'

test('waits for a receipt that the node tells of after its block, which is the last one', async () => {
  const chain = await startAnvil()
  const proxy = await startNodeProxy(chain.rpcUrl)
  let lateAnswers = 2
  const change = (receipt: unknown) => (lateAnswers-- > 0 ? null : receipt)
  proxy.setFaults({ methods: ['eth_getTransactionReceipt'], deed: { kind: 'change', change } })
  const client = createTestClient({ mode: 'anvil', transport: http(proxy.url, TO_CHAIN) })
    .extend(publicActions)
    .extend(receiptActions)
    .extend(walletActions)
  const account = privateKeyToAddress(generatePrivateKey())
  await client.impersonateAccount({ address: account })
  await client.setBalance({ address: account, value: parseEther('1') })
  const { blockNumber } = await client.sendTransactionSync({ account, chain: null, to: account })
  expect([blockNumber, lateAnswers]).toEqual([1n, -1])
  await proxy.stop()
  await chain.stop()
})
