import { expect, it } from 'vitest'
import { whyDue } from '../../../agents/protocol/due.ts'

const passed = (check: string) => [{ subject: 'a', check, message: 'why' }]
const why = (state: string, check: string) =>
  whyDue(
    { inFlight: [], recent: [{ subject: 'a', state, check: null }], passedOver: passed(check) },
    ({ subject }) => subject === 'a',
    ['a'],
    'It was proposed just now.',
  )

it('owes nothing more of what was done in shadow, where it is left alone for that and nothing else', () => {
  expect(why('shadowed', 'already_done')).toMatchObject({ check: 'already_done', chosen: true })
  expect(why('shadowed', 'price_unknown')).toEqual({ check: 'price_unknown', message: 'why' })
  expect(why('succeeded', 'already_done')).toEqual({ check: 'already_done', message: 'why' })
})

it('says how the last try ended, and why, while the next one waits', () => {
  const dueAfter = (message?: string) =>
    whyDue(
      {
        inFlight: [],
        recent: [
          {
            subject: 'a',
            state: 'refused',
            check: 'approval_unlimited',
            ...(message === undefined ? {} : { message }),
          },
        ],
        passedOver: passed('backing_off'),
      },
      ({ subject }) => subject === 'a',
      ['a'],
      'It was proposed just now.',
    )
  expect(dueAfter('Amount is 5 sUSD; allowed is 1 sUSD.')).toEqual({
    check: 'approval_unlimited',
    message:
      'It is tried again after a pause; the last try was refused: Amount is 5 sUSD; allowed is 1 sUSD.',
  })
  expect(dueAfter()).toEqual({
    check: 'approval_unlimited',
    message: 'It is tried again after a pause; the last try was refused.',
  })
})
