import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { readSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { inOrder } from '../support/in-order.ts'
import { createKeeperScene, ENVIRONMENT, type KeeperScene, liquidationOf } from '../support/keeper-scene.ts'

let world: KeeperScene

beforeAll(async () => {
  world = await createKeeperScene()
})
afterEach(() => world.rest())
afterAll(() => world.stop())

const startIn = (mode: 'live' | 'shadow') => world.start({ agents: [world.liquidator({ mode })] })
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

inOrder('a keeper in shadow', () => {
  it('does everything up to the signature, changes nothing, and says what it would have gained', async () => {
    const borrower = await world.openUnderWater()
    const { client } = world.scene
    const before = await client.getTransactionCount({ address: world.signer })
    const keeper = await startIn('shadow')
    const ended = await keeper.until(liquidationOf(borrower)('shadowed'))
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
    expect(await keeper.page('/metrics')).toContain(
      'rolekeeper_shadow_verdicts_total{role="liquidator",verdict="won"} 1',
    )
    await world.rest()
    const workflow = await shadowedOf(borrower)
    expect(workflow).toMatchObject({ shadow: true, slots: [], shadowed: { ask: null } })
    // What it repays goes, and the collateral that it seizes comes, in a claim: to be marked in an hour.
    const { came, mark } = workflow?.shadowed?.outcome ?? {}
    const [repaid, seized] = came?.assets ?? []
    expect([repaid?.token, seized?.token]).toEqual(
      [world.scene.at('sUSD'), world.scene.at('sBTC')].map((address) => address.toLowerCase()),
    )
    expect(repaid?.assets).toBe(-BigInt(String(workflow?.proposal.input.repayAssets)))
    expect(seized?.assets).toBeGreaterThan(0n)
    expect(mark).toBeUndefined()
    expect(workflow?.shadowed?.calls.map((call) => call.split('(')[0]?.slice(43))).toEqual([
      'approve',
      'liquidate',
    ])
    expect(world.kms.calls()).toEqual([])
    expect(new Set(await audited())).toEqual(new Set(['prepareWorkflow', 'createStreamToken']))
    expect(await client.getTransactionCount({ address: world.signer })).toBe(before)
  })

  it('calls contested what the very next block took', async () => {
    const borrower = await world.openUnderWater()
    const { client } = world.scene
    const keeper = await startIn('shadow')
    await world.mineEvery(0)
    await keeper.until(liquidationOf(borrower)('cleared'))
    await world.recoverInNextBlock()
    await client.mine({ blocks: 1 })
    const ended = await keeper.until(liquidationOf(borrower)('shadowed'))
    expect(ended).toMatchObject({ check: 'contested' })
    await world.mineEvery(1)
  })

  it('does not do again in shadow what it did, and does it live', async () => {
    const borrower = await world.openUnderWater()
    const first = await startIn('shadow')
    await first.until(liquidationOf(borrower)('shadowed'))
    await world.rest()
    const again = await startIn('shadow')
    await again.until(({ type }) => type === 'decision')
    expect(again.events.some(liquidationOf(borrower)('discovered'))).toBe(false)
    await world.rest()
    const live = await startIn('live')
    await live.until(liquidationOf(borrower)('in_flight'))
    await world.rest()
    await expect(startIn('shadow')).rejects.toMatchObject({ code: 'role.left_live' })
  })
})
