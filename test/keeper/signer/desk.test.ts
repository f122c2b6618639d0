import type { Address, Hex } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MinedTransaction } from '../../../src/chain/nodes.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { approvalPolicy, compileApproval } from '../../../src/guard/approval/approval.ts'
import { createPersonKey, releaseText, signText } from '../../../src/guard/approval/person-key.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal, type SqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { createSignerDesk } from '../../../src/keeper/signer/desk.ts'
import { type Filling, fillNonce } from '../../../src/keeper/signer/fill-nonce.ts'
import { createReleases } from '../../../src/keeper/signer/release-quorum.ts'
import type { FeePolicy } from '../../../src/pipeline/transactions/fees.ts'
import {
  createSigners,
  forgottenNonces,
  hashOfReasons,
  type Signers,
} from '../../../src/pipeline/transactions/safe.ts'
import type { Inclusion } from '../../../src/workflow/slot.ts'
import { newDirectory } from '../../support/directory.ts'
import { attemptOf, MARKET, SIGNER, slotOf, TOKEN, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const TIP_MAX = 3_000_000_000n
const FEES: FeePolicy = {
  maxFeePerGasWei: 50_000_000_000n,
  gainShareBps: 5_000n,
  nativePriceUsdMicros: 1n,
  priorityFeePerGasWei: 1_000_000_000n,
  priorityFeePerGasWeiMax: TIP_MAX,
  baseFeeBps: 20_000n,
  bumpBps: 1_250n,
  bumpAfterBlocks: 3n,
}
const hash = (of: bigint | number) => `0x${of.toString(16).padStart(64, '0')}` as const
const headOf = (number: bigint) => ({
  number,
  hash: hash(number),
  parentHash: hash(number - 1n),
  timestampS: 1,
  baseFeePerGasWei: 1n,
})

const minedAs = (of: Hex, status: 'success' | 'reverted'): MinedTransaction => {
  const receipt = { hash: of, from: SIGNER, blockNumber: 95n, blockHash: hash(95), status, logs: [] }
  return {
    hash: of,
    from: SIGNER,
    nonce: 7,
    digest: null,
    maxFeePerGasWei: 1n,
    maxPriorityFeePerGasWei: 1n,
    receipt: { ...receipt, gasUsed: 1n, effectiveGasPriceWei: 1n },
  }
}

let journal: SqliteJournal
let signers: Signers
let alarms: unknown[]
beforeEach(async () => {
  journal = openSqliteJournal(newDirectory())
  await journal.adoptNonce(CHAIN, SIGNER, 7)
  alarms = []
  const alarm = ({ facts }: RolekeeperError) => alarms.push(facts.check)
  signers = await createSigners([SIGNER], { nowMs: () => 1, chainId: CHAIN, journal, alarm })
})
afterEach(() => journal.close())

const UNHELD = { note: { check: 'nonce_unheld', message: 'Nobody held it.' } }
const fill = (
  signer: Address,
  nonce: number,
  into: Pick<Journal, 'open' | 'claim' | 'byOpportunity' | 'get'>,
  filling: Filling = UNHELD,
) =>
  fillNonce(signer, nonce, filling, {
    nowMs: () => 5,
    chainId: CHAIN,
    baseFeePerGasWei: () => 1n,
    noopGas: () => 21_000n,
    journal: into,
    onFilled: () => {},
    fillerOf: () => ({ role: 'liquidator', workflowType: 'role.liquidator.liquidate', fees: FEES }),
  })

const createWorld = (
  addresses: readonly Address[] = [SIGNER],
  candidates: Parameters<typeof createReleases>[1] = [],
) => {
  const world = {
    finalized: 7,
    latest: 7,
    pending: 7,
    final: 90n,
    head: 100n,
    fails: false,
    allowance: 0n,
    stands: true,
    forgotten: 0,
    /** From where on a fork left what is final in doubt, and what has landed, by its hash. */
    forkedFrom: null as bigint | null,
    landed: new Map<string, 'success' | 'reverted'>(),
    /** What took nonce 7 in block 95, found by its nonce alone; nodes may have no state of blocks as old. */
    took: null as MinedTransaction | null,
    hasState: true,
  }
  const changed: string[] = []
  const desk = createSignerDesk({
    nodes: {
      chainId: CHAIN,
      head: async () => {
        if (world.fails) throw new RolekeeperError('node.quorum_missing', 'late', { retry: 'later' })
        return headOf(world.head)
      },
      finalized: async () => headOf(world.final),
      calls: async (calls) => calls.map(() => hash(world.allowance)),
      transaction: async (hashed) => {
        const status = world.landed.get(hashed)
        return status === undefined ? null : minedAs(hashed, status)
      },
      transactionCount: async (_signer, at) => {
        if (typeof at !== 'bigint')
          return at === 'pending' ? world.pending : at === hash(world.head) ? world.latest : world.finalized
        if (!world.hasState) throw new RolekeeperError('node.quorum_missing', 'no state', { retry: 'later' })
        return at >= 95n ? 8 : 7
      },
      block: async (number) => headOf(number),
      blockOf: async () => ({ head: headOf(95n), transactions: world.took === null ? [] : [world.took] }),
    },
    journal,
    signers,
    addresses,
    releases: createReleases(CHAIN, candidates),
    nowMs: () => 9,
    chain: {
      facts: () => ({
        head: headOf(world.head),
        finalized: world.final,
        forkedFrom: world.forkedFrom,
        count: world.latest,
        minedAt: () => undefined,
      }),
      stands: () => world.stands,
      forgetForks: async () => {
        world.forgotten += 1
      },
    },
    fill: (signer, nonce, filling) => fill(signer, nonce, journal, filling),
    onChanged: (_, { id, state }) => void changed.push(`${id} ${state}`),
  })
  const order = async (
    verb: 'fill' | 'cancel' | 'release' | 'resync',
    nonce?: number,
    signer: Address = SIGNER,
  ) => {
    const about = { verb, signer, ...(nonce === undefined ? {} : { nonce }) }
    return { would: await desk.take({ ...about, yes: false }), did: await desk.take({ ...about, yes: true }) }
  }
  return { world, desk, order, changed }
}
const checks = () => signers.reasonsOf(SIGNER).map(({ check }) => check)
const claim = async (
  nonce: number,
  state: 'open' | 'final' = 'open',
  block?: Pick<Inclusion, 'blockNumber' | 'blockHash'>,
) => {
  const id = `w${nonce}`
  await journal.open(workflowOf('cleared', { id, opportunity: id }))
  const landed = { hash: hash(nonce), purpose: 'payload', status: 'success', tokens: [] } as const
  const inclusion = block && { ...landed, ...block, gasUsed: 1n, effectiveGasPriceWei: 1n }
  const attempts = [attemptOf({ digest: hash(nonce) })]
  const slots = [slotOf({ nonce, state, attempts, ...(inclusion === undefined ? {} : { inclusion }) })]
  await journal.claim(workflowOf('in_flight', { id, opportunity: id, slots }), null)
  return id
}

describe('a signer whose chain and journal agree', () => {
  it('is not SAFE, also with transactions of its own on their way', async () => {
    const { world, desk } = createWorld()
    await claim(7)
    world.pending = 8
    await desk.look()
    expect(checks()).toEqual([])
  })

  it('is SAFE until it could be compared', async () => {
    const { world, desk } = createWorld()
    world.fails = true
    await desk.look()
    expect(checks()).toEqual(['not_compared'])
    world.fails = false
    await desk.look()
    expect(checks()).toEqual([])
  })
})

it('raises the alarm of a signer that is SAFE at each look, also when it was SAFE before the start', async () => {
  await journal.setValue(
    `safe:${CHAIN}:${SIGNER}`,
    JSON.stringify([{ check: 'watermark_missing', message: '', seen: '', toLeave: '', atMs: 1 }]),
  )
  const alarm = ({ facts }: RolekeeperError) => alarms.push(facts.check)
  signers = await createSigners([SIGNER], { nowMs: () => 2, chainId: CHAIN, journal, alarm })
  const { desk } = createWorld()
  await desk.look()
  await desk.look()
  expect(alarms).toEqual(['watermark_missing', 'watermark_missing'])
})

it('is SAFE as soon as somebody else has something pending, though it was compared long ago', async () => {
  const { world, desk } = createWorld()
  await desk.look()
  await desk.look()
  world.pending = 8
  await desk.look()
  // Pools are asked once at each head.
  expect(checks()).toEqual([])
  world.head = 101n
  await desk.look()
  expect(checks()).toEqual(['nonce_used_elsewhere'])
})

describe('a count above the journal’s', () => {
  it.each([
    ['latest', { latest: 1_000_000 }],
    ['pending', { pending: 8 }],
  ])('(%s) is SAFE, is not adopted, and is over once it is final that it was not so', async (_, above) => {
    const { world, desk } = createWorld()
    Object.assign(world, above)
    await desk.look()
    expect(checks()).toEqual(['nonce_used_elsewhere'])
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(7)
    // A reorg took it back, or nobody says so any more: the blocks in which it was seen are not final yet.
    Object.assign(world, { latest: 7, pending: 7, head: 101n, final: 99n })
    await desk.look()
    expect(checks()).toEqual(['nonce_used_elsewhere'])
    world.final = 100n
    await desk.look()
    expect(checks()).toEqual([])
  })

  it('that is final stays SAFE until a person resyncs and releases, each of which says first what it would do', async () => {
    const { world, desk, order } = createWorld()
    Object.assign(world, { latest: 9, pending: 9, finalized: 9 })
    await desk.look()
    world.final = 200n
    await desk.look()
    expect(checks()).toEqual(['nonce_used_elsewhere'])
    expect((await order('release')).did).toMatchObject({
      check: 'not_proven',
      message: expect.stringContaining(`rolekeeper signer resync ${SIGNER} --yes`),
    })
    const { would, did } = await order('resync')
    expect(would).toMatchObject({ ok: true, text: expect.stringMatching(/becomes 9, .*next nonce is 7/) })
    expect(did).toMatchObject({ ok: true, text: expect.stringMatching(/Done\.$/) })
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(9)
    // That the counts agree now is what the person did: the keeper has seen nothing that explains them.
    await desk.look()
    expect(checks()).toEqual(['nonces_adopted'])
    const { would: wouldLeave } = await order('release')
    expect(wouldLeave).toMatchObject({ ok: true })
    expect(checks()).toEqual([])
  })

  it('explains no transaction at a nonce that we held: that is SAFE until a person has looked', async () => {
    const { desk, order } = createWorld()
    const doubt = { message: 'taken', seen: 'transaction', toLeave: 'see', workflowId: 'w7' }
    signers.safe(SIGNER, { check: 'nonce_taken', ...doubt })
    await desk.look()
    await desk.look()
    expect(checks()).toEqual(['nonce_taken'])
    expect((await order('release')).did).toMatchObject({ ok: true })
    expect(checks()).toEqual([])
  })

  it('is said to become the first above what is held', async () => {
    const { order } = createWorld()
    await claim(7)
    await journal.adoptNonce(CHAIN, SIGNER, 20)
    expect((await order('resync')).would).toMatchObject({ text: expect.stringContaining('becomes 8, ') })
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(8)
    expect((await order('resync')).would).toMatchObject({ text: expect.stringContaining('stays 8, ') })
  })

  it('is no end of a signer whose next nonce an older release raised to it: it is taken back', async () => {
    const { desk, order } = createWorld()
    await journal.adoptNonce(CHAIN, SIGNER, 1_000_000)
    await desk.look()
    expect(checks()).toEqual(['next_nonce_too_high'])
    await order('resync')
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(7)
    await desk.look()
    expect(checks()).toEqual([])
  })
})

describe('a nonce that nobody holds', () => {
  it('is filled by a no-op when its turn has come and nobody sent anything for it', async () => {
    const { desk } = createWorld()
    await journal.adoptNonce(CHAIN, SIGNER, 8)
    await claim(8)
    await desk.look()
    const filled = await journal.byNonce(CHAIN, SIGNER, 7)
    expect(filled).toMatchObject({
      state: 'in_flight',
      slots: [{ nonce: 7, closing: 'nonce_unheld', attempts: [{ purpose: 'noop', state: 'ordered' }] }],
    })
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(9)
  })

  it('is filled too when its turn comes later, or what was sent for it is gone', async () => {
    const { world, desk } = createWorld()
    await claim(7)
    await journal.adoptNonce(CHAIN, SIGNER, 9)
    await claim(9)
    await desk.look()
    Object.assign(world, { latest: 8, pending: 9 })
    await desk.look()
    expect(await journal.byNonce(CHAIN, SIGNER, 8)).toBeNull()
    world.pending = 8
    await desk.look()
    expect(await journal.byNonce(CHAIN, SIGNER, 8)).toMatchObject({ state: 'in_flight' })
  })

  it('is filled by what an earlier process began to fill it with', async () => {
    const { desk } = createWorld()
    await journal.adoptNonce(CHAIN, SIGNER, 8)
    await claim(8)
    const dying = {
      open: journal.open.bind(journal),
      byOpportunity: journal.byOpportunity.bind(journal),
      get: journal.get.bind(journal),
      claim: async () => Promise.reject(new Error('died')),
    }
    await expect(fill(SIGNER, 7, dying)).rejects.toThrow('died')
    const begun = (await journal.live()).at(-1)
    await desk.look()
    expect(await journal.byNonce(CHAIN, SIGNER, 7)).toMatchObject({ id: begun?.id, state: 'in_flight' })
  })

  it('is left to what is on its way for it, until a person orders it filled; once', async () => {
    const { world, desk, order } = createWorld()
    await journal.adoptNonce(CHAIN, SIGNER, 8)
    await claim(8)
    world.pending = 8
    await desk.look()
    expect(await journal.byNonce(CHAIN, SIGNER, 7)).toBeNull()
    const { would, did } = await order('fill', 7)
    expect(would).toMatchObject({ ok: true, text: `A no-op of ${SIGNER} goes to nonce 7.` })
    expect(did.ok).toBe(true)
    expect(await journal.byNonce(CHAIN, SIGNER, 7)).toMatchObject({ state: 'in_flight' })
    expect((await order('fill', 7)).did).toMatchObject({ ok: false, check: 'nonce_not_unheld' })
  })
})

describe('nonces that something forgotten may have been signed for', () => {
  it('are closed one by one, though nobody holds any after them, and are not given up meanwhile', async () => {
    const { world, desk, order } = createWorld()
    await journal.adoptNonce(CHAIN, SIGNER, 9)
    signers.safe(SIGNER, forgottenNonces({ from: 7, to: 8 }))
    await desk.look()
    expect(await journal.byNonce(CHAIN, SIGNER, 7)).toMatchObject({ slots: [{ closing: 'nonce_unheld' }] })
    expect(await journal.byNonce(CHAIN, SIGNER, 8)).toBeNull()
    expect((await order('resync')).did).toMatchObject({ ok: false, check: 'nonces_forgotten' })
    expect((await order('release')).did).toMatchObject({ ok: false, check: 'not_proven' })
    Object.assign(world, { latest: 8, pending: 8 })
    await desk.look()
    expect(await journal.byNonce(CHAIN, SIGNER, 8)).toMatchObject({ slots: [{ closing: 'nonce_unheld' }] })
    expect(checks()).toEqual(['forgotten_nonces'])
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(9)
  })
})

describe('what others have pending at our next nonces', () => {
  it('is replaced by no-ops at the highest tip when a person orders it, in order, and SAFE is over once they are final', async () => {
    const { world, desk, order } = createWorld()
    Object.assign(world, { pending: 9 })
    await desk.look()
    await desk.look()
    expect(checks()).toEqual(['nonce_used_elsewhere'])
    expect(signers.reasonsOf(SIGNER)[0]?.toLeave).toContain(`rolekeeper signer fill ${SIGNER} --yes`)
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(7)
    expect((await order('fill', 9)).would).toMatchObject({ ok: false, check: 'nonce_not_unheld' })
    const { would, did } = await order('fill', 8)
    expect(would).toMatchObject({ ok: true, text: expect.stringContaining('7, 8') })
    expect(did.ok).toBe(true)
    for (const nonce of [7, 8])
      expect(await journal.byNonce(CHAIN, SIGNER, nonce)).toMatchObject({
        note: { check: 'nonce_contested' },
        slots: [
          { closing: 'nonce_contested', attempts: [{ purpose: 'noop', maxPriorityFeePerGasWei: TIP_MAX }] },
        ],
      })
    Object.assign(world, { latest: 9, finalized: 9, final: 101n, head: 105n })
    await desk.look()
    expect(checks()).toEqual([])
  })

  it('that has landed is replaced by nothing', async () => {
    const { world, desk, order } = createWorld()
    Object.assign(world, { latest: 8, pending: 9 })
    await desk.look()
    expect((await order('fill')).did).toMatchObject({ ok: false, check: 'nonce_not_unheld' })
  })
})

describe('an order about a signer', () => {
  it('cancels a payload that is open, and nothing else', async () => {
    const { order } = createWorld()
    await claim(7)
    const { would, did } = await order('cancel', 7)
    expect(would).toMatchObject({ ok: true, text: expect.stringContaining('workflow w7 at nonce 7') })
    expect(did.ok).toBe(true)
    expect((await journal.get('w7'))?.slots[0]?.closing).toBe('cancelled_by_hand')
    expect((await order('cancel', 7)).did).toMatchObject({ check: 'nonce_not_open' })
    expect((await order('cancel', 6)).did).toMatchObject({ check: 'nonce_not_open' })
    expect((await order('cancel')).did).toMatchObject({ check: 'nonce_missing' })
  })

  it('releases nobody while the workflow that it is about has not ended, or one that is not SAFE', async () => {
    const { world, order } = createWorld()
    expect((await order('release')).did).toMatchObject({ check: 'not_safe' })
    await claim(7)
    Object.assign(world, { finalized: 8, latest: 8, pending: 8 })
    const said = { message: 'thrice', seen: 'log', toLeave: 'its end' }
    signers.safe(SIGNER, { check: 'three_strikes', ...said, workflowId: 'w7' })
    expect((await order('release')).did).toMatchObject({
      check: 'not_proven',
      message: expect.stringContaining('Workflow w7 is in_flight'),
    })
  })

  it('releases nobody while a workflow in flight has nonces that are not final for it, though the chain counts them', async () => {
    const { world, order } = createWorld()
    await claim(7)
    await claim(8, 'final')
    Object.assign(world, { finalized: 9, latest: 9, pending: 9 })
    signers.safe(SIGNER, { check: 'journal_behind_watermark', message: '', seen: '', toLeave: '' })
    expect((await order('release')).did).toMatchObject({
      check: 'not_proven',
      message: expect.stringContaining('Workflow w7 does not have nonce 7 final yet'),
    })
  })

  it('ends a workflow that fails for ever with what it leaves, once its nonces are final, and leaves SAFE', async () => {
    const { world, desk, order, changed } = createWorld()
    const id = await claim(7)
    const workflow = await journal.get(id)
    if (workflow?.clearance === undefined) throw new TypeError('no clearance')
    const clearance = { ...workflow.clearance, allowances: [{ token: TOKEN, spender: MARKET, assets: 5n }] }
    const quarantined = { atMs: 1, note: { check: 'three_strikes', message: 'failed.' } }
    const stuck = await journal.write({ ...workflow, clearance, quarantined, strikes: 3 })
    signers.safe(SIGNER, { check: 'three_strikes', message: '', seen: '', toLeave: '', workflowId: id })
    Object.assign(world, { finalized: 8, latest: 8, pending: 8, allowance: 5n })
    // Its next step may go well: then it ends by itself, and takes its approval back.
    expect((await order('release')).did).toMatchObject({ ok: false, check: 'not_proven' })
    await journal.write({ ...stuck, strikes: 4 })
    const { would, did } = await order('release')
    expect(would).toMatchObject({
      ok: true,
      text: expect.stringMatching(
        new RegExp(`Workflow ${id} .* ends quarantined as it is.*${MARKET} may still take ${TOKEN}`),
      ),
    })
    expect(did.ok).toBe(true)
    expect(await journal.get(id)).toMatchObject({ state: 'quarantined', slots: [{ state: 'final' }] })
    expect(changed).toEqual([`${id} quarantined`])
    await desk.look()
    expect(checks()).toEqual([])
  })

  it('leaves a fork past finality once nothing in flight relies on what is gone, and the fork is forgotten', async () => {
    const { world, order } = createWorld()
    const id = await claim(7, 'final', { blockNumber: 90n, blockHash: hash(90) })
    Object.assign(world, { finalized: 8, latest: 8, pending: 8, stands: false })
    signers.safe(SIGNER, { check: 'reorg_past_finality', message: '', seen: '', toLeave: '' })
    expect((await order('release')).did).toMatchObject({
      check: 'not_proven',
      message: expect.stringContaining(`Workflow ${id} relies on block 90`),
    })
    world.stands = true
    const { would, did } = await order('release')
    expect([would.ok, did.ok, world.forgotten, checks()]).toEqual([true, true, 1, []])
  })

  it('about somebody else’s signer is refused', async () => {
    const { desk } = createWorld()
    const other = { verb: 'fill', signer: `0x${'99'.repeat(20)}`, yes: true } as const
    expect(await desk.take(other)).toMatchObject({ ok: false, check: 'signer_unknown' })
  })
})

it('is SAFE while the chain lacks what the journal holds final, and over when it is there again', async () => {
  const { world, desk } = createWorld()
  await claim(7, 'final')
  await desk.look()
  expect(checks()).toEqual(['journal_ahead_of_chain'])
  Object.assign(world, { finalized: 8, latest: 8, pending: 8 })
  await desk.look()
  expect(checks()).toEqual([])
})

it('gives up what was final and is lost when a person orders it, and says what that undoes', async () => {
  const { world, desk, order } = createWorld()
  const id = await claim(7, 'final')
  const workflow = await journal.get(id)
  if (workflow === null) throw new TypeError('none')
  Object.assign(world, { pending: 8 })
  // One in flight opens its slot again by itself.
  expect((await order('fill', 7)).would).toMatchObject({ check: 'nonce_not_unheld' })
  await journal.write({ ...workflow, state: 'succeeded' })
  await desk.look()
  expect(signers.reasonsOf(SIGNER)[0]).toMatchObject({
    check: 'journal_ahead_of_chain',
    message: expect.stringContaining('nonce 7'),
    toLeave: expect.stringContaining(`rolekeeper signer fill ${SIGNER} 7`),
  })
  const { would, did } = await order('fill', 7)
  expect(would).toMatchObject({
    ok: true,
    text: expect.stringMatching(/Workflow w7 ended succeeded .* undone for good/),
  })
  expect(did.ok).toBe(true)
  const filled = await journal.byNonce(CHAIN, SIGNER, 7)
  const [noop] = filled?.slots[0]?.attempts ?? []
  expect(filled).toMatchObject({ note: { check: 'final_lost' }, slots: [{ closing: 'final_lost' }] })
  // Nodes may have the lost one again, and take only what offers an eighth more.
  expect(noop).toMatchObject({ purpose: 'noop', maxFeePerGasWei: 3_000_000_002n })
  Object.assign(world, { finalized: 8, latest: 8 })
  await desk.look()
  expect(checks()).toEqual([])
})

it.each<[string, 'success' | 'reverted', string]>([
  ['that has its effect since, on another fork', 'success', 'partial'],
  ['that failed there again', 'reverted', 'cancelled'],
])('release lets no opportunity be tried again of a workflow %s', async (_, status, end) => {
  const { world, order } = createWorld()
  const block = { blockNumber: 80n, blockHash: hash(80) }
  const workflow = await journal.get(await claim(7, 'final', block))
  if (workflow === null) throw new TypeError('none')
  const slots = workflow.slots.map((slot) => ({ ...slot, attempts: [attemptOf({ hash: hash(7) })] }))
  await journal.write({ ...workflow, slots, state: 'reverted' })
  // What was proposed while the signer was SAFE came to nothing: the newest round holds no nonce.
  await journal.open(workflowOf('cancelled', { id: 'again', opportunity: 'w7', round: 1 }))
  const doubt = { message: 'Gone.', seen: 'block 80', toLeave: 'look' }
  signers.safe(SIGNER, { check: 'reorg_past_finality', ...doubt })
  world.landed.set(hash(7), status)
  Object.assign(world, { finalized: 8, latest: 8, pending: 8, forkedFrom: 80n })
  const { would } = await order('release')
  expect(would).toMatchObject({ ok: true })
  expect('text' in would && would.text.includes('Workflow w7 ended reverted')).toBe(status === 'success')
  expect((await journal.byOpportunity('w7'))?.state).toBe(end)
  // What stands keeps its whole exposure in the budgets.
  const reserved = (await journal.reservations('liquidator', 0)).map(({ usdMicros }) => usdMicros)
  expect(reserved).toEqual(status === 'success' ? [workflow.proposal.exposure.usdMicros] : [])
})

it('release lets no opportunity be tried again of a workflow that has its effect since, and is in the archive by now', async () => {
  const { world, order } = createWorld()
  const workflow = await journal.get(await claim(7, 'final', { blockNumber: 80n, blockHash: hash(80) }))
  if (workflow === null) throw new TypeError('none')
  const slots = workflow.slots.map((slot) => ({ ...slot, attempts: [attemptOf({ hash: hash(7) })] }))
  await journal.write({ ...workflow, slots, state: 'reverted' })
  signers.safe(SIGNER, { check: 'reorg_past_finality', message: '', seen: '', toLeave: '' })
  world.landed.set(hash(7), 'success')
  Object.assign(world, { finalized: 8, latest: 8, pending: 8, forkedFrom: 80n })
  await journal.archiveSlice(Number.MAX_SAFE_INTEGER, 0)
  expect((await order('release')).did.ok).toBe(true)
  expect(await journal.byOpportunity('w7')).toMatchObject({
    state: 'partial',
    check: 'landed_since',
  })
  expect(await journal.live()).toEqual([])
  expect(checks()).toEqual([])
})

it('release of one key lets no opportunity be tried again that another key of its role has done since', async () => {
  const other = `0x${'52'.repeat(20)}` as const
  const { world, order } = createWorld([SIGNER, other])
  await journal.adoptNonce(CHAIN, other, 8)
  const workflow = await journal.get(await claim(7, 'final', { blockNumber: 80n, blockHash: hash(80) }))
  if (workflow === null) throw new TypeError('none')
  const slots = workflow.slots.map((slot) => ({ ...slot, attempts: [attemptOf({ hash: hash(7) })] }))
  await journal.write({ ...workflow, slots, state: 'reverted' })
  for (const signer of [SIGNER, other])
    signers.safe(signer, { check: 'reorg_past_finality', message: '', seen: '', toLeave: '' })
  world.landed.set(hash(7), 'success')
  Object.assign(world, { finalized: 8, latest: 8, pending: 8, forkedFrom: 80n })
  expect((await order('release', undefined, other)).did.ok).toBe(true)
  expect([signers.reasonsOf(other), checks()]).toEqual([[], ['reorg_past_finality']])
  expect((await journal.byOpportunity('w7'))?.state).toBe('partial')
})

it('release lets no opportunity be tried again whose payload landed after all in the place of the no-op that a person put there', async () => {
  const { world, desk, order } = createWorld()
  const workflow = await journal.get(await claim(7, 'final', { blockNumber: 80n, blockHash: hash(80) }))
  if (workflow === null) throw new TypeError('none')
  const slots = workflow.slots.map((slot) => ({ ...slot, attempts: [attemptOf({ hash: hash(7) })] }))
  await journal.write({ ...workflow, slots, state: 'reverted' })
  const doubt = { message: 'Gone.', seen: 'block 80', toLeave: 'look' }
  signers.safe(SIGNER, { check: 'reorg_past_finality', ...doubt })
  Object.assign(world, { pending: 8, forkedFrom: 80n })
  await desk.look()
  expect((await order('fill', 7)).did.ok).toBe(true)
  const filling = await journal.byNonce(CHAIN, SIGNER, 7)
  if (filling === null || filling.id === 'w7') throw new TypeError('not filled')
  // What the chain had lost lands before the no-op, and goes through this time.
  const taken = filling.slots.map((slot) => ({
    ...slot,
    state: 'final' as const,
    consumedByOther: true as const,
  }))
  await journal.write({ ...filling, slots: taken, state: 'superseded' })
  world.landed.set(hash(7), 'success')
  Object.assign(world, { finalized: 8, latest: 8, pending: 8 })
  await desk.look()
  expect((await order('release')).did.ok).toBe(true)
  expect((await journal.byOpportunity('w7'))?.state).toBe('partial')
})

it.each([
  ['has landed in the place of its no-op, and is known by its digest alone', true, 'has landed since'],
  ['may have, where the nodes keep no state as old and say nothing', false, 'the nodes do not say'],
])('release lets no opportunity be tried again whose payload %s', async (_, hasState, said) => {
  const { world, order } = createWorld()
  const workflow = await journal.get(await claim(7, 'final', { blockNumber: 80n, blockHash: hash(80) }))
  if (workflow === null) throw new TypeError('none')
  const noop = attemptOf({ purpose: 'noop', digest: hash(70), hash: hash(71) })
  const slots = workflow.slots.map((slot) => ({ ...slot, attempts: [...slot.attempts, noop] }))
  await journal.write({ ...workflow, slots, state: 'cancelled' })
  signers.safe(SIGNER, { check: 'journal_behind_watermark', message: '', seen: '', toLeave: '' })
  world.took = { ...minedAs(hash(72), 'success'), digest: hash(7) }
  Object.assign(world, { finalized: 8, latest: 8, pending: 8, forkedFrom: 80n, hasState })
  const { would, did } = await order('release')
  expect(would).toMatchObject({ ok: true, text: expect.stringContaining(said) })
  expect(did.ok).toBe(true)
  expect((await journal.byOpportunity('w7'))?.state).toBe('partial')
  expect(checks()).toEqual([])
})

describe('release, where a policy names approvers', () => {
  const people = { anna: createPersonKey(), ben: createPersonKey(), eve: createPersonKey() }
  const agent = {
    role: 'liquidator',
    mode: 'live' as const,
    policy: 'liquidator.yaml',
    signer: { kind: 'kms' as const, keyId: 'key', address: SIGNER, window: 4 },
  }
  const approval = compileApproval(
    approvalPolicy([]).parse({
      always: [],
      aboveAssets: {},
      expiresAfter: '15 min',
      quorum: '2',
      approvers: { anna: { key: people.anna.publicKey }, ben: { key: people.ben.publicKey } },
    }),
    { assets: [] },
  )
  const doubt = { check: 'loss_above_limit', message: 'It lost.', seen: '', toLeave: '' }
  const saidBy = (name: 'anna' | 'ben' | 'eve', reasons = signers.reasonsOf(SIGNER)) => ({
    user: 'x@y',
    name: name === 'eve' ? 'anna' : name,
    signature: signText(releaseText(CHAIN, SIGNER, hashOfReasons(reasons)), people[name].privatePem),
  })
  const releaseIn =
    ({ desk }: ReturnType<typeof createWorld>) =>
    async (by?: ReturnType<typeof saidBy>) => {
      const order = {
        verb: 'release',
        signer: SIGNER,
        yes: true,
        ...(by === undefined ? {} : { by }),
      } as const
      const taken = await desk.take(order)
      return taken.ok ? taken.text : taken.check
    }

  it('takes the quorum’s word for the very reasons that stand, and nobody else’s', async () => {
    const release = releaseIn(createWorld([SIGNER], [{ agent, policy: { approval } }]))
    signers.safe(SIGNER, doubt)
    const early = saidBy('ben')
    signers.safe(SIGNER, { ...doubt, check: 'effects_differ' })
    for (const by of [undefined, saidBy('eve'), early, { user: 'anna@y', name: 'anna' }])
      expect(await release(by as ReturnType<typeof saidBy>)).toBe('release_unproven')
    expect(await release(saidBy('anna'))).toMatch(/Not yet: it takes 1 more of ben for the liquidator\.$/)
    expect(await release(saidBy('anna'))).toContain('Not yet')
    expect(checks()).toEqual(['loss_above_limit', 'effects_differ'])
    const [annas, bens] = [saidBy('anna'), saidBy('ben')]
    expect(await release(bens)).toMatch(/Done\.$/)
    expect(checks()).toEqual([])
    // The same checks again are other reasons.
    for (const check of ['loss_above_limit', 'effects_differ'])
      signers.safe(SIGNER, { ...doubt, check, message: 'Again.' })
    for (const by of [annas, bens]) expect(await release(by)).toBe('release_unproven')
  })

  it('asks the quorum of every policy that the signer works by', async () => {
    const only = (name: 'anna' | 'ben') => ({
      approval: { ...approval, quorum: 1, approvers: { [name]: { key: people[name].publicKey } } },
    })
    const release = releaseIn(
      createWorld(
        [SIGNER],
        [
          { agent, policy: only('anna') },
          { agent: { ...agent, role: 'nav-reporter' }, policy: only('ben') },
        ],
      ),
    )
    signers.safe(SIGNER, doubt)
    expect(await release(saidBy('anna'))).toMatch(/Not yet: it takes 1 more of ben for the nav-reporter\.$/)
    expect(await release(saidBy('ben'))).toContain('Done.')
  })

  it('forgets who said so of other reasons', async () => {
    const release = releaseIn(createWorld([SIGNER], [{ agent, policy: { approval } }]))
    signers.safe(SIGNER, doubt)
    expect(await release(saidBy('anna'))).toContain('Not yet')
    signers.safe(SIGNER, { ...doubt, check: 'effects_differ' })
    expect(await release(saidBy('ben'))).toMatch(/it takes 1 more of anna/)
    expect(await release(saidBy('anna'))).toContain('Done.')
  })

  it('asks nobody of another signer, of a shadow or of a policy that names nobody, and releases nobody whose policy does not load', async () => {
    const other = { ...agent, signer: { ...agent.signer, address: MARKET } }
    const world = createWorld(
      [SIGNER],
      [
        { agent: other, policy: { approval } },
        { agent: { ...agent, mode: 'shadow' }, policy: { approval } },
        { agent, policy: { approval: { ...approval, quorum: 1, approvers: {} } } },
      ],
    )
    signers.safe(SIGNER, doubt)
    expect(await releaseIn(world)()).toContain('Done.')
    signers.safe(SIGNER, doubt)
    const broken = createWorld([SIGNER], [{ agent, policy: new RolekeeperError('config.invalid', 'No.') }])
    expect(await releaseIn(broken)()).toBe('approvers_unknown')
  })
})

it('release gives others their turn while it looks through many nonces', async () => {
  const { world, order } = createWorld()
  for (let nonce = 7; nonce < 407; nonce += 1) await claim(nonce, 'final')
  signers.safe(SIGNER, { check: 'reorg_past_finality', message: '', seen: '', toLeave: '' })
  Object.assign(world, { finalized: 407, latest: 407, pending: 407, forkedFrom: 80n })
  let isDone = false
  const done = order('release').finally(() => {
    isDone = true
  })
  let turns = 0
  for (; !isDone; turns += 1) await new Promise((resolve) => setImmediate(resolve))
  expect((await done).did.ok).toBe(true)
  expect(turns).toBeGreaterThan(80)
})
