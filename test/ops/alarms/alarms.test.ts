import { expect, it } from 'vitest'
import { RolekeeperError } from '../../../src/errors.ts'
import { createAlarms } from '../../../src/ops/alarms/alarms.ts'

const STILL = { nowMs: () => 0, monotonicMs: () => 0 }

it('tells an alarm of one code and workflow once a minute, also after the clock was put back', () => {
  let [nowMs, monotonicMs] = [86_400_000, 0]
  const pass = (ms: number) => {
    nowMs += ms
    monotonicMs += ms
  }
  const told: string[] = []
  const alarm = createAlarms(({ facts }, atMs) => void told.push(`${facts.workflowId} ${atMs}`), {
    nowMs: () => nowMs,
    monotonicMs: () => monotonicMs,
  })
  const raise = (workflowId: string) => alarm(new RolekeeperError('a.b', 'No.', { facts: { workflowId } }))
  raise('1')
  raise('2')
  pass(59_999)
  raise('1')
  expect(told).toEqual(['1 86400000', '2 86400000'])
  pass(1)
  raise('1')
  expect(told.at(-1)).toBe('1 86460000')
  nowMs -= 3_600_000
  raise('1')
  pass(60_000)
  raise('1')
  raise('1')
  expect(told.slice(3)).toEqual(['1 82920000'])
})

it('tells each change of a policy and each problem of one, however close one follows another', () => {
  const told: string[] = []
  const alarm = createAlarms(({ facts }) => void told.push(String(facts.hash ?? facts.problem)), STILL)
  for (const hash of ['5d41', '5d42', '5d41'])
    alarm(new RolekeeperError('policy.loosened', 'No.', { facts: { role: 'liquidator', hash } }))
  for (const problem of ['it is gone', 'no unit', 'no unit'])
    alarm(new RolekeeperError('policy.not_taken_up', 'No.', { facts: { role: 'liquidator', problem } }))
  expect(told).toEqual(['5d41', '5d42', 'it is gone', 'no unit'])
})

it('tells each reason of a signer that is SAFE, however close one follows another', () => {
  const told: string[] = []
  const alarm = createAlarms(({ facts }) => void told.push(String(facts.check)), STILL)
  for (const check of ['watermark_missing', 'three_strikes', 'watermark_missing'])
    alarm(new RolekeeperError('signer.safe', 'No.', { facts: { signer: '0x51', check } }))
  expect(told).toEqual(['watermark_missing', 'three_strikes'])
})
