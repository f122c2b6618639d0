import { afterAll, expect, it } from 'vitest'
import { createBeneath } from './beneath.ts'

const beneath = await createBeneath()
afterAll(beneath.stop)

it.each(beneath.deeds.map((deed) => [deed.name, deed] as const))('%s', async (_name, { check, play }) => {
  expect(await play()).toEqual([check])
})
