import { encodeFunctionData } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { lendingVaultAbi } from '../../../../sandbox/contracts/abis.ts'
import { oracleResource } from '../../../../src/service/contract/assumptions.ts'
import * as directory from '../../../../src/service/contract/directory-resources.ts'
import { fundResource } from '../../../../src/service/contract/fund-resources.ts'
import * as resources from '../../../../src/service/contract/resources.ts'
import { vaultResource } from '../../../../src/service/contract/vault-resources.ts'
import {
  removeDirectory,
  sandboxDirectory,
  startTestSandbox,
  type TestSandbox,
} from '../../../support/sandbox.ts'

/** The collections that contracts or records fill, each with what the document says of its rows. */
const COLLECTIONS: Readonly<Record<string, z.ZodObject>> = {
  activity: resources.activityResource,
  assets: resources.assetResource,
  'credit-facilities': resources.creditFacilityResource,
  deployments: directory.deploymentResource,
  entities: directory.entityResource,
  fees: directory.feeResource,
  funds: fundResource,
  'liquidation-recovery': resources.liquidationRecoveryResource,
  markets: resources.marketResource,
  networks: directory.networkResource,
  oracles: oracleResource,
  'partner-programs': directory.partnerProgramResource,
  positions: resources.positionResource,
  vaults: vaultResource,
  wrappers: directory.wrapperResource,
}

const because = (reason: string, paths: readonly string[]) =>
  Object.fromEntries(paths.map((path) => [path, reason]))

/** What is empty in every row, and why. */
const NEVER: Readonly<Record<string, string>> = {
  ...because('no workflow type carries it', [
    ...['assets', 'markets.collateralAsset', 'markets.loanAsset', 'vaults.baseAsset'].flatMap((at) => [
      `${at}.logoUrl`,
      `${at}.subcategory`,
    ]),
  ]),
  ...because('the epoch is open, and nothing is reserved in it', [
    ...['funds.currentEpoch', 'funds.epochs'].flatMap((at) => [
      `${at}.activeReservationId`,
      `${at}.activeScaleRay`,
      `${at}.closedAt`,
      `${at}.postCloseFundingDeadline`,
    ]),
  ]),
  ...because('the NAV reporter is a keeper, and none runs; what a fund holds is bought by one', [
    ...['funds.navAsOf', 'funds.navAssets', 'funds.sharePrice', 'funds.holdings'],
  ]),
  ...because('no vault pays its holders at the end of intervals or at a day', [
    ...['vaults.exitTerms', 'vaults.portfolioLiquidity'].flatMap((at) => [
      `${at}.intervalSeconds`,
      `${at}.maturityTimestamp`,
    ]),
  ]),
  ...because('nothing stands in the way', [
    'liquidation-recovery.blockedReason',
    'vaults.portfolioLiquidity.blockedReason',
    'vaults.shareMobility.redeemFreezeReason',
    'vaults.shareMobility.restoreAfter',
    'vaults.shareMobility.systemReason',
  ]),
  ...because('anyone may receive shares', ['vaults.shareMobility.trustedRecipientPolicy.recipients']),
  ...because('waits are measured, and nothing is estimated', ['vaults.publicMetrics.estimateModelVersion']),
  ...because('a vault has no yearly rate in its first minute', ['vaults.history.netApyBps']),
}

/** What is empty in some rows, and why. */
const SOMETIMES: Readonly<Record<string, string>> = {
  ...because('not all that happens has an amount', ['activity.amount']),
  ...because('one that NAVs are reported to belongs to no market, and nobody vouches for its reporter', [
    ...['oracles.marketId', 'oracles.sourceAsOf', 'oracles.priceWad', 'oracles.lastUpdated'],
  ]),
  ...because('only notice takes time', [
    'vaults.exitTerms.noticeSeconds',
    'vaults.portfolioLiquidity.noticeSeconds',
  ]),
  ...because('one deposit may be any amount', ['vaults.maxDepositAssets']),
  ...because('nobody has left the vault', [
    'vaults.publicMetrics.averageRedemptionSettlementSeconds',
    'vaults.publicMetrics.largestWithdrawal30dAssets',
    'vaults.publicMetrics.largestWithdrawal30dTimestampMs',
    'vaults.publicMetrics.largestWithdrawal30dTransactionHash',
    'vaults.publicMetrics.queueStatus.oldestRequestedAt',
    'vaults.shareMobility.redemptionQueue.requests',
  ]),
  ...because('the request waits', [
    'vaults.shareMobility.redemptionQueue.requests.paidAssets',
    'vaults.shareMobility.redemptionQueue.requests.paidAt',
    'vaults.shareMobility.redemptionQueue.requests.paidTransactionHash',
  ]),
}

