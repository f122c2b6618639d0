import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { priceOracleAbi } from '../../sandbox/contracts/abis.ts'
import { readSqliteJournal } from '../../src/journal/sqlite.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { BTC } from '../sandbox/indexer/scene.ts'
import {
  createKeeperScene,
  ENVIRONMENT,
  type KeeperScene,
  reached,
  startTestKeeper,
  type TestKeeper,
} from '../support/keeper-scene.ts'

let world: KeeperScene
let running: TestKeeper | undefined

beforeAll(async () => {
  world = await createKeeperScene()
})
afterEach(async () => {
  await running?.keeper.stop({ drainMs: 0 })
  running = undefined
})
afterAll(() => world.stop())

const inMode = (mode: 'live' | 'shadow') => {
  const agents = world.config().agents.map(({ role, policy, signer }) => ({
    ...{ role, mode, policy },
    signer: signer.kind === 'kms' ? { kms: { keyId: signer.keyId, address: signer.address } } : {},
  }))
  return world.config({ agents })
}
const underWater = () =>
  world.quickly(async () => {
    await world.scene.price(BTC, '60000')
    const borrower = await world.openBorrower()
    await world.scene.price(BTC, '47000')
    return borrower
  })
const about = (borrower: Address, state: string) => (event: Parameters<ReturnType<typeof reached>>[0]) =>
  event.type === 'workflow' && event.subject.endsWith(borrower.toLowerCase()) && reached(state)(event)
const shadowedOf = async (borrower: Address): Promise<Workflow | undefined> => {
  const journal = readSqliteJournal(world.config().directory)
  const rows = await journal.shadowed()
  await journal.close()
  return rows.find(({ proposal }) => proposal.subject.endsWith(borrower.toLowerCase()))
}
/** What the service's audit log holds of changes, newest first. */
const audited = async () => {
  const url = `${world.service.url}/v1/audit-log?limit=100`
  const answer = await fetch(url, { headers: { authorization: `Bearer ${ENVIRONMENT.TEST_SECRET_KEY}` } })
  const { items } = (await answer.json()) as { items: readonly { action: string }[] }
  return items.map(({ action }) => action)
}

it('does everything up to the signature, changes nothing, and says what it would have gained', async () => {
  const borrower = await underWater()
  const { client } = world.scene
  const before = await client.getTransactionCount({ address: world.signer })
  const keeper = await startTestKeeper(inMode('shadow'))
  running = keeper
  const ended = await keeper.until(about(borrower, 'shadowed'))
  expect(ended).toMatchObject({ check: 'won' })
  expect(keeper.events.flatMap((event) => (event.type === 'workflow' ? [event.state] : []))).toEqual([
    'discovered',
    'requested',
    'prepared',
    'attested',
    'cleared',
    'shadowed',
  ])
  expect(keeper.keeper.summary().workflows.liquidator).toMatchObject({ shadowed: 1, succeeded: 0 })
  const metrics = await (await fetch(`${opsUrl(keeper)}/metrics`)).text()
  expect(metrics).toContain('rolekeeper_shadow_verdicts_total{role="liquidator",verdict="won"} 1')
  await keeper.keeper.stop({ drainMs: 0 })
  const workflow = await shadowedOf(borrower)
  expect(workflow).toMatchObject({ shadow: true, slots: [], shadowed: { ask: null } })
  expect(workflow?.shadowed?.calls.map((call) => call.split('(')[0]?.slice(43))).toEqual([
    'approve',
    'liquidate',
  ])
  expect(world.kms.calls()).toEqual([])
  expect(new Set(await audited())).toEqual(new Set(['prepareWorkflow', 'createStreamToken']))
  expect(await client.getTransactionCount({ address: world.signer })).toBe(before)
})

it('calls contested what the very next block took', async () => {
  const borrower = await underWater()
  const { client, deployment, at } = world.scene
  const keeper = await startTestKeeper(inMode('shadow'))
  running = keeper
  await client.setIntervalMining({ interval: 0 })
  await keeper.until(about(borrower, 'cleared'))
  const { timestamp } = await client.getBlock()
  await client.writeContract({
    chain: null,
    address: at(BTC.oracle),
    abi: priceOracleAbi,
    account: deployment.admin,
    functionName: 'setPrice',
    args: [60_000n * 10n ** 18n, timestamp],
    gas: 200_000n,
  })
  await client.mine({ blocks: 1 })
  const ended = await keeper.until(about(borrower, 'shadowed'))
  expect(ended).toMatchObject({ check: 'contested' })
  await client.setIntervalMining({ interval: 1 })
})

it('does not do again in shadow what it did, and does it live', async () => {
  const borrower = await underWater()
  running = await startTestKeeper(inMode('shadow'))
  await running.until(about(borrower, 'shadowed'))
  await running.keeper.stop({ drainMs: 0 })
  running = await startTestKeeper(inMode('shadow'))
  await running.until(({ type }) => type === 'decision')
  expect(running.events.some(about(borrower, 'discovered'))).toBe(false)
  await running.keeper.stop({ drainMs: 0 })
  running = await startTestKeeper(inMode('live'))
  await running.until(about(borrower, 'in_flight'))
  await running.keeper.stop({ drainMs: 0 })
  await expect(startTestKeeper(inMode('shadow'))).rejects.toMatchObject({ code: 'role.left_live' })
})

const opsUrl = ({ events }: TestKeeper) =>
  events.flatMap((event) => (event.type === 'ready' ? [event.opsUrl] : []))[0] ?? ''
