import { afterAll, expect, it } from 'vitest'
import { inOrder } from '../../support/in-order.ts'
import { createBeneath } from './beneath.ts'

const beneath = await createBeneath()
afterAll(beneath.stop)

// One keeper works beneath all of them, and the last take from it what it works with.
inOrder('one keeper', () => {
  it.each(beneath.deeds.map((deed) => [deed.name, deed] as const))('%s', async (_name, { check, play }) => {
    expect(await play()).toEqual([check])
  })
})
