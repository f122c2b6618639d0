import { type Address, type Hex, padHex } from 'viem'
import { describe, expect, it } from 'vitest'
import type { FrameResult } from '../../src/chain/nodes.ts'
import { askPins } from '../../src/guard/reads/pins.ts'
import { createReads } from '../../src/guard/reads/views.ts'

const at = (byte: string): Address => `0x${byte.repeat(20)}`
const [IMPLEMENTATION, OTHER] = [at('11'), at('22')]

describe('a proxy with a beacon', () => {
  const hash = (byte: string): Hex => `0x${byte.repeat(32)}`
  const [PROXIED, BEACON] = [at('33'), at('44')]
  const pin = {
    address: PROXIED,
    codeHash: hash('a1'),
    proxy: {
      implementation: IMPLEMENTATION,
      codeHash: hash('a2'),
      beacon: { address: BEACON, codeHash: hash('a3') },
    },
  }
  const honest: FrameResult['codeHashes'] = [hash('a1'), hash('a2'), hash('a3')]

  /** What the look comes to where the beacon runs this, and the proxy's slots hold these. */
  function look(runs: Address | null, words: readonly bigint[], codeHashes = honest) {
    const reads = createReads()
    const asked = askPins([pin], reads)
    expect(asked.codeAt).toEqual([PROXIED, IMPLEMENTATION, BEACON])
    expect(reads.calls.map(({ to }) => to)).toEqual([BEACON])
    reads.fill([runs === null ? null : padHex(runs)])
    return asked.check({ codeHashes, words })?.check ?? 'so'
  }

  it('runs what its beacon says, and is refused where either is another', () => {
    expect(look(IMPLEMENTATION, [0n, BigInt(BEACON)])).toBe('so')
    expect(look(OTHER, [0n, BigInt(BEACON)])).toBe('implementation_changed')
    expect(look(null, [0n, BigInt(BEACON)])).toBe('implementation_changed')
    expect(look(IMPLEMENTATION, [0n, BigInt(OTHER)])).toBe('implementation_changed')
    expect(look(IMPLEMENTATION, [])).toBe('implementation_changed')
    expect(look(IMPLEMENTATION, [0n, BigInt(BEACON)], honest.with(2, hash('ff')))).toBe('code_changed')
  })
})
