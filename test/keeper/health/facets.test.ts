import { expect, it } from 'vitest'
import { RolekeeperError } from '../../../src/errors.ts'
import { createFacets } from '../../../src/keeper/health/facets.ts'
import type { KeeperEvent } from '../../../src/ops/events.ts'
import type { Finding } from '../../../src/ops/facet.ts'

const WELL: Finding = { facet: 'service', about: '', state: 'ok', message: 'fresh' }
const stale = (ms: number): Finding => ({
  facet: 'service',
  about: '',
  state: 'failing',
  error: new RolekeeperError('service.stale', `${ms} ms old.`, { fix: 'ask its operator.' }),
})
const KILLED: Finding = {
  facet: 'kill',
  about: '',
  state: 'failing',
  isSaid: true,
  isSure: true,
  error: new RolekeeperError('control.killed', 'The kill switch is on.', { fix: 'unkill.' }),
}

/** Facets over findings that a test gives, one look a second. */
function look() {
  const world = { nowMs: 0, found: [WELL] as readonly Finding[] }
  const events: KeeperEvent[] = []
  const alarms: string[] = []
  const facets = createFacets({
    find: () => world.found,
    clock: { nowMs: () => world.nowMs, monotonicMs: () => world.nowMs },
    log: { info: () => undefined, warn: () => undefined },
    reports: {
      emit: (event) => events.push(event),
      alarm: ({ code }, facet) => alarms.push(`${facet} ${code}`),
    },
  })
  return {
    events,
    alarms,
    facets,
    at: (seconds: number, ...found: readonly Finding[]) => {
      Object.assign(world, { nowMs: 1_000 * seconds, found })
      facets.look()
    },
  }
}

it('shows a change at once, and makes it known once it has lasted two seconds, with its alarm', () => {
  const { at, events, alarms, facets } = look()
  at(0, WELL)
  at(1, stale(1))
  expect(facets.list()).toMatchObject([
    { facet: 'service', state: 'failing', code: 'service.stale', sinceMs: 1_000 },
  ])
  at(2, stale(2))
  expect([events, alarms]).toEqual([[], []])
  at(3, stale(3))
  expect(events).toEqual([
    {
      type: 'facet',
      at: '1970-01-01T00:00:03.000Z',
      facet: 'service',
      about: '',
      state: 'failing',
      code: 'service.stale',
      message: '3 ms old.',
      fix: 'ask its operator.',
    },
  ])
  expect(alarms).toEqual(['service service.stale'])
  at(4, WELL)
  at(6, WELL)
  expect(events.at(-1)).toMatchObject({ state: 'ok', code: 'ok', message: 'fresh' })
})

it('says nothing of what is over within two seconds', () => {
  const { at, events, alarms } = look()
  for (const second of [0, 2, 4, 6]) {
    at(second, WELL)
    at(second + 1, stale(1))
  }
  at(8, WELL)
  at(10, WELL)
  expect([events, alarms]).toEqual([[], []])
})

it('makes known at once what a person did, and raises no alarm for it, nor for what suffers from it', () => {
  const { at, events, alarms } = look()
  const late: Finding = {
    facet: 'duty',
    about: 'liquidator',
    state: 'failing',
    error: new RolekeeperError('role.not_deciding', 'Nothing is decided.'),
  }
  at(0, WELL, KILLED, late)
  expect(events).toMatchObject([{ facet: 'kill', state: 'failing' }])
  at(2, WELL, KILLED, late)
  expect(events).toMatchObject([{ facet: 'kill' }, { facet: 'duty', about: 'liquidator', because: 'kill' }])
  expect(alarms).toEqual([])
})

it('says of what every start is like nothing for half a minute', () => {
  const { at, events, facets } = look()
  const opening: Finding = {
    facet: 'role',
    about: 'allocator',
    state: 'failing',
    isBeginning: true,
    error: new RolekeeperError('role.opening', 'It is being opened.'),
  }
  for (const second of [0, 5, 29]) at(second, opening)
  expect([events, facets.list()]).toMatchObject([[], [{ state: 'failing', code: 'role.opening' }]])
  at(30, opening)
  expect(events).toMatchObject([{ facet: 'role', about: 'allocator', code: 'role.opening' }])
})

it('forgets a facet that is there no more', () => {
  const { at, events, facets } = look()
  at(0, stale(1))
  at(5)
  expect([facets.list(), events]).toEqual([[], []])
})

it('says that one is over which is there no more: a pause of one role that was taken back', () => {
  const { at, events } = look()
  at(0, { ...KILLED, about: 'allocator', facet: 'pause' })
  at(1, { facet: 'pause', about: '', state: 'ok', message: 'off' })
  expect(events.at(-1)).toMatchObject({ facet: 'pause', about: 'allocator', state: 'ok', code: 'ok' })
})
