import { zeroAddress } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadKeys, peopleOf } from '../../../sandbox/cast/keys.ts'
import type { Chain } from '../../../sandbox/chain/chain.ts'
import { deploySandbox } from '../../../sandbox/deploy/deploy.ts'
import { startAnvil } from '../../support/anvil.ts'
import { removeDirectory, sandboxDirectory } from '../../support/sandbox.ts'

const directory = sandboxDirectory()
let chain: Chain
beforeAll(async () => {
  chain = await startAnvil()
})
afterAll(async () => {
  await chain.stop()
  removeDirectory(directory)
})

it('names the first step that failed, of all that fail after it', async () => {
  const keys = loadKeys(directory)
  const people = { ...peopleOf(keys), vaultOwner: zeroAddress }
  const deploying = deploySandbox({ rpcUrl: chain.rpcUrl, deployerKey: keys.deployer, ...people })
  await expect(deploying).rejects.toMatchObject({
    code: 'sandbox.deploy_reverted',
    message: expect.stringContaining('Deploying failed at: create LendingVault.'),
  })
})
