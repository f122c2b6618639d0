import { type Address, type Hex, keccak256, pad, stringToHex, toEventSelector, zeroAddress } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { assetAbi, lendingVaultAbi, partnerChannelAbi } from '../../../sandbox/contracts/abis.ts'
import { loadArtifacts } from '../../../sandbox/contracts/artifacts.ts'
import type { Canonical } from '../../../sandbox/indexer/canonical.ts'
import { participantsOf } from '../../../sandbox/indexer/participants.ts'
import { feeResource, wrapperResource } from '../../../src/service/contract/directory-resources.ts'
import { inOrder } from '../../support/in-order.ts'
import { changesDuring, createScene, found, lower, type Scene, SENT, usd } from './scene.ts'

let scene: Scene
let canonical: Canonical
let ann: Address
let owner: Address

beforeAll(async () => {
  scene = await createScene()
  canonical = await scene.index()
  ann = await scene.actor()
  owner = await scene.client.readContract({ ...vault(), functionName: 'owner' })
  const reseller = await scene.client.readContract({ ...channel(), functionName: 'reseller' })
  const curator = await scene.client.readContract({ ...channel(), functionName: 'curator' })
  for (const address of [owner, reseller, curator]) {
    await scene.client.impersonateAccount({ address })
    await scene.client.setBalance({ address, value: 10n ** 18n })
  }
})
afterAll(async () => {
  await canonical.stop()
  await scene.stop()
})

const vault = () => ({ address: scene.at('ownedVault'), abi: lendingVaultAbi }) as const
const channel = () => ({ address: scene.at('partnerChannel'), abi: partnerChannelAbi }) as const
const channels = async () => (await scene.caughtUp(canonical)).channels.map(({ address }) => address)

const created = () =>
  canonical.activity().filter((row) => row.resourceType === 'wrapper' && row.type === 'created')

/** Deploy our channel of any vault, by anyone. */
async function deploy(
  changes: { vault?: Address; directory?: Address; reseller?: Address } = {},
): Promise<string> {
  const { bytecode } = loadArtifacts().PartnerChannel
  const setup = {
    vault: scene.at('ownedVault'),
    directory: scene.at('registry'),
    reseller: ann,
    curator: ann,
    name: 'Channel of a stranger',
    symbol: 'scStranger',
    shareClass: 'retail',
    capAssets: usd('1000'),
    resellerFeeBps: 500,
    borrowerFeeBps: 0,
    ...changes,
  }
  const creation = { abi: partnerChannelAbi, bytecode, args: [setup], account: ann, gas: 8_000_000n } as const
  const hash = await scene.client.deployContract(creation)
  const { contractAddress } = await scene.client.waitForTransactionReceipt({ hash })
  if (contractAddress == null) throw new TypeError('The deployment created no contract.')
  return lower(contractAddress)
}

/** Deploy what announces itself as a channel of ours and passes calls on to one, but runs other code. */
async function pretend(): Promise<void> {
  const topic = toEventSelector('ChannelCreated(address,address,address,address)').slice(2)
  const [curator, reseller, its, directory] = [ann, ann, scene.at('ownedVault'), scene.at('registry')].map(
    (address) => pad(address).slice(2),
  )
  const log = `7f${curator}5f527f${reseller}7f${its}7f${directory}7f${topic}60205fa4`
  const proxy = `363d3d373d3d3d363d73${scene.at('partnerChannel').slice(2)}5af43d82803e903d91602b57fd5bf3`
  const skip = (log.length / 2 + 9).toString(16)
  const data: Hex = `0x${log}602d8060${skip}5f395ff3${proxy}`
  const hash = await scene.client.sendTransaction({ account: ann, data, gas: 1_000_000n })
  expect((await scene.client.waitForTransactionReceipt({ hash })).logs).toHaveLength(1)
}

