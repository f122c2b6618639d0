import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Address, createPublicClient, encodeFunctionData, http, parseUnits } from 'viem'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { TO_CHAIN } from '../../sandbox/chain/to-chain.ts'
import { assetAbi, lendingVaultAbi, partnerChannelAbi } from '../../sandbox/contracts/abis.ts'
import { rolekeeper } from '../../src/cli/dispatch.ts'
import { sandboxConfig } from '../../src/cli/target/sandbox-config.ts'
import { createKeeper, type Keeper } from '../../src/keeper/keeper.ts'
import { createLog } from '../../src/ops/log.ts'
import { writeAnswer } from '../../src/ops/orders.ts'
import { HAND_ROLES } from '../../src/service/contract/roles.ts'
import { agentRoleOf, SERVICE_TYPES, type WorkflowType } from '../../src/service/contract/workflow-types.ts'
import { isMetadata } from '../../src/workflow/metadata.ts'
import type { ProposalInput } from '../../src/workflow/proposal.ts'
import { inOrder } from '../support/in-order.ts'
import { removeDirectory, sandboxDirectory, startTestSandbox, type TestSandbox } from '../support/sandbox.ts'

const STAFFED: readonly string[] = [...HAND_ROLES, 'asset-manager']
const usd = (whole: string) => String(parseUnits(whole, 6))

let directory: string
let sandbox: TestSandbox
let keeper: Keeper | undefined
const log: string[] = []

/** Whoever is worked by hand, and the asset manager for its channel. */
const staffed = () => sandboxConfig(directory).agents.filter(({ role }) => STAFFED.includes(role))
const signerOf = (role: string): Address => {
  const found = staffed().find((agent) => agent.role === role)
  if (found === undefined) throw new TypeError(`nobody is the ${role}`)
  return found.signer.address
}
const at = (name: keyof TestSandbox['deployment']['contracts']): Address =>
  sandbox.deployment.contracts[name].address
const client = () => createPublicClient({ transport: http(sandbox.info.rpcUrl, TO_CHAIN) })

/** Start a keeper that only does what it is told; whatever is held for a person is approved at once. */
async function begin(mode: 'live' | 'shadow'): Promise<void> {
  const config = sandboxConfig(directory)
  keeper = createKeeper(
    {
      ...config,
      agents: staffed().map((agent) => ({ ...agent, mode })),
    },
    {
      version: 'test',
      duty: 'orders',
      log: createLog({ level: 'info', secrets: [], write: (line) => log.push(line) }),
    },
  )
  keeper.onEvent((event) => {
    if (event.type === 'held')
      writeAnswer(directory, event.id, {
        verdict: 'approve',
        hash: event.hash,
        by: { user: 'test@sandbox' },
      })
  })
  await keeper.start()
}
const rest = async () => {
  await keeper?.stop({ drainMs: 0 })
  keeper = undefined
}

/** Hand in one workflow as a person does. @returns how it ended, and by which check. */
async function submit(type: WorkflowType, input: ProposalInput, ...more: string[]) {
  const file = join(directory, `${type}.json`)
  writeFileSync(file, JSON.stringify(input))
  let [out, err] = ['', '']
  await rolekeeper(['submit', type, '--input', file, '--directory', directory, '--json', ...more], {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    outIsTty: false,
    errIsTty: false,
    env: {},
  })
  const lines = out.split('\n').filter((line) => line.startsWith('{'))
  const end = lines.map((line) => JSON.parse(line)).findLast((line) => line.type === 'order')
  return end?.state === 'refused' ? `refused: ${end.check}` : (end?.state ?? `${err}${out}`)
}

/** What lives at the service, whoever asks for it: its own table. */
function saved(): readonly unknown[] {
  const db = new DatabaseSync(join(directory, 'sandbox', 'service.sqlite'), { readOnly: true })
  try {
    return db.prepare('SELECT * FROM service_records ORDER BY kind, key').all()
  } finally {
    db.close()
  }
}
const signatures = () => sandbox.kms.calls().filter(({ operation }) => operation === 'Sign').length
const nonces = () =>
  Promise.all(STAFFED.map((role) => client().getTransactionCount({ address: signerOf(role) })))

const read = (functionName: 'previewDeposit' | 'previewRedeem', args: readonly [bigint]): Promise<bigint> =>
  client().readContract({ address: at('partnerChannel'), abi: partnerChannelAbi, functionName, args })

/**
 * Let the investor's first request wait, the partner hold shares of its channel, and the vault gain what its reseller has a
 * part of; once all of it is final.
 */
