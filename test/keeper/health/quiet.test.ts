import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEther } from 'viem'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { createFacets } from '../../../src/keeper/health/facets.ts'
import { budgetFinding } from '../../../src/keeper/health/findings/duty.ts'
import { readUsed } from '../../../src/keeper/health/limit-use.ts'
import type { KeeperEvent } from '../../../src/ops/events.ts'
import { createKeeperScene, type KeeperScene } from '../../support/keeper-scene.ts'
import { policyOfOneOracle } from '../../support/policies.ts'
import { until as holds } from '../../support/until.ts'

let scene: KeeperScene
beforeAll(async () => {
  scene = await createKeeperScene(1)
})
afterEach(async () => {
  await scene.rest()
  rmSync(stateOf(), { recursive: true, force: true })
})
afterAll(() => scene.stop())

const TYPE = 'role.liquidator.liquidate'
const stateOf = () => join(scene.directory, 'state')
/** The journal of the state directory, with these reservations in it. */
async function journalWith(reservations: ReturnType<typeof lost>) {
  mkdirSync(stateOf(), { recursive: true })
  const journal = openSqliteJournal(stateOf())
  for (const reservation of reservations) await journal.settle(reservation)
  await journal.barrier()
  return journal
}
/** Twenty lost races, as five minutes beside rivals bring them, the first at a time. */
const lost = (firstAtMs: number) =>
  Array.from({ length: 20 }, (_, index) => ({
    workflowId: `lost ${index}`,
    role: 'liquidator' as const,
    workflowType: 'role.liquidator.liquidate' as const,
    signer: scene.signer,
    atMs: firstAtMs + index * 15_000,
    usdMicros: 0n,
    gasWei: 1n,
    reverted: true,
  }))
const policyOf20 = () => {
  const { limits, ...policy } = policyOfOneOracle()
  const perHour = { movedMax: '2,000,000 USD', gasMax: '2 ETH', revertsMax: '20' }
  const file = join(scene.directory, 'twenty.yaml')
  writeFileSync(
    file,
    stringify({ ...policy, limits: { ...Object(limits), perHour } }, { defaultStringType: 'QUOTE_DOUBLE' }),
  )
  return file
}
const facetIs = (facet: string, code: string) => (event: KeeperEvent) =>
  event.type === 'facet' && event.facet === facet && event.about === 'liquidator' && event.code === code
const alarmIs = (code: string) => (event: KeeperEvent) => event.type === 'alarm' && event.code === code

it('says within seconds that lost races spent the hour, which budget, until when and what to do', async () => {
  const firstAtMs = Date.now() - 310_000
  await (await journalWith(lost(firstAtMs))).close()
  const { until, page } = await scene.start({ agents: [scene.liquidator({ policy: policyOf20() })] })
  const said = await until(facetIs('budget', 'budget.spent'))
  const freesAt = new Date(firstAtMs + 3_600_000).toISOString()
  expect(said).toMatchObject({
    state: 'failing',
    message: `The liquidator has used 20 of 20 reverts of ${TYPE} (reverts_per_hour); 0 are left, and some of it is free again at ${freesAt}.`,
    fix: expect.stringContaining('raise limits.perHour.revertsMax'),
  })
  expect(await until(alarmIs('budget.spent'))).toMatchObject({
    message: expect.stringContaining('liquidator'),
  })
  // At first what is missing is the first look at the service.
  const unready = { ready: false, cause: 'budget/liquidator' }
  await holds(async () => expect(JSON.parse(await page('/readyz'))).toMatchObject(unready))

  // What it leaves alone for that is late after a minute; its rule is named at once.
  const borrower = await scene.openUnderWater()
  const left = await until(
    (event) =>
      event.type === 'workflow' &&
      event.state === 'refused' &&
      event.subject.includes(borrower.toLowerCase()),
  )
  expect(left).toMatchObject({ check: 'limit_hour_reverts' })
  expect(await scene.liquidated(borrower)).toEqual([])
})

it('says that the budget is free again once the first revert is an hour old', async () => {
  const journal = await journalWith(lost(1_000_000))
  const world = { nowMs: 2_000_000 }
  const events: KeeperEvent[] = []
  const perHour = { usdMicrosMax: 1n, gasWeiMax: 1_000n, revertsMax: 20 }
  const limits = { perHour, perDay: { ...perHour, revertsMax: 100 } }
  const worker = {
    vitals: { counts: () => true, limits },
    duties: () => ({ budgets: [] }),
  } as unknown as Parameters<Awaited<ReturnType<typeof readUsed>>['statesOf']>[1][number]
  let states = (await readUsed(journal, undefined, world.nowMs)).statesOf('liquidator', [worker])
  const facets = createFacets({
    find: () => [budgetFinding('liquidator', states, new Set())],
    clock: { nowMs: () => world.nowMs, monotonicMs: () => world.nowMs },
    log: { info: () => undefined, warn: () => undefined },
    reports: { emit: (event) => events.push(event), alarm: () => undefined },
  })
  const lookAt = async (nowMs: number) => {
    world.nowMs = nowMs
    states = (await readUsed(journal, undefined, nowMs)).statesOf('liquidator', [worker])
    facets.look()
  }
  for (const nowMs of [2_000_000, 2_003_000, 4_599_999]) await lookAt(nowMs)
  expect(events).toMatchObject([
    { code: 'budget.spent', message: expect.stringContaining('1970-01-01T01:16:40.000Z') },
  ])
  for (const nowMs of [4_600_000, 4_603_000]) await lookAt(nowMs)
  expect(events.slice(1), 'nineteen of twenty').toMatchObject([{ code: 'budget.nearly_spent' }])
  for (const nowMs of [4_720_000, 4_723_000]) await lookAt(nowMs)
  expect(events.slice(2)).toMatchObject([{ state: 'ok', code: 'ok' }])
  await journal.close()
})

it('says within seconds of the start whose signer has no gas, and for how many workflows', async () => {
  const { client } = scene.scene
  await client.setBalance({ address: scene.signer, value: parseEther('0.4') })
  const { until } = await scene.start()
  const said = await until(facetIs('gas', 'signer.low_balance'))
  expect(said).toMatchObject({ fix: expect.stringContaining('send it native coins') })
  expect(said.type === 'facet' && said.message).toMatch(
    new RegExp(
      `^The liquidator's signer ${scene.signer} holds 0\\.[34]\\d* ETH, the gas of 1 workflows at the policy's most of 0.3 ETH`,
      'i',
    ),
  )
  expect(await until(alarmIs('signer.low_balance'))).toMatchObject({
    message: expect.stringContaining("The liquidator's signer"),
  })
  await client.setBalance({ address: scene.signer, value: parseEther('100') })
  expect(await until((event) => facetIs('gas', 'ok')(event))).toMatchObject({ state: 'ok' })
})
