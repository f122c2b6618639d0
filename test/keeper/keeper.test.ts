import { createHmac, randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { parseDocument } from 'yaml'
import { assetAbi } from '../../sandbox/contracts/abis.ts'
import { keeperAt } from '../../src/journal/directory/presence.ts'
import { readSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { setControl } from '../../src/ops/control.ts'
import { BTC, usd } from '../sandbox/indexer/scene.ts'
import { inOrder } from '../support/in-order.ts'
import {
  createKeeperScene,
  ENVIRONMENT,
  type KeeperScene,
  liquidationOf,
  reached,
} from '../support/keeper-scene.ts'
import { freePort } from '../support/loopback.ts'

let world: KeeperScene

beforeAll(async () => {
  world = await createKeeperScene()
})
afterEach(async () => {
  await world.rest()
  world.service.setFault({})
})
afterAll(() => world.stop())

/** Open a borrower, push it under water, and start a keeper that finds it. */
async function underWater() {
  const borrower = await world.openUnderWater()
  return { borrower, keeper: await world.start(), is: liquidationOf(borrower) }
}

const allowance = () =>
  world.scene.client.readContract({
    address: world.scene.at('sUSD'),
    abi: assetAbi,
    functionName: 'allowance',
    args: [world.signer, world.scene.at(BTC.market)],
  })
/** What the KMS was asked to sign after its first `past` calls but for wallet sessions: the workflow's kind, or the ledger's. */
async function signedSince(past: number): Promise<readonly string[]> {
  const journal = readSqliteJournal(world.config().directory)
  const digests = world.kms
    .calls()
    .slice(past)
    .flatMap(({ operation, digest }) => (operation === 'Sign' ? [digest] : []))
  const kinds = await Promise.all(
    digests.map(async (digest) => {
      const entry = await journal.ledgerEntry(`0x${digest}`, world.signer)
      const workflow = await journal.get(entry?.workflowId ?? '')
      return workflow?.proposal.kind ?? entry?.kind ?? 'not in the ledger'
    }),
  )
  await journal.close()
  return kinds.filter((kind) => kind !== 'challenge')
}

inOrder('a keeper on one chain', () => {
  it('carries a liquidation and its settlement to final success, and says what was gained', async () => {
    const { borrower, keeper, is } = await underWater()
    await keeper.until(is('succeeded'))
    await keeper.until(reached('succeeded', 'role.liquidator.settleLiquidationClaim'))
    const states = keeper.events.flatMap((event) =>
      event.type === 'workflow' && event.subject.endsWith(borrower.toLowerCase()) ? [event.state] : [],
    )
    expect(states).toEqual([
      'discovered',
      'requested',
      'prepared',
      'attested',
      'cleared',
      'in_flight',
      'confirmed',
      'succeeded',
    ])
    const gain = await keeper.until(({ type }) => type === 'gain')
    expect(gain).toMatchObject({ paid: expect.stringMatching(/^20,000(?:\.00)? sUSD$/), marked: true })
    expect(await world.liquidated(borrower)).toHaveLength(1)
    expect(await allowance()).toBe(0n)
  })

  it('signs nothing while killed, goes on when that is taken back, and tells of both', async () => {
    const { directory } = world.config()
    const by = 'anna@ops-1'
    setControl(directory, 'kill', true, { by, reason: 'a bad oracle' })
    const past = world.kms.calls().length
    const { borrower, keeper, is } = await underWater()
    await keeper.until(({ type }) => type === 'decision')
    expect(keeper.events.some(is('discovered'))).toBe(false)
    expect(await signedSince(past)).toEqual([])
    expect(keeperAt(directory)).toMatchObject({ state: 'running', now: { roles: ['liquidator'] } })
    setControl(directory, 'kill', false, { by })
    const controls = () => keeper.events.filter(({ type }) => type === 'control')
    await keeper.until((event) => event.type === 'control' && event.verb === 'unkill')
    expect(controls()).toMatchObject([
      { verb: 'kill', by, reason: 'a bad oracle' },
      { verb: 'unkill', by, reason: null },
    ])
    await keeper.until(is('succeeded'))
    expect(await world.liquidated(borrower)).toHaveLength(1)
  })

  it('revokes the approval that a lost race leaves behind', async () => {
    const { borrower, keeper, is } = await underWater()
    await world.mineEvery(0)
    await keeper.untilSlot(is('in_flight'), 'sent')
    // In the block that holds our transactions, before them.
    await world.recoverInNextBlock()
    await world.mineEvery(1)
    const ended = await keeper.until(is('reverted'))
    expect(ended).toMatchObject({
      check: 'reverted_on_chain',
      message: expect.stringContaining('nobody else liquidated the borrower since block '),
    })
    expect(await world.liquidated(borrower)).toHaveLength(0)
    expect(await allowance()).toBe(0n)
  })

  it('survives a reorg of the block that it landed in', async () => {
    const { borrower, keeper, is } = await underWater()
    await keeper.until(is('cleared'))
    // One block holds it, and none follows that would make it final.
    await world.mineEvery(0)
    await keeper.untilSlot(is('in_flight'), 'sent')
    await world.scene.client.mine({ blocks: 1 })
    await keeper.untilSlot(is('in_flight'), 'mined')
    await world.scene.rpc('anvil_reorg', 1, [])
    await world.mineEvery(1)
    await keeper.until(is('succeeded'))
    expect(await world.liquidated(borrower)).toHaveLength(1)
  })

  describe('a service that turns hostile', () => {
    it.each([
      ['foreign_target', 'target_not_allowed'],
      ['larger_approval', 'approval_unlimited'],
      ['changed_recipient', 'parameter_recipient'],
      ['foreign_spender', 'approval_spender'],
      ['native_value', 'value_above_cap'],
      ['trailing_bytes', 'calldata_not_canonical'],
      ['extra_intent', 'sequence_mismatch'],
    ] as const)('with a %s is refused with %s, and the KMS signs nothing of it', async (hostile, check) => {
      world.service.setFault({ hostile })
      const past = world.kms.calls().length
      const { borrower, keeper, is } = await underWater()
      const refused = await keeper.until(is('refused'))
      expect(refused).toMatchObject({ check })
      // The claim of an earlier liquidation may be settled meanwhile.
      expect((await signedSince(past)).filter((kind) => kind !== 'settle')).toEqual([])
      expect(await world.liquidated(borrower)).toHaveLength(0)
    })
  })

  it('does not start on another chain; with nothing in flight nor with another key, or beside other code', async () => {
    const { chain, deployment } = world.config()
    const nodes = { read: [world.scene.chain.rpcUrl], send: [world.scene.chain.rpcUrl] }
    const wrong = (changes: Readonly<Record<string, unknown>>) =>
      world.start({ directory: join(world.directory, randomUUID()), ...changes })
    await expect(wrong({ chain: { id: '1', finality: 'finalized', nodes } })).rejects.toMatchObject({
      code: 'node.wrong_chain',
    })
    const [market, ...others] = deployment.markets
    const codeHash = `0x${'11'.repeat(32)}`
    const text = JSON.stringify({ ...deployment, markets: [{ ...market, codeHash }, ...others] })
    const strings = JSON.parse(text, (_key, value) => (typeof value === 'number' ? String(value) : value))
    await expect(wrong({ deployment: strings })).rejects.toMatchObject({ code: 'deployment.code_changed' })
    const signer = { kms: { keyId: world.kms.keys[0]?.arn, address: `0x${'22'.repeat(20)}` } }
    await expect(wrong({ agents: [world.liquidator({ signer })] })).rejects.toMatchObject({
      code: 'kms.wrong_key',
    })
    expect(chain.id).toBe(world.scene.chain.chainId)
  })

  it('refuses a second keeper on its directory', async () => {
    await world.start()
    await expect(world.start()).rejects.toMatchObject({ code: 'journal.locked' })
  })

  it('says so when it has too little to repay', async () => {
    const { client, at, deployment } = world.scene
    const token = { chain: null, address: at('sUSD'), abi: assetAbi } as const
    const balance = await client.readContract({ ...token, functionName: 'balanceOf', args: [world.signer] })
    await client.impersonateAccount({ address: world.signer })
    // While no keeper runs: its nonces are its own.
    const send = { ...token, account: world.signer, functionName: 'transfer' } as const
    await world.quickly(() =>
      client.writeContractSync({ ...send, args: [deployment.admin, balance - usd('1')] }),
    )
    const { borrower, keeper } = await underWater()
    await keeper.until((event) => event.type === 'health' && event.subject.endsWith(borrower.toLowerCase()))
    await world.rest()
    const journal = readSqliteJournal(world.config().directory)
    const [decision] = await journal.decisions(borrower, 1)
    await journal.close()
    expect(decision).toMatchObject({ check: 'out_of_funds' })
    expect(await world.liquidated(borrower)).toHaveLength(0)
  })

  it('takes webhook deliveries while it runs, counts them, and none afterwards', async () => {
    const port = await freePort()
    const webhook = {
      host: '127.0.0.1',
      port: String(port),
      path: '/hooks',
      secrets: ['env:TEST_SECRET_KEY'],
    }
    const keeper = await world.start({
      service: { url: world.service.url, secretKey: 'env:TEST_SECRET_KEY', webhook },
    })
    const body = JSON.stringify({
      id: 'evt_hook',
      type: 'positions.updated',
      schemaVersion: 1,
      occurredAt: '2026-01-01T00:00:00Z',
      subject: 'nobody',
      data: {},
    })
    const t = Math.floor(Date.now() / 1_000)
    const v1 = createHmac('sha256', ENVIRONMENT.TEST_SECRET_KEY).update(`${t}.d.${body}`).digest('hex')
    const headers = { 'svc-signature': `t=${t},v1=${v1}`, 'svc-delivery-id': 'd' }
    const send = () => fetch(`http://127.0.0.1:${port}/hooks`, { method: 'POST', headers, body })
    expect((await send()).status).toBe(204)
    expect(await keeper.page('/metrics')).toContain('rolekeeper_webhook_requests_total{outcome="taken"} 1')
    await world.rest()
    await expect(send()).rejects.toThrow()
  })

  it('works by a narrower policy from the next decision on, without a restart', async () => {
    const keeper = await world.start()
    const file = join(world.directory, 'liquidator.yaml')
    const before = readFileSync(file)
    const narrower = parseDocument(String(before))
    narrower.setIn(['strategy', 'profitMin'], '90,000 USD')
    const { length: past } = keeper.events
    try {
      writeFileSync(file, String(narrower))
      await keeper.until((event) => event.type === 'role' && event.state === 'up')
      const borrower = await world.openUnderWater()
      await keeper.until(
        (event) => event.type === 'decision' && event.passedOver > 0 && keeper.events.indexOf(event) > past,
      )
      const opened = keeper.events.filter((event) => event.type === 'workflow')
      expect(opened.filter(({ subject }) => subject.endsWith(borrower.toLowerCase()))).toEqual([])
    } finally {
      writeFileSync(file, before)
    }
  })
})
