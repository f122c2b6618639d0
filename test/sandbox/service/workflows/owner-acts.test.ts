import { type Address, encodeDeployData, type Hex, maxUint256, zeroAddress } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { lendingMarketAbi, lendingVaultAbi } from '../../../../sandbox/contracts/abis.ts'
import { loadArtifacts } from '../../../../sandbox/contracts/artifacts.ts'
import { tightens } from '../../../../sandbox/service/workflows/exit-terms-judge.ts'
import { workflowProgress } from '../../../../src/service/contract/assumptions.ts'
import { inOrder } from '../../../support/in-order.ts'
import { createDice } from '../../dice.ts'
import { lower, SENT, usd } from '../../indexer/scene.ts'
import { calls, createOwnerScene, terms } from './owner-scene.ts'

let world: Awaited<ReturnType<typeof createOwnerScene>>
let prime: Address
let growth: Address
let btc: Address
let eth: Address
/** Owns the vaults. */
let admin: Address
let manager: Address

beforeAll(async () => {
  world = await createOwnerScene()
  const { at } = world.scene
  ;[prime, growth, btc, eth] = [at('primeVault'), at('growthVault'), at('btcMarket'), at('ethMarket')]
  ;({ admin, manager } = world)
})
afterAll(() => world.stop())
afterEach(() => expect(world.crashes).toEqual([]))

const NOBODY: Address = `0x${'99'.repeat(20)}`
const ATTACH = 'role.vault_owner.attachMarketToVault'
const CAPS = 'role.vault_owner.vaultCuratorCapsSettingsSave'
const ROUTE = 'role.vault_owner.vaultRoutingUpdate'
const SETTINGS = 'role.vault_owner.vaultSettingsUpdate'
const OWN = ['vault_owner', 'intent_not_expired']

const listing = (changes: object = {}) => ({
  vaultAddress: growth,
  marketAddress: btc,
  absoluteCapAssets: String(usd('300000')),
  relativeCapBps: 2_000,
  allocationEnabled: true,
  ...changes,
})

