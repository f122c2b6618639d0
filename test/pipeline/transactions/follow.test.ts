import { beforeEach, describe, expect, it } from 'vitest'
import type { Receipt } from '../../../src/chain/nodes.ts'
import { type FollowDeps, follow } from '../../../src/pipeline/transactions/follow.ts'
import type { Inclusion, Slot } from '../../../src/workflow/slot.ts'
import { attemptOf, SIGNER, slotOf } from '../../support/workflows.ts'

const A = `0x${'aa'.repeat(32)}` as const
const B = `0x${'bb'.repeat(32)}` as const
const OTHER = `0x${'00'.repeat(32)}` as const
const ONE = `0x${'01'.repeat(32)}` as const
const TWO = `0x${'02'.repeat(32)}` as const

const createWorld = () => {
  const world = {
    receipts: new Map<string, Receipt>(),
    /** What each node has at any height. */
    blocks: [A as `0x${string}` | null],
    finalized: 9n,
    finalizedCount: 7,
  }
  const head = (number: bigint, hash: `0x${string}` | null) =>
    hash === null ? null : { number, hash, parentHash: A, timestampS: 1, baseFeePerGasWei: 1n }
  const deps: FollowDeps = {
    nodes: {
      receipt: async (hash) => world.receipts.get(hash) ?? null,
      block: async (number) => head(number, world.blocks[0] ?? null),
      blockOnAll: async (number) => world.blocks.map((hash) => head(number, hash)),
      finalizedNumber: async () => world.finalized,
      transactionCount: async () => world.finalizedCount,
    },
  }
  return { world, deps }
}
const receipt = (hash: `0x${string}`, changes: Partial<Receipt> = {}): Receipt => ({
  hash,
  from: SIGNER,
  blockNumber: 10n,
  blockHash: A,
  status: 'success',
  gasUsed: 5n,
  effectiveGasPriceWei: 2n,
  logs: [],
  ...changes,
})
const inclusion: Inclusion = {
  hash: ONE,
  purpose: 'payload',
  blockNumber: 10n,
  blockHash: A,
  status: 'success',
  gasUsed: 5n,
  effectiveGasPriceWei: 2n,
}
const sent = (changes: Partial<Slot> = {}) =>
  slotOf({ attempts: [attemptOf({ state: 'sent', raw: '0x01', hash: ONE })], ...changes })
const mined = (changes: Partial<Slot> = {}) => sent({ state: 'mined', inclusion, ...changes })

let setup: ReturnType<typeof createWorld>
beforeEach(() => {
  setup = createWorld()
})

describe('following a slot', () => {
  it('asks nothing about one that was never signed', async () => {
    const slot = slotOf()
    expect(await follow(slot, { nodes: {} as never })).toBe(slot)
  })

  it('leaves one alone that no node shows', async () => {
    const slot = sent()
    expect(await follow(slot, setup.deps)).toBe(slot)
  })

  it('finds what was mined, provisionally above the finalized height and for good at it', async () => {
    setup.world.receipts.set(ONE, receipt(ONE))
    expect(await follow(sent(), setup.deps)).toMatchObject({ state: 'mined', inclusion })
    setup.world.finalized = 10n
    expect(await follow(sent(), setup.deps)).toMatchObject({ state: 'final', inclusion })
  })

  it('makes final what was mined at the finalized height and not one block above it', async () => {
    setup.world.finalized = 9n
    expect((await follow(mined(), setup.deps)).state).toBe('mined')
    setup.world.finalized = 10n
    expect((await follow(mined(), setup.deps)).state).toBe('final')
  })

  it('makes nothing final while one node has another block there, or none', async () => {
    setup.world.finalized = 10n
    for (const other of [OTHER, null]) {
      setup.world.blocks = [A, other]
      expect((await follow(mined(), setup.deps)).state).toBe('mined')
    }
    setup.world.receipts.set(ONE, receipt(ONE))
    expect((await follow(sent(), setup.deps)).state).toBe('mined')
    setup.world.blocks = [A, A]
    expect((await follow(sent(), setup.deps)).state).toBe('final')
  })

  it('takes the receipt of whichever own form has it, also of one that is only signed', async () => {
    const attempts = [
      attemptOf({ state: 'signed', raw: '0x01', hash: ONE }),
      attemptOf({ state: 'sent', raw: '0x02', hash: TWO, purpose: 'noop' }),
    ]
    setup.world.receipts.set(ONE, receipt(ONE, { status: 'reverted' }))
    expect((await follow(sent({ attempts }), setup.deps)).inclusion).toMatchObject({
      hash: ONE,
      purpose: 'payload',
      status: 'reverted',
    })
    setup.world.receipts.clear()
    setup.world.receipts.set(TWO, receipt(TWO))
    expect((await follow(sent({ attempts }), setup.deps)).inclusion?.purpose).toBe('noop')
  })

  it('believes no receipt of a block that is not canonical', async () => {
    setup.world.receipts.set(ONE, receipt(ONE, { blockHash: OTHER }))
    const slot = sent()
    expect(await follow(slot, setup.deps)).toBe(slot)
  })

  it('opens again what a reorg took, and moves what it put elsewhere', async () => {
    setup.world.blocks = [B]
    const open = await follow(mined(), setup.deps)
    expect(open.state).toBe('open')
    expect(open).not.toHaveProperty('inclusion')
    setup.world.receipts.set(ONE, receipt(ONE, { blockHash: B, blockNumber: 12n }))
    expect((await follow(mined(), setup.deps)).inclusion).toMatchObject({ blockHash: B, blockNumber: 12n })
  })

  it('gives up no nonce that is not finalized', async () => {
    setup.world.finalizedCount = 7
    setup.world.finalized = 1_000n
    expect(await follow(sent({ nonce: 7 }), setup.deps)).not.toHaveProperty('passedAtBlock')
    setup.world.finalizedCount = 8
    expect(await follow(sent({ nonce: 7 }), setup.deps)).toMatchObject({
      state: 'open',
      passedAtBlock: 1_000n,
    })
  })

  it('gives a nonce up after eight finalized blocks without any own hash, and not after seven', async () => {
    setup.world.finalizedCount = 8
    const passed = await follow(sent(), setup.deps)
    setup.world.finalized += 7n
    expect(await follow(passed, setup.deps)).toBe(passed)
    setup.world.finalized += 1n
    expect(await follow(passed, setup.deps)).toMatchObject({ state: 'final', consumedByOther: true })
  })

  it('takes back its doubt when a node that lagged shows the receipt', async () => {
    setup.world.finalizedCount = 8
    const passed = await follow(sent(), setup.deps)
    setup.world.receipts.set(ONE, receipt(ONE))
    const found = await follow(passed, setup.deps)
    expect(found).toMatchObject({ state: 'mined', inclusion })
    expect(found).not.toHaveProperty('passedAtBlock')
  })
})
