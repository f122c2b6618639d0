import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Evidence, readEvidence } from '../../src/fleet/evidence.ts'
import { type ChainEvidence, gapOf, judge, type LeaveRequest, leavingOf } from '../../src/fleet/safe-proof.ts'
import { openWitnesses } from '../../src/fleet/witnesses.ts'
import { openCommandLine } from '../../src/journal/redis/link/command-line.ts'
import { writeHistory } from '../../src/journal/redis/link/fleet-history.ts'
import { foundFleet, type StoreConfig } from '../../src/journal/redis/link/generation.ts'
import { createRedisReads } from '../../src/journal/redis/records/reads.ts'
import { setForFleet } from '../../src/journal/redis/seats/controls.ts'
import { leaveSafe } from '../../src/journal/redis/seats/safe-sequence.ts'
import { fence } from '../../src/journal/redis/seats/seat.ts'
import { newDirectory } from '../support/directory.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE, openStore, storeAt, takeSeat } from '../support/redis-fleet.ts'

const SEAT = `0x${'51'.repeat(20)}`
const OTHER = `0x${'52'.repeat(20)}`
const ASKED: LeaveRequest = {
  seat: SEAT,
  seats: [SEAT, OTHER],
  chainId: 1,
  roster: ['one', 'two'],
  gone: [],
  window: 16,
}
const SETTING = { name: 'a', value: 'b', keeps: 'last' } as const
const author = { by: 'someone', atMs: 1 }
const node = (latest: number, pending = latest) => ({ node: 'node 1', latest, pending })
const CHAIN: ChainEvidence = { counts: [node(8)], adopted: [] }
const EVIDENCE: Evidence = {
  gen: '',
  parents: [],
  seq: 0,
  server: 'run/history',
  runId: 'run',
  forgotten: 'It is empty.',
  testimonies: ['one', 'two'].map((instance) => ({ instance, gen: 'g1', seq: 17, tops: { [SEAT]: 7 } })),
  attested: new Set(),
  controls: new Map(),
}
const unproven = (
  asked: Partial<LeaveRequest>,
  evidence: Partial<Evidence>,
  chain: Partial<ChainEvidence> = {},
) =>
  judge({ ...ASKED, ...asked }, { ...EVIDENCE, ...evidence }, { ...CHAIN, ...chain })
    .filter(({ isProven }) => !isProven)
    .map(({ what, seen, fix }) => `${what}: ${seen}. ${fix}`)

describe('what must be proven', () => {
  it('is that each instance is heard or gone, and not both', () => {
    expect(unproven({}, {})).toEqual([])
    const testimonies = EVIDENCE.testimonies.slice(0, 1)
    expect(unproven({}, { testimonies })).toEqual([expect.stringContaining('--gone two')])
    expect(unproven({ gone: ['two'] }, { testimonies })).toEqual([])
    expect(unproven({ gone: ['one'] }, {})).toEqual([expect.stringContaining('leave `--gone one` out')])
    // Who finds nothing missing says nothing of what others saw.
    const attested = new Set(['two'])
    expect(unproven({}, { testimonies, attested })).toHaveLength(1)
    expect(unproven({}, { testimonies: [], forgotten: null, attested: new Set(['one', 'two']) })).toEqual([])
  })

  it('is that all nodes count the same, nothing is pending on any, and that they know the last day', () => {
    const silent = { node: 'node 2', problem: 'node.timeout' }
    for (const counts of [
      [node(8), node(9)],
      [node(8, 9)],
      [node(8), node(8, 9)],
      [node(8), silent],
      [silent],
    ])
      expect(unproven({}, {}, { counts })).toEqual([expect.stringContaining('pending on any node')])
    expect(unproven({}, {}, { adopted: null })).toEqual([expect.stringContaining('archive node')])
  })
})

describe('an instance that is gone', () => {
  const parts = { author, latest: 8, gap: null, charged: [], values: new Map() }
  const first = leavingOf({ ...ASKED, gone: ['two'] }, EVIDENCE, parts)
  const later = { forgotten: null, testimonies: [], attested: new Set(['one']), controls: first.controls }

  it('is gone for every signer of the generation that began with it, and for no later one', () => {
    expect(unproven({}, { ...later, gen: first.begins?.gen ?? '' })).toEqual([])
    expect(unproven({}, { ...later, gen: 'later' })).toHaveLength(1)
    expect(unproven({}, { ...later, gen: first.begins?.gen ?? '', forgotten: 'It is older.' })).toHaveLength(
      2,
    )
  })

  it('begins no generation a second time, and leaves no signer SAFE that was proven', () => {
    const evidence = { ...EVIDENCE, ...later, gen: first.begins?.gen ?? '' }
    const second = leavingOf({ ...ASKED, seat: OTHER, gone: ['two'] }, evidence, parts)
    expect(second.begins).toBeNull()
    expect([...second.controls.keys()]).toEqual([`safe:${OTHER}`, `left:${OTHER}`])
  })
})

