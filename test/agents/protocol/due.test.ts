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
