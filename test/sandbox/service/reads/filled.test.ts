import { readFileSync } from 'node:fs'
import { createPublicClient, encodeFunctionData, type Hex, http } from 'viem'
import { privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { TO_CHAIN } from '../../../../sandbox/chain/to-chain.ts'
import { lendingVaultAbi, navOracleAbi } from '../../../../sandbox/contracts/abis.ts'
import { CREDENTIAL_HEADERS, oracleResource } from '../../../../src/service/contract/assumptions.ts'
import * as directory from '../../../../src/service/contract/directory-resources.ts'
import { fundResource } from '../../../../src/service/contract/fund-resources.ts'
import * as resources from '../../../../src/service/contract/resources.ts'
import { vaultResource } from '../../../../src/service/contract/vault-resources.ts'
import {
  walletChallenge,
  walletSession,
} from '../../../../src/service/contract/wallet-session-assumptions.ts'
import {
  removeDirectory,
  sandboxDirectory,
  startTestSandbox,
  type TestSandbox,
} from '../../../support/sandbox.ts'
import { type NavReport, navReportTypes, word } from '../../fund-world.ts'
import { newKey } from '../fixture.ts'

/** The collections that contracts or records fill, each with what the document says of its rows. */
const COLLECTIONS: Readonly<Record<string, z.ZodObject>> = {
  activity: resources.activityResource,
  assets: resources.assetResource,
  'credit-facilities': resources.creditFacilityResource,
  deployments: directory.deploymentResource,
  eligibility: resources.eligibilityResource,
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

/** The page that says what is empty, and why. */
const PAGE = readFileSync('docs/empty-fields.md', 'utf8')

/** The fields of the table below a heading of the page; each row has a reason. */
function fieldsBelow(heading: string): readonly string[] {
  const [, section = ''] = PAGE.split(`## ${heading}\n`)
  const [table = ''] = section.split('\n## ')
  return table.split('\n').flatMap((line) => {
    const [, fields = '', reason = ''] = line.split('|')
    const named = [...fields.matchAll(/`([^`]+)`/g)].map(([, field = '']) => field)
    if (named.length > 0) expect(reason.trim(), fields).not.toBe('')
    return named
  })
}

const folder = sandboxDirectory()
let sandbox: TestSandbox
/** Of a liquidator: a wallet reads its own eligibility and no other. */
let session: Readonly<Record<string, string>>
beforeAll(async () => {
  sandbox = await startTestSandbox(folder)
  await live(sandbox)
  await report(sandbox)
  session = await prove(sandbox.keys.roles.liquidator.privateKey)
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

/** Report the value of all that has one, as the reporter does. */
async function report({ chain, canonical, deployment, keys, transactions, until }: TestSandbox) {
  const client = createPublicClient({ transport: http(chain.rpcUrl, TO_CHAIN), cacheTime: 0 })
  const reporter = privateKeyToAccount(keys.roles['nav-reporter'].privateKey)
  const { timestamp } = await client.getBlock()
  const { navOracles } = canonical.snapshot()
  const calls = [...navOracles].map(async ([verifyingContract, asset]) => {
    const message: NavReport = {
      asset,
      reportType: word('nav'),
      value: 10n ** 18n,
      decimals: 18,
      valuationTime: timestamp,
      revision: 0,
      revisionLabel: 'first',
      deadline: timestamp + 3_600n,
    }
    const signature = await reporter.signTypedData({
      domain: { name: 'NavOracle', version: '1', chainId: deployment.chainId, verifyingContract },
      types: navReportTypes,
      primaryType: 'NavReport',
      message,
    })
    const submit = { functionName: 'submitReport', args: [message, signature] } as const
    const data = encodeFunctionData({ abi: navOracleAbi, ...submit })
    return { from: keys.deployer, to: verifyingContract, data }
  })
  await transactions.send(await Promise.all(calls))
  await until(({ navReports }) => navReports.length === navOracles.size)
}

const page = z.object({ items: z.array(z.looseObject({ id: z.string().optional() })) })

async function read(path: string, body?: object): Promise<unknown> {
  const secret = { authorization: `Bearer ${sandbox.info.secretKey}` }
  const sent = { 'content-type': 'application/json', 'idempotency-key': newKey() }
  const headers = { ...secret, ...sent, ...(path === 'eligibility' ? session : {}) }
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${sandbox.info.serviceUrl}/v1/${path}`, { headers, ...init })
  expect(response.status, path).toBe(200)
  return response.json()
}

/** Prove a wallet by its key: the credentials of its session. */
async function prove(key: Hex): Promise<Readonly<Record<string, string>>> {
  const account = privateKeyToAccount(key)
  const asked = { address: account.address, chainId: sandbox.deployment.chainId }
  const { challengeId, message } = walletChallenge.parse(await read('wallet-sessions/challenges', asked))
  const proof = { challengeId, signature: await account.signMessage({ message }) }
  const confirmed = walletSession.parse(await read('wallet-sessions/confirm', proof))
  return { [CREDENTIAL_HEADERS.walletSession]: confirmed.session }
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
  expect(never.sort()).toEqual(fieldsBelow('In every row').toSorted())
  expect(sometimes.sort()).toEqual(fieldsBelow('In some rows').toSorted())
})
