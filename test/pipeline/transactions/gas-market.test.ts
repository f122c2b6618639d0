import { setImmediate } from 'node:timers/promises'
import { type Hex, numberToHex, size } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Call } from '../../../src/chain/nodes.ts'
import { createGasMarket } from '../../../src/pipeline/transactions/gas-market.ts'
import { SIGNER } from '../../support/workflows.ts'

let nowMs: number
let said: { tipsWei: bigint[]; noopGas: bigint; dataFee: Hex | null; fails: boolean; calls: number }
let asked: Call[]
const open = () => {
  const answer = <T>(value: T) => {
    said.calls += 1
    return said.fails ? Promise.reject(new Error('no node answers')) : Promise.resolve(value)
  }
  return createGasMarket({
    monotonicMs: () => nowMs,
    nodes: {
      feeHistory: () => answer({ tipsWei: said.tipsWei }),
      estimateNoopGas: () => answer(said.noopGas),
      calls: async (calls) => {
        asked.push(...calls)
        if (said.fails) throw new Error('no node answers')
        return calls.map(() => said.dataFee)
      },
    },
  })
}
beforeEach(() => {
  nowMs = 1_000
  said = { tipsWei: [5n, 0n, 1n, 9n, 0n, 2n], noopGas: 21_000n, dataFee: '0x', fails: false, calls: 0 }
  asked = []
})

describe('the market for gas', () => {
  it('says the middle of what was tipped of late, once nodes said it, and nobody waits for them', async () => {
    const market = open()
    expect(market.tipWei()).toBeNull()
    await setImmediate()
    expect(market.tipWei()).toBe(5n)
  })

  it('says what a transaction pays for its bytes, where the chain has an oracle that says it', async () => {
    const paid = async (dataFee: Hex | null) => {
      said.dataFee = dataFee
      const market = open()
      await setImmediate()
      return [market.dataFeeWei(), await market.dataFees()?.(['0x01', '0x02'])]
    }
    expect(await paid(numberToHex(7n, { size: 32 }))).toEqual([7n, [7n, 7n]])
    expect(asked.map(({ to, data }) => [to, size(data) > 256])).toEqual(
      [true, false, false].map((isLong) => ['0x420000000000000000000000000000000000000f', isLong]),
    )
    expect(await paid('0x')).toEqual([0n, undefined])
    // It does not say it: it may charge, and what is not known is asked again.
    expect(await paid(null)).toEqual([null, [null, null]])
    said.fails = true
    const market = open()
    await setImmediate()
    expect([market.dataFeeWei(), market.dataFees()]).toEqual([null, expect.any(Function)])
  })

  it('knows no tip of blocks in which nobody tipped', async () => {
    said.tipsWei = [0n, 0n]
    const market = open()
    await setImmediate()
    expect(market.tipWei()).toBeNull()
  })

  it('asks once in ten seconds, however often it is asked', async () => {
    const market = open()
    await setImmediate()
    for (let times = 0; times < 100; times += 1) market.tipWei()
    expect(said.calls).toBe(1)
    nowMs += 9_999
    market.tipWei()
    expect(said.calls).toBe(1)
    nowMs += 1
    said.tipsWei = [7n]
    expect(market.tipWei()).toBe(5n)
    await setImmediate()
    expect([market.tipWei(), said.calls]).toEqual([7n, 2])
  })

  it('stands by the last word while nodes fail, for five minutes', async () => {
    const market = open()
    await setImmediate()
    said.fails = true
    nowMs += 309_999
    expect(market.tipWei()).toBe(5n)
    await setImmediate()
    nowMs += 1
    expect(market.tipWei()).toBeNull()
  })

  it('gives a no-op what its chain asks, and never less than an empty transfer needs', async () => {
    const market = open()
    expect(market.noopGas(SIGNER)).toBe(21_000n)
    said.noopGas = 96_000n
    nowMs += 600_000
    market.noopGas(SIGNER)
    await setImmediate()
    expect(market.noopGas(SIGNER)).toBe(96_000n)
    said.noopGas = 1n
    nowMs += 600_000
    market.noopGas(SIGNER)
    await setImmediate()
    expect(market.noopGas(SIGNER)).toBe(21_000n)
  })
})