it('begins a generation where the one of now is doubted, also by what no instance testifies to', () => {
  const doubt = { check: 'fleet_amnesia', message: 'm', seen: 's', toLeave: 't', by: 'one', atMs: 1 }
  const parts = { author, latest: 8, gap: null, charged: [], values: new Map() }
  const begun = (gen: string, seat = SEAT) => {
    const controls = new Map([[`safe:${seat}`, JSON.stringify({ ...doubt, gen })]])
    const evidence = { ...EVIDENCE, gen: 'g2', parents: ['g1'], forgotten: null, testimonies: [], controls }
    const leaving = leavingOf(ASKED, evidence, parts)
    const { over } = JSON.parse(leaving.controls.get(`left:${SEAT}`) ?? '')
    return { parents: leaving.begins?.parents, over }
  }
  expect(begun('g2')).toEqual({ parents: ['g2', 'g1'], over: ['g2', 'g1'] })
  expect(begun('g1')).toEqual({ parents: undefined, over: ['g1'] })
  // Who was SAFE by then is so by what was doubted first, and what came after is as true of it.
  expect(begun('g2', OTHER)).toEqual(begun('g2'))
})

describe('what may still land', () => {
  it('is what a key was asked to sign and the chain does not count', () => {
    expect(gapOf(ASKED, EVIDENCE, 8)).toBeNull()
    expect(gapOf(ASKED, EVIDENCE, 6)).toEqual({ from: 6, to: 7 })
  })

  it('is a whole window where somebody is gone who may know more', () => {
    const testimonies = EVIDENCE.testimonies.slice(0, 1)
    expect(gapOf({ ...ASKED, gone: ['two'] }, { ...EVIDENCE, testimonies }, 8)).toEqual({ from: 8, to: 23 })
  })

  it('is known of the other signers from what the first one left behind', () => {
    const { controls } = leavingOf(ASKED, EVIDENCE, {
      author,
      latest: 8,
      gap: null,
      charged: [],
      values: new Map(),
    })
    const later = { ...EVIDENCE, forgotten: null, testimonies: [], controls }
    const other = { ...ASKED, seat: OTHER }
    expect(gapOf(other, later, 0)).toBeNull()
    const known = { ...EVIDENCE.testimonies[0], instance: 'one', gen: 'g1', seq: 1, tops: { [OTHER]: 3 } }
    const first = leavingOf(
      ASKED,
      { ...EVIDENCE, testimonies: [known] },
      { author, latest: 8, gap: null, charged: [], values: new Map() },
    )
    expect(gapOf(other, { ...later, controls: first.controls }, 2)).toEqual({ from: 2, to: 3 })
    // Who was gone when the first generation began is in no roster when a second one does.
    const unknown = new Map([[`safe:${OTHER}`, JSON.stringify({ top: null })]])
    const parts = { author, latest: 8, gap: null, charged: [], values: new Map() }
    const again = leavingOf(ASKED, { ...EVIDENCE, testimonies: [known], controls: unknown }, parts)
    expect(gapOf(other, { ...later, controls: again.controls }, 8)).toEqual({ from: 8, to: 23 })
    const unreadable = new Map([[`safe:${OTHER}`, '{']])
    expect(gapOf(other, { ...later, controls: unreadable }, 2)).toEqual({ from: 2, to: 17 })
  })
})

