import { expect, it } from 'vitest'
import { createChainTime } from '../../src/fleet/chain-time.ts'

const T0_S = 1_700_000_000

/** A clock that is wrong by `offMs`, and a chain with a block each 12 s that is heard of after a while. */
function world() {
  let [atMs, offMs] = [0, 0]
  const chainTime = createChainTime({
    nowMs: () => T0_S * 1_000 + atMs + offMs,
    monotonicMs: () => 5_000 + atMs,
  })
  const block = (afterMs: number) => {
    atMs += 12_000
    chainTime.saw(T0_S + Math.floor((atMs - afterMs) / 1_000))
  }
  const setOff = (ms: number) => {
    offMs = ms
  }
  const pass = (ms: number) => {
    atMs += ms
  }
  return { ...chainTime, block, setOff, pass }
}

it('knows nothing by the first head, which may be old, and is right to the second from the next', () => {
  const { saw, block, pass, offMs } = world()
  expect(offMs()).toBeNull()
  pass(3_600_000)
  // The chain has stood still for an hour.
  saw(T0_S)
  expect(offMs()).toBeNull()
  block(2_000)
  expect(offMs()).toBe(2_000)
})

it('shows a clock that is set at once, and neither a chain that stands still nor a head that was late', () => {
  const { block, pass, setOff, offMs } = world()
  for (let count = 0; count < 3; count += 1) block(1_000)
  block(60_000)
  expect(offMs()).toBe(1_000)
  pass(86_400_000)
  expect(offMs()).toBe(1_000)
  setOff(-40_000)
  expect(offMs()).toBe(-39_000)
  setOff(40_000)
  expect(offMs()).toBe(41_000)
})

it('trusts no head for ever: what the machine slept is made good by the next ones', () => {
  const { saw, block, offMs } = world()
  for (let count = 0; count < 4; count += 1) block(1_000)
  // A block of the future, as a fork that is gone had it.
  saw(T0_S + 1_000_000)
  expect(offMs()).toBeLessThan(-900_000)
  for (let count = 0; count < 8; count += 1) block(1_000)
  expect(offMs()).toBe(1_000)
})
