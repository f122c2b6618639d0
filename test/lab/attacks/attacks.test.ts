import { describe, expect, it } from 'vitest'
import { HOSTILITIES } from '../../../sandbox/service/faults/faults.ts'
import { tamper } from '../../../sandbox/service/faults/tamper.ts'
import { SELF } from '../../guard/fixtures.ts'
import { PREPARED } from '../../guard/shipped.ts'
import { ATTACKS } from './all.ts'
import { aimOf, expectedOf, isKnown, serve, textOf } from './play.ts'

describe('the attacks', () => {
  it('are at least 200, each by a name of its own, and at least 20 happened to somebody', () => {
    expect(new Set(ATTACKS.map(({ name }) => name)).size).toBe(ATTACKS.length)
    expect(ATTACKS.length).toBeGreaterThanOrEqual(200)
    expect(ATTACKS.filter(({ incident }) => incident !== undefined).length).toBeGreaterThanOrEqual(20)
  })

  it('each fit a workflow type', () => {
    const aims = PREPARED.map(([, kind, ruleset]) => aimOf(kind, ruleset))
    const idle = ATTACKS.filter(({ on }) => aims.every((aim) => on(aim) === null))
    expect(idle.map(({ name }) => name)).toEqual([])
  })
})

describe.each(PREPARED)('a hostile service at %s', (_case, kind, ruleset) => {
  const aim = aimOf(kind, ruleset)

  it('gets an honest answer accepted', async () => {
    const { state, asked } = await serve(aim, textOf(aim.answer)).catch((error: Error) => ({
      state: error.message,
      asked: [],
    }))
    // A report goes on to look at the chain before its key is asked.
    expect({ state, asked }).toEqual({
      state: kind.name === 'report' ? 'no hostile answer comes so far' : 'attested',
      asked: [],
    })
  })

  it('is refused by name, and no key is asked', async () => {
    for (const attack of ATTACKS) {
      const served = attack.on(aim)
      const check = expectedOf(attack, aim, served)
      if (served === null || !isKnown(check)) continue
      const ended = await serve(aim, textOf(served))
      expect(ended, attack.name).toMatchObject({ state: 'refused', check, asked: [] })
    }
  })

  it.each(HOSTILITIES)('gets nothing by %s, as the sandbox serves it', async (hostile) => {
    const { answer } = aim
    const transactions = [...tamper(answer.transactions, SELF, hostile)]
    // Not every answer has an approval, a recipient or a signature to tamper with.
    if (JSON.stringify(transactions) === JSON.stringify(answer.transactions)) return
    const { state, asked } = await serve(aim, textOf({ ...answer, transactions }))
    expect({ state, asked }).toEqual({ state: 'refused', asked: [] })
  })
})
