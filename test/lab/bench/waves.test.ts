import { describe, expect, it } from 'vitest'
import { counted, quantile, wavesOf } from './waves.ts'

const call = (name: string, startMs: number, endMs: number | null) => ({ name, startMs, endMs })

describe('waves', () => {
  it('are the calls that waited for each other, with what ran beside them', () => {
    const waves = wavesOf(100, [
      call('read', 102, 122),
      call('read', 103, 124),
      call('chain', 103, 109),
      call('prepare', 130, 150),
      call('sign', 155, 215),
      call('recheck', 156, 162),
      call('send', 220, 226),
      call('never answered', 221, null),
    ])
    expect(waves).toEqual([
      { calls: ['chain', 'read ×2'], ownMs: 2, tookMs: 22 },
      { calls: ['prepare'], ownMs: 6, tookMs: 20 },
      { calls: ['recheck', 'sign'], ownMs: 5, tookMs: 60 },
      { calls: ['send'], ownMs: 5, tookMs: 6 },
    ])
  })

  it('count a call that begins the moment another ends as waiting for it', () => {
    expect(wavesOf(0, [call('a', 1, 5), call('b', 5, 9)])).toHaveLength(2)
    expect(wavesOf(0, [call('a', 1, 5), call('b', 4, 9)])).toHaveLength(1)
  })

  it('are none where nothing was answered', () => expect(wavesOf(0, [call('a', 1, null)])).toEqual([]))
})

it('counts equal names', () => expect(counted(['b', 'a', 'b'])).toEqual(['a', 'b ×2']))

it('takes quantiles by nearest rank', () => {
  const values = Array.from({ length: 20 }, (_, index) => 20 - index)
  expect([quantile(values, 0.5), quantile(values, 0.95), quantile(values, 1)]).toEqual([10, 19, 20])
  expect(quantile([], 0.5)).toBeNaN()
})
