import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ATTACKS } from './all.ts'
import { type Deed, playDeeds } from './deeds.ts'
import { MODEL_DEEDS } from './model.ts'
import { createMoments } from './moments.ts'
import { PEOPLE_DEEDS } from './people.ts'
import { ROW_DEEDS } from './rows.ts'

let moments: Awaited<ReturnType<typeof createMoments>>
beforeAll(async () => {
  moments = await createMoments()
})
afterAll(async () => {
  await moments?.stop()
})

/** What happened to each deed otherwise than by its check. */
async function wrong(deeds: readonly Deed[]) {
  const asked: string[] = []
  const played = await playDeeds(deeds, async (name) => void asked.push(name))
  expect(asked).toEqual([])
  const idle = deeds.filter(({ name }) => played.every(({ attack }) => attack !== name))
  return [
    ...idle.map(({ name }) => `${name}: fits nothing`),
    ...played
      .filter(({ check, expected }) => check !== expected)
      .map(({ attack, check, expected }) => `${attack}: ${check || 'nothing'}, expected ${expected}`),
  ]
}

describe('what is tried otherwise than by an answer is refused by name, and no key is asked', () => {
  it('by people who approve', async () => expect(await wrong(PEOPLE_DEEDS)).toEqual([]))
  it('by rows, policies and sign-ins', async () => expect(await wrong(ROW_DEEDS)).toEqual([]))
  it('on a real chain, between clearing, signature and raise', async () =>
    expect(await wrong(moments.deeds)).toEqual([]))
})

it('has a name of its own for each', () => {
  const names = [...ATTACKS, ...PEOPLE_DEEDS, ...ROW_DEEDS, ...MODEL_DEEDS, ...moments.deeds].map(
    ({ name }) => name,
  )
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})
