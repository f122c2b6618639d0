import { describe, expect, it } from 'vitest'
import { show } from '../../../src/guard/explain/approval-screen.ts'
import { SELF } from '../../guard/fixtures.ts'
import { PREPARED } from '../../guard/shipped.ts'
import { fuzzBidderRows } from '../fuzz/bidder-rows.ts'
import { fuzzWorld } from '../fuzz/worlds.ts'
import { createDice } from '../judgement/dice.ts'
import { ATTACKS } from './all.ts'
import { CHAIN_ATTACKS, clearing } from './chain.ts'
import { aimOf, serve, textOf } from './play.ts'

/** An address, a hash, a selector, what the service calls a request, and an id that the chain counts. */
const NAMES = /0x[0-9a-f]+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|Id is [0-9]+|chain [0-9]+/gi

/** Numbers of eight digits or more that stand without a unit, as base units, wads and Unix times do. */
const bareIn = (text: string): readonly string[] =>
  text.replace(NAMES, '').match(/(?<![\w.,])[0-9]{8,}/g) ?? []
const bare = (texts: Iterable<string>) => [...texts].filter((text) => bareIn(text).length > 0)
const seeds = (count: number) => Array.from({ length: count }, (_, index) => createDice(index + 1))

it('notices base units, wads, times and cut groups, and no name or amount', () => {
  expect(bareIn('the price is 60000000000000000000000 wad')).toHaveLength(1)
  expect(bareIn('at second 1800000000; 12345678 base units')).toHaveLength(2)
  expect(bareIn(`${SELF} takes 25,000,000.123456789123 sUSD at 2027-01-15T08:00:00.000Z`)).toEqual([])
})

describe.each(PREPARED)('what people read of %s', (_case, kind, ruleset) => {
  const { proposal } = kind

  it('has its amounts with their units where it is approved', () => {
    const known = { approvers: { anna: { user: 'anna@ops1' } }, quorum: 1 }
    const { calls, effects, changes } = show({ role: ruleset.role, proposal, signer: SELF }, ruleset, known)
    const values = calls.flatMap((call) => call.arguments.map(({ name, value }) => `${name} is ${value}`))
    expect(bare([...values, ...effects, ...changes.map(({ from, to }) => `${from} to ${to}`)])).toEqual([])
  })

  it('has its amounts with their units where an attack on it is refused', async () => {
    const aim = aimOf(kind, ruleset)
    const said = new Set<string>()
    for (const attack of ATTACKS) {
      const served = attack.on(aim)
      if (served !== null) said.add((await serve(aim, textOf(served))).message)
    }
    for (const attack of CHAIN_ATTACKS) {
      const checked = await clearing(kind, ruleset, attack)
      if (checked?.ok === false) said.add(checked.message)
    }
    expect(said.size).toBeGreaterThan(50)
    expect(bare(said)).toEqual([])
  })
})

describe('what people read of a world that forbids it', () => {
  it('has its amounts with their units, whatever forbids it', () => {
    const found = seeds(700).map(fuzzWorld)
    expect(new Set(found.map(({ check }) => check)).size).toBeGreaterThan(40)
    expect(bare(found.map(({ said }) => said))).toEqual([])
    expect(bare(seeds(15).flatMap((dice) => fuzzBidderRows(dice).said))).toEqual([])
  })
})
