import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { testFile } from '../../../src/keeper/policy-tools/test-on-journal.ts'
import { move, type Workflow } from '../../../src/workflow/workflow.ts'
import {
  approve,
  bound,
  freeze,
  intent,
  LOAN,
  liquidate,
  liquidation,
  liquidationAnswer,
  liquidationArgs,
  MARKET,
  NOW_MS,
  REPAY,
  STRANGER,
} from '../../guard/fixtures.ts'
import { deployment } from '../../guard/kinds.ts'
import { runCommand } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'
import { startRedis, type TestRedis } from '../../support/redis.ts'
import { DURABLE, journalOf, newStore, takeSeat } from '../../support/redis-fleet.ts'
import { workflowOf } from '../../support/workflows.ts'

const directory = newDirectory()
const written = (name: string, text: string) => {
  writeFileSync(join(directory, name), text)
  return join(directory, name)
}
const ground = {
  environment: 'sandbox',
  chain: { id: '31337' },
  service: { assumptions: {} },
  deployment: {
    ...deployment,
    assets: deployment.assets.map((asset) => ({ ...asset, decimals: String(asset.decimals) })),
  },
}
const CONFIG = written('run.yaml', JSON.stringify({ ...ground, directory, agents: [] }))
let redis: TestRedis
/** A run configuration of a fleet, whose journal has the same. */
let fleetConfig: string
const shipped = readFileSync('policies/liquidator.yaml', 'utf8').replace(
  './shared/',
  `${process.cwd()}/policies/shared/`,
)

const stolen = {
  ...liquidationAnswer(),
  transactions: [
    intent(0, LOAN, approve(MARKET, REPAY)),
    intent(1, MARKET, liquidate({ ...liquidationArgs, recipient: STRANGER })),
  ],
}

/** An answer that was cleared, one that was refused, and one that nobody judged. */
async function fill(journal: Journal): Promise<void> {
  const { clearance: _clearance, ...blank } = workflowOf('discovered')
  const open = async (id: string, prepared: Partial<Workflow>) => {
    const identified = { id: id.repeat(32), opportunity: id.repeat(64), ...bound(liquidation) }
    const found: Workflow = { ...blank, ...identified, createdAtMs: NOW_MS }
    await journal.open(found)
    const requested = await journal.write(move(found, 'requested', NOW_MS))
    return journal.write(move(requested, 'prepared', NOW_MS, prepared))
  }
  await journal.write(
    move(await open('a', { prepared: freeze(liquidationAnswer()) }), 'attested', NOW_MS + 1),
  )
  const note = { check: 'parameter_recipient', message: 'recipient is another' }
  await journal.write(move(await open('b', { prepared: freeze(stolen) }), 'refused', NOW_MS + 1, { note }))
  await journal.write(move(await open('c', { prepared: freeze(stolen) }), 'expired', NOW_MS + 60_000))
  await journal.barrier()
}

beforeAll(async () => {
  const journal = openSqliteJournal(directory)
  await fill(journal)
  await journal.close()
  redis = await startRedis(DURABLE)
  const { store, config } = await newStore(redis.port)
  const { signer } = bound(liquidation)
  const inRedis = await journalOf(await takeSeat(store, signer), store)
  await fill(inRedis)
  // Two of the three have been moved to this instance's own machine.
  await inRedis.archiveSlice(NOW_MS + 100_000, 0)
  store.close()
  fleetConfig = written(
    'fleet.yaml',
    JSON.stringify({
      ...ground,
      directory: join(directory, 'another-machine'),
      chain: { id: '31337', nodes: { read: ['env:NOT_HERE'] } },
      journal: { redis: { url: `redis://127.0.0.1:${redis.port}/0` } },
      fleet: { name: config.fleet, instance: 'env:NOT_HERE', roster: ['one', 'two'], leaseMs: '1000' },
      agents: [
        {
          role: 'liquidator',
          mode: 'live',
          policy: 'none',
          signer: { kms: { keyId: 'none', address: signer } },
        },
      ],
    }),
  )
})
afterAll(() => redis.stop())

const tested = (text: string) =>
  testFile(written('policy.yaml', text), CONFIG, { place: { directory }, last: 1_000 })

it('says nothing of a policy that judges as the one did then', async () => {
  expect(await tested(shipped)).toEqual({
    role: 'liquidator',
    looked: 3,
    archives: [],
    types: [
      {
        workflowType: 'role.liquidator.liquidate',
        judged: 2,
        clearedBoth: 1,
        refusedBoth: 1,
        refusedNow: [],
        clearedNow: [],
      },
    ],
  })
})

it('says what a policy refuses that was cleared then, by the first check that does', async () => {
  const [type] = (
    await tested(
      shipped.replace('perWorkflow: { movedMax: "100,000 USD"', 'perWorkflow: { movedMax: "999 USD"'),
    )
  ).types
  expect(type?.refusedNow).toMatchObject([{ id: 'a'.repeat(32), check: 'limit_workflow_usd' }])
  expect(type).toMatchObject({ clearedBoth: 0, refusedBoth: 1, clearedNow: [] })
})

it('says what a policy clears that was refused then, by the check that did', async () => {
  const open = shipped.replace('recipient: { eq: $self }', `recipient: { in: [$self, "${STRANGER}"] }`)
  const [type] = (await tested(open)).types
  expect(type?.clearedNow).toMatchObject([{ id: 'b'.repeat(32), check: 'parameter_recipient' }])
  expect(type).toMatchObject({ clearedBoth: 1, refusedBoth: 0, refusedNow: [] })
})

it('is a command, whose exit code says whether anything differs', async () => {
  const test = (text: string, ...more: readonly string[]) =>
    runCommand(['policy', 'test', written('policy.yaml', text), '--config', CONFIG, ...more])
  expect(await test(shipped)).toMatchObject({ code: 0, err: '' })
  const { code, out } = await test(
    shipped.replace('{ eq: $input.repayAssets }', '{ eq: $input.repayAssets, max: "9" }'),
  )
  expect(code).toBe(1)
  expect(out).toContain(
    'cleared then, refused now: 1 by approval_not_exact\n      aaaaaaaa: Rule approve-repayment',
  )
  expect(await test(shipped, '--last', '0')).toMatchObject({ code: 2 })
})

it('judges what a fleet has in its Redis, and says whose machine has the rest', async () => {
  const test = (text: string, ...more: readonly string[]) =>
    runCommand(['policy', 'test', written('policy.yaml', text), '--config', fleetConfig, ...more])
  const { code, out, err } = await test(
    shipped.replace('{ eq: $input.repayAssets }', '{ eq: $input.repayAssets, max: "9" }'),
  )
  expect({ code, out, err }).toMatchObject({
    code: 1,
    err: 'What ended long ago is in the archives of one, each on its machine.\n',
    out: expect.stringContaining('cleared then, refused now: 1 by approval_not_exact\n      aaaaaaaa: Rule'),
  })
  // As many as were asked for: nothing is missing.
  expect(await test(shipped, '--last', '1')).toMatchObject({ code: 0, err: '' })
})
