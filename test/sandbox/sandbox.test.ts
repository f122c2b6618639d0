import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { createTestClient, http, publicActions } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { BLOCKS_KEPT } from '../../sandbox/chain/chain.ts'
import { TO_CHAIN } from '../../sandbox/chain/to-chain.ts'
import { lower } from '../../sandbox/indexer/logs.ts'
import { deploymentAt } from '../../src/cli/target/figures.ts'
import { sandboxConfig } from '../../src/cli/target/sandbox-config.ts'
import { loadRunConfig } from '../../src/config/config.ts'
import { preparedWorkflow } from '../../src/service/contract/prepared-workflow.ts'
import { HAND_ROLES, ROLES } from '../../src/service/contract/roles.ts'
import { isWellKnown } from '../../src/sign/well-known.ts'
import { inOrder } from '../support/in-order.ts'
import { removeDirectory, sandboxDirectory, startTestSandbox, type TestSandbox } from '../support/sandbox.ts'

let sandbox: TestSandbox
const directory = sandboxDirectory()

beforeAll(async () => {
  sandbox = await startTestSandbox(directory)
})
afterAll(async () => {
  await sandbox.stop()
  removeDirectory(directory)
})

const page = z.object({ items: z.array(z.looseObject({ borrowerAddress: z.string().optional() })) })

