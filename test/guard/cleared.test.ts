import { pad, toEventSelector, toHex } from 'viem'
import { describe, expect, it } from 'vitest'
import type { SimulationRequest, SimulationResult } from '../../src/chain/nodes.ts'
import { askedBy, checkFinal, type FinalOptions } from '../../src/guard/checks/check-final.ts'
import { recheck } from '../../src/guard/checks/recheck.ts'
import { allowanceView, balanceView } from '../../src/guard/reads/views.ts'
import { honestly, waiting } from '../lab/attacks/chain.ts'
import { CHAIN_ID, COLLATERAL, freeze, LOAN, MARKET, NOW_MS, SELF, STRANGER, VAULT } from './fixtures.ts'
import { answerOf } from './kinds.ts'
import { CASES } from './shipped.ts'

const found = CASES.find(([, { name }]) => name === 'liquidate')
if (found === undefined) throw new TypeError('the liquidator liquidates')
const [, kind, shipped] = found
const options = waiting(kind, shipped)
const { ruleset, signer } = options
const { exposure, workflowType } = kind.proposal

type Show = (honest: SimulationResult, request: SimulationRequest) => SimulationResult
const nodesThat = (show: Show = (honest) => honest) => ({
  chainId: CHAIN_ID,
  simulate: async (request: SimulationRequest) => show(honestly(kind, request), request),
})
const clear = async (given: Partial<FinalOptions> = {}, nodes = nodesThat()) => {
  const checked = await checkFinal({ ...options, ...given }, { nodes })
  return checked.ok ? checked.clearance : checked
}

/** Rules whose judgement reads a contract that nobody pinned, before or after the bundle. */
const readsAt = (when: 'before' | 'after'): FinalOptions['ruleset'] => {
  const plain = ruleset.sanity.get(workflowType)
  if (plain === undefined) throw new TypeError('it is judged')
  const judge: typeof plain.judge = (about) => {
    about[when].ask(balanceView(STRANGER, SELF))
    return plain.judge(about)
  }
  return { ...ruleset, sanity: new Map([[workflowType, { ...plain, judge }]]) }
}

