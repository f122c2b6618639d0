import { type Address, zeroAddress } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { assetAbi, lendingVaultAbi } from '../../../../sandbox/contracts/abis.ts'
import type { PreparedWorkflow } from '../../../../src/service/contract/prepared-workflow.ts'
import { inOrder } from '../../../support/in-order.ts'
import { usd } from '../../indexer/scene.ts'
import { createWorkflowScene, type WorkflowScene } from './scene.ts'

let world: WorkflowScene
let prime: Address
let growth: Address

beforeAll(async () => {
  world = await createWorkflowScene()
  prime = world.scene.at('primeVault')
  growth = world.scene.at('growthVault')
  for (const address of [world.scene.deployment.allocator, world.scene.deployment.assetManager]) {
    await world.scene.client.impersonateAccount({ address })
  }
})
afterAll(() => world.stop())
afterEach(() => expect(world.crashes).toEqual([]))

const NOBODY: Address = `0x${'99'.repeat(20)}`
const HUGE = String(2n ** 256n - 1n)
const at = (address: Address) => ({ address, abi: lendingVaultAbi, gas: 1_000_000n }) as const
const sharesOf = (vault: Address, who: Address) =>
  world.scene.client.readContract({ ...at(vault), functionName: 'balanceOf', args: [who] })
const cashOf = (who: Address) =>
  world.scene.client.readContract({
    address: world.scene.at('sUSD'),
    abi: assetAbi,
    functionName: 'balanceOf',
    args: [who],
  })
/** Have the manager of the Prime vault pause it. */
const pause = async (freeze: string) => {
  const { timestamp } = await world.scene.client.getBlock()
  await world.scene.client.writeContractSync({
    ...at(prime),
    account: world.scene.deployment.assetManager,
    functionName: 'pauseShareMobility',
    args: [timestamp + 1_000n, 'audit', freeze],
  })
}
const restore = () =>
  world.scene.client.writeContractSync({
    ...at(prime),
    account: world.scene.deployment.assetManager,
    functionName: 'restoreShareMobility',
  })

