import { describe, expect, it, vi } from 'vitest'
import type { Journal } from '../../../src/journal/journal.ts'
import {
  createWatermark,
  lineOf,
  type Mark,
  markOf,
  ownerOf,
  withWatermark,
} from '../../../src/journal/watermark/watermark.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const digest = (of: number) => `0x${String(of).padStart(64, '0')}` as const
const attempt = (of: number): Mark => ({
  type: 'attempt',
  workflowId: 'a',
  chainId: CHAIN,
  signer: SIGNER,
  nonce: of,
  attempt: attemptOf({ digest: digest(of) }),
})

const never = () => {
  throw new TypeError('no disk fails')
}

describe('a mark', () => {
  const entry = {
    digest: digest(1),
    kind: 'challenge' as const,
    signer: SIGNER,
    workflowId: null,
    nonce: null,
    atMs: 1,
  }
  const slots = [7, 8].map((nonce) => slotOf({ nonce, attempts: [attemptOf({ digest: digest(nonce) })] }))
  const workflow = workflowOf('in_flight', { id: 'w', slots })
  it.each<[Mark, readonly string[], string | null]>([
    [{ type: 'digest', entry }, [digest(1)], null],
    [{ type: 'digest', entry: { ...entry, kind: 'typed_data', workflowId: 'b' } }, [digest(1)], 'b'],
    [attempt(3), [digest(3)], 'a'],
    [{ type: 'claim', workflow, reservation: null }, [digest(7), digest(8)], 'w'],
  ])('of %o is a line with its digests, which is read again', (mark, digests, workflowId) => {
    const line = lineOf(mark)
    const isSignIn = mark.type === 'digest' && mark.entry.kind === 'challenge'
    expect(line).toEqual({ digests, text: line.text, ...(isSignIn ? { isSignIn } : {}) })
    expect(markOf(line)).toEqual(mark)
    expect(ownerOf(mark)).toMatchObject({ workflowId, signer: SIGNER })
  })

  it.each(['', 'null', '{"type":"another"}', '{', '1'])('is none in %s', (text) => {
    expect(markOf({ digests: [], text })).toBeNull()
  })
})

describe('what a watermark records', () => {
  const workflow = workflowOf('in_flight', { id: 'w', slots: [slotOf({ attempts: [attemptOf({})] })] })
  const reservation = {
    workflowId: 'w',
    role: 'liquidator',
    atMs: 1,
    usdMicros: 1n,
    gasWei: 2n,
    reverted: false,
  }
  /** A journal of answers, and the marks that a watermark of it is given. */
  const recording = (answers: Partial<Journal>) => {
    const marks: Mark[] = []
    const watermark = { ...createWatermark([], never), record: (mark: Mark) => void marks.push(mark) }
    return { marks, journal: withWatermark(answers as Journal, watermark) }
  }

  it('is nothing of what was outdated or lost', async () => {
    const { marks, journal } = recording({
      get: async () => workflow,
      claim: async () => 'lost',
      claimWithin: async () => 'outdated',
      writeWithin: async () => 'outdated',
    })
    expect(await journal.claim(workflow, null)).toBe('lost')
    expect(await journal.claimWithin(workflow, reservation, '1')).toBe('outdated')
    expect(await journal.writeWithin(workflow, reservation, '1')).toBe('outdated')
    expect(marks).toEqual([])
  })

  it('is each attempt that is new of a workflow, with what it reserves', async () => {
    const [first] = workflow.slots
    if (first === undefined) throw new TypeError('a slot')
    const bump = attemptOf({ digest: digest(9) })
    const bumped = { ...workflow, slots: [{ ...first, attempts: [...first.attempts, bump] }] }
    const { marks, journal } = recording({
      get: async () => workflow,
      write: async (next) => next,
      writeWithin: async (next) => next,
    })
    const mark = {
      type: 'attempt',
      workflowId: 'w',
      chainId: CHAIN,
      signer: SIGNER,
      nonce: 7,
      attempt: bump,
    }
    await journal.write(bumped)
    await journal.write(bumped, null)
    await journal.writeWithin(bumped, reservation, '1')
    expect(marks).toEqual([mark, mark, { ...mark, reservation }])
  })

  it('costs no read of a workflow without slots, and nothing where it was not there', async () => {
    const get = vi.fn(async () => null)
    const { marks, journal } = recording({ get, write: async (next) => next })
    await journal.write({ ...workflow, slots: [] })
    expect(get).not.toHaveBeenCalled()
    await journal.write(workflow)
    expect(marks).toEqual([])
  })

  it('is each digest once of the last 10,000', async () => {
    const enterDigest = vi.fn(async () => {})
    const { marks, journal } = recording({ enterDigest })
    const enter = (of: number) =>
      journal.enterDigest({
        digest: digest(of),
        kind: 'typed_data',
        signer: SIGNER,
        workflowId: 'w',
        nonce: null,
        atMs: 1,
      })
    for (let count = 0; count < 10_000; count += 1) await enter(count)
    await enter(0)
    expect(marks).toHaveLength(10_000)
    // That was the last before they are forgotten.
    await enter(0)
    expect(marks).toHaveLength(10_000)
    await enter(1)
    expect(marks).toHaveLength(10_001)
    expect(enterDigest).toHaveBeenCalledTimes(10_003)
  })

  it('is on disk before a digest is said to be ordered, and what the journal has besides is as it was', async () => {
    const told: string[] = []
    const file = { append: async () => void told.push('watermark') }
    const watermark = createWatermark([file, file], never)
    const answers: Partial<Journal> = {
      barrier: async () => void told.push('journal'),
      ordered: async () => void told.push('ordered'),
      getValue: async (key) => key,
    }
    const journal = withWatermark(answers as Journal, watermark)
    watermark.record(attempt(1))
    await journal.ordered([])
    expect(told).toEqual(['journal', 'watermark', 'watermark', 'ordered'])
    expect(await journal.getValue('x')).toBe('x')
    expect('then' in journal || Reflect.get(journal, 'then')).toBeFalsy()
  })

  it('has ended when what is being written has', async () => {
    const busy = Promise.withResolvers<void>()
    const watermark = createWatermark([{ append: () => busy.promise }], never)
    expect(await watermark.ended()).toBeUndefined()
    watermark.record(attempt(1))
    expect(watermark.recorded()).toBe(1)
    const [flushed, ended] = [watermark.flush(1), watermark.ended()]
    let isOver = false
    ended.finally(() => {
      isOver = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(false)
    busy.resolve()
    await ended
    await flushed
  })
})
