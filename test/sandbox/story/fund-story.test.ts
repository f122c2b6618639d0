import { createTestClient, http, parseUnits, publicActions } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { expect, onTestFinished, test } from 'vitest'
import { loadKeys, peopleOf } from '../../../sandbox/cast/keys.ts'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import { createTransactions } from '../../../sandbox/chain/transactions.ts'
import { recoveryFundAbi } from '../../../sandbox/contracts/abis.ts'
import { deploySandbox } from '../../../sandbox/deploy/deploy.ts'
import { createFundStory } from '../../../sandbox/story/fund-story.ts'
import { startAnvil } from '../../support/anvil.ts'
import { removeDirectory, sandboxDirectory } from '../../support/sandbox.ts'

test('closes each epoch when it is due, claims what it gave, and opens the next; a restart goes on', async () => {
  const directory = sandboxDirectory()
  const chain = await startAnvil()
  onTestFinished(async () => {
    await chain.stop()
    removeDirectory(directory)
  })
  const keys = loadKeys(directory)
  const deployment = await deploySandbox({
    rpcUrl: chain.rpcUrl,
    deployerKey: keys.deployer,
    ...peopleOf(keys),
  })
  const client = createTestClient({
    mode: 'anvil',
    transport: http(chain.rpcUrl, TO_CHAIN),
    cacheTime: 0,
  }).extend(publicActions)
  const transactions = createTransactions(chain.rpcUrl, chain.chainId)
  const fund = { address: deployment.contracts.recoveryFund.address, abi: recoveryFundAbi } as const
  const ofStory = { fundAddress: fund.address, quoteAsset: deployment.contracts.sUSD.address }
  const epoch = (id: bigint) => client.readContract({ ...fund, functionName: 'epoch', args: [id] })
  const goTo = async (timestamp: bigint) => {
    await client.setNextBlockTimestamp({ timestamp })
    await client.mine({ blocks: 1 })
    return timestamp
  }

  const acts = createFundStory(chain.rpcUrl, ofStory, keys)
  const { scheduledCloseAt: firstClose } = await epoch(1n)
  expect(await acts(firstClose - 1n, 0)).toEqual([])
  await transactions.mine(await acts(await goTo(firstClose), 0))
  expect((await epoch(1n)).shares).toBe(parseUnits('500000', 18))
  const admin = privateKeyToAddress(keys.deployer)
  const held = () => client.readContract({ ...fund, functionName: 'balanceOf', args: [admin] })
  expect(await held()).toBe(parseUnits('500000', 18))

  const second = await epoch(2n)
  expect(second.depositedAssets).toBe(parseUnits('25000', 6))
  expect(second.scheduledCloseAt - second.openedAt).toBe(60n)
  expect(await acts(second.scheduledCloseAt - 1n, 0)).toEqual([])
  const afresh = createFundStory(chain.rpcUrl, ofStory, keys)
  await transactions.mine(await afresh(await goTo(second.scheduledCloseAt), 0))
  expect(await held()).toBe(parseUnits('525000', 18))
  expect((await epoch(3n)).closedAt).toBe(0n)
})
