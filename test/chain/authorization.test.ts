import { createTestClient, createWalletClient, http, parseEther, publicActions, zeroAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, it, onTestFinished } from 'vitest'
import { TO_CHAIN } from '../../sandbox/chain/to-chain.ts'
import { followCanonicalChain } from '../../src/chain/canonical.ts'
import { createNodes } from '../../src/chain/http-nodes.ts'
import { NO_TRANSACTION } from '../../src/chain/nodes.ts'
import { systemClock } from '../../src/clock.ts'
import { startAnvil, testChainId } from '../support/anvil.ts'

it('a nonce that an authorization by our key took is seen at the head that holds it, also beside a transaction of ours', async () => {
  const chain = await startAnvil()
  onTestFinished(() => chain.stop())
  const transport = http(chain.rpcUrl, TO_CHAIN)
  const client = createTestClient({ mode: 'anvil', transport }).extend(publicActions)
  const walletOf = () => createWalletClient({ account: privateKeyToAccount(generatePrivateKey()), transport })
  const [ours, other] = [walletOf(), walletOf()]
  for (const { account } of [ours, other])
    await client.setBalance({ address: account.address, value: parseEther('1') })
  const signer = ours.account.address
  const nodes = await createNodes({
    chainId: testChainId,
    read: [chain.rpcUrl],
    send: [chain.rpcUrl],
    agree: 1,
    finality: 'finalized',
    timeoutMs: 20_000,
    pollMs: 20,
    clock: systemClock,
  })
  onTestFinished(nodes.close)
  let moved = Promise.withResolvers<void>()
  const canonical = await followCanonicalChain({
    nodes,
    clock: systemClock,
    signers: [signer],
    lastFinal: null,
    doubtedFrom: null,
    onMoved: async () => moved.resolve(),
    onFinal: async () => {},
    onForkPastFinality: async () => {},
    onFailed: (error) => moved.reject(error),
  })
  onTestFinished(canonical.stop)

  const authorization = await ours.signAuthorization({
    account: ours.account,
    contractAddress: zeroAddress,
    chainId: testChainId,
    nonce: 1,
  })
  await client.setAutomine(false)
  await ours.sendTransaction({ chain: null, to: signer, nonce: 0 })
  await other.sendTransaction({
    chain: null,
    to: zeroAddress,
    authorizationList: [authorization],
    gas: 100_000n,
  })
  moved = Promise.withResolvers()
  await client.mine({ blocks: 1 })
  await moved.promise
  const { count, minedAt, head } = canonical.of(signer)
  expect(count).toBe(2)
  expect(minedAt(0)).toMatchObject({ from: signer.toLowerCase(), receipt: { status: 'success' } })
  expect(minedAt(1)).toMatchObject({ hash: NO_TRANSACTION, digest: null, receipt: { blockHash: head.hash } })
})