inOrder('one chain of owners', () => {
  test('an owner attaches a market, caps it, and routes deposits into it, each to final success', async () => {
    const { carried, errorOf, judged, reasons, vault, write } = world
    expect(await judged(ATTACH, listing())).toEqual(['vault_not_listed_at_market'])
    const market = { ...SENT, address: btc, abi: lendingMarketAbi, account: admin } as const
    await world.scene.client.writeContractSync({ ...market, functionName: 'addVault', args: [growth] })
    expect(await judged(CAPS, listing())).toEqual(['market_not_attached'])
    const route = { vaultAddress: growth, marketAddresses: [btc, eth] }
    expect(await judged(ROUTE, route)).toEqual(['market_not_attached'])
    expect(await errorOf(growth, calls.routing([btc, eth]))).toBe('MarketNotListed')
    expect(await judged(ATTACH, listing(), NOBODY)).toEqual(['principal_not_owner'])
    expect(await reasons(ATTACH, undefined, listing())).toEqual(['principal_required'])
    expect(await judged(ATTACH, listing({ marketAddress: NOBODY }))).toEqual(['market_not_found'])
    expect(await judged(ATTACH, listing({ vaultAddress: NOBODY }))).toEqual(['vault_not_found'])
    expect(await carried(ATTACH, listing())).toEqual(OWN)
    expect((await vault(growth)).state.allocations.at(-1)).toMatchObject({
      market: btc,
      listing: {
        approved: true,
        allocationEnabled: true,
        relativeCapBps: 2_000,
        absoluteCapAssets: usd('300000'),
      },
    })
    expect(await judged(ATTACH, listing({ relativeCapBps: 1 }))).toEqual(['market_already_attached'])
    expect(await judged(CAPS, listing())).toEqual(['listing_unchanged'])
    expect(await judged(CAPS, listing({ marketAddress: NOBODY }))).toEqual(['market_not_found'])
    for (const changes of [{ relativeCapBps: 0 }, { absoluteCapAssets: '0' }, { allocationEnabled: false }]) {
      expect(await judged(CAPS, listing(changes))).toEqual([])
    }
    const open = listing({ relativeCapBps: 10_000, absoluteCapAssets: String(maxUint256) })
    expect(await carried(CAPS, open)).toEqual(OWN)

    expect(await judged(ROUTE, { ...route, marketAddresses: [] })).toEqual(['routing_unchanged'])
    expect(await judged(ROUTE, { ...route, marketAddresses: [btc, btc] })).toEqual(['market_repeated'])
    expect(await errorOf(growth, calls.routing([btc, btc]))).toBe('MarketRepeated')
    expect(await judged(ROUTE, { ...route, marketAddresses: [NOBODY] })).toEqual(['market_not_found'])
    expect(await carried(ROUTE, route)).toEqual(OWN)
    expect(await judged(ROUTE, route)).toEqual(['routing_unchanged'])
    // The same markets in another order are another route.
    await carried(ROUTE, { ...route, marketAddresses: [eth, btc] })
    expect((await vault(growth)).state.routing).toEqual([eth, btc])
    const before = (await vault(growth)).entry.supplied.get(lower(eth)) ?? 0n
    const ann = await world.trader({ sUSD: usd('10') }, [growth])
    await write(growth, calls.deposit(usd('10'), ann), ann)
    expect((await vault(growth)).entry.supplied.get(lower(eth))).toBe(before + usd('10'))
  })

  test('a vault takes sixteen markets, all of its own asset, and one back that it still lends to', async () => {
    const { errorOf, judged, write } = world
    const { client, at } = world.scene
    await write(growth, calls.allocate(btc, 1n))
    await write(growth, calls.listing(btc, false))
    expect(await judged(CAPS, listing())).toEqual(['market_not_attached'])
    const code = (await client.getCode({ address: btc })) ?? '0x'
    const attachOneMore = async (n: number) => {
      const address: Address = `0x${'aa'.repeat(19)}${n}`
      await client.setCode({ address, bytecode: code })
      await write(growth, calls.listing(address, true))
    }
    for (let n = 10; n < 24; n++) await attachOneMore(n)
    // It has its place among the sixteen while the vault has assets there.
    expect(await judged(ATTACH, listing())).toEqual([])
    await write(growth, calls.deallocate(btc, 1n))
    await write(growth, calls.listing(btc, false))
    expect(await judged(ATTACH, listing())).toEqual([])
    await attachOneMore(24)
    expect(await judged(ATTACH, listing())).toEqual(['markets_full'])
    expect(await errorOf(growth, calls.listing(btc, true))).toBe('MarketsFull')

    const setup = {
      asset: at('sBTC'),
      name: 'Other',
      symbol: 'svOther',
      directory: at('registry'),
      owner: admin,
      allocator: admin,
      manager,
      liquidityBufferBps: 0,
      exitTerms: terms(0, 0n),
    }
    const { bytecode } = loadArtifacts().LendingVault
    const data = encodeDeployData({ abi: lendingVaultAbi, bytecode, args: [setup] })
    const sent = { ...SENT, chain: null, account: admin, data, gas: 8_000_000n } as const
    const other = (await client.sendTransactionSync(sent)).contractAddress ?? zeroAddress
    expect(await judged(ATTACH, listing({ vaultAddress: other }))).toEqual(['market_asset_mismatch'])
    expect(await errorOf(other, calls.listing(btc, true))).toBe('MarketAssetMismatch')
  })

  test('an owner moves assets without the role of an allocator, and gives and takes roles', async () => {
    const ALLOCATOR = 'role.vault_owner.vaultAllocatorUpdate'
    const ROLE = 'role.vault_owner.vaultRoleSettingsSave'
    const ALLOCATE = 'role.vault_owner.vaultAllocate'
    const DEALLOCATE = 'role.vault_owner.vaultDeallocate'
    const BATCH = 'role.vault_owner.vaultReallocationBatch'
    const { carried, judged, vault, write } = world
    const { allocator } = world.scene.deployment
    const update = { vaultAddress: prime, allocatorAddress: admin, granted: false }
    expect(await judged(ALLOCATOR, { ...update, granted: true })).toEqual(['already_granted'])
    expect(await judged(ALLOCATOR, { ...update, allocatorAddress: NOBODY })).toEqual(['not_granted'])
    const toNobody = { ...update, allocatorAddress: zeroAddress, granted: true }
    expect(await judged(ALLOCATOR, toNobody)).toEqual(['allocator_is_zero'])
    expect(await judged(ALLOCATOR, update, manager)).toEqual(['principal_not_owner'])
    expect(await carried(ALLOCATOR, update)).toEqual(OWN)
    expect([...(await vault(prime)).entry.allocators]).toEqual([lower(allocator)])

    const role = { vaultAddress: prime, role: 'curator' as const, accountAddress: NOBODY, granted: true }
    const managing = { ...role, role: 'manager' as const, accountAddress: manager }
    expect(await judged(ROLE, { ...role, granted: false })).toEqual(['not_granted'])
    expect(await judged(ROLE, { ...role, accountAddress: zeroAddress })).toEqual(['curator_is_zero'])
    expect(await judged(ROLE, { ...managing, accountAddress: zeroAddress })).toEqual(['manager_is_zero'])
    expect(await judged(ROLE, managing)).toEqual(['already_granted'])
    expect(await judged(ROLE, role, manager)).toEqual(['principal_not_owner'])
    expect(await carried(ROLE, role)).toEqual(OWN)
    await carried(ROLE, { ...managing, granted: false })
    const { entry } = await vault(prime)
    expect([[...entry.curators], [...entry.managers]]).toEqual([[NOBODY], []])
    await write(prime, calls.grant('MANAGER_ROLE', manager))

    const move = (marketAddress: Address, assets: bigint) => ({ marketAddress, assets: String(assets) })
    const moved = async (market: Address) => {
      const { supplied, recalled } = (await vault(prime)).entry
      return [supplied.get(lower(market)) ?? 0n, recalled.get(lower(market)) ?? 0n]
    }
    const into = { vaultAddress: prime, ...move(btc, usd('500000')) }
    const batch = { vaultAddress: prime, withdrawals: [move(btc, usd('1'))], supplies: [move(eth, usd('2'))] }
    for (const principal of [manager, allocator]) {
      expect(await judged(ALLOCATE, into, principal)).toEqual(['principal_not_owner'])
      expect(await judged(DEALLOCATE, into, principal)).toEqual(['principal_not_owner'])
      expect(await judged(BATCH, batch, principal)).toEqual(['principal_not_owner'])
    }
    expect(await carried(ALLOCATE, into)).toEqual(['vault_owner', 'allocation_open', 'intent_not_expired'])
    expect(await moved(btc)).toEqual([usd('3500000'), 0n])
    // Idle are 0.5 M of 5 M, and a twentieth stays.
    expect(await judged(ALLOCATE, { ...into, assets: String(usd('250000')) })).toEqual([])
    expect(await judged(ALLOCATE, { ...into, assets: String(usd('250000') + 1n) })).toEqual([
      'below_liquidity_buffer',
    ])
    const back = { vaultAddress: prime, ...move(btc, usd('1500000')) }
    const recalls = ['vault_owner', 'market_liquidity', 'intent_not_expired']
    expect(await carried(DEALLOCATE, back)).toEqual(recalls)
    expect(await judged(DEALLOCATE, { ...back, assets: String(usd('2000000') + 1n) })).toEqual([
      'insufficient_market_liquidity',
    ])
    expect(await carried(BATCH, batch)).toEqual([
      ...['vault_owner', 'market_liquidity', 'allocation_open', 'intent_not_expired'],
    ])
    expect(await moved(btc)).toEqual([usd('3500000'), usd('1500001')])
    expect(await judged(BATCH, { ...batch, withdrawals: [], supplies: [] })).toEqual(['reallocation_empty'])

    // 2 M of 5 M are lent there: an open market has caps that cover it, and a closed one any.
    const { totalAssets, allocations } = (await vault(prime)).state
    const lent = allocations.find(({ market }) => lower(market) === lower(btc))?.allocatedAssets ?? 0n
    const covering = { ...listing({ vaultAddress: prime }), absoluteCapAssets: String(lent) }
    const share = Number((lent * 10_000n + totalAssets - 1n) / totalAssets)
    expect(await judged(CAPS, { ...covering, relativeCapBps: share })).toEqual([])
    for (const below of [
      { ...covering, relativeCapBps: share, absoluteCapAssets: String(lent - 1n) },
      { ...covering, relativeCapBps: share - 1 },
    ]) {
      expect(await judged(CAPS, below)).toEqual(['cap_below_lent'])
      expect(await judged(CAPS, { ...below, allocationEnabled: false })).toEqual([])
    }
  })

  test('an owner charges fees up to their caps, to somebody, also where shares may not move', async () => {
    const FEES = 'role.vault_owner.vaultFeeConfigUpdate'
    const CURATOR = 'role.vault_owner.vaultCuratorFeeSettingsSave'
    const { carried, errorOf, judged, vault, write } = world
    const fees = (managementFeeBps: number, performanceFeeBps: number, recipientAddress: Address) => ({
      vaultAddress: prime,
      managementFeeBps,
      performanceFeeBps,
      recipientAddress,
    })
    const curatorFee = (borrowerManagerFeeBps: number, recipientAddress: Address) => ({
      vaultAddress: prime,
      borrowerManagerFeeBps,
      recipientAddress,
    })
    // At the caps all is well; one past each, and the vault's own error has the same ground.
    for (const [management, performance, recipient, reason, error] of [
      [500, 3_000, NOBODY, null, null],
      [501, 0, NOBODY, 'fee_above_cap', 'FeeAboveCap'],
      [0, 3_001, NOBODY, 'fee_above_cap', 'FeeAboveCap'],
      [1, 0, zeroAddress, 'recipient_is_zero', 'FeeRecipientRefused'],
      [0, 1, zeroAddress, 'recipient_is_zero', 'FeeRecipientRefused'],
      [0, 0, prime, 'recipient_is_vault', 'FeeRecipientRefused'],
      [0, 0, zeroAddress, 'fees_unchanged', null],
    ] as const) {
      const why = await judged(FEES, fees(management, performance, recipient))
      expect(why).toEqual(reason === null ? [] : [reason])
      expect(await errorOf(prime, calls.fees(management, performance, recipient))).toBe(error)
    }
    for (const [bps, recipient, reason, error] of [
      [2_000, NOBODY, null, null],
      [2_001, NOBODY, 'fee_above_cap', 'FeeAboveCap'],
      [1, zeroAddress, 'recipient_is_zero', 'FeeRecipientRefused'],
      [0, prime, 'recipient_is_vault', 'FeeRecipientRefused'],
    ] as const) {
      expect(await judged(CURATOR, curatorFee(bps, recipient))).toEqual(reason === null ? [] : [reason])
      expect(await errorOf(prime, calls.curatorFee(bps, recipient))).toBe(error)
    }
    expect(await judged(FEES, fees(1, 1, NOBODY), manager)).toEqual(['principal_not_owner'])
    expect(await judged(CURATOR, curatorFee(1, NOBODY), manager)).toEqual(['principal_not_owner'])
    expect(await carried(FEES, fees(500, 3_000, NOBODY))).toEqual(OWN)
    expect(await judged(FEES, fees(500, 3_000, NOBODY))).toEqual(['fees_unchanged'])
    await write(prime, calls.profile(2), manager)
    const { timestamp } = await world.scene.client.getBlock()
    await write(prime, calls.pause(timestamp + 1_000n), manager)
    // Without time there is nothing to charge.
    await world.mineAt(timestamp + 100n)
    expect(await carried(CURATOR, curatorFee(2_000, admin))).toEqual(OWN)
    expect(await judged(CURATOR, curatorFee(2_000, admin))).toEqual(['fees_unchanged'])
    await carried(FEES, fees(0, 0, zeroAddress))
    const { state, entry } = await vault(prime)
    expect(state.feeConfig).toEqual({
      managementFeeBps: 0,
      performanceFeeBps: 0,
      recipient: zeroAddress,
      borrowerManagerFeeBps: 2_000,
      curatorRecipient: admin,
    })
    expect(entry.shares.get(NOBODY)).toBeGreaterThan(0n)
    await write(prime, calls.restore(), manager)
  })

  const settings = (changes: object = {}) => ({
    vaultAddress: prime,
    liquidityBufferBps: 600,
    exitTermKind: 'notice' as const,
    noticeSeconds: '60',
    intervalSeconds: '0',
    maturityTimestamp: '0',
    minDepositAssets: '7',
    maxDepositAssets: '7',
    ...changes,
  })
  const maturing = (atS: bigint) => ({
    exitTermKind: 'maturity' as const,
    noticeSeconds: '0',
    maturityTimestamp: String(atS),
  })

  test('an owner sets terms within their bounds, and only looser ones once that is locked', async () => {
    const { carried, errorOf, judged, vault, write } = world
    expect(await judged(SETTINGS, settings({ noticeSeconds: '31536000' }))).toEqual([])
    for (const changes of [
      { noticeSeconds: '31536001' },
      { noticeSeconds: '0' },
      { noticeSeconds: String(2n ** 64n) },
      { exitTermKind: 'instant' },
      { intervalSeconds: '1' },
      maturing(2n ** 64n),
    ]) {
      expect(await judged(SETTINGS, settings(changes))).toEqual(['exit_terms_out_of_range'])
    }
    expect(await errorOf(prime, calls.settings(terms(1, 31_536_001n)))).toBe('ExitTermsOutOfRange')
    const { timestamp } = await world.scene.client.getBlock()
    expect(await judged(SETTINGS, settings(maturing(timestamp)))).toEqual(['maturity_passed'])
    expect(await judged(SETTINGS, settings(maturing(timestamp + 1n)))).toEqual([])
    expect(await judged(SETTINGS, settings({ minDepositAssets: '8' }))).toEqual([
      'deposit_limits_out_of_range',
    ])
    expect(await errorOf(prime, calls.settings(terms(0, 0n), 8n, 7n))).toBe('DepositLimitsOutOfRange')
    expect(await judged(SETTINGS, settings({ maxDepositAssets: '0' }))).toEqual([])
    expect(await judged(SETTINGS, settings(), manager)).toEqual(['principal_not_owner'])
    expect(await carried(SETTINGS, settings())).toEqual(OWN)
    expect(await judged(SETTINGS, settings())).toEqual(['settings_unchanged'])
    expect((await vault(prime)).state).toMatchObject({
      liquidityBufferBps: 600,
      minDepositAssets: 7n,
      maxDepositAssets: 7n,
      exitTerms: terms(1, 60n),
    })

    await write(prime, calls.lockTightening())
    expect(await judged(SETTINGS, settings({ noticeSeconds: '61' }))).toEqual(['exit_terms_locked'])
    expect(await errorOf(prime, calls.settings(terms(1, 61n)))).toBe('ExitTermsLocked')
    expect(await judged(SETTINGS, settings({ noticeSeconds: '59' }))).toEqual([])
    // What is no term of leaving may still change.
    expect(await judged(SETTINGS, settings({ liquidityBufferBps: 10_000 }))).toEqual([])
    await carried(SETTINGS, settings({ exitTermKind: 'instant', noticeSeconds: '0' }))

    // Terms that have matured may stay while another setting changes.
    const soon = (await world.scene.client.getBlock()).timestamp + 20n
    const matured = settings({ vaultAddress: growth, ...maturing(soon) })
    await carried(SETTINGS, matured)
    await world.mineAt(soon + 5n)
    expect(await judged(SETTINGS, { ...matured, liquidityBufferBps: 1 })).toEqual([])
    expect(await judged(SETTINGS, { ...matured, maturityTimestamp: String(soon + 1n) })).toEqual([
      'maturity_passed',
    ])
  })

  test('what tightens exit terms is judged as a locked vault judges it', async () => {
    const { client } = world.scene
    const dice = createDice(20_261_128)
    const seen = new Set<boolean>()
    const kinds = [0, 1, 2, 3]
    const figure = () => BigInt(1 + dice.upTo(12))
    const setting = (data: Hex) => ({ account: admin, to: growth, data })
    for (let i = 0; i < 200; i++) {
      // Half of them keep their kind: then the figures decide.
      const kind = dice.pick(kinds)
      const now = terms(kind, figure())
      const next = terms(dice.upTo(2) === 0 ? kind : dice.pick(kinds), figure())
      const [block] = await client.simulateBlocks({
        blocks: [{ calls: [calls.settings(now), calls.lockTightening(), calls.settings(next)].map(setting) }],
      })
      const tight = tightens(now, next)
      const ends = block?.calls.map(({ status }) => status)
      expect(ends, JSON.stringify([now, next], String)).toEqual([
        ...['success', 'success', tight ? 'failure' : 'success'],
      ])
      seen.add(tight)
    }
    expect(seen.size).toBe(2)
  })

  test('what lives at the service is saved for the owner that proves its wallet, and for nobody else', async () => {
    const { ask, prepare, scene } = world
    const management = {
      vaultAddress: prime,
      managerName: 'Prime Managers',
      website: 'https://prime.example',
      logoUrl: 'https://prime.example/logo.svg',
    }
    const classed = { vaultAddress: prime, shareClass: 'A', riskScore: 35 }
    const session = await world.session(scene.deployerKey)
    const asOwner = async (type: 'Management' | 'Owner') => {
      const saved =
        type === 'Management'
          ? await prepare('role.vault_owner.vaultManagementSettingsSave', admin, management, session)
          : await prepare('role.vault_owner.vaultOwnerSettingsSave', admin, classed, session)
      expect(saved).toMatchObject({ status: 'final_success', transactions: [] })
      const path = `/v1/workflows/${saved.requestId}`
      const done = workflowProgress.parse(await ask(path, undefined, session))
      expect(done.status).toBe('final_success')
      return done.canonicalPostconditions.map(({ entityType, field, expected, satisfied }) => [
        ...[entityType, field, expected, satisfied],
      ])
    }
    expect(await asOwner('Management')).toEqual([
      ['vault_management_settings', 'managerName', management.managerName, true],
      ['vault_management_settings', 'website', management.website, true],
      ['vault_management_settings', 'logoUrl', management.logoUrl, true],
    ])
    expect(await asOwner('Owner')).toEqual([
      ['vault_owner_settings', 'shareClass', 'A', true],
      ['vault_owner_settings', 'riskScore', '35', true],
    ])
    const noVault = { ...classed, vaultAddress: NOBODY }
    const unknown = await prepare('role.vault_owner.vaultOwnerSettingsSave', admin, noVault, session)
    expect(unknown).toMatchObject({ status: 'prepared', preflight: { blockedReasons: ['vault_not_found'] } })
    const strangersKey = generatePrivateKey()
    const [stranger, proof] = [privateKeyToAddress(strangersKey), await world.session(strangersKey)]
    for (const [type, input] of [
      ['role.vault_owner.vaultManagementSettingsSave', management],
      ['role.vault_owner.vaultOwnerSettingsSave', classed],
    ] as const) {
      const refused = await prepare(type, stranger, input, proof)
      expect(refused).toMatchObject({
        status: 'prepared',
        preflight: { blockedReasons: ['principal_not_owner'] },
        canonicalPostconditions: [],
      })
    }
    await expect(prepare('role.vault_owner.vaultOwnerSettingsSave', admin, classed)).rejects.toThrow(
      /403.*wallet_session_required/,
    )
    await expect(
      prepare('role.vault_owner.vaultOwnerSettingsSave', manager, classed, session),
    ).rejects.toThrow(/403.*foreign_principal/)
  })

  test('an ownership passes from who offers it to who accepts it, and can be taken back before', async () => {
    const TYPE = 'role.vault_owner.vaultOwnerTransferUpdate'
    const { carried, errorOf, judged, reasons, vault, write } = world
    const { client } = world.scene
    const heir = await world.trader({})
    const offer = { vaultAddress: prime, action: 'offer' as const, newOwnerAddress: heir }
    const [accept, cancel] = (['accept', 'cancel'] as const).map((action) => ({
      vaultAddress: prime,
      action,
    }))
    if (accept === undefined || cancel === undefined) throw new TypeError('There are two.')
    const ownership = async () => {
      const { owner, pendingOwner } = (await vault(prime)).state
      return [owner, pendingOwner]
    }
    expect(await judged(TYPE, { ...offer, newOwnerAddress: zeroAddress })).toEqual(['new_owner_is_zero'])
    expect(await errorOf(prime, calls.offer(zeroAddress))).toBe('AccessControlInvalidDefaultAdmin')
    expect(await judged(TYPE, { ...offer, newOwnerAddress: admin })).toEqual(['new_owner_is_owner'])
    for (const newOwnerAddress of [prime, btc, world.scene.at('sUSD')]) {
      expect(await judged(TYPE, { ...offer, newOwnerAddress })).toEqual(['new_owner_cannot_accept'])
    }
    await client.setCode({ address: heir, bytecode: `0xef0100${btc.slice(2)}` })
    expect(await judged(TYPE, offer)).toEqual([])
    await client.setCode({ address: heir, bytecode: '0x' })
    expect(await judged(TYPE, offer, heir)).toEqual(['principal_not_owner'])
    expect(await judged(TYPE, accept, heir)).toEqual(['no_ownership_offer'])
    expect(await judged(TYPE, cancel)).toEqual(['no_ownership_offer'])
    expect(await carried(TYPE, offer)).toEqual(OWN)
    expect(await ownership()).toEqual([admin, heir])
    expect(await judged(TYPE, offer)).toEqual(['ownership_already_offered'])
    expect(await judged(TYPE, { ...offer, newOwnerAddress: NOBODY })).toEqual([])
    expect(await judged(TYPE, accept, manager)).toEqual(['ownership_offer_to_another'])
    expect(await judged(TYPE, accept)).toEqual(['ownership_offer_to_another'])
    expect(await errorOf(prime, calls.accept())).toBe('AccessControlInvalidDefaultAdmin')
    expect(await judged(TYPE, cancel, heir)).toEqual(['principal_not_owner'])
    expect(await reasons(TYPE, undefined, accept)).toEqual(['principal_required'])
    expect(await reasons(TYPE, heir, { ...accept, vaultAddress: NOBODY })).toEqual(['vault_not_found'])
    expect(await carried(TYPE, cancel)).toEqual(OWN)
    expect(await ownership()).toEqual([admin, zeroAddress])
    // The contract takes no acceptance in the second of the offer, which blocks may share.
    const { timestamp } = await client.getBlock()
    await client.setNextBlockTimestamp({ timestamp: timestamp + 100n })
    await write(prime, calls.offer(heir))
    expect(await judged(TYPE, accept, heir)).toEqual(['ownership_offer_too_new'])
    await world.mineAt(timestamp + 101n)
    // Whoever takes it over reads who stays.
    const { managers, allocators } = (await vault(prime)).entry
    expect((await world.prepare(TYPE, heir, accept)).transactions[0]?.label).toContain(
      `over; ${managers.size} managers, ${allocators.size} allocators and `,
    )
    expect(await carried(TYPE, accept, heir)).toEqual(['ownership_offered', 'intent_not_expired'])
    expect(await ownership()).toEqual([heir, zeroAddress])
    // Who owned it is a stranger to it now.
    expect(await judged(TYPE, { ...offer, newOwnerAddress: NOBODY })).toEqual(['principal_not_owner'])
    expect(await judged(TYPE, { ...offer, newOwnerAddress: admin }, heir)).toEqual([])
  })
})
