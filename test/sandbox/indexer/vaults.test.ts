import { type Address, type Hex, pad, toEventSelector } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lendingVaultAbi, stateLensAbi } from '../../../sandbox/contracts/abis.ts'
import { loadArtifacts } from '../../../sandbox/contracts/artifacts.ts'
import { EXIT_TERM_KIND } from '../../../sandbox/deploy/vault-plan.ts'
import type { Canonical } from '../../../sandbox/indexer/canonical.ts'
import { vaultHistory, vaultResource } from '../../../src/service/contract/vault-resources.ts'
import { changesDuring, createScene, found, lower, type Scene, usd } from './scene.ts'

let scene: Scene
let canonical: Canonical
let ann: Address

beforeAll(async () => {
  scene = await createScene()
  canonical = await scene.index()
  ann = await scene.actor()
  await scene.client.impersonateAccount({ address: scene.deployment.assetManager })
})
afterAll(async () => {
  await canonical.stop()
  await scene.stop()
})

const WORD = (address: Address) => pad(address).slice(2)

/** Deploy our vault, by anyone, for any asset and directory; its intervals end every minute. */
async function deploy(changes: { asset?: Address; directory?: Address } = {}): Promise<Address> {
  const setup = {
    asset: scene.at('sUSD'),
    name: 'Vault of a stranger',
    symbol: 'svStranger',
    directory: scene.at('registry'),
    owner: ann,
    allocator: ann,
    manager: ann,
    liquidityBufferBps: 250,
    exitTerms: {
      kind: EXIT_TERM_KIND.interval,
      noticeSeconds: 0n,
      intervalSeconds: 60n,
      maturityTimestamp: 0n,
    },
    ...changes,
  }
  const { bytecode } = loadArtifacts().LendingVault
  const hash = await scene.client.deployContract({
    abi: lendingVaultAbi,
    bytecode,
    args: [setup],
    account: ann,
    gas: 8_000_000n,
  })
  const { contractAddress } = await scene.client.waitForTransactionReceipt({ hash })
  if (contractAddress == null) throw new TypeError('The deployment created no contract.')
  return contractAddress
}

/** Deploy what emits a creation as ours does and answers as a vault would, but runs other code. */
async function pretend(): Promise<void> {
  const topic = toEventSelector('VaultCreated(address,address,address)').slice(2)
  const [asset, owner, directory] = [scene.at('sUSD'), ann, scene.at('registry')].map(WORD)
  const log = `7f${asset}5f527f${owner}7f${directory}7f${topic}60205fa3`
  // It passes every call on to the Growth vault's code, on its own storage.
  const proxy = `363d3d373d3d3d363d73${scene.at('growthVault').slice(2)}5af43d82803e903d91602b57fd5bf3`
  const data: Hex = `0x${log}602d8060935f395ff3${proxy}`
  const hash = await scene.client.sendTransaction({ account: ann, data, gas: 1_000_000n })
  const { logs, contractAddress } = await scene.client.waitForTransactionReceipt({ hash })
  if (logs.length !== 1 || contractAddress == null) throw new TypeError('It emitted nothing.')
  const { totalAssets } = await scene.client.readContract({
    address: scene.at('lens'),
    abi: stateLensAbi,
    functionName: 'vault',
    args: [contractAddress],
  })
  expect(totalAssets).toBe(0n)
}

test('a vault is believed by the transaction that created it, whoever sent it', async () => {
  const before = (await scene.caughtUp(canonical)).vaults.map(({ address }) => address)
  await pretend()
  await deploy({ directory: ann })
  // An asset without code: the vault cannot say what it holds, and is left out while all else goes on.
  await deploy({ asset: ann })
  expect((await scene.caughtUp(canonical)).vaults.map(({ address }) => address)).toEqual(before)
  expect(canonical.freshness().status).toBe('current')
  const vault = lower(await deploy())
  expect((await scene.caughtUp(canonical)).vaults.map(({ address }) => address)).toEqual([...before, vault])
  await scene.rpc('anvil_rollback', 1)
  expect((await scene.caughtUp(canonical)).vaults.map(({ address }) => address)).toEqual(before)
})

test('a vault says what its contract says of its terms, its queue and its exposure', async () => {
  const { client } = scene
  const vault = await deploy()
  const at = { address: vault, abi: lendingVaultAbi, account: ann, gas: 1_000_000n } as const
  const admin = { ...at, account: scene.deployment.admin } as const
  const prime = { ...admin, address: scene.at('primeVault') } as const
  await client.writeContractSync({
    ...prime,
    functionName: 'withdraw',
    args: [usd('600'), scene.deployment.admin, scene.deployment.admin],
  })
  const approve = { address: scene.at('sUSD'), abi: lendingVaultAbi, functionName: 'approve' } as const
  await client.writeContractSync({ ...admin, ...approve, args: [vault, usd('600')] })
  await client.writeContractSync({ ...admin, functionName: 'deposit', args: [usd('600'), ann] })
  await client.writeContractSync({ ...at, functionName: 'requestWithdrawal', args: [10n ** 12n, ann] })
  const { dueAt } = await client.readContract({ ...at, functionName: 'request', args: [1n] })

  const { vaults } = await scene.caughtUp(canonical)
  for (const row of vaults) expect(vaultResource.parse(row)).toEqual(row)
  expect(found(vaults, ({ address }) => address === lower(vault))).toMatchObject({
    symbol: 'svStranger',
    idleAssets: String(usd('600')),
    portfolioLiquidity: {
      immediatelyAvailableAssets: String(usd('599')),
      exitTermKind: 'interval',
      intervalSeconds: '60',
      stressCoverageStatus: 'covered',
      exposedMarketCount: 0,
    },
    shareMobility: {
      redemptionQueue: {
        waitingCount: 1,
        waitingShares: String(10n ** 12n),
        waitingAssets: String(usd('1')),
        requests: [
          {
            status: 'waiting',
            ownerAddress: lower(ann),
            dueAt: new Date(Number(dueAt) * 1_000).toISOString(),
          },
        ],
      },
    },
    publicMetrics: { ecosystemConcentrationBps: null, largestWithdrawal30dAssets: null },
  })
  const row = found(vaults, ({ address }) => address === lower(scene.at('primeVault')))
  expect(row.publicMetrics).toMatchObject({
    ecosystemConcentrationMarketAddress: lower(scene.at('btcMarket')),
    ecosystemConcentrationBps: 6_000,
    largestWithdrawal30dAssets: String(usd('600')),
  })
  const history = canonical.vaultHistory(scene.at('primeVault'))
  for (const bucket of history) expect(vaultHistory.parse(bucket)).toEqual(bucket)
  expect(history.at(-1)).toMatchObject({
    interval: '1h',
    idleAssets: row.idleAssets,
    sharePrice: row.sharePrice,
  })
})

test('a change of a vault is announced for both collections that list it', async () => {
  const { assetManager } = scene.deployment
  const growth = scene.at('growthVault')
  const changes = await changesDuring(scene, canonical, () =>
    scene.client.writeContractSync({
      address: growth,
      abi: lendingVaultAbi,
      account: assetManager,
      gas: 1_000_000n,
      functionName: 'setTransferProfile',
      args: [1],
    }),
  )
  // What time changes elsewhere meanwhile, such as a fund's epoch that passes its close, is no change of the vault.
  const ofVault = changes.filter(
    ({ eventType, subject }) => subject === lower(growth) && eventType !== 'activity.updated',
  )
  expect(ofVault.map(({ eventType }) => eventType)).toEqual(['vaults.updated', 'tranches.updated'])
})
