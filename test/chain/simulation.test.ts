import { numberToHex } from 'viem'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { StorageSlot } from '../../src/chain/nodes.ts'
import {
  nextBaseFeeWei,
  nextTimestampS,
  orderSimulation,
  simulationParams,
  simulationResult,
} from '../../src/chain/simulation.ts'
import { wireHeader, wireSimulation } from '../../src/chain/wire.ts'
import { wireBlock } from './scripted-node.ts'

const SELF = `0x${'5e'.repeat(20)}` as const
const TOKEN = `0x${'70'.repeat(20)}` as const
const parent = wireHeader.parse(wireBlock(10))
const FEE_WEI = 2_000_000_000n
const read = { to: TOKEN, data: '0x70a08231' } as const
const mine = (nonce: number, maxFeePerGasWei = FEE_WEI) => ({
  from: SELF,
  to: TOKEN,
  data: '0x' as const,
  valueWei: 0n,
  gasLimit: 100_000n,
  nonce,
  maxFeePerGasWei,
  maxPriorityFeePerGasWei: 1n,
})
const request = {
  pending: [mine(4), mine(5, 7n)],
  before: [read, read],
  bundle: [mine(6), mine(7)],
  after: [read],
}

const uint = z.string().transform((text) => BigInt(text))
const sent = z.tuple([
  z.object({
    validation: z.literal(true),
    blockStateCalls: z.tuple([
      z.object({
        blockOverrides: z.object({ number: uint, time: uint, baseFeePerGas: uint, prevRandao: z.string() }),
        stateOverrides: z.record(z.string(), z.object({ balance: uint, nonce: uint }).partial()),
        calls: z.array(
          z.object({
            from: z.string(),
            nonce: uint,
            gas: uint,
            maxFeePerGas: uint,
            maxPriorityFeePerGas: uint,
          }),
        ),
      }),
    ]),
  }),
  z.object({ blockHash: z.literal(parent.hash), requireCanonical: z.literal(true) }),
])

describe('a simulation request', () => {
  const [{ blockStateCalls }] = sent.parse(simulationParams(request, parent, 1, 1_020))
  const [{ blockOverrides, stateOverrides, calls }] = blockStateCalls

  it('runs what is pending, the reads before, the bundle, the reads after', () => {
    const names = calls.map(({ from, nonce }) => (from === SELF ? Number(nonce) : 'read'))
    expect(names).toEqual([4, 5, 'read', 'read', 6, 7, 'read'])
  })

  it('passes a strict node: nonces without gaps, fees at the base fee or above, money for all of it', () => {
    const nonces = new Map<string, bigint>([[SELF, 4n]])
    for (const call of calls) {
      const expected = nonces.get(call.from) ?? stateOverrides[call.from]?.nonce
      expect(call.nonce).toBe(expected)
      nonces.set(call.from, call.nonce + 1n)
      expect(call.maxFeePerGas).toBeGreaterThanOrEqual(blockOverrides.baseFeePerGas)
      expect(call.maxPriorityFeePerGas).toBeLessThanOrEqual(call.maxFeePerGas)
      const funds = stateOverrides[call.from]?.balance
      if (funds !== undefined) expect(funds).toBeGreaterThan(call.gas * call.maxFeePerGas * 1_000n)
    }
  })

  it('funds nobody but the reader', () => {
    expect(Object.keys(stateOverrides)).not.toContain(SELF)
    expect(Object.keys(stateOverrides)).toHaveLength(1)
  })

  it('looks like the next block', () => {
    expect(blockOverrides).toMatchObject({ number: 11n, time: 1_020n, baseFeePerGas: nextBaseFeeWei(parent) })
    expect(blockOverrides.prevRandao).toMatch(/^0x(?!0+$)[0-9a-f]{64}$/)
  })
})

