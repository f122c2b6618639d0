import { describe, expect, it } from 'vitest'
import { hasRoom } from '../../../src/pipeline/transactions/window.ts'

describe.each([1, 16, 64])('a window of %i nonces in flight', (window) => {
  it('takes what fits, and not one nonce more', () => {
    expect(hasRoom(window - 1, 1, window, false)).toBe(true)
    expect(hasRoom(window, 1, window, false)).toBe(false)
  })

  it('takes any bundle alone', () => {
    expect(hasRoom(0, 3, window, false)).toBe(true)
    // The chain counts transactions that the ledger does not hold yet: nothing of ours is in flight.
    expect(hasRoom(-1, 3, window, false)).toBe(true)
  })

  it('does not hold up what is urgent, as far as nodes keep transactions of one sender', () => {
    expect(hasRoom(62, 2, window, true)).toBe(true)
    expect(hasRoom(63, 2, window, true)).toBe(false)
  })
})
