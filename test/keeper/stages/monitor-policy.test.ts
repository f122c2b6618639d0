import { describe, expect, it } from 'vitest'
import { compileRuleset, type Ruleset } from '../../../src/guard/ruleset.ts'
import { monitor } from '../../../src/keeper/stages/monitor-policy.ts'
import type { KeeperEvent } from '../../../src/ops/events.ts'
import type { Stages } from '../../../src/pipeline/pipeline.ts'
import { moved } from '../../../src/workflow/step.ts'
import { move, type Workflow, type WorkflowState } from '../../../src/workflow/workflow.ts'
import {
  CHAIN_ID,
  deployment,
  freeze,
  liquidation,
  liquidationAnswer,
  NOW_MS,
  ruleset,
  SELF,
  sections,
} from '../../guard/fixtures.ts'
import { workflowOf } from '../../support/workflows.ts'

const prepared: Workflow = {
  ...workflowOf('prepared'),
  role: 'liquidator',
  chainId: CHAIN_ID,
  signer: SELF,
  proposal: liquidation,
  prepared: freeze(liquidationAnswer()),
}
/** Rules that refuse every answer as too old. */
const strict = compileRuleset(
  { ...sections, freshness: { ...sections.freshness, lifetimeMsMax: 1, expiryMarginMs: 0 } },
  deployment,
)

/** What is heard of an answer that the enforced stage brings to a state. */
async function hear(
  both: { readonly enforced: Ruleset; readonly monitored: Ruleset },
  state: WorkflowState | null,
) {
  const events: KeeperEvent[] = []
  const counted: string[] = []
  const warned: string[] = []
  const step = state === null ? ({ type: 'wait', ms: 5 } as const) : moved(move(prepared, state, NOW_MS))
  const none = async () => ({ type: 'wait', ms: 0 }) as const
  const stages: Stages = {
    request: none,
    prepare: none,
    clear: none,
    claim: none,
    carry: none,
    confirm: none,
    resend: async () => undefined,
    attest: async () => step,
  }
  const watched = monitor(stages, both, {
    clock: { nowMs: () => NOW_MS + 5 },
    log: { info: () => {}, warn: (what) => warned.push(what) },
    metrics: { refused: (...all) => counted.push(all.join(' ')) },
    emit: (event) => events.push(event),
  })
  expect(await watched.attest(prepared)).toBe(step)
  expect(watched.clear).toBe(stages.clear)
  return { events, counted, warned }
}

describe('a monitored policy', () => {
  it('says what it would have refused, and the workflow goes on', async () => {
    const heard = await hear({ enforced: ruleset, monitored: strict }, 'attested')
    expect(heard).toMatchObject({
      events: [{ type: 'monitor', id: prepared.id, verdict: 'would_refuse', check: 'expired' }],
      counted: ['liquidator monitor expired'],
    })
  })

  it('says what it would have cleared, and the workflow is refused', async () => {
    const heard = await hear({ enforced: strict, monitored: ruleset }, 'refused')
    expect(heard).toMatchObject({
      events: [{ verdict: 'would_clear', check: 'expired' }],
      counted: ['liquidator monitor would_clear'],
    })
  })

  it('says nothing where both judge alike, or nothing is decided yet', async () => {
    const nothing = { events: [], counted: [], warned: [] }
    expect(await hear({ enforced: ruleset, monitored: ruleset }, 'attested')).toEqual(nothing)
    expect(await hear({ enforced: ruleset, monitored: strict }, null)).toEqual(nothing)
  })

  it('changes nothing where it breaks', async () => {
    const broken = {
      ...ruleset,
      rules: {
        get: () => {
          throw new TypeError('broken')
        },
      },
    } as never
    expect(await hear({ enforced: ruleset, monitored: broken }, 'attested')).toEqual({
      events: [],
      counted: [],
      warned: ['the monitored policy could not judge'],
    })
  })
})