describe('a simulation’s answer', () => {
  const ok = { status: '0x1', gasUsed: '0x1', returnData: '0x2a' }
  const reverted = { ...ok, status: '0x0', returnData: '0x08c379a0' }
  const take = (calls: readonly unknown[]) =>
    simulationResult(request, parent, 1_020, { wire: wireSimulation.parse([{ calls }]), words: [] })

  it('is taken apart by its parts’ lengths', () => {
    expect(take([ok, reverted, ok, reverted, ok, reverted, ok])).toMatchObject({
      block: { number: 10n },
      timestampS: 1_020,
      pending: ['success', 'reverted'],
      before: ['0x2a', null],
      bundle: [{ status: 'success' }, { status: 'reverted', returnData: '0x08c379a0' }],
      after: ['0x2a'],
    })
  })

  it('is not believed with one outcome too few or too many', () => {
    expect(take([ok, ok, ok, ok, ok, ok])).toBeNull()
    expect(take([ok, ok, ok, ok, ok, ok, ok, ok])).toBeNull()
  })
})

describe('frames that follow', () => {
  const word = (slot: number): StorageSlot => ({ of: TOKEN, slot: numberToHex(slot, { size: 32 }) })
  const joint = {
    ...request,
    codeAt: [TOKEN],
    slots: [word(1)],
    following: [{ ...request, bundle: [mine(8)], codeAt: [TOKEN], slots: [word(2), word(3)] }],
  }
  const code = `0x${'cc'.repeat(32)}`

  it('read their slots at the block that they run on', () => {
    const { parentHash, slots } = orderSimulation(joint, parent, 1, 1_020_000)
    expect([parentHash, slots]).toEqual([parent.hash, [word(1), word(2), word(3)]])
  })

  it('run one after another, each with its own reads', () => {
    const params = simulationParams(joint, parent, 1, 1_020)
    const [{ blockStateCalls }] = sent.parse(params)
    const { calls } = blockStateCalls[0]
    const names = calls.map(({ from, nonce }) => (from === SELF ? Number(nonce) : `read ${nonce}`))
    expect(names).toEqual([
      ...[4, 5, 'read 0', 'read 1', 'read 2', 6, 7, 'read 3'],
      ...['read 4', 'read 5', 'read 6', 8, 'read 7'],
    ])
  })

  it('are taken apart by their own lengths, and none is believed where one is short', () => {
    const said = [1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1].map((kind, index) => ({
      status: '0x1',
      gasUsed: '0x1',
      returnData: kind === 0 ? code : `0x${String(index).padStart(2, '0')}`,
    }))
    const take = (calls: readonly unknown[]) =>
      simulationResult(joint, parent, 1_020, { wire: wireSimulation.parse([{ calls }]), words: [7n, 8n, 9n] })
    expect(take(said)).toMatchObject({
      before: ['0x03', '0x04'],
      bundle: [{}, {}],
      after: ['0x07'],
      codeHashes: [code],
      words: [7n],
      following: [
        {
          before: ['0x09', '0x10'],
          bundle: [{ returnData: '0x11' }],
          after: ['0x12'],
          codeHashes: [code],
          words: [8n, 9n],
        },
      ],
    })
    expect(take(said.slice(1))).toBeNull()
    expect(take([...said, said[0]])).toBeNull()
  })
})

describe('the next block', () => {
  it.each([
    ['keeps the base fee at the target', 15_000_000n, 1_000_000_000n],
    ['raises it by an eighth after a full block', 30_000_000n, 1_125_000_000n],
    ['lowers it by an eighth after an empty one', 0n, 875_000_000n],
  ])('%s', (_name, gasUsed, expected) => {
    expect(nextBaseFeeWei({ gasUsed, gasLimit: 30_000_000n, baseFeePerGasWei: 1_000_000_000n })).toBe(
      expected,
    )
  })

  it('raises the base fee by one wei at least', () => {
    expect(nextBaseFeeWei({ gasUsed: 15_000_001n, gasLimit: 30_000_000n, baseFeePerGasWei: 7n })).toBe(8n)
  })

  it('is after its parent, and not before now', () => {
    expect(nextTimestampS(parent, 0)).toBe(parent.timestampS + 1)
    expect(nextTimestampS(parent, 9_999_999)).toBe(9_999)
  })
})
