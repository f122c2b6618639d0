import { describe, expect, it } from 'vitest'
import type { SignerFacts } from '../../../src/chain/canonical.ts'
import type { MinedTransaction } from '../../../src/chain/nodes.ts'
import { finalBefore, follow, isSettled, soughtFor } from '../../../src/pipeline/transactions/follow.ts'
import type { Inclusion, Slot } from '../../../src/workflow/slot.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const BLOCK = `0x${'aa'.repeat(32)}` as const
const OTHER = `0x${'00'.repeat(32)}` as const
const ONE = `0x${'01'.repeat(32)}` as const
const TWO = `0x${'02'.repeat(32)}` as const
const DIGEST = `0x${'d1'.repeat(32)}` as const
const NOOP = `0x${'d2'.repeat(32)}` as const

const mined = (
  changes: Partial<MinedTransaction> = {},
  receipt: Partial<MinedTransaction['receipt']> = {},
): MinedTransaction => ({
  hash: ONE,
  from: SIGNER,
  nonce: 7,
  digest: DIGEST,
  maxFeePerGasWei: 2_000_000_000n,
  maxPriorityFeePerGasWei: 1n,
  receipt: {
    hash: ONE,
    from: SIGNER,
    blockNumber: 10n,
    blockHash: BLOCK,
    status: 'success',
    gasUsed: 5n,
    effectiveGasPriceWei: 2n,
    logs: [],
    ...receipt,
  },
  ...changes,
})
const facts = (
  at: MinedTransaction | null | undefined,
  { headNumber = 12n, finalized = 9n, forkedFrom = null as bigint | null } = {},
): SignerFacts => ({
  head: { number: headNumber, hash: BLOCK, parentHash: BLOCK, timestampS: 1, baseFeePerGasWei: 1n },
  finalized,
  forkedFrom,
  count: at === null ? 7 : 8,
  minedAt: () => at,
})
const inclusion: Inclusion = {
  hash: ONE,
  purpose: 'payload',
  blockNumber: 10n,
  blockHash: BLOCK,
  status: 'success',
  gasUsed: 5n,
  effectiveGasPriceWei: 2n,
  tokens: [],
}
const sent = (changes: Partial<Slot> = {}) =>
  slotOf({ attempts: [attemptOf({ state: 'sent', raw: '0x01', hash: ONE })], ...changes })
const included = (changes: Partial<Slot> = {}) => sent({ state: 'mined', inclusion, ...changes })
const BELOW = 4n