async function ask(path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${sandbox.info.serviceUrl}${path}`, {
    headers: {
      authorization: `Bearer ${sandbox.info.secretKey}`,
      'content-type': 'application/json',
      'idempotency-key': `key-${path}-${Math.random()}`,
    },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })
  const json: unknown = await response.json()
  expect(response.status, JSON.stringify(json)).toBe(200)
  return json
}

inOrder('one sandbox', () => {
  it('serves both markets', async () => {
    expect(page.parse(await ask('/v1/markets')).items).toHaveLength(2)
  })

  it('keeps what is secret for its owner alone', () => {
    const mode = (name: string) => (statSync(join(directory, name)).mode & 0o777).toString(8)
    expect([mode('.'), mode('sandbox')]).toEqual(['700', '700'])
    const files = ['sandbox.json', 'sandbox.env', 'run.yaml', 'fleet.yaml']
    for (const name of [...files, 'sandbox/keys.json', 'sandbox/deployment.json']) {
      expect(mode(name), name).toBe('600')
    }
  })

  it('describes a keeper beside it, for the command line and as a run configuration', () => {
    const env = {
      ...Object.fromEntries(
        Object.entries(sandbox.info.secretKeys).map(([role, key]) => [
          `ROLEKEEPER_${role.toUpperCase().replaceAll('-', '_')}_SECRET_KEY`,
          key,
        ]),
      ),
      ROLEKEEPER_SECRET_KEY: sandbox.info.secretKey,
      ROLEKEEPER_KMS_ACCESS_KEY_ID: sandbox.info.kmsAccessKeyId,
      ROLEKEEPER_KMS_SECRET_ACCESS_KEY: sandbox.info.kmsSecretAccessKey,
    }
    const file = join(directory, 'run.yaml')
    const { hash: _ours, ...fromFile } = loadRunConfig(file, { env, isWellKnown })
    const { hash: _theirs, ...fromJson } = sandboxConfig(directory)
    expect(fromFile).toEqual(fromJson)
    expect(fromFile.chain.id).toBe(sandbox.info.chainId)
    expect(fromFile.agents.map(({ role, mode, signer }) => [role, mode, signer.address])).toEqual(
      [...ROLES, ...HAND_ROLES].map((role) => [role, 'live', lower(sandbox.info.signers[role].address)]),
    )
    const text = readFileSync(file, 'utf8')
    for (const key of [sandbox.info.secretKey, ...Object.values(sandbox.info.secretKeys)]) {
      expect(text).not.toContain(key)
    }
    expect(text).not.toContain(sandbox.info.kmsSecretAccessKey)
  })

  it('describes two keepers that share a Redis, each in a folder of its own', () => {
    const env = {
      ...parseEnv(readFileSync(join(directory, 'sandbox.env'), 'utf8')),
      ROLEKEEPER_INSTANCE: 'b',
    }
    const config = loadRunConfig(join(directory, 'fleet.yaml'), { env, isWellKnown })
    expect(config).toMatchObject({
      directory: join(directory, 'b'),
      queue: 'bullmq',
      journal: { redis: { url: 'redis://127.0.0.1:6379/0' } },
      fleet: { instance: 'b', roster: ['a', 'b'] },
      ops: { port: 0 },
    })
    expect(config.agents).toEqual(loadRunConfig(join(directory, 'run.yaml'), { env, isWellKnown }).agents)
  })

  it('refuses a second sandbox in the same directory', async () => {
    await expect(startTestSandbox(directory)).rejects.toMatchObject({ code: 'sandbox.locked' })
  })

  it('keeps its chain, its workflows and its keys through a restart, and recovers what a price drop put under water', async () => {
    await sandbox.open(0, 'btc', '10000', '60000')
    await sandbox.until(({ facilities }) => facilities.some(({ debtAssets }) => debtAssets > 0n))
    await sandbox.setPrice('btc', '55000')
    const { facilities, block } = await sandbox.until(({ recoveries }) => recoveries.length > 0)
    const borrower = facilities[0]?.resource.borrowerAddress
    const recovery = page.parse(await ask('/v1/liquidation-recovery'))
    expect(recovery.items.map((item) => item.borrowerAddress)).toEqual([borrower])

    const { contracts, chainId, signers } = sandbox.info
    const prepared = preparedWorkflow.parse(
      await ask('/v1/workflows/prepare', {
        workflowType: 'role.liquidator.liquidate',
        chainId,
        principalAddress: signers.liquidator.address,
        input: {
          marketAddress: contracts.btcMarket,
          vaultAddress: contracts.primeVault,
          borrowerAddress: borrower,
          repayAssets: '1000000000',
          minCollateralAssets: '1',
          recipientAddress: signers.liquidator.address,
        },
      }),
    )
    expect(prepared.preflight.blockedReasons).toEqual([])

    const before = sandbox.info
    await sandbox.stop()
    expect(() => statSync(join(directory, 'sandbox.json'))).toThrow()
    // What was done in it keeps its names and units.
    const ended = deploymentAt({ directory }, { directory, file: '' })
    expect(ended.assets.map(({ symbol }) => symbol)).toContain('sUSD')
    sandbox = await startTestSandbox(directory)
    expect(sandbox.info).toMatchObject({ chainId, secretKey: before.secretKey, signers, contracts })
    const now = sandbox.canonical.snapshot()
    expect(now.block.number).toBeGreaterThanOrEqual(block.number)
    expect(now.recoveries).toHaveLength(1)
    expect(await ask(`/v1/workflows/${prepared.requestId}`)).toMatchObject({ requestId: prepared.requestId })
  })

  it('goes on when the chain has dropped what its index was made of', async () => {
    const clientOf = ({ chain: { rpcUrl } }: TestSandbox) =>
      createTestClient({ mode: 'anvil', transport: http(rpcUrl, TO_CHAIN), cacheTime: 0 }).extend(
        publicActions,
      )
    const client = clientOf(sandbox)
    const { number } = sandbox.canonical.snapshot().block
    const [hash] = (await client.getBlock({ blockNumber: BigInt(sandbox.deployment.startBlock) + 1n }))
      .transactions
    if (hash === undefined) expect.unreachable()
    const borrowers = () =>
      sandbox.canonical.snapshot().facilities.map(({ resource }) => resource.borrowerAddress)
    const before = borrowers()
    expect(before).toHaveLength(1)
    await client.mine({ blocks: Number(BLOCKS_KEPT) })
    await sandbox.until(({ block }) => block.number >= number + BLOCKS_KEPT)
    await sandbox.stop()

    sandbox = await startTestSandbox(directory)
    await expect(clientOf(sandbox).getTransactionReceipt({ hash })).rejects.toThrow('could not be found')
    expect(borrowers()).toEqual(before)
  })

  it('refuses a chain that another release deployed, and says how to start over', async () => {
    await sandbox.stop()
    const file = join(directory, 'sandbox', 'deployment.json')
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(/"release": "[0-9a-f]{64}"/, '"release": "of old"'))
    // Its keys are those of other people.
    const keysFile = join(directory, 'sandbox', 'keys.json')
    const keys = readFileSync(keysFile, 'utf8')
    writeFileSync(keysFile, '{}')
    await expect(startTestSandbox(directory)).rejects.toMatchObject({
      code: 'sandbox.outdated',
      fix: expect.stringContaining('start over with `--fresh`'),
    })
    writeFileSync(file, text)
    writeFileSync(keysFile, keys)
  })

  it('refuses a saved chain that does not hold the contracts', async () => {
    await sandbox.stop()
    rmSync(join(directory, 'sandbox', `chain-${sandbox.info.chainId}.json`))
    await expect(startTestSandbox(directory)).rejects.toMatchObject({ code: 'sandbox.contracts_missing' })
  })
})
