import { expect, it } from 'vitest'
import { createUnanswered } from '../../src/chain/unanswered.ts'
import { RolekeeperError } from '../../src/errors.ts'

it('forgets what nobody asked for any more for longer than a minute, as a send in a bad moment', () => {
  let nowMs = 0
  const unanswered = createUnanswered({ monotonicMs: () => nowMs })
  const error = new RolekeeperError('node.quorum_missing', 'too few')
  const fail = () => unanswered.failed('eth_getBalance', error)
  fail()
  nowMs += 60_000
  fail()
  expect(unanswered.list()).toMatchObject([{ method: 'eth_getBalance', sinceMs: 0 }])
  nowMs += 65_000
  expect(unanswered.list()).toHaveLength(1)
  nowMs += 1
  expect(unanswered.list()).toEqual([])
  fail()
  expect(unanswered.list()).toEqual([])
})