const folder = sandboxDirectory()
let sandbox: TestSandbox
beforeAll(async () => {
  sandbox = await startTestSandbox(folder)
  await live(sandbox)
})
afterAll(async () => {
  await sandbox.stop()
  removeDirectory(folder)
})

/** A minute of the story: somebody borrows and falls under water, and one of three who leave a vault is paid later. */
async function live({ open, until, setPrice, keys, deployment, transactions, chain }: TestSandbox) {
  await open(0, 'btc', '10000', '60000')
  const investor = keys.roles.investor.privateKey
  const wallet = privateKeyToAddress(investor)
  const request = { functionName: 'requestWithdrawal', args: [10n ** 12n, wallet] } as const
  await transactions.send(
    [
      encodeFunctionData({
        abi: lendingVaultAbi,
        functionName: 'withdrawNow',
        args: [1n, wallet, 10n ** 12n],
      }),
      encodeFunctionData({ abi: lendingVaultAbi, ...request }),
      encodeFunctionData({ abi: lendingVaultAbi, ...request }),
      encodeFunctionData({ abi: lendingVaultAbi, functionName: 'claimWithdrawal', args: [1n] }),
    ].map((data) => ({ from: investor, to: deployment.contracts.ownedVault.address, data })),
  )
  const { block } = await until(({ facilities }) => facilities.some(({ debtAssets }) => debtAssets > 0n))
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'evm_increaseTime', params: [61] })
  await fetch(chain.rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  await until((snapshot) => snapshot.block.timestampS > block.timestampS + 60)
  await setPrice('btc', '55000')
  await until(({ recoveries }) => recoveries.length > 0)
}

const page = z.object({ items: z.array(z.looseObject({ id: z.string().optional() })) })

async function read(path: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${sandbox.info.secretKey}` }
  const response = await fetch(`${sandbox.info.serviceUrl}/v1/${path}`, { headers })
  expect(response.status, path).toBe(200)
  return response.json()
}

/** Read whole rows: of what has a detail, the detail. */
async function rowsOf(name: string): Promise<readonly unknown[]> {
  const { items } = page.parse(await read(name))
  const hasDetail = ['vaults', 'markets', 'funds'].includes(name)
  return hasDetail ? Promise.all(items.map(({ id }) => read(`${name}/${id}`))) : items
}

/** Name what the document shows below a value and the value has not, or has empty; places in lists are left out. */
function empties(value: unknown, schema: unknown, at: string): readonly string[] {
  if (value === null || value === undefined || value === '') return [at]
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return empties(value, schema.unwrap(), at)
  if (Array.isArray(value)) {
    const element = schema instanceof z.ZodArray ? schema.element : undefined
    return value.length === 0 ? [at] : value.flatMap((item) => empties(item, element, at))
  }
  if (typeof value !== 'object') return []
  const shape: Readonly<Record<string, unknown>> = schema instanceof z.ZodObject ? schema.shape : {}
  const members: Readonly<Record<string, unknown>> = { ...value }
  const names = [...new Set([...Object.keys(shape), ...Object.keys(members)])]
  return names.length === 0
    ? [at]
    : names.flatMap((name) => empties(members[name], shape[name], `${at}.${name}`))
}

it('no field that the contracts or the records can fill is empty in the default story', async () => {
  const [never, sometimes]: [string[], string[]] = [[], []]
  for (const [name, schema] of Object.entries(COLLECTIONS)) {
    const rows = await rowsOf(name)
    const ofRows = rows.map((row) => new Set(empties(row, schema, name)))
    const all = new Set(ofRows.flatMap((paths) => [...paths]))
    if (rows.length === 0) never.push(name)
    // What a freshness has not is that nothing is wrong.
    for (const path of [...all].filter((one) => !one.includes('.freshness'))) {
      if (ofRows.every((paths) => paths.has(path))) never.push(path)
      else sometimes.push(path)
    }
  }
  expect(never.sort()).toEqual(Object.keys(NEVER).sort())
  expect(sometimes.sort()).toEqual(Object.keys(SOMETIMES).sort())
})