async function setStage(): Promise<void> {
  const { investor } = sandbox.keys.roles
  const [another = '0x'] = sandbox.keys.channelInvestors
  const assets = parseUnits('1000', 6)
  const deposit = encodeFunctionData({
    abi: partnerChannelAbi,
    functionName: 'depositNow',
    args: [assets, signerOf('partner'), 1n],
  })
  const shares = await sharesOf(assets)
  const queue = encodeFunctionData({
    abi: lendingVaultAbi,
    functionName: 'requestWithdrawal',
    args: [shares, signerOf('investor')],
  })
  const gain = encodeFunctionData({
    abi: assetAbi,
    functionName: 'transfer',
    args: [at('ownedVault'), parseUnits('10000', 6)],
  })
  await sandbox.transactions.send([
    { from: another, to: at('partnerChannel'), data: deposit },
    { from: investor.privateKey, to: at('ownedVault'), data: queue },
    { from: another, to: at('sUSD'), data: gain },
  ])
  // What a key sent before a keeper began, and is not final, is nobody's.
  const setAt = await client().getBlockNumber()
  const final = async () => (await client().getBlock({ blockTag: 'finalized' })).number
  await expect.poll(final).toBeGreaterThanOrEqual(setAt)
}

const sharesOf = (assets: bigint): Promise<bigint> =>
  client().readContract({
    address: at('ownedVault'),
    abi: lendingVaultAbi,
    functionName: 'convertToShares',
    args: [assets],
  })

const reallocated = () => ({ marketAddress: at('btcMarket'), assets: usd('2000') })

function ownersInputs(): Readonly<Record<string, ProposalInput>> {
  const [owner, curator] = [signerOf('vault-owner'), signerOf('curator')]
  const vaultAddress = at('ownedVault')
  const [btc, eth] = [at('btcMarket'), at('ethMarket')]
  const listing = {
    vaultAddress,
    absoluteCapAssets: usd('900000'),
    relativeCapBps: 7_000,
    allocationEnabled: true,
  }
  const times = { noticeSeconds: '0', intervalSeconds: '0', maturityTimestamp: '0' }
  return {
    attachMarketToVault: { ...listing, marketAddress: eth },
    vaultAllocate: { vaultAddress, marketAddress: btc, assets: usd('1000') },
    vaultDeallocate: { vaultAddress, marketAddress: btc, assets: usd('500') },
    vaultReallocationBatch: { vaultAddress, withdrawals: [reallocated()], supplies: [] },
    vaultAllocatorUpdate: { vaultAddress, allocatorAddress: signerOf('partner'), granted: true },
    vaultCuratorCapsSettingsSave: { ...listing, marketAddress: btc, absoluteCapAssets: usd('9000000') },
    vaultCuratorFeeSettingsSave: { vaultAddress, borrowerManagerFeeBps: 600, recipientAddress: curator },
    vaultFeeConfigUpdate: {
      vaultAddress,
      managementFeeBps: 120,
      performanceFeeBps: 1_100,
      recipientAddress: owner,
    },
    vaultManagementSettingsSave: {
      vaultAddress,
      managerName: 'Anna',
      website: 'https://a.example',
      logoUrl: 'https://a.example/l',
    },
    vaultOwnerSettingsSave: { vaultAddress, shareClass: 'senior', riskScore: 12 },
    vaultOwnerTransferUpdate: { vaultAddress, action: 'offer', newOwnerAddress: signerOf('asset-manager') },
    vaultRoleSettingsSave: { vaultAddress, role: 'manager', accountAddress: curator, granted: true },
    vaultRoutingUpdate: { vaultAddress, marketAddresses: [] },
    vaultSettingsUpdate: {
      vaultAddress,
      liquidityBufferBps: 1_100,
      exitTermKind: 'instant',
      ...times,
      minDepositAssets: usd('2'),
      maxDepositAssets: usd('900000'),
    },
  }
}