describe('following a slot', () => {
  it('leaves one alone at whose nonce nothing is, and one of which nothing is known', () => {
    for (const slot of [sent(), slotOf()]) {
      expect(follow(slot, facts(null), BELOW)).toBe(slot)
      expect(follow(slot, facts(undefined), BELOW)).toBe(slot)
    }
    const slot = included()
    expect(follow(slot, facts(undefined), BELOW)).toBe(slot)
  })

  it('finds what was mined, provisionally above the finalized height and for good at it', () => {
    expect(follow(sent(), facts(mined()), BELOW)).toMatchObject({ state: 'mined', inclusion })
    expect(follow(sent(), facts(mined(), { finalized: 10n }), BELOW)).toMatchObject({
      state: 'final',
      inclusion,
    })
    const dear = follow(sent(), facts(mined({}, { dataFeeWei: 6n })), BELOW)
    expect(dear.inclusion).toEqual({ ...inclusion, dataFeeWei: 6n })
    const slot = included()
    expect(follow(slot, facts(mined(), { finalized: 9n }), BELOW)).toBe(slot)
    expect(follow(slot, facts(mined(), { finalized: 10n }), BELOW).state).toBe('final')
  })

  it('knows its own by the digest, whichever form it is, also where the hash was lost with the tail of a journal', () => {
    const attempts = [
      attemptOf({ state: 'ordered' }),
      attemptOf({ state: 'ordered', digest: NOOP, purpose: 'noop' }),
    ]
    const payload = follow(slotOf({ attempts }), facts(mined({ hash: TWO }), { finalized: 10n }), BELOW)
    expect(payload).toMatchObject({ state: 'final', inclusion: { hash: TWO, purpose: 'payload' } })
    expect(payload.attempts[0]).toMatchObject({ state: 'ordered', hash: TWO })
    const noop = follow(slotOf({ attempts }), facts(mined({ digest: NOOP })), BELOW)
    expect(noop.inclusion?.purpose).toBe('noop')
  })

  it('opens again what a reorg took, and moves what it put elsewhere', () => {
    const open = follow(included(), facts(null), BELOW)
    expect(open.state).toBe('open')
    expect(open).not.toHaveProperty('inclusion')
    const moved = follow(included(), facts(mined({}, { blockHash: OTHER, blockNumber: 12n })), BELOW)
    expect(moved.inclusion).toMatchObject({ blockHash: OTHER, blockNumber: 12n })
    const foreign = follow(included(), facts(mined({ digest: OTHER })), BELOW)
    expect(foreign).toMatchObject({ state: 'open' })
  })

  it('does not open what was mined above a head that went back', () => {
    const slot = included()
    expect(follow(slot, facts(null, { headNumber: 9n }), BELOW)).toBe(slot)
    expect(follow(slot, facts(null, { headNumber: 10n }), BELOW).state).toBe('open')
  })

  it("gives a nonce up when another's transaction is final at it, and not before", () => {
    const other = mined({ digest: OTHER })
    const slot = sent()
    expect(follow(slot, facts(other, { finalized: 9n }), BELOW)).toBe(slot)
    expect(follow(slot, facts(other, { finalized: 10n }), BELOW)).toMatchObject({
      state: 'final',
      consumedByOther: true,
    })
    expect(follow(slot, facts(mined({ digest: null }), { finalized: 10n }), BELOW).consumedByOther).toBe(true)
  })

  it('a node that invents a reverted receipt in an old final block, or at a price that nobody offered, moves nothing', () => {
    const slot = sent()
    const old = mined({}, { status: 'reverted', blockNumber: BELOW })
    expect(follow(slot, facts(old), BELOW)).toBe(slot)
    const dear = mined({}, { status: 'reverted', effectiveGasPriceWei: 2_000_000_001n })
    expect(follow(slot, facts(dear, { finalized: 10n }), BELOW)).toBe(slot)
    const next = mined({}, { status: 'reverted', blockNumber: BELOW + 1n })
    expect(follow(slot, facts(next), BELOW)).toMatchObject({ inclusion: { status: 'reverted' } })
  })

  it('takes what lands below it once the chain itself left blocks that were final', () => {
    const old = mined({}, { blockNumber: 3n })
    expect(follow(sent(), facts(old, { forkedFrom: 4n }), BELOW).state).toBe('open')
    expect(follow(sent(), facts(old, { forkedFrom: 3n }), BELOW)).toMatchObject({ state: 'final' })
  })

  it('looks again at a final one only where the chain left the blocks that it was in', () => {
    const slot = included({ state: 'final' })
    expect(follow(slot, facts(null), BELOW)).toBe(slot)
    expect(follow(slot, facts(null, { forkedFrom: 11n }), BELOW)).toBe(slot)
    expect(follow(slot, facts(null, { forkedFrom: 10n }), BELOW)).toMatchObject({ state: 'open' })
    expect(follow(slot, facts(mined(), { forkedFrom: 10n, finalized: 10n }), BELOW)).toBe(slot)
    expect(follow(slot, facts(mined(), { forkedFrom: 10n }), BELOW)).toMatchObject({ state: 'mined' })
  })

  it('opens again what another took where a fork past finality lost that too, and not before', () => {
    const slot = sent({ state: 'final', consumedByOther: true })
    expect(follow(slot, facts(null), BELOW)).toBe(slot)
    const theirs = mined({ digest: `0x${'d9'.repeat(32)}` })
    for (const at of [undefined, theirs])
      expect(follow(slot, facts(at, { finalized: 10n, forkedFrom: 9n }), BELOW)).toBe(slot)
    const again = follow(slot, facts(null, { forkedFrom: 9n }), BELOW)
    expect(again).toEqual(sent())
    const ours = follow(slot, facts(mined(), { finalized: 10n, forkedFrom: 9n }), BELOW)
    expect(ours).toMatchObject({ state: 'final', inclusion })
    expect(ours).not.toHaveProperty('consumedByOther')
  })

  it('reads again what an earlier release did not keep of a final one', () => {
    const { tokens: _none, ...rest } = inclusion
    const old = included({ state: 'final', inclusion: rest })
    expect(isSettled(old)).toBe(false)
    const read = follow(old, facts(mined(), { finalized: 10n }), BELOW)
    expect(read).toMatchObject({ state: 'final', inclusion })
    expect(isSettled(read)).toBe(true)
    expect(follow(read, facts(null), BELOW)).toBe(read)
  })
})

describe('what nothing of a workflow can be mined at or below', () => {
  it('is what was final when it was cleared, or as deep below as reorgs go where that was not kept', () => {
    const { clearance } = workflowOf('in_flight')
    expect(finalBefore(clearance)).toBe(-54n)
    expect(finalBefore(clearance && { ...clearance, finalizedNumber: 8n })).toBe(8n)
    const known = { signer: SIGNER, nonce: 7, hashes: [ONE] }
    expect(soughtFor(sent(), -54n, facts(null))).toEqual({ ...known, sinceBlock: 0n })
    expect(soughtFor(sent(), 8n, facts(null))).toEqual({ ...known, sinceBlock: 8n })
  })

  it('is looked for further down where a fork went past finality: what was free there may be taken now', () => {
    const since = (forkedFrom: bigint) => soughtFor(sent(), 8n, facts(null, { forkedFrom })).sinceBlock
    expect([since(9n), since(8n), since(3n), since(0n)]).toEqual([8n, 7n, 2n, 0n])
  })
})
