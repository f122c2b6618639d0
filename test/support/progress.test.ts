import { expect, it } from 'vitest'
import { progressText } from './progress.ts'

it('says how far a program is, and how long it still takes', () => {
  const at = (done: number, tookMs: number) => progressText({ program: 'judgement', done, total: 52, tookMs })
  expect(at(13, 60_400)).toBe('judgement: 13 of 52 steps in 1 min, about 3 min 1 s left')
  expect(at(51, 61_000)).toBe('judgement: 51 of 52 steps in 1 min 1 s, about 1 s left')
  expect(at(52, 62_000)).toBe('judgement: 52 of 52 steps in 1 min 2 s')
})
