import { expect, it } from 'vitest'
import { createLiveWorkflows } from '../../../src/keeper/term/live-workflows.ts'
import { createLog } from '../../../src/ops/log.ts'
import { createMetrics } from '../../../src/ops/metrics/metrics.ts'
import { slotOf, workflowOf } from '../../support/workflows.ts'

it('leaves what is quarantined to its own times: a head would wake a step that fails at each block', () => {
  const woken: string[] = []
  const live = createLiveWorkflows({
    nowMs: () => 1_000,
    mail: { forgetAnswers: async () => {} },
    decides: false,
    log: createLog({ level: 'info', secrets: [], write: () => {} }),
    metrics: createMetrics({
      version: '',
      environment: '',
      configHash: '',
      rulesetHash: () => '',
      isInFleet: false,
      roles: [],
      alarmTargets: [],
    }),
    emit: () => {},
    alarm: () => {},
    role: () => undefined,
    register: () => {},
    onEnded: () => {},
    wake: (id) => woken.push(id),
  })
  const quarantined = { atMs: 1, note: { check: 'three_strikes', message: '' } }
  const inFlight = (id: string) => workflowOf('in_flight', { id, slots: [slotOf()] })
  live.resume(inFlight('a'))
  live.resume({ ...inFlight('b'), quarantined })
  live.resume(workflowOf('confirmed', { id: 'c' }))
  woken.length = 0
  live.wakeAll('in_flight')
  expect(woken).toEqual(['a'])
})
