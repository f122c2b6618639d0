import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { type Address, encodeFunctionData } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { lendingMarketAbi } from '../../sandbox/contracts/abis.ts'
import { readSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import type { KeeperEvent } from '../../src/ops/events.ts'
import { writeAnswer } from '../../src/ops/orders.ts'
import { isTerminal } from '../../src/workflow/workflow.ts'
import { runCommand } from '../support/commands.ts'
import { removeDirectory, sandboxDirectory, startTestSandbox, type TestSandbox } from '../support/sandbox.ts'
import { until, WAIT_MS_MAX } from '../support/until.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const POLICY = fileURLToPath(new URL('../../sandbox/policies/asset-manager.yaml', import.meta.url))
/** Whoever is given a right, a fee or the vault is one of the run configuration's signers. */
const STAFFED = ['asset-manager', 'vault-owner']
const BLOCKED: Address = `0x${'ab'.repeat(20)}`

/** Sixteen workflows one after the other, by as many processes. */
const RUN_MS_MAX = 10 * WAIT_MS_MAX

let sandbox: TestSandbox
let environment: Record<string, string | undefined>
let directory: string
let signers: Readonly<Record<string, Address>>

beforeAll(async () => {
  sandbox = await startTestSandbox(sandboxDirectory())
  environment = parseEnv(readFileSync(join(sandbox.directory, 'sandbox.env'), 'utf8'))
  directory = join(sandbox.directory, 'declared')
  mkdirSync(directory)
  signers = Object.fromEntries(
    Object.entries(sandbox.info.signers).map(([role, { address }]) => [role, address]),
  )
  writePolicy()
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await sandbox.stop()
  removeDirectory(sandbox.directory)
})

/** Every kind of setting, of a vault that is not there yet. */
function writePolicy(): void {
  const granted = (role: string) => [{ address: signers[role], granted: 'true' }]
  const exit = { exitTermKind: 'instant', notice: '0 s', interval: '0 s', maturityTimestamp: '0' }
  const vault = {
    name: 'Declared Vault',
    symbol: 'svDeclared',
    baseAsset: 'sUSD',
    owner: 'self',
    allocator: 'self',
  }
  const site = 'https://declared.example'
  const settings = {
    vault: 'svDeclared',
    baseAsset: 'sUSD',
    allowLoosening: 'true',
    newOwner: signers['vault-owner'],
    markets: [
      { market: 'btcMarket', absoluteCap: '1,000,000 sUSD', relativeCap: '50 %', allocationEnabled: 'true' },
    ],
    allocators: granted('vault-owner'),
    managers: granted('vault-owner'),
    curators: granted('asset-manager'),
    fees: { managementFee: '0.5 %', performanceFee: '5 %', recipient: 'self' },
    borrowerManagerFee: { fee: '5 %', recipient: signers['vault-owner'] },
    routing: ['btcMarket'],
    terms: {
      liquidityBuffer: '10 %',
      minDeposit: '100 sUSD',
      maxDeposit: '500,000 sUSD',
      exit: { ...exit, exitTermKind: 'notice', notice: '1 d' },
    },
    channels: [
      {
        channel: 'declaredChannel',
        name: 'Declared Channel',
        symbol: 'scDeclared',
        reseller: signers['vault-owner'],
        curator: 'self',
        shareClass: 'retail',
        cap: '100,000 sUSD',
        resellerFee: '0.5 %',
        borrowerFee: '1 %',
        blocked: [{ address: BLOCKED, blocked: 'true' }],
      },
    ],
    management: { managerName: 'Declared', website: site, logoUrl: `${site}/logo` },
    classification: { shareClass: 'retail', riskScore: '30' },
  }
  const declared = {
    vaults: [{ ...vault, liquidityBuffer: '20 %', ...exit }],
    funds: [],
    channelPolicies: [],
    mobility: [],
    vaultSettings: [settings],
  }
  const policy = { environment: 'sandbox', include: POLICY, strategy: { declared } }
  writeFileSync(
    join(directory, 'asset-manager.yaml'),
    stringify(policy, { defaultStringType: 'QUOTE_DOUBLE' }),
  )
}

/** An entry of a run configuration's deployment that a plan wrote. */
type Pin = {
  readonly list: 'vaults' | 'contracts'
  readonly name: string
  readonly address: Address
  readonly isOurs: boolean
}

/** Write the run configuration with what is pinned by now. @returns its path. */
function configFile(pins: readonly (Pin & { readonly codeHash: string })[]): string {
  const { console: _console, ...run } = parse(readFileSync(join(sandbox.directory, 'run.yaml'), 'utf8'))
  for (const { list, name, address, codeHash } of pins) run.deployment[list].push({ name, address, codeHash })
  const agents = run.agents
    .filter(({ role }: { role: string }) => STAFFED.includes(role))
    .map((agent: { role: string }) =>
      agent.role === 'asset-manager' ? { ...agent, policy: join(directory, 'asset-manager.yaml') } : agent,
    )
  const file = join(directory, 'run.yaml')
  const chain = { ...run.chain, finality: { confirmations: '1' } }
  writeFileSync(file, JSON.stringify({ ...run, chain, agents, directory: join(directory, 'state') }))
  return file
}

type Row = {
  readonly subject: string
  readonly check?: string
  readonly pin?: Pin & { readonly codeHash: string }
}
async function plan(file: string): Promise<{ readonly code: number; readonly rows: readonly Row[] }> {
  const { code, out, err } = await runCommand(['plan', '--config', file, '--json'], environment)
  expect(err).toBe('')
  return {
    code,
    rows: out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  }
}

const children: ChildProcess[] = []
/** What was told by all keepers together. */
const told: KeeperEvent[] = []

/** Where each step's keeper is killed: it just told so. */
const PLACES = ['discovered', 'held', 'requested', 'prepared', 'cleared', 'in_flight', 'confirmed'] as const
type Place = (typeof PLACES)[number]
/**
 * One workflow after the other: the first dies in the middle, and one death meets two, at what follows from the end of the one
 * before. Each of the two begins or ends in doubt, and a start is spared.
 */
const TURNS = PLACES.flatMap((place): readonly (Place | 'next')[] =>
  place === 'discovered' ? [] : [place, 'next', 'discovered'],
)
const placeOf = (event: KeeperEvent): string | null =>
  event.type === 'held' ? 'held' : event.type === 'workflow' ? event.state : null
/** The place at which each workflow's keeper dies. */
const deaths = new Map<string, Place | 'next'>()
/** Who met a death, and where. */
const died = new Map<string, string>()

/**
 * Run a keeper by a configuration until a workflow type succeeded, killed in each workflow's turn and started anew. Whoever is
 * asked approves.
 */
async function keep(file: string, untilType: string): Promise<void> {
  for (let isDone = false; !isDone; ) {
    const child = spawn(process.execPath, [MAIN, 'run', '--config', file, '--json'], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    children.push(child)
    const ended = once(child, 'exit')
    const lines = createInterface({ input: child.stdout ?? process.stdin })
    /** Succeeded a moment ago, and nothing was told since. */
    let last: string | null = null
    lines.on('line', (line) => {
      if (child.killed) return
      const event: KeeperEvent = JSON.parse(line)
      told.push(event)
      if (event.type === 'held') {
        const by = { user: 'test@sandbox' }
        writeAnswer(join(directory, 'state'), event.id, { verdict: 'approve', hash: event.hash, by })
      }
      const place = placeOf(event)
      if (place === null || (event.type !== 'held' && event.type !== 'workflow')) return
      isDone ||= event.type === 'workflow' && place === 'succeeded' && event.workflowType === untilType
      if (!deaths.has(event.id)) deaths.set(event.id, TURNS[deaths.size % TURNS.length] ?? 'held')
      const turn = deaths.get(event.id)
      // Some have no such place: what is saved at the service claims nothing, and not everything is held.
      const isEnd = place === 'succeeded' && (turn !== 'next' || isDone)
      const isHere = (turn === place || isEnd) && !died.has(event.id)
      if (isHere) died.set(event.id, place)
      if (isHere && last !== null) died.set(last, 'succeeded')
      last = place === 'succeeded' && !died.has(event.id) ? event.id : null
      if (isHere) child.kill('SIGKILL')
      else if (isDone) child.kill('SIGTERM')
    })
    await ended
  }
}

/**
 * Run a keeper once more, until nothing is under way: the end of what died as it told it may not be written. One whose start is
 * refused, as a node or the service did not answer in time, is started again, as whatever watches over it would.
 */
async function settle(file: string): Promise<void> {
  const start = () => {
    const child = spawn(process.execPath, [MAIN, 'run', '--config', file, '--json'], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    children.push(child)
    child.stderr?.on('data', (part: Buffer) => {
      log = `${log}${part}`.slice(-2_000)
    })
    return child
  }
  let log = ''
  let child = start()
  await until(async () => {
    if (child.exitCode !== null) child = start()
    const open = (await listed()).filter(({ state }) => !isTerminal(state))
    const named = open.map(({ state, hold, proposal }) => [proposal.workflowType, state, hold?.check])
    expect(named, log).toEqual([])
  })
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

async function listed() {
  const journal = readSqliteJournal(join(directory, 'state'))
  try {
    return await journal.list(1_000)
  } finally {
    await journal.close()
  }
}

it('is brought from nothing to all that is declared, through kill -9 in each step', {
  timeout: RUN_MS_MAX,
}, async () => {
  const { contracts } = sandbox.deployment
  const empty = configFile([])
  await keep(empty, 'role.asset_manager.vaultDeploy')
  const vault = (await plan(empty)).rows.find(({ check }) => check === 'vault_not_pinned')?.pin
  if (vault === undefined) throw new Error('the plan says which vault to pin')
  expect(vault).toMatchObject({ list: 'vaults', name: 'svDeclared', isOurs: true })

  // What others have to do: the market admits the vault, and the partner's application is approved.
  const addVault = encodeFunctionData({
    abi: lendingMarketAbi,
    functionName: 'addVault',
    args: [vault.address],
  })
  await sandbox.transactions.send([
    { from: sandbox.keys.deployer, to: contracts.btcMarket.address, data: addVault },
  ])
  approvePartner(vault.address)

  const known = configFile([vault])
  await keep(known, 'role.vault_manager.partnerChannelDeploy')
  const channel = (await plan(known)).rows.find(
    ({ check, pin }) => check === 'channel_not_pinned' && pin,
  )?.pin
  if (channel === undefined) throw new Error('the plan says which channel to pin')
  expect(channel).toMatchObject({ list: 'contracts', name: 'declaredChannel', isOurs: true })

  const whole = configFile([vault, channel])
  await keep(whole, 'role.vault_owner.vaultOwnerTransferUpdate')
  await settle(whole)
  const { code, rows } = await plan(whole)
  expect(rows.filter(({ check }) => check !== 'as_declared')).toEqual([])
  expect([code, rows.length]).toEqual([0, 14])

  // One effect for each step, and none of them was left alone by who killed it.
  const workflows = await listed()
  const done = workflows
    .filter(({ state }) => state === 'succeeded')
    .map(({ proposal }) => proposal.workflowType)
  expect(done.toSorted()).toEqual([
    'role.asset_manager.vaultDeploy',
    'role.curator.partnerChannelBlockedUpdate',
    'role.vault_manager.partnerChannelDeploy',
    'role.vault_owner.attachMarketToVault',
    'role.vault_owner.vaultAllocatorUpdate',
    'role.vault_owner.vaultCuratorCapsSettingsSave',
    'role.vault_owner.vaultCuratorFeeSettingsSave',
    'role.vault_owner.vaultFeeConfigUpdate',
    'role.vault_owner.vaultManagementSettingsSave',
    'role.vault_owner.vaultOwnerSettingsSave',
    'role.vault_owner.vaultOwnerTransferUpdate',
    'role.vault_owner.vaultRoleSettingsSave',
    'role.vault_owner.vaultRoleSettingsSave',
    'role.vault_owner.vaultRoutingUpdate',
    'role.vault_owner.vaultSettingsUpdate',
    'role.vault_owner.vaultSettingsUpdate',
  ])
  expect(died.size).toBe(workflows.length)
  expect([...died.values()]).toEqual(expect.arrayContaining([...PLACES]))
})

/** Leave the partner's application for a vault as its review does. */
function approvePartner(vault: Address): void {
  const db = new DatabaseSync(join(sandbox.directory, 'sandbox', 'service.sqlite'))
  const body = {
    vaultAddress: vault,
    partnerName: 'Partner',
    website: 'https://a.example',
    useCase: 'To offer it.',
  }
  db.prepare(
    'INSERT INTO service_records (kind, key, body, status, wallet, at_ms) VALUES (?, ?, ?, ?, ?, ?)',
  ).run(
    ...[
      'partner_application',
      `${vault}:${signers['vault-owner']}`.toLowerCase(),
      JSON.stringify(body),
      'approved',
    ],
    ...[signers['vault-owner']?.toLowerCase() ?? '', 0],
  )
  db.close()
}