inOrder('one chain of lenders', () => {
  test('a lender deposits, withdraws what is idle, queues and is paid, each to final success', async () => {
    const { carryOut, prepare, reasons } = world
    const ann = await world.trader({ sUSD: usd('1000') })
    const deposit = { receiverAddress: ann, minShares: '1', assets: String(usd('1000')) }
    for (const vaultAddress of [prime, growth]) {
      const half = { ...deposit, vaultAddress, assets: String(usd('500')) }
      expect((await carryOut(await prepare('deposit', ann, half), ann)).status).toBe('final_success')
    }
    expect(await cashOf(ann)).toBe(0n)

    const now = { vaultAddress: prime, assets: String(usd('100')), receiverAddress: ann, maxShares: HUGE }
    expect((await carryOut(await prepare('withdrawNow', ann, now), ann)).status).toBe('final_success')
    expect(await cashOf(ann)).toBe(usd('100'))

    // Growth pays ten seconds after the request, and nothing before.
    const shares = await sharesOf(growth, ann)
    const request = { vaultAddress: growth, shares: String(shares), receiverAddress: NOBODY }
    expect((await carryOut(await prepare('requestWithdrawal', ann, request), ann)).status).toBe(
      'final_success',
    )
    expect(await sharesOf(growth, ann)).toBe(0n)
    const claim = { vaultAddress: growth, requestId: '1' }
    expect(await reasons('claimWithdrawal', ann, claim)).toEqual(['notice_not_elapsed'])
    const { dueAt } = await world.scene.client.readContract({
      ...at(growth),
      functionName: 'request',
      args: [1n],
    })
    await world.mineAt(dueAt)
    // Not the owner pushes, and the receiver is paid all the same.
    const ben = await world.trader({})
    const paid = await carryOut(await prepare('claimWithdrawal', ben, claim), ben)
    expect(paid).toMatchObject({ status: 'final_success', canonicalPostconditions: [{ expected: 'paid' }] })
    expect(await cashOf(NOBODY)).toBeGreaterThanOrEqual(usd('500') - 1n)
    expect(await reasons('claimWithdrawal', ann, claim)).toEqual(['request_already_paid'])

    const { vaults } = await world.scene.caughtUp(world.canonical)
    const row = vaults.find((vault) => vault.address === growth.toLowerCase())
    expect(row?.publicMetrics).toMatchObject({
      averageRedemptionSampleSize: 1,
      largestWithdrawal30dAssets: String(await cashOf(NOBODY)),
      queueStatus: { waitingAssets: '0', oldestRequestedAt: null },
    })
    expect(row?.shareMobility?.redemptionQueue).toMatchObject({
      waitingCount: 0,
      requests: [{ requestId: '1', status: 'paid', receiverAddress: NOBODY }],
    })
  })

  test('what a caller accepts is final, however far the price moved until it was mined', async () => {
    const { carryOut, prepare, scene, trader } = world
    const ann = await trader({ sUSD: usd('1000') })
    /** Make a share dearer, as a report or a recovery does. */
    const gain = async (whole: string) => {
      const { admin: account } = scene.deployment
      await scene.client.writeContractSync({
        address: scene.at('sUSD'),
        abi: assetAbi,
        gas: 1_000_000n,
        account,
        functionName: 'mint',
        args: [prime, usd(whole)],
      })
    }
    const price = () =>
      scene.client.readContract({ ...at(prime), functionName: 'convertToAssets', args: [10n ** 18n] })
    const input = { vaultAddress: prime, receiverAddress: ann }
    const before = await price()
    const deposit = await prepare('deposit', ann, { ...input, assets: String(usd('1000')), minShares: '1' })
    await gain('50000')
    expect(Number(await price()) / Number(before)).toBeGreaterThan(1.001)
    expect((await carryOut(deposit, ann)).status).toBe('final_success')
    const withdrawal = await prepare('withdrawNow', ann, {
      ...input,
      assets: String(usd('100')),
      maxShares: HUGE,
    })
    await gain('50000')
    expect((await carryOut(withdrawal, ann)).status).toBe('final_success')
  })

  test('a lender gets every reason that the vault would have', async () => {
    const { reasons, trader, scene } = world
    const cat = await trader({ sUSD: usd('101') }, [prime, growth])
    const deposit = { vaultAddress: prime, assets: '1', receiverAddress: cat, minShares: '0' }
    const depositing = (changes: object) => reasons('deposit', cat, { ...deposit, ...changes })
    expect(await depositing({})).toEqual([])
    expect(await reasons('deposit', undefined, deposit)).toEqual(['principal_required'])
    expect(await depositing({ vaultAddress: NOBODY })).toEqual(['vault_not_found'])
    expect(await depositing({ assets: '0' })).toEqual(['amount_is_zero'])
    expect(await depositing({ receiverAddress: zeroAddress })).toEqual(['receiver_is_zero'])
    expect(await depositing({ assets: String(usd('101') + 1n) })).toEqual(['principal_balance_too_small'])
    expect(await depositing({ minShares: HUGE })).toEqual(['min_shares_above_preview'])

    const put = { account: cat, functionName: 'deposit', args: [usd('50'), cat] } as const
    await scene.client.writeContractSync({ ...at(prime), ...put })
    await scene.client.writeContractSync({ ...at(growth), ...put })
    const now = { vaultAddress: prime, assets: '1', receiverAddress: cat, maxShares: HUGE }
    const withdrawing = (changes: object) => reasons('withdrawNow', cat, { ...now, ...changes })
    expect(await withdrawing({})).toEqual([])
    expect(await reasons('withdrawNow', undefined, now)).toEqual(['principal_required'])
    expect(await withdrawing({ vaultAddress: NOBODY })).toEqual(['vault_not_found'])
    expect(await withdrawing({ assets: String(usd('51')) })).toEqual(['principal_shares_too_few'])
    expect(await withdrawing({ maxShares: '1' })).toEqual(['max_shares_below_preview'])
    expect(await withdrawing({ vaultAddress: growth })).toEqual(['exit_terms_require_request'])
    expect(await withdrawing({ assets: String(usd('2000000')) })).toEqual([
      'insufficient_idle',
      'principal_shares_too_few',
    ])

    const held = await sharesOf(prime, cat)
    const request = { vaultAddress: prime, shares: String(held), receiverAddress: cat }
    const requesting = (changes: object) => reasons('requestWithdrawal', cat, { ...request, ...changes })
    expect(await requesting({})).toEqual([])
    expect(await requesting({ shares: String(held + 1n) })).toEqual(['principal_shares_too_few'])
    expect(await requesting({ shares: '1' })).toEqual(['amount_is_zero'])
    expect(await requesting({ receiverAddress: prime })).toEqual(['receiver_is_vault'])
    expect(await requesting({ vaultAddress: NOBODY })).toEqual(['vault_not_found'])

    await scene.client.writeContractSync({
      ...at(prime),
      account: cat,
      functionName: 'requestWithdrawal',
      args: [held, cat],
    })
    const claiming = (requestId: string) =>
      reasons('claimWithdrawal', cat, { vaultAddress: prime, requestId })
    expect(await claiming('1')).toEqual([])
    expect(await claiming('2')).toEqual(['request_not_found'])
    expect(await reasons('claimWithdrawal', cat, { vaultAddress: NOBODY, requestId: '1' })).toEqual([
      'vault_not_found',
    ])

    await pause('')
    expect(await depositing({})).toEqual(['share_mobility_paused'])
    expect(await claiming('1')).toEqual([])
    await restore()
    await pause('loss under count')
    expect(await claiming('1')).toEqual(['redemption_frozen'])
    expect(await withdrawing({})).toEqual(['redemption_frozen', 'principal_shares_too_few'])
    expect(await requesting({})).toEqual(['redemption_frozen', 'principal_shares_too_few'])
    await restore()
  })

  test('an investor passes shares on as the profile allows, queues them, and is paid its own request alone', async () => {
    const { prepare, carryOut, reasons, scene } = world
    const { client } = scene
    const ROLE = 'role.lender'
    const REQUEST = `${ROLE}.investorRequestRedeem`
    const FULFILL = `${ROLE}.investorFulfillRedeem`
    const MOBILITY = `${ROLE}.vaultShareMobilityInvestorAction`
    const done = async (prepared: PreparedWorkflow, account: Address) =>
      expect((await carryOut(prepared, account)).status).toBe('final_success')
    const ann = await world.trader({ sUSD: usd('90') })
    const ben = await world.trader({})
    const deposit = { vaultAddress: prime, receiverAddress: ann, minShares: '1', assets: String(usd('90')) }
    expect(await reasons('deposit', ann, { ...deposit, receiverAddress: prime })).toEqual([
      'receiver_is_vault',
    ])
    await done(await prepare('deposit', ann, deposit), ann)
    const held = await sharesOf(prime, ann)

    const transfer = { vaultAddress: prime, recipientAddress: ben, shares: String(held / 3n) }
    const passing = (changes: object, who = ann) =>
      reasons(MOBILITY, who, { action: 'transfer', ...transfer, ...changes })
    expect(await reasons(MOBILITY, undefined, { action: 'transfer', ...transfer })).toEqual([
      'principal_required',
    ])
    expect(await passing({ vaultAddress: NOBODY })).toEqual(['vault_not_found'])
    expect(await passing({ shares: '0' })).toEqual(['amount_is_zero'])
    expect(await passing({ shares: String(held) })).toEqual([])
    expect(await passing({ shares: String(held + 1n) })).toEqual(['principal_shares_too_few'])
    expect(await passing({ recipientAddress: zeroAddress })).toEqual(['receiver_is_zero'])
    expect(await passing({ recipientAddress: prime })).toEqual(['receiver_is_vault'])
    expect(await passing({ recipientAddress: ann })).toEqual(['recipient_is_principal'])
    const given = await prepare(MOBILITY, ann, { action: 'transfer', ...transfer })
    expect(given.preflight.revalidateAtExecution).toEqual(['shares_transferable', 'intent_not_expired'])
    await done(given, ann)
    expect(await sharesOf(prime, ben)).toBe(held / 3n)

    // The manager closes the shares: to all but those it trusts, then to all.
    const manager = { ...at(prime), account: scene.deployment.assetManager }
    const profile = (next: number) =>
      client.writeContractSync({ ...manager, functionName: 'setTransferProfile', args: [next] })
    await profile(1)
    expect(await passing({})).toEqual(['recipient_not_trusted'])
    await client.writeContractSync({ ...manager, functionName: 'setTrustedRecipient', args: [ben, true] })
    await done(await prepare(MOBILITY, ann, { action: 'transfer', ...transfer }), ann)
    await profile(2)
    expect(await passing({})).toEqual(['transfers_frozen'])
    await profile(0)

    // Anyone may end a pause, once it has lasted its time and not a second sooner.
    const restoring = (who?: Address) => reasons(MOBILITY, who, { vaultAddress: prime, action: 'restore' })
    expect(await restoring(ben)).toEqual(['share_mobility_not_paused'])
    await pause('loss under count')
    const request = { vaultAddress: prime, shares: String(held / 6n), receiverAddress: ann }
    const queueing = (changes: object, who = ann) => reasons(REQUEST, who, { ...request, ...changes })
    expect(await passing({})).toEqual(['share_mobility_paused'])
    expect(await queueing({})).toEqual(['redemption_frozen'])
    const restoreAfter = await client.readContract({ ...at(prime), functionName: 'restoreAfter' })
    await world.mineAt(restoreAfter - 1n)
    expect(await restoring(ben)).toEqual(['restore_not_due'])
    await world.mineAt(restoreAfter)
    expect(await restoring()).toEqual(['principal_required'])
    const over = await prepare(MOBILITY, ben, { vaultAddress: prime, action: 'restore' })
    expect(over.preflight.revalidateAtExecution).toEqual(['restore_due', 'intent_not_expired'])
    await done(over, ben)
    expect(await restoring(ben)).toEqual(['share_mobility_not_paused'])

    // Where the vault pays by notice, each waits for it, and asks for its own.
    const notice = await world.trader({ sUSD: usd('60') })
    await done(
      await prepare('deposit', notice, {
        ...deposit,
        vaultAddress: growth,
        receiverAddress: notice,
        assets: String(usd('60')),
      }),
      notice,
    )
    const all = await sharesOf(growth, notice)
    const slow = { vaultAddress: growth, shares: String(all), receiverAddress: notice }
    expect(await queueing({ ...slow, shares: String(all + 1n) }, notice)).toEqual([
      'principal_shares_too_few',
    ])
    expect(await queueing({ ...slow, shares: '1' }, notice)).toEqual(['amount_is_zero'])
    expect(await queueing({ ...slow, receiverAddress: growth }, notice)).toEqual(['receiver_is_vault'])
    expect(await queueing({ vaultAddress: NOBODY })).toEqual(['vault_not_found'])
    const queued = await prepare(REQUEST, notice, slow)
    expect(queued.preflight.revalidateAtExecution).toEqual(['redemption_open', 'intent_not_expired'])
    await done(queued, notice)
    const requestId = (await client.readContract({ ...at(growth), functionName: 'queueEnd' })) - 1n
    const claim = { vaultAddress: growth, requestId: String(requestId) }
    const paying = (who?: Address, changes: object = {}) => reasons(FULFILL, who, { ...claim, ...changes })
    const { dueAt } = await client.readContract({ ...at(growth), functionName: 'request', args: [requestId] })
    await world.mineAt(dueAt - 1n)
    expect(await paying(notice)).toEqual(['notice_not_elapsed'])
    expect(await paying(ben)).toEqual(['notice_not_elapsed', 'request_of_another'])
    await world.mineAt(dueAt)
    expect(await paying()).toEqual(['principal_required'])
    expect(await paying(ben)).toEqual(['request_of_another'])
    expect(await paying(notice, { requestId: String(requestId + 1n) })).toEqual(['request_not_found'])
    // Leading zeros name the same request.
    expect(await paying(ben, { requestId: `0${requestId}` })).toEqual(['request_of_another'])
    const paid = await prepare(FULFILL, notice, claim)
    expect(paid.preflight.revalidateAtExecution).toEqual(['redemption_due', 'intent_not_expired'])
    await done(paid, notice)
    expect(await cashOf(notice)).toBeGreaterThanOrEqual(usd('60') - 1n)
    expect(await paying(notice)).toEqual(['request_already_paid'])
  })

  test('a request waits for those before it and for the money', async () => {
    const { scene, reasons, trader } = world
    const dan = await trader({ sUSD: usd('700000') }, [growth])
    const call = (functionName: 'deposit' | 'requestWithdrawal', amount: bigint) =>
      scene.client.writeContractSync({ ...at(growth), account: dan, functionName, args: [amount, dan] })
    await call('deposit', usd('700000'))
    const held = await sharesOf(growth, dan)
    await call('requestWithdrawal', held / 2n)
    const { timestamp } = await scene.client.getBlock()
    await scene.client.setNextBlockTimestamp({ timestamp: timestamp + 5n })
    await call('requestWithdrawal', held / 4n)
    const first = (await scene.client.readContract({ ...at(growth), functionName: 'queueEnd' })) - 2n
    const claiming = (id: bigint) =>
      reasons('claimWithdrawal', dan, { vaultAddress: growth, requestId: String(id) })
    expect(await claiming(first + 1n)).toEqual(['notice_not_elapsed'])
    await world.mineAt(timestamp + 12n)
    expect(await claiming(first)).toEqual([])
    expect(await claiming(first + 1n)).toEqual(['notice_not_elapsed'])
    await world.mineAt(timestamp + 15n)
    expect(await claiming(first + 1n)).toEqual([])
    // Nor does it wait for one that asked when holders were paid later than they were when it asked.
    const settings = (noticeSeconds: bigint) =>
      scene.client.writeContractSync({
        ...at(growth),
        account: scene.deployment.admin,
        functionName: 'setSettings',
        args: [0, { kind: 1, noticeSeconds, intervalSeconds: 0n, maturityTimestamp: 0n }, 0n, 0n],
      })
    await settings(1_000n)
    await call('requestWithdrawal', held / 8n)
    await settings(10n)
    await call('requestWithdrawal', held / 16n)
    const { timestamp: askedAt } = await scene.client.getBlock()
    await settings(1_000n)
    await world.mineAt(askedAt + 10n)
    expect(await claiming(first + 2n)).toEqual(['notice_not_elapsed'])
    expect(await claiming(first + 3n)).toEqual([])
    await settings(10n)
    // The allocator cannot lend what the queue needs; what is lent already can leave it short.
    await scene.client.writeContractSync({
      ...at(growth),
      account: scene.deployment.admin,
      functionName: 'requestWithdrawal',
      args: [await sharesOf(growth, scene.deployment.admin), scene.deployment.admin],
    })
    await world.mineAt(timestamp + 40n)
    expect(await claiming(first + 4n)).toEqual(['insufficient_idle'])
  })
})