inOrder('one chain of channels', () => {
  test('a channel is believed by the transaction that created it, and only of a vault of ours', async () => {
    const before = await channels()
    expect(before).toContain(lower(scene.at('partnerChannel')))
    await pretend()
    await deploy({ directory: ann })
    // Whoever says to be a vault can have our code wrap it.
    await deploy({ vault: scene.at('partnerChannel') })
    expect(await channels()).toEqual(before)
    expect(created()).toHaveLength(before.length)
    const changes = await changesDuring(scene, canonical, deploy)
    const program = `${lower(scene.at('ownedVault'))}:${lower(ann)}`
    const told = changes.map(({ eventType, subject }) => [eventType, subject])
    expect(told).toContainEqual(['partner.programs.updated', program])
    expect(told).toContainEqual(['fees.updated', lower(scene.at('ownedVault'))])
    expect(told).toContainEqual(['entities.updated', lower(ann)])
    expect(await channels()).toHaveLength(before.length + 1)
    await scene.rpc('anvil_rollback', 1)
    expect(await channels()).toEqual(before)

    // In the name of another it is a wrapper, and says nothing of whom it names.
    const ben = await scene.actor()
    const silent = await changesDuring(scene, canonical, () => deploy({ reseller: ben }))
    const toldNow = silent.map(({ eventType, subject }) => [eventType, subject])
    expect(toldNow).toContainEqual(['fees.updated', lower(scene.at('ownedVault'))])
    const named = ['partner.programs.updated', 'entities.updated']
    expect(toldNow.filter(([eventType]) => named.includes(String(eventType)))).toEqual([])
    const snapshot = await scene.caughtUp(canonical)
    expect(snapshot.channels.map(({ entry }) => entry.isEntitled)).toEqual([true, true, false])
    expect(participantsOf(snapshot).map(({ walletAddress }) => walletAddress)).not.toContain(lower(ben))
    expect(snapshot.wrappers.at(-1)?.managerId).toBeNull()
    await scene.rpc('anvil_rollback', 1)
    expect(await channels()).toEqual(before)
  })

  test('holders, the blocked, roles and the ownership of a vault are followed, and back', async () => {
    const curatorRole = keccak256(stringToHex('CURATOR_ROLE'))
    const curator = await scene.client.readContract({ ...channel(), functionName: 'curator' })
    const assets = usd('100')
    const mint = {
      ...SENT,
      address: scene.at('sUSD'),
      abi: assetAbi,
      account: scene.deployment.admin,
    } as const
    await scene.client.writeContractSync({ ...mint, functionName: 'mint', args: [ann, assets] })
    const approve = { functionName: 'approve', args: [scene.at('partnerChannel'), assets] } as const
    await scene.client.writeContractSync({ ...mint, account: ann, ...approve })
    const act = { ...SENT, ...channel() } as const
    const deposit = { functionName: 'depositNow', args: [assets, ann, 1n] } as const
    await scene.client.writeContractSync({ ...act, account: ann, ...deposit })
    const heir = await scene.actor()
    const own = { ...SENT, ...vault(), account: owner } as const
    await scene.client.writeContractSync({ ...own, functionName: 'grantRole', args: [curatorRole, ann] })
    await scene.client.writeContractSync({ ...own, functionName: 'beginDefaultAdminTransfer', args: [heir] })
    const block = { functionName: 'setBlocked', args: [ann, true] } as const
    await scene.client.writeContractSync({ ...act, account: curator, ...block })

    const snapshot = await scene.caughtUp(canonical)
    const read = found(snapshot.channels, ({ address }) => address === lower(scene.at('partnerChannel')))
    const shares = await scene.client.readContract({ ...channel(), functionName: 'balanceOf', args: [ann] })
    expect([...read.entry.shares]).toContainEqual([lower(ann), shares])
    expect([...read.entry.blocked]).toEqual([lower(ann)])
    const its = found(snapshot.vaultReads, ({ address }) => address === lower(scene.at('ownedVault')))
    expect([...its.entry.curators]).toContain(lower(ann))
    expect([its.state.owner, its.state.pendingOwner]).toEqual([owner, heir])
    expect(participantsOf(snapshot)).toContainEqual({ kind: 'curator', walletAddress: lower(ann) })
    expect(
      canonical
        .activity()
        .slice(0, 3)
        .map(({ type }) => type),
    ).toEqual(['account_blocked', 'ownership_offered', 'deposit'])

    await scene.rpc('anvil_rollback', 3)
    const back = await scene.caughtUp(canonical)
    expect(found(back.channels, ({ address }) => address === read.address).entry.blocked.size).toBe(0)
    const again = found(back.vaultReads, ({ address }) => address === its.address)
    expect([again.state.pendingOwner, again.entry.curators.has(lower(ann) as Address)]).toEqual([
      zeroAddress,
      false,
    ])
  })

  test('fees are those of the contracts, and a gross yield is one without them', async () => {
    const { client } = scene
    const own = { ...SENT, ...vault(), account: owner } as const
    await client.writeContractSync({ ...own, functionName: 'setFeeConfig', args: [500, 3_000, ann] })
    await client.increaseTime({ seconds: 10 * 86_400 })
    const changes = await changesDuring(scene, canonical, () =>
      client.writeContractSync({ ...own, functionName: 'accrueFees' }),
    )
    expect(changes.map(({ eventType }) => eventType)).toContain('fees.updated')
    await client.increaseTime({ seconds: 10 * 86_400 })
    await client.mine({ blocks: 1 })

    const snapshot = await scene.caughtUp(canonical)
    const at = { blockNumber: snapshot.block.number } as const
    const [management] = await client.readContract({ ...vault(), ...at, functionName: 'accruedFees' })
    const earned = await client.readContract({ ...channel(), ...at, functionName: 'feeShares' })
    const worth = await client.readContract({
      ...channel(),
      ...at,
      functionName: 'convertToAssets',
      args: [earned],
    })
    for (const row of snapshot.fees) expect(feeResource.parse(row)).toEqual(row)
    for (const row of snapshot.wrappers) expect(wrapperResource.parse(row)).toEqual(row)
    const fees = found(snapshot.fees, ({ id }) => id === lower(scene.at('ownedVault')))
    expect(fees).toMatchObject({
      managementFeeRateBps: 500,
      performanceFeeRateBps: 3_000,
      resellerFeeRateBps: 100,
      accruedManagementFeeAssets: String(management),
      accruedPerformanceFeeAssets: '0',
    })
    expect(management).toBeGreaterThan(0n)
    // Virtual shares, which the row leaves out, are worth a base unit at the most.
    expect(Number(fees.accruedResellerFeeAssets) - Number(worth)).toBeOneOf([0, 1])
    const row = found(snapshot.vaults, ({ id }) => id === fees.id)
    // Nothing is lent, so all that the price lost is the fee: 5 % a year, compounded.
    expect([row.grossApyBps, row.netApyBps]).toEqual([0, -488])
  })

  test('channels of strangers that nobody holds weigh nothing in what resellers charge, whatever lies there', async () => {
    const { client } = scene
    const rate = async () => {
      const { fees } = await scene.caughtUp(canonical)
      return found(fees, ({ id }) => id === lower(scene.at('ownedVault'))).resellerFeeRateBps
    }
    const held = await rate()
    const theirs = (await deploy()) as Address
    expect(await rate()).toBe(held)
    const assets = usd('100')
    const token = { ...SENT, address: scene.at('sUSD'), abi: assetAbi } as const
    await client.writeContractSync({
      ...token,
      account: scene.deployment.admin,
      functionName: 'mint',
      args: [ann, assets * 2n],
    })
    for (const at of [scene.at('ownedVault'), theirs]) {
      const approve = { functionName: 'approve', args: [at, assets] } as const
      await client.writeContractSync({ ...token, account: ann, ...approve })
    }
    // Vault shares that are sent to a channel without a holder earn its reseller nothing.
    const gift = { functionName: 'deposit', args: [assets, theirs] } as const
    await client.writeContractSync({ ...SENT, ...vault(), account: ann, ...gift })
    expect(await rate()).toBe(held)
    const deposit = { functionName: 'depositNow', args: [assets, ann, 1n] } as const
    await client.writeContractSync({ ...SENT, ...channel(), address: theirs, account: ann, ...deposit })
    expect(await rate()).toBeGreaterThan(held ?? 0)
  })
})
