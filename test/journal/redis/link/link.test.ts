import { expect, it } from 'vitest'
import type { Line } from '../../../../src/journal/redis/link/connect.ts'
import { LineFault } from '../../../../src/journal/redis/link/faults.ts'
import { createLink } from '../../../../src/journal/redis/link/link.ts'

const usable = (number: number): Line => ({
  number,
  call: async () => 'answered',
  isOpen: () => true,
  close: () => undefined,
})

/** A link to a server that refuses lines until it is back. */
const createAway = () => {
  const world = { isAway: true, opened: 0 }
  const link = createLink({
    open: async (number) => {
      world.opened += 1
      if (world.isAway) throw new LineFault('ECONNREFUSED', false)
      return usable(number)
    },
    verify: async () => undefined,
    server: 'here',
  })
  return { world, link }
}
const refused = (use: Promise<unknown>) => expect(use).rejects.toMatchObject({ code: 'journal.unreachable' })

it('asks a server that is away a few times a second, however many wait for it', async () => {
  const { world, link } = createAway()
  await Promise.all(Array.from({ length: 200 }, () => refused(link.use(async () => undefined))))
  // 2 s, with a pause that grows from 25 to 250 ms.
  expect(world.opened).toBeLessThan(20)
})

it('tries once where the server has been away for long, and goes on as soon as it is back', async () => {
  const { world, link } = createAway()
  await refused(link.use(async () => undefined))
  const opened = world.opened
  await refused(link.use(async () => undefined))
  expect(world.opened - opened).toBe(1)
  world.isAway = false
  expect(await link.use((line) => line.call('PING'))).toBe('answered')
})

it('opens no line once it is closed', async () => {
  const { world, link } = createAway()
  const use = link.use(async () => undefined)
  link.close()
  await refused(use)
  world.isAway = false
  const opened = world.opened
  await refused(link.use(async () => undefined))
  expect(world.opened).toBe(opened)
})