describe('a fleet whose Redis was flushed', () => {
  let redis: TestRedis
  beforeAll(async () => {
    redis = await startRedis(DURABLE)
  })
  afterAll(() => redis.stop())

  /** An instance that passed a barrier, and finds it forgotten. */
  async function flushed(config: StoreConfig, forget: () => Promise<unknown>) {
    const directory = newDirectory()
    const witnesses = await openWitnesses(directory, [SEAT])
    const store = openStore(config)
    const held = await takeSeat(store, SEAT)
    await fence({ ...held, writer: 'w', answered: 0 }, [], store)
    await witnesses.record(SEAT, store.known(), 7)
    await forget()
    await expect(setForFleet(SETTING, store)).rejects.toMatchObject({ code: 'journal.amnesia' })
    const close = () => {
      store.close()
      return witnesses.close()
    }
    return { directory, store, held, close }
  }

  it('goes on in a generation that follows, for those who knew the one before and nobody else', async () => {
    const config = storeAt(redis.port)
    await foundFleet(config)
    const { directory, store, close } = await flushed(config, () => redis.client().flushall())
    const before = store.known()
    for (const isMeant of [false, true])
      await expect(foundFleet(config, isMeant)).rejects.toMatchObject({ code: 'journal.not_new' })
    const place = { store: config, directory, instance: 'one' }
    const line = openCommandLine(config, false)
    const evidence = await readEvidence(place, line)
    expect(evidence).toMatchObject({ gen: '', forgotten: expect.stringContaining('saw its generation') })
    expect(evidence.testimonies).toMatchObject([{ instance: 'one', gen: before.gen, seq: before.seq }])
    const row = { workflowId: 'adopted', role: 'liquidator' as const, atMs: Date.now() }
    const charged = [{ ...row, usdMicros: 10n ** 30n, gasWei: 5n, reverted: false }]
    const leaving = leavingOf(ASKED, evidence, {
      author,
      latest: 8,
      gap: null,
      charged,
      values: new Map([['k', 'v']]),
    })
    // The answer may be lost.
    for (let times = 0; times < 2; times += 1) await leaveSafe(leaving, config.fleet, line)
    await expect(leaveSafe({ ...leaving, begins: null }, config.fleet, line)).rejects.toMatchObject({
      code: 'fleet.changed',
    })

    await setForFleet(SETTING, store)
    expect(store.known()).toEqual({ gen: leaving.begins?.gen, seq: 0 })
    const held = await takeSeat(store, SEAT)
    await fence({ ...held, writer: 'w', answered: 0 }, [], store)
    expect(store.known().seq).toBeGreaterThan(before.seq)
    const reads = createRedisReads(line)
    expect(await reads.nextNonce(1, `0x${'51'.repeat(20)}`)).toBe(8)
    expect(await reads.reservations('liquidator', 0)).toEqual(charged)
    expect(await reads.getValue('k')).toBe('v')
    expect((await readEvidence(place, line)).forgotten).toBeNull()
    expect((await readEvidence(place, line)).controls.has(`safe:${OTHER}`)).toBe(true)
    // One that knew another fleet's generation, or a later one, knows nothing of this.
    for (const known of [
      { gen: 'other', seq: 0 },
      { ...store.known(), seq: 2 ** 40 },
    ]) {
      const other = openStore({ ...config, instance: 'other' }, known)
      await expect(other.connect()).rejects.toMatchObject({ code: 'journal.amnesia' })
      other.close()
    }
    // What was under way when the generation began.
    await line.use((on) => writeHistory(on, line.keys, { ...before, instance: 'late', tops: {} }))
    const said = (await readEvidence(place, line)).testimonies.map(({ instance }) => instance)
    expect(said).not.toContain('late')
    line.close()
    await close()
  })

  it('is seen from an older file too, and no holder of before goes on with its token', async () => {
    const config = storeAt(redis.port)
    await foundFleet(config)
    const meta = `{rk:${config.fleet}}:meta`
    const older = () => redis.client().hset(meta, 'seq', '0')
    const { directory, store, held, close } = await flushed(config, older)
    const line = openCommandLine(config, false)
    const evidence = await readEvidence({ store: config, directory, instance: 'one' }, line)
    expect(evidence.forgotten).toContain('sequence')
    const parts = { author, latest: 8, gap: null, charged: [], values: new Map() }
    await leaveSafe(leavingOf(ASKED, evidence, parts), config.fleet, line)
    const again = await takeSeat(store, SEAT)
    await fence({ ...again, writer: 'w', answered: 0 }, [], store)
    // A second signer's leaving begins none; its term is begun anew all the same, with what was written meanwhile.
    const later = await readEvidence({ store: config, directory, instance: 'one' }, line)
    await leaveSafe({ ...leavingOf(ASKED, later, parts), begins: null }, config.fleet, line)
    await expect(fence({ ...again, writer: 'w', answered: 0 }, [], store)).rejects.toMatchObject({
      code: 'seat.lost',
    })
    await expect(fence({ ...held, writer: 'w', answered: 0 }, [], store)).rejects.toMatchObject({
      code: 'seat.lost',
    })
    line.close()
    await close()
  })
})