describe('a bundle that is cleared', () => {
  it('may cost what the policy allows, and not a wei more', async () => {
    const gasMax = (gasWeiMax: bigint) => {
      const { perWorkflow } = ruleset.limits
      const limits = { ...ruleset.limits, perWorkflow: { ...perWorkflow, gasWeiMax } }
      return clear({ ruleset: { ...ruleset, gasHeadroomBps: 13_000n, limits } })
    }
    // Two calls of 60,000 gas with 30 % of head room, at ten wei.
    expect(await gasMax(1_560_000n)).toMatchObject({ payloads: [{}, {}] })
    expect(await gasMax(1_559_999n)).toMatchObject({ check: 'limit_workflow_gas' })
  })

  it('counts what its calls send beside their gas', async () => {
    const rules = new Map([
      [workflowType, (ruleset.rules.get(workflowType) ?? []).map((rule) => ({ ...rule, valueWeiMax: 9n }))],
    ])
    const { answer } = options.workflow.prepared ?? freeze(answerOf(kind, kind.drafts))
    const transactions = answer.transactions.map((each, index) => ({ ...each, value: String(index + 3) }))
    const workflow = { ...options.workflow, prepared: freeze({ ...answer, transactions }) }
    const costing = (gasWeiMax: bigint) => {
      const { perWorkflow } = ruleset.limits
      const limits = { ...ruleset.limits, perWorkflow: { ...perWorkflow, gasWeiMax } }
      return clear({ workflow, ruleset: { ...ruleset, rules, gasHeadroomBps: 13_000n, limits } })
    }
    expect(await costing(1_560_007n)).toMatchObject({ payloads: [{}, {}] })
    expect(await costing(1_560_006n)).toMatchObject({ check: 'limit_workflow_gas' })
  })

  it('is one whose answer passes: nothing is asked of the chain for another', async () => {
    const prepared = freeze({ ...answerOf(kind, kind.drafts), ok: false })
    const unasked = { chainId: CHAIN_ID, simulate: () => Promise.reject(new Error('nothing is asked')) }
    expect(await clear({ workflow: { ...options.workflow, prepared } }, unasked)).toMatchObject({
      check: 'answer_not_ok',
    })
  })

  it('says what it approves, and what its logs show', async () => {
    const word = toHex(7n, { size: 32 })
    const log = {
      address: LOAN,
      data: word,
      topics: [toEventSelector('Transfer(address,address,uint256)'), pad(SELF), pad(MARKET)],
    }
    const logging = nodesThat((honest) => ({
      ...honest,
      bundle: honest.bundle.map((ran, index) => (index === 1 ? { ...ran, logs: [log] } : ran)),
    }))
    expect(await clear({}, logging)).toMatchObject({
      allowances: [{ token: LOAN, spender: MARKET, assets: exposure.assets }],
      payloads: [{ predicted: { tokens: [] } }, { predicted: { tokens: [{ token: LOAN, assets: -7n }] } }],
    })
  })

  it('counts what stands, but for the pair that it approves anew', async () => {
    const stands = (spender: typeof VAULT) => [{ token: LOAN, spender, assets: 10n ** 15n }]
    expect(await clear({ signer: { ...signer, standing: stands(MARKET) } })).toHaveProperty('payloads')
    expect(await clear({ signer: { ...signer, standing: stands(VAULT) } })).toMatchObject({
      check: 'limit_standing',
    })
  })

  it('uses up what it approves, and leaves what it does not as it was', async () => {
    const standing = (token: typeof LOAN) =>
      nodesThat((honest, request) => {
        const { data } = allowanceView(token, SELF, MARKET).call
        const five = (said: SimulationResult['after'], asked: SimulationRequest['after']) =>
          said.map((word, index) =>
            asked[index]?.to === token && asked[index].data === data ? toHex(5n, { size: 32 }) : word,
          )
        return {
          ...honest,
          before: five(honest.before, request.before),
          after: five(honest.after, request.after),
        }
      })
    expect(await clear({}, standing(LOAN))).toMatchObject({ check: 'allowance_left' })
    expect(await clear({}, standing(COLLATERAL))).toHaveProperty('payloads')
  })

  it('is refused where it would be judged by a contract that is not pinned', async () => {
    for (const when of ['before', 'after'] as const) {
      const unpinned = { ...options, ruleset: readsAt(when) }
      expect(await clear(unpinned)).toMatchObject({ check: 'read_not_pinned' })
      expect(askedBy(unpinned, CHAIN_ID)).toBeNull()
    }
  })

  it('is refused for other code, which it names, and for a call that shows no end', async () => {
    const other = `0x${'ee'.repeat(32)}` as const
    const changed = nodesThat((honest) => ({ ...honest, codeHashes: honest.codeHashes.map(() => other) }))
    expect(await clear({}, changed)).toMatchObject({
      check: 'code_changed',
      message: expect.stringContaining(`hashes to ${other};`),
    })
    const gone = nodesThat((honest) => ({ ...honest, codeHashes: honest.codeHashes.map(() => null) }))
    expect(await clear({}, gone)).toMatchObject({ message: expect.stringContaining('hashes to nothing;') })
    const short = nodesThat((honest) => ({ ...honest, bundle: honest.bundle.slice(0, 1) }))
    expect(await clear({}, short)).toMatchObject({
      check: 'simulation_reverted',
      message: expect.stringContaining('rule liquidate reverts on our node with no data'),
    })
  })
})

it('is looked at once more before it is sent: by the same rules, while it is fresh', async () => {
  const cleared = await checkFinal(options, { nodes: nodesThat() })
  if (!cleared.ok) throw new TypeError(cleared.message)
  const workflow = { ...options.workflow, clearance: cleared.clearance }
  const again = async (changes: Partial<Parameters<typeof recheck>[0]>) => {
    const checked = await recheck({ workflow, ruleset, nowMs: NOW_MS, ...changes }, { nodes: nodesThat() })
    return checked.ok ? 'so' : checked.check
  }
  expect(await again({})).toBe('so')
  const { prepared: _prepared, ...unprepared } = workflow
  expect(await again({ workflow: unprepared })).toBe('not_cleared')
  expect(await again({ workflow: options.workflow })).toBe('not_cleared')
  expect(await again({ ruleset: { ...ruleset, hash: 'other' } })).toBe('ruleset_changed')
  expect(await again({ nowMs: NOW_MS + 60_000 })).toBe('stale_snapshot')
  expect(await again({ ruleset: readsAt('before') })).toBe('read_not_pinned')
})
