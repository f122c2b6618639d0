import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Refusal, refuse } from '../../src/errors.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { type ClaimDeps, claim } from '../../src/pipeline/claim.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { newDirectory } from '../support/directory.ts'
import { frozenJournal } from '../support/frozen-journal.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../support/workflows.ts'

const CHAIN = 31_337
let journal: Journal
beforeEach(async () => {
  journal = frozenJournal(openSqliteJournal(newDirectory()))
  await journal.adoptNonce(CHAIN, SIGNER, 7)
})
afterEach(() => journal.close())

const createSetup = () => {
  const world = {
    nowMs: 1_500,
    rulesetHash: 'rules',
    fees: { ok: true, fees: { maxFeePerGasWei: 20n, maxPriorityFeePerGasWei: 10n } } as ReturnType<
      ClaimDeps['fees']
    >,
    budget: { ok: true } as { readonly ok: true } | Refusal,
    safe: null as Refusal | null,
    beforeClaim: async () => {},
  }
  const deps = (): ClaimDeps => ({
    nowMs: () => world.nowMs,
    rulesetHash: world.rulesetHash,
    safe: () => world.safe,
    fees: () => world.fees,
    nextNonce: async (signer) => (await journal.nextNonce(CHAIN, signer)) ?? 0,
    checkBudget: async () => {
      const { revision } = await journal.spending('liquidator', [0], '')
      await world.beforeClaim()
      return world.budget.ok ? { ...world.budget, revision } : world.budget
    },
    claim: journal.claimWithin.bind(journal),
  })
  return { world, deps }
}
let setup: ReturnType<typeof createSetup>
beforeEach(() => {
  setup = createSetup()
})

const cleared = async (): Promise<Workflow> => {
  const base = workflowOf('cleared')
  if (base.clearance === undefined) throw new TypeError('not cleared')
  const { payload, predicted } = slotOf()
  const payloads = [
    { payload, predicted },
    { payload: { ...payload, data: '0x02' as const }, predicted },
  ]
  const workflow = { ...base, clearance: { ...base.clearance, payloads } }
  await journal.open(workflow)
  return workflow
}
const claimed = async () => {
  const step = await claim(await cleared(), setup.deps())
  if (step.type === 'wait') throw new TypeError('waits')
  return step
}

describe('a claim', () => {
  it('takes one nonce for each payload, with its digest and its budget, in one step', async () => {
    const step = await claimed()
    expect(step.type).toBe('written')
    expect(step.workflow).toMatchObject({
      state: 'in_flight',
      version: 1,
      slots: [
        { index: 0, nonce: 7, attempts: [{ purpose: 'payload', state: 'ordered' }] },
        { index: 1, nonce: 8, payload: { data: '0x02' } },
      ],
    })
    for (const slot of step.workflow.slots)
      expect(await journal.ledgerEntry(slot.attempts[0]?.digest ?? '0x', slot.signer)).toMatchObject({
        nonce: slot.nonce,
      })
    expect(await journal.reservations('liquidator', 0)).toMatchObject([
      { usdMicros: 1_000n, gasWei: 4_000_000n, reverted: false },
    ])
  })

  it('is made one millisecond before the clearance ends, and not at its end', async () => {
    setup.world.nowMs = 29_999
    const base = await cleared()
    if (base.clearance === undefined) throw new TypeError('not cleared')
    const late = { ...base, clearance: { ...base.clearance, atMs: 29_000 } }
    expect(await claim(late, setup.deps())).toMatchObject({ workflow: { state: 'in_flight' } })
    setup.world.nowMs = 30_000
    expect(await claim(late, setup.deps())).toMatchObject({
      workflow: { state: 'expired', slots: [], note: { check: 'clearance_expired' } },
    })
  })

  it('needs a clearance of the last two seconds, by the rules of now', async () => {
    setup.world.nowMs = 3_001
    expect((await claimed()).workflow).toMatchObject({ state: 'attested', slots: [] })
    // By a clock that was put back it would be young for as long.
    setup.world.nowMs = -1_001
    expect((await claimed()).workflow).toMatchObject({ state: 'attested', slots: [] })
    setup.world.nowMs = 1_500
    setup.world.rulesetHash = 'other'
    expect((await claimed()).workflow.state).toBe('attested')
    setup.world.rulesetHash = 'rules'
    setup.world.nowMs = 3_000
    expect((await claimed()).workflow.state).toBe('in_flight')
  })

  it('takes no nonce where fees or budget refuse', async () => {
    setup.world.fees = refuse('fee_cap_below_base_fee', 'too dear')
    expect((await claimed()).workflow).toMatchObject({
      state: 'refused',
      note: { check: 'fee_cap_below_base_fee' },
    })
    setup = createSetup()
    setup.world.budget = refuse('limit_hour_usd', 'too much')
    expect((await claimed()).workflow).toMatchObject({ state: 'refused', note: { check: 'limit_hour_usd' } })
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(7)
  })

  it('takes no nonce of a signer in SAFE', async () => {
    setup.world.safe = refuse('signer_safe', 'in doubt')
    expect(await claimed()).toMatchObject({ workflow: { state: 'refused', note: { check: 'signer_safe' } } })
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(7)
  })

  it('is judged and made again at once where another takes of the budget meanwhile', async () => {
    const other = { workflowId: 'other', role: 'liquidator', atMs: 1_000 } as const
    setup.world.beforeClaim = async () => {
      setup.world.beforeClaim = async () => {}
      await journal.settle({ ...other, usdMicros: 1n, gasWei: 1n, reverted: false })
    }
    expect((await claimed()).workflow.state).toBe('in_flight')
  })

  it('goes back to be cleared again when another took its nonce meanwhile', async () => {
    await journal.open(workflowOf('cleared', { id: 'other', opportunity: 'other' }))
    setup.world.beforeClaim = async () => {
      const digest = `0x${'77'.repeat(32)}` as const
      const slots = [slotOf({ attempts: [attemptOf({ digest })] })]
      await journal.claim(workflowOf('in_flight', { id: 'other', opportunity: 'other', slots }), null)
    }
    expect((await claimed()).workflow).toMatchObject({ state: 'attested', slots: [] })
    expect(await journal.byNonce(CHAIN, SIGNER, 7)).toMatchObject({ id: 'other' })
    expect(await journal.reservations('liquidator', 0)).toEqual([])
  })
})