async function inputs(): Promise<ReadonlyMap<WorkflowType, ProposalInput>> {
  const [partner, curator, investor] = ['partner', 'curator', 'investor'].map(signerOf) as [
    Address,
    Address,
    Address,
  ]
  const [vaultAddress, channel] = [at('ownedVault'), at('partnerChannel')]
  const assets = parseUnits('100', 6)
  const [bought, queued, decimals, due] = await Promise.all([
    read('previewDeposit', [assets]),
    sharesOf(assets),
    client().readContract({ address: vaultAddress, abi: assetAbi, functionName: 'decimals' }),
    client().readContract({ address: channel, abi: partnerChannelAbi, functionName: 'borrowerFeeAssets' }),
  ])
  const shares = bought / 2n
  const paid = await read('previewRedeem', [shares])
  // Prices move a little between now and then, and the policy takes half a percent.
  const least = (of: bigint) => String((of * 998n) / 1_000n)
  const deposit = (receiverAddress: Address) => ({
    wrapperAddress: channel,
    assets: String(assets),
    receiverAddress,
    minShares: least(bought),
  })
  const redeem = (receiverAddress: Address) => ({
    wrapperAddress: channel,
    shares: String(shares),
    receiverAddress,
    minAssets: least(paid),
  })
  const deploy = (symbol: string) => ({
    vaultAddress,
    assetAddress: at('sUSD'),
    resellerAddress: partner,
    curatorAddress: curator,
    name: `Channel ${symbol}`,
    symbol,
    shareClass: symbol,
    resellerFeeBps: 50,
    borrowerFeeBps: 100,
    capAssets: usd('100000'),
  })
  const owners = Object.entries(ownersInputs()).map(
    ([name, input]) => [`role.vault_owner.${name}`, input] as const,
  )
  return new Map<WorkflowType, ProposalInput>([
    ...(owners as [WorkflowType, ProposalInput][]),
    [
      'role.partner.partnerSubmitApplication',
      {
        vaultAddress: at('primeVault'),
        partnerName: 'Anna',
        website: 'https://a.example',
        useCase: 'Offering the vault to those who ask for it.',
      },
    ],
    ['role.partner.partnerChannelDeploy', deploy('PA')],
    ['role.curator.partnerChannelDeploy', deploy('CU')],
    ['role.vault_manager.partnerChannelDeploy', deploy('MA')],
    ['role.partner.partnerWrapperDeposit', deposit(partner)],
    ['role.partner.partnerWrapperRedeem', redeem(partner)],
    ['role.investor.partnerWrapperDeposit', deposit(investor)],
    ['role.investor.partnerWrapperRedeem', redeem(investor)],
    [
      'role.partner.partnerFeeSharesClaim',
      { channelAddress: channel, shares: '1', recipientAddress: partner },
    ],
    [
      'role.partner.partnerBorrowerFeeClaim',
      {
        channelAddress: channel,
        recipientAddress: partner,
        minAssets: least(due),
      },
    ],
    [
      'role.curator.partnerChannelBlockedUpdate',
      {
        channelAddress: channel,
        accountAddress: `0x${'ab'.repeat(20)}`,
        blocked: true,
      },
    ],
    ['role.curator.vaultMarketListingSave', { vaultAddress, marketAddress: at('btcMarket'), listed: true }],
    [
      'role.asset_issuer.assetSubmissionRequestCreate',
      {
        assetAddress: vaultAddress,
        name: 'Sandbox Partner Vault',
        symbol: 'svPartner',
        decimals,
        issuerName: 'Anna',
        website: 'https://a.example',
        topCategory: 'vault shares',
      },
    ],
    [
      'role.lender.investorRequestRedeem',
      { vaultAddress, shares: String(queued), receiverAddress: investor },
    ],
    ['role.lender.investorFulfillRedeem', { vaultAddress, requestId: '1' }],
    [
      'role.lender.vaultShareMobilityInvestorAction',
      {
        vaultAddress,
        action: 'transfer',
        recipientAddress: partner,
        shares: String(queued),
      },
    ],
  ])
}

/** All that a person submits and no agent decides. */
const BY_HAND = SERVICE_TYPES.filter(
  (type) =>
    HAND_ROLES.some((role) => role === agentRoleOf(type)) ||
    type === 'role.vault_manager.partnerChannelDeploy',
)

beforeAll(async () => {
  directory = sandboxDirectory()
  sandbox = await startTestSandbox(directory)
})
afterEach(rest)
afterAll(async () => {
  await sandbox?.stop()
  removeDirectory(directory)
})

/** What charges a vault's fees first: in turn, as its gas is what is due when it lands, and not what was due behind another. */
const CHARGES = /Allocate$|Deallocate$|ReallocationBatch$|Fee|Wrapper|Redeem$|MobilityInvestorAction$/

const carry = async (...more: string[]) => {
  const given = [...(await inputs())]
  expect(given.map(([type]) => type).toSorted()).toEqual(BY_HAND.toSorted())
  const ends = new Map<WorkflowType, string>()
  const end = async ([type, input]: readonly [WorkflowType, ProposalInput]) =>
    ends.set(type, await submit(type, input, ...more))
  const charging = given.filter(([type]) => more.length === 0 && CHARGES.test(type))
  await Promise.all(given.filter((each) => !charging.includes(each)).map(end))
  const inTurn = [...Map.groupBy(charging, ([type]) => agentRoleOf(type)).values()].map(async (ofRole) => {
    for (const each of ofRole) await end(each)
  })
  await Promise.all(inTurn)
  return Object.fromEntries(ends)
}
const all = (endOf: (type: WorkflowType) => string) =>
  Object.fromEntries(BY_HAND.map((type) => [type, endOf(type)]))

inOrder('one keeper and thirty types', () => {
  it('says of each of thirty types in shadow what would come of it: no signature, no nonce, nothing saved', async () => {
    await setStage()
    const before = { signed: signatures(), nonces: await nonces(), saved: saved() }
    await begin('shadow')
    // All at once: what the service says may be blocks behind by the time it is judged.
    await sandbox.mineEvery(4)
    expect(await carry('--shadow')).toEqual(
      all((type) => (isMetadata(type) ? 'refused: shadow_no_prepare' : 'shadowed')),
    )
    await sandbox.mineEvery(1)
    await rest()
    expect({ signed: signatures(), nonces: await nonces(), saved: saved() }).toEqual(before)
  })

  it('carries each of the thirty to success', async () => {
    await begin('live')
    const ends = await carry()
    expect(ends).toEqual(all(() => 'succeeded'))
    expect(BY_HAND).toHaveLength(30)
  })
})
