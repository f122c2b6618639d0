import { type Address, keccak256, stringToHex, zeroAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { assetAbi, lendingVaultAbi, partnerChannelAbi } from '../../../../sandbox/contracts/abis.ts'
import { loadArtifacts } from '../../../../sandbox/contracts/artifacts.ts'
import type { ChannelRead } from '../../../../sandbox/indexer/state.ts'
import { same } from '../../../../sandbox/service/same.ts'
import type { PreparedWorkflow } from '../../../../src/service/contract/prepared-workflow.ts'
import type { WorkflowInput } from '../../../../src/service/contract/workflow-types.ts'
import { inOrder } from '../../../support/in-order.ts'
import { found, SENT, usd } from '../../indexer/scene.ts'
import { createWorkflowScene, type WorkflowScene } from './scene.ts'

const PARTNER = 'role.partner'
const DEPLOY = `${PARTNER}.partnerChannelDeploy`
const APPLY = `${PARTNER}.partnerSubmitApplication`
const CLAIM_SHARES = `${PARTNER}.partnerFeeSharesClaim`
const CLAIM_FEE = `${PARTNER}.partnerBorrowerFeeClaim`
const BLOCK = 'role.curator.partnerChannelBlockedUpdate'
const LIST = 'role.curator.vaultMarketListingSave'
const SUBMIT = 'role.asset_issuer.assetSubmissionRequestCreate'
const DEPOSIT = 'role.investor.partnerWrapperDeposit'
const REDEEM = 'role.investor.partnerWrapperRedeem'

const NOBODY: Address = `0x${'99'.repeat(20)}`
const DAY_S = 86_400n
/** Shares for one dollar, at first: their decimals are the asset's six, six of the vault's and six of the channel's. */
const DOLLAR_SHARES = String(10n ** 18n)

const page = z.object({ items: z.array(z.looseObject({ id: z.string() })) })
type Person = { readonly address: Address; readonly session: Record<string, string> }

let world: WorkflowScene
let prime: Address
let growth: Address
let sUSD: Address
let admin: Address
let manager: Address
let partner: Person
let curator: Person

beforeAll(async () => {
  world = await createWorkflowScene()
  const { scene } = world
  prime = scene.at('primeVault')
  growth = scene.at('growthVault')
  sUSD = scene.at('sUSD')
  admin = scene.deployment.admin
  manager = scene.deployment.assetManager
  partner = await person()
  curator = await person()
  const args = [keccak256(stringToHex('CURATOR_ROLE')), curator.address] as const
  for (const address of [prime, growth])
    await scene.client.writeContractSync({ ...vaultAs(admin, address), functionName: 'grantRole', args })
})
afterAll(() => world.stop())
afterEach(() => expect(world.crashes).toEqual([]))

/** Somebody who can prove to be who it is, and whom anvil sends for. */
async function person(): Promise<Person> {
  const { client } = world.scene
  const key = generatePrivateKey()
  const { address } = privateKeyToAccount(key)
  await client.impersonateAccount({ address })
  await client.setBalance({ address, value: 10n ** 21n })
  return { address, session: await world.session(key) }
}

const vaultAs = (account: Address, address: Address) =>
  ({ ...SENT, address, abi: lendingVaultAbi, account }) as const
const channelOf = async (shareClass: string): Promise<ChannelRead> =>
  found(
    (await world.scene.caughtUp(world.canonical)).channels,
    ({ state }) => state.shareClass === shareClass,
  )
const readChannel = ({ address }: ChannelRead) => ({ address, abi: partnerChannelAbi }) as const
/** Send what was prepared, and see that the chain and the next snapshots are as it said. */
const done = async (prepared: PreparedWorkflow, account: Address) => {
  const progress = await world.carryOut(prepared, account)
  expect(progress.status).toBe('final_success')
  expect(progress.canonicalPostconditions.length).toBeGreaterThan(0)
}
/** Give a vault 100,000 dollars: its shares gain. */
const gain = (vault: Address) =>
  world.scene.client.writeContractSync({
    ...SENT,
    address: sUSD,
    abi: assetAbi,
    account: admin,
    functionName: 'mint',
    args: [vault, usd('100000')],
  })
const setup = (changes: Partial<WorkflowInput<typeof DEPLOY>> = {}): WorkflowInput<typeof DEPLOY> => ({
  vaultAddress: prime,
  assetAddress: sUSD,
  resellerAddress: partner.address,
  curatorAddress: curator.address,
  name: 'Channel',
  symbol: 'CH',
  shareClass: 'A',
  resellerFeeBps: 500,
  borrowerFeeBps: 2_000,
  capAssets: String(usd('1000')),
  ...changes,
})

inOrder('one chain of channels', () => {
  test('applications, listings and submissions are saved as asked, by whom they are asked of', async () => {
    const { prepare, reasons } = world
    const words = {
      partnerName: 'Ann',
      website: 'https://ann.test',
      useCase: 'To offer it to those who ask for it.',
    }
    const applying = (vaultAddress: Address) =>
      reasons(APPLY, partner.address, { vaultAddress, ...words }, partner.session)
    await expect(prepare(APPLY, partner.address, { vaultAddress: prime, ...words })).rejects.toThrow(
      'wallet_session_required',
    )
    expect(await applying(NOBODY)).toEqual(['vault_not_found'])
    for (const vaultAddress of [prime, growth]) {
      expect(
        await prepare(APPLY, partner.address, { vaultAddress, ...words }, partner.session),
      ).toMatchObject({
        status: 'final_success',
        transactions: [],
        canonicalPostconditions: [{ entityType: 'partner_application', expected: 'submitted' }],
      })
    }
    // Twice is one too many, until it is reviewed: what is under review stays as it was.
    const again = { vaultAddress: prime, ...words, partnerName: 'Eve' }
    expect(await reasons(APPLY, partner.address, again, partner.session)).toEqual([
      'application_under_review',
    ])
    const { items } = page.parse(await world.ask('/v1/partner-programs'))
    expect(items.filter(({ id }) => id.endsWith(partner.address.toLowerCase()))).toMatchObject([
      { name: 'Ann', status: 'submitted' },
      { name: 'Ann', status: 'submitted' },
    ])
    const deploying = () => reasons(DEPLOY, partner.address, setup())
    expect(await deploying()).toEqual(['partner_not_approved'])
    await world.review('partner_application', `${prime}:${partner.address}`, 'rejected')
    expect(await deploying()).toEqual(['partner_not_approved'])
    expect(await applying(prime)).toEqual([])
    expect(await applying(prime)).toEqual(['application_under_review'])
    for (const vault of [prime, growth]) {
      await world.review('partner_application', `${vault}:${partner.address}`, 'approved')
    }
    expect(await applying(prime)).toEqual(['application_approved'])
    expect(await deploying()).toEqual([])

    const market = { vaultAddress: prime, marketAddress: world.scene.at('btcMarket'), listed: false }
    const listing = (changes: object, who = curator) =>
      reasons(LIST, who.address, { ...market, ...changes }, who.session)
    expect(await listing({}, partner)).toEqual(['principal_not_curator'])
    expect(await listing({ vaultAddress: NOBODY })).toEqual(['vault_not_found'])
    expect(await listing({ marketAddress: NOBODY })).toEqual(['market_not_found'])
    expect(await listing({ vaultAddress: growth })).toEqual(['market_not_attached'])
    expect(await prepare(LIST, curator.address, market, curator.session)).toMatchObject({
      status: 'final_success',
      transactions: [],
      canonicalPostconditions: [{ entityType: 'vault_market_listing', field: 'listed', expected: false }],
    })

    const asset = {
      assetAddress: growth,
      name: 'Share',
      symbol: 'SHARE',
      decimals: 12,
      issuerName: 'Ann',
      website: 'https://ann.test',
      topCategory: 'fund share',
    }
    const submitting = (changes: object, who = curator) =>
      reasons(SUBMIT, who.address, { ...asset, ...changes }, who.session)
    expect(await submitting({ assetAddress: NOBODY })).toEqual(['asset_not_found'])
    expect(await submitting({ decimals: 13 })).toEqual(['asset_decimals_mismatch'])
    expect(await submitting({ assetAddress: sUSD, decimals: 6 })).toEqual(['asset_already_listed'])
    expect(await prepare(SUBMIT, curator.address, asset, curator.session)).toMatchObject({
      status: 'final_success',
      transactions: [],
      canonicalPostconditions: [{ entityType: 'asset_submission', expected: 'submitted' }],
    })
    expect(await submitting({})).toEqual(['submission_under_review'])
    expect(await submitting({}, partner)).toEqual(['submission_of_another'])
    await world.review('asset_submission', growth, 'rejected')
    expect(await submitting({}, partner)).toEqual([])
    await world.review('asset_submission', growth, 'approved')
    expect(await submitting({})).toContain('submission_approved')
  })

  test('of submissions of one asset at the same moment, the first one speaks for it', async () => {
    const { prepare, scene } = world
    await scene.caughtUp(world.canonical)
    const submit = ({ address, session }: Person) => {
      const asset = { assetAddress: prime, name: 'Share', symbol: 'SHARE', decimals: 12, issuerName: address }
      const shown = { website: 'https://ann.test', topCategory: 'fund share' }
      return prepare(SUBMIT, address, { ...asset, ...shown }, session)
    }
    const people = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? curator : partner))
    const answers = await Promise.allSettled(people.map(submit))
    const passed = answers.filter(
      (answer) => answer.status === 'fulfilled' && answer.value.preflight.status === 'passed',
    )
    expect(passed).toHaveLength(1)
  })

  test('a channel is deployed by its reseller, and by who manages or curates its vault', async () => {
    const { prepare, reasons } = world
    const deploying = (changes: object, who?: Address) =>
      reasons(DEPLOY, who ?? partner.address, setup(changes))
    expect(await reasons(DEPLOY, undefined, setup())).toEqual(['principal_required'])
    expect(await deploying({ vaultAddress: NOBODY })).toEqual(['vault_not_found'])
    expect(await deploying({ assetAddress: world.scene.at('sBTC') })).toEqual(['wrapper_asset_mismatch'])
    expect(await deploying({}, curator.address)).toEqual(['reseller_is_not_principal'])
    expect(await deploying({ resellerAddress: manager }, manager)).toEqual(['partner_not_approved'])
    expect(await deploying({ curatorAddress: manager })).toEqual(['curator_not_of_vault'])
    expect(await deploying({ resellerFeeBps: 501 })).toEqual(['fee_above_cap'])
    expect(await deploying({ borrowerFeeBps: 2_001 })).toEqual(['fee_above_cap'])
    expect(await deploying({ capAssets: '0' })).toEqual(['cap_out_of_range'])
    expect(await deploying({ capAssets: String(2n ** 128n) })).toEqual(['cap_out_of_range'])

    const byManager = 'role.vault_manager.partnerChannelDeploy'
    const byCurator = 'role.curator.partnerChannelDeploy'
    expect(await reasons(byManager, partner.address, setup())).toEqual(['principal_not_manager'])
    expect(await reasons(byCurator, partner.address, setup())).toEqual(['principal_not_curator'])
    expect(await reasons(byCurator, curator.address, setup({ resellerAddress: zeroAddress }))).toEqual([
      'reseller_is_zero',
      'partner_not_approved',
    ])

    const own = await prepare(DEPLOY, partner.address, setup())
    // A stranger's of the same class, in the partner's name, neither is the partner's nor in its way.
    const copy = own.transactions[0]?.calldata
    const stranger = await person()
    const sent = { account: stranger.address, chain: null, data: copy, gas: 8_000_000n } as const
    await world.scene.client.waitForTransactionReceipt({
      hash: await world.scene.client.sendTransaction(sent),
    })
    const { channels } = await world.scene.caughtUp(world.canonical)
    expect(channels.filter(({ state }) => state.shareClass === 'A')).toHaveLength(1)
    expect(await deploying({})).toEqual([])
    const shown = async (path: string) =>
      page
        .parse(await world.ask(path))
        .items.filter(
          ({ id }) => id === `${prime}:${partner.address}`.toLowerCase() || same(id, partner.address),
        )
    expect(await shown('/v1/partner-programs')).toMatchObject([{ status: 'approved' }])
    // At the highest fees and the largest cap.
    const prepared = await prepare(
      DEPLOY,
      partner.address,
      setup({ shareClass: 'Top', capAssets: String(2n ** 128n - 1n) }),
    )
    expect(prepared).toMatchObject({
      preflight: { revalidateAtExecution: ['intent_not_expired'] },
      transactions: [{ target: null, transactionKind: 'contract_deployment' }],
    })
    await done(prepared, partner.address)
    expect(await shown('/v1/partner-programs')).toMatchObject([{ status: 'active' }])
    expect(await shown('/v1/entities')).toMatchObject([{ kind: 'partner', name: 'Ann', status: 'active' }])
    await done(own, partner.address)
    expect(await deploying({})).toEqual(['channel_exists'])
    expect(await reasons(byManager, manager, setup())).toEqual(['channel_exists'])
    const managed = await prepare(byManager, manager, setup({ shareClass: 'B' }))
    expect(managed.preflight.revalidateAtExecution).toEqual(['vault_manager', 'intent_not_expired'])
    await done(managed, manager)
    const curated = await prepare(
      byCurator,
      curator.address,
      setup({ shareClass: 'G', vaultAddress: growth }),
    )
    expect(curated.preflight.revalidateAtExecution).toEqual(['vault_curator', 'intent_not_expired'])
    await done(curated, curator.address)
    expect((await channelOf('G')).state).toMatchObject({
      reseller: partner.address,
      directory: world.scene.at('registry'),
    })
  })

  test('whoever deploys a channel without an application has a wrapper, and no program', async () => {
    const { scene, ask } = world
    const { client } = scene
    const stranger = await person()
    const { vaultAddress, resellerAddress: _, curatorAddress: __, capAssets, ...terms } = setup()
    const own = { ...terms, capAssets: BigInt(capAssets), shareClass: 'Stranger', name: 'Official Partner' }
    const who = { reseller: stranger.address, curator: stranger.address, directory: scene.at('registry') }
    const hash = await client.deployContract({
      abi: partnerChannelAbi,
      bytecode: loadArtifacts().PartnerChannel.bytecode,
      account: stranger.address,
      chain: null,
      gas: 8_000_000n,
      args: [{ ...own, ...who, vault: vaultAddress }],
    })
    await client.waitForTransactionReceipt({ hash })
    await scene.caughtUp(world.canonical)
    const ofStranger = async (path: string, member: string) =>
      page
        .parse(await ask(path))
        .items.filter((row) => String(row[member]).includes(stranger.address.toLowerCase()))
    expect(await ofStranger('/v1/wrappers', 'resellerAddress')).toHaveLength(1)
    expect(await ofStranger('/v1/partner-programs', 'id')).toEqual([])
    // Nor is it a partner or a curator for having written itself into one.
    expect(await ofStranger('/v1/entities', 'id')).toEqual([])
  })

  test('a wrapper takes what its cap and its vault allow, and pays what its vault pays', async () => {
    const { prepare, reasons, scene } = world
    const { client } = scene
    const ann = await world.trader({ sUSD: usd('3000') })
    const channel = await channelOf('A')
    const wrapperAddress = channel.address
    const [ask, put] = [{ wrapperAddress, receiverAddress: ann }, String(usd('600'))]
    const depositing = (changes: object, who = ann) =>
      reasons(DEPOSIT, who, { ...ask, assets: put, minShares: '1', ...changes })
    expect(await reasons(DEPOSIT, undefined, { ...ask, assets: put, minShares: '1' })).toEqual([
      'principal_required',
    ])
    expect(await depositing({ wrapperAddress: NOBODY })).toEqual(['channel_not_found'])
    expect(await depositing({ assets: '0', minShares: '0' })).toEqual(['amount_is_zero'])
    expect(await depositing({ receiverAddress: zeroAddress })).toEqual(['receiver_is_zero'])
    expect(await depositing({ receiverAddress: wrapperAddress })).toEqual(['receiver_is_channel'])
    expect(await depositing({}, partner.address)).toEqual(['principal_balance_too_small'])

    // At the preview, and one past it.
    const read = readChannel(channel)
    const preview = await client.readContract({
      ...read,
      functionName: 'previewDeposit',
      args: [BigInt(put)],
    })
    expect(await depositing({ minShares: String(preview + 1n) })).toEqual(['min_shares_above_preview'])
    const exact = await prepare(DEPOSIT, ann, { ...ask, assets: put, minShares: String(preview) })
    expect(exact.preflight.blockedReasons).toEqual([])
    expect(exact.preflight.revalidateAtExecution).toEqual(['channel_open', 'intent_not_expired'])
    expect(exact.transactions.map(({ target }) => target?.toLowerCase())).toEqual([
      sUSD.toLowerCase(),
      wrapperAddress,
    ])
    await done(exact, ann)
    // What was approved was spent to the last unit.
    expect(
      await client.readContract({
        address: sUSD,
        abi: assetAbi,
        functionName: 'allowance',
        args: [ann, wrapperAddress],
      }),
    ).toBe(0n)

    // Up to the cap, and no further.
    const room = await client.readContract({ ...read, functionName: 'maxDeposit', args: [ann] })
    expect(await depositing({ assets: String(room + 1n) })).toEqual(['above_channel_cap'])
    const rest = { ...ask, assets: String(room), minShares: '1' }
    await done(await prepare('role.partner.partnerWrapperDeposit', ann, rest), ann)
    expect(await depositing({ assets: '1', minShares: '0' })).toEqual(['above_channel_cap'])

    // What the vault asks of one deposit it asks of the channel.
    const other = (await channelOf('Top')).address
    const terms = { kind: 0, noticeSeconds: 0n, intervalSeconds: 0n, maturityTimestamp: 0n }
    const limits = (min: bigint, max: bigint) =>
      client.writeContractSync({
        ...vaultAs(admin, prime),
        functionName: 'setSettings',
        args: [500, terms, min, max],
      })
    const elsewhere = (assets: bigint) =>
      depositing({ wrapperAddress: other, assets: String(assets), minShares: '1' })
    await limits(usd('10'), usd('20'))
    expect(await elsewhere(usd('10') - 1n)).toEqual(['below_min_deposit'])
    expect(await elsewhere(usd('20') + 1n)).toEqual(['above_max_deposit'])
    const own = (assets: bigint) =>
      reasons('deposit', ann, {
        vaultAddress: prime,
        assets: String(assets),
        receiverAddress: ann,
        minShares: '1',
      })
    expect(await own(usd('10') - 1n)).toEqual(['below_min_deposit'])
    expect(await own(usd('10'))).toEqual([])
    expect(await own(usd('20'))).toEqual([])
    expect(await own(usd('20') + 1n)).toEqual(['above_max_deposit'])
    for (const assets of [usd('10'), usd('20')]) {
      const at = { ...ask, wrapperAddress: other, assets: String(assets), minShares: '1' }
      await done(await prepare(DEPOSIT, ann, at), ann)
    }
    await limits(0n, 0n)

    // A year's fee later, redeeming is worth what the contract says.
    const { timestamp } = await client.getBlock()
    await world.mineAt(timestamp + DAY_S)
    const held = await client.readContract({ ...read, functionName: 'balanceOf', args: [ann] })
    const redeeming = (changes: object, who = ann) =>
      reasons(REDEEM, who, { ...ask, shares: String(held), minAssets: '1', ...changes })
    const worth = await client.readContract({ ...read, functionName: 'previewRedeem', args: [held] })
    expect(await reasons(REDEEM, undefined, { ...ask, shares: '1', minAssets: '0' })).toContain(
      'principal_required',
    )
    expect(await redeeming({ wrapperAddress: NOBODY })).toEqual(['channel_not_found'])
    expect(await redeeming({ shares: '1', minAssets: '0' })).toEqual(['amount_is_zero'])
    expect(await redeeming({ receiverAddress: wrapperAddress })).toEqual(['receiver_is_channel'])
    expect(await redeeming({ shares: String(held + 1n) })).toEqual(['principal_shares_too_few'])
    expect(await redeeming({ minAssets: String(worth + 1n) })).toEqual(['min_assets_above_preview'])
    expect(await redeeming({ minAssets: String(worth) })).toEqual([])
    const quarter = { ...ask, shares: String(held / 4n), minAssets: '1' }
    await done(await prepare(REDEEM, ann, quarter), ann)
    await done(await prepare('role.partner.partnerWrapperRedeem', ann, quarter), ann)

    // A pause of the vault stops what comes in, a freeze also what goes out.
    const pause = async (freeze: string) => {
      const now = (await client.getBlock()).timestamp
      const args = [now + 1_000n, 'audit', freeze] as const
      await client.writeContractSync({ ...vaultAs(manager, prime), functionName: 'pauseShareMobility', args })
    }
    const restore = () =>
      client.writeContractSync({ ...vaultAs(manager, prime), functionName: 'restoreShareMobility' })
    const little = { assets: '1000000', minShares: '1' }
    const some = { shares: String(held / 4n) }
    await pause('')
    expect(await depositing(little)).toEqual(['share_mobility_paused'])
    expect(await redeeming(some)).toEqual([])
    await restore()
    await pause('loss under count')
    expect(await redeeming(some)).toEqual(['redemption_frozen'])
    await restore()

    // A vault that pays by notice takes what its wrapper brings, and pays it no sooner.
    const slow = { wrapperAddress: (await channelOf('G')).address }
    await done(await prepare(DEPOSIT, ann, { ...ask, ...slow, ...little }), ann)
    expect(await redeeming({ ...slow, shares: DOLLAR_SHARES })).toEqual(['exit_terms_require_request'])
    // However much it is, what is idle is no reason there.
    expect(await redeeming({ ...slow, shares: `${DOLLAR_SHARES}000000000` })).toEqual([
      'principal_shares_too_few',
      'exit_terms_require_request',
    ])
  })

  test('a reseller claims what its fees earned, and nobody else does', async () => {
    const { prepare, reasons, scene } = world
    const { client } = scene
    const { address: channelAddress, state } = await channelOf('A')
    const ask = { channelAddress, recipientAddress: partner.address }
    const owed = String(state.feeShares)
    const claiming = (changes: object, who?: Address) =>
      reasons(CLAIM_SHARES, who ?? partner.address, { ...ask, shares: owed, ...changes })
    expect(state.feeShares).toBeGreaterThan(0n)
    expect(await reasons(CLAIM_SHARES, undefined, { ...ask, shares: owed })).toEqual(['principal_required'])
    expect(await claiming({ channelAddress: NOBODY })).toEqual(['channel_not_found'])
    expect(await claiming({}, curator.address)).toEqual(['principal_not_reseller'])
    expect(await claiming({ recipientAddress: zeroAddress })).toEqual(['recipient_is_zero'])
    expect(await claiming({ recipientAddress: channelAddress })).toEqual(['recipient_is_channel'])
    expect(await claiming({ shares: '0' })).toEqual(['amount_is_zero'])
    expect(await claiming({ shares: String(state.feeShares + 1n) })).toEqual(['fee_shares_too_few'])
    const shares = await prepare(CLAIM_SHARES, partner.address, { ...ask, shares: owed })
    expect(shares.preflight.revalidateAtExecution).toEqual(['channel_reseller', 'intent_not_expired'])
    await done(shares, partner.address)

    const claimingFee = (changes: object, who?: Address) =>
      reasons(CLAIM_FEE, who ?? partner.address, { ...ask, minAssets: '0', ...changes })
    expect(await claimingFee({})).toEqual(['nothing_to_claim'])
    await gain(prime)
    const { borrowerFeeAssets } = (await channelOf('A')).state
    expect(borrowerFeeAssets).toBeGreaterThan(0n)
    expect(await claimingFee({ minAssets: String(borrowerFeeAssets) })).toEqual([])
    expect(await claimingFee({ minAssets: String(borrowerFeeAssets + 1n) })).toEqual([
      'min_assets_above_preview',
    ])
    expect(await claimingFee({}, curator.address)).toEqual(['principal_not_reseller'])
    expect(await claimingFee({ channelAddress: NOBODY })).toEqual(['channel_not_found'])
    const fee = { ...ask, recipientAddress: NOBODY, minAssets: String(borrowerFeeAssets / 2n) }
    await done(await prepare(CLAIM_FEE, partner.address, fee), partner.address)
    const paid = await client.readContract({
      address: sUSD,
      abi: assetAbi,
      functionName: 'balanceOf',
      args: [NOBODY],
    })
    expect((await channelOf('A')).state.borrowerFeeClaimed).toBe(paid)
    expect(await claimingFee({})).toEqual(['nothing_to_claim'])
  })

  test('whom a curator blocks moves nothing, and a blocked channel nothing at all', async () => {
    const { prepare, reasons, scene } = world
    const { client } = scene
    const { address: channelAddress, state } = await channelOf('Top')
    const ben = await world.trader({ sUSD: usd('100') })
    const wrapped = { wrapperAddress: channelAddress, receiverAddress: ben }
    const deposit = { ...wrapped, assets: String(usd('50')), minShares: '1' }
    await done(await prepare(DEPOSIT, ben, deposit), ben)
    const redeem = { ...wrapped, shares: DOLLAR_SHARES, minAssets: '1' }
    const claim = { channelAddress, recipientAddress: ben, shares: '1' }
    expect(state.feeShares).toBeGreaterThan(1n)

    const block = (account: Address, blocked: boolean) => ({
      channelAddress,
      accountAddress: account,
      blocked,
    })
    const blocking = (input: WorkflowInput<typeof BLOCK>, who?: Address) =>
      reasons(BLOCK, who ?? curator.address, input)
    expect(await reasons(BLOCK, undefined, block(ben, true))).toEqual(['principal_required'])
    expect(await blocking({ ...block(ben, true), channelAddress: NOBODY })).toEqual(['channel_not_found'])
    expect(await blocking(block(ben, true), partner.address)).toEqual(['principal_not_curator'])
    expect(await blocking(block(zeroAddress, true))).toEqual(['account_is_zero'])
    expect(await blocking(block(ben, false))).toEqual(['block_unchanged'])
    const moves = async () => [
      await reasons(DEPOSIT, ben, deposit),
      await reasons(DEPOSIT, partner.address, { ...deposit, assets: '1' }),
      await reasons(REDEEM, ben, redeem),
      await reasons(CLAIM_SHARES, partner.address, claim),
    ]
    const few = 'principal_balance_too_small'
    expect(await moves()).toEqual([[], [few], [], []])
    const out = await prepare(BLOCK, curator.address, block(ben, true))
    expect(out.preflight.revalidateAtExecution).toEqual(['channel_curator', 'intent_not_expired'])
    await done(out, curator.address)
    const kept = ['account_blocked']
    expect(await moves()).toEqual([kept, [...kept, few], kept, kept])
    expect(await blocking(block(ben, true))).toEqual(['block_unchanged'])
    await done(await prepare(BLOCK, curator.address, block(ben, false)), curator.address)
    expect(await moves()).toEqual([[], [few], [], []])

    await done(await prepare(BLOCK, curator.address, block(channelAddress, true)), curator.address)
    const shut = ['channel_blocked']
    expect(await moves()).toEqual([shut, [...shut, few], shut, shut])
    await done(await prepare(BLOCK, curator.address, block(channelAddress, false)), curator.address)
    await done(await prepare(CLAIM_SHARES, partner.address, claim), partner.address)

    // Both channels gained. What waits for a notice, or for what the queue needs, cannot be claimed either.
    for (const vault of [prime, growth]) await gain(vault)
    const fee = async (shareClass: string) =>
      reasons(CLAIM_FEE, partner.address, {
        channelAddress: (await channelOf(shareClass)).address,
        recipientAddress: ben,
        minAssets: '1',
      })
    expect(await fee('A')).toEqual([])
    expect(await fee('G')).toEqual(['exit_terms_require_request'])

    // The vault owes its queue nearly all that is idle: the wrapper is paid from the rest, to the last share.
    const [idle, supply, total] = [
      await client.readContract({ ...vaultAs(admin, prime), functionName: 'idleAssets' }),
      await client.readContract({ ...vaultAs(admin, prime), functionName: 'totalSupply' }),
      await client.readContract({ ...vaultAs(admin, prime), functionName: 'totalAssets' }),
    ]
    const queued = ((idle - usd('5')) * supply) / total
    await client.writeContractSync({
      ...vaultAs(admin, prime),
      functionName: 'requestWithdrawal',
      args: [queued, admin],
    })
    const most = await client.readContract({
      ...readChannel(await channelOf('Top')),
      functionName: 'maxRedeem',
      args: [ben],
    })
    const redeemAll = (shares: bigint) => ({ ...wrapped, shares: String(shares), minAssets: '1' })
    const held = await client.readContract({
      ...readChannel(await channelOf('Top')),
      functionName: 'balanceOf',
      args: [ben],
    })
    expect(most).toBeLessThan(held)
    expect(await reasons(REDEEM, ben, redeemAll(most + 1n))).toEqual(['insufficient_idle'])
    await done(await prepare(REDEEM, ben, redeemAll(most)), ben)
    expect(await fee('A')).toEqual(['insufficient_idle'])
  })
})
