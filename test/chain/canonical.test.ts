import type { Hex } from 'viem'
import { afterEach, describe, expect, it } from 'vitest'
import { type CanonicalChain, followCanonicalChain } from '../../src/chain/canonical.ts'
import type { BlockName, ForkPastFinality } from '../../src/chain/finality.ts'
import type { SeekNodes } from '../../src/chain/find-mined.ts'
import { findMined } from '../../src/chain/find-mined.ts'
import type { Head, MinedTransaction } from '../../src/chain/nodes.ts'
import { systemClock } from '../../src/clock.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { createModelChain } from '../support/model-chain.ts'
import { until } from '../support/until.ts'
import { SIGNER } from '../support/workflows.ts'

const OTHER = `0x${'99'.repeat(20)}` as const
const DIGEST = `0x${'d1'.repeat(32)}` as const
const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 1))
const EMPTY: readonly [] = []

let following: CanonicalChain | undefined
afterEach(() => following?.stop())

async function createScene(
  options: { lastFinal?: BlockName | null; before?: number; confirmations?: bigint } = {},
) {
  const model = createModelChain(options)
  for (let block = 0; block < (options.before ?? 10); block += 1) model.mine(EMPTY)
  const world = {
    moves: 0,
    failures: 0,
    finals: [] as bigint[],
    forks: [] as ForkPastFinality[],
    /** The height that was final at each head, by the head's. */
    finalAt: new Map<bigint, bigint>(),
    /** What reporting a fork waits for. */
    reported: Promise.resolve(),
  }
  /** What happens before what is final is asked for next. */
  const happens: (() => void)[] = []
  /** What the nodes show by height in the place of their own. */
  const shows = new Map<bigint, Head>()
  const chain = await followCanonicalChain({
    nodes: {
      ...model.nodes,
      block: async (number) => shows.get(number) ?? model.nodes.block(number),
      finalized: async () => {
        await Promise.resolve()
        happens.shift()?.()
        return model.nodes.finalized()
      },
    },
    clock: { ...systemClock, sleep: () => settled() },
    signers: [SIGNER],
    lastFinal: options.lastFinal ?? null,
    doubtedFrom: null,
    onMoved: async () => {
      world.moves += 1
      world.finalAt.set(facts().head.number, facts().finalized)
    },
    onFinal: async ({ number }) => {
      world.finals.push(number)
    },
    onForkPastFinality: async (fork) => {
      world.forks.push(fork)
      await world.reported
    },
    onFailed: () => {
      world.failures += 1
    },
  })
  following = chain
  const facts = () => chain.of(SIGNER)
  return { model, chain, world, facts, shows, beforeFinal: (work: () => void) => happens.push(work) }
}
const own = (nonce: number, digest = DIGEST) => ({ from: SIGNER, nonce, digest })

describe('following the canonical chain', () => {
  it('counts, finds what is mined at a nonce, and says what is final', async () => {
    const { model, facts, world } = await createScene()
    expect(facts()).toMatchObject({ finalized: 6n, count: 0, head: { number: 10n } })
    model.mine([own(0), { from: OTHER, nonce: 3 }])
    await settled()
    expect(facts()).toMatchObject({ finalized: 7n, count: 1, head: { number: 11n } })
    expect(facts().minedAt(0)).toMatchObject({ digest: DIGEST, receipt: { blockNumber: 11n } })
    expect(facts().minedAt(1)).toBeNull()
    expect(world).toMatchObject({ moves: 1, finals: [6n, 7n], forks: [], failures: 0 })
  })

  it('takes an address as the nodes write it', async () => {
    const { model, chain } = await createScene()
    model.mine([own(0)])
    await settled()
    expect(chain.of(`0x${SIGNER.slice(2).toUpperCase()}`).count).toBe(1)
  })

  it('reads every block of a head that jumped, and asks no more for each than that block', async () => {
    const { model, facts } = await createScene()
    model.calls.length = 0
    model.mine([own(0)], EMPTY, [own(1)])
    await settled()
    expect(facts().minedAt(0)?.receipt.blockNumber).toBe(11n)
    expect(facts().minedAt(1)?.receipt.blockNumber).toBe(13n)
    // Soon after a start, what is final is not among the blocks that were read: what was, and the lowest, are asked for.
    expect(model.calls.toSorted()).toEqual(['block', 'block', 'blockOf', 'blockOf', 'blockOf', 'finalized'])
  })

  it('takes back what a reorg took, and finds it where it landed again', async () => {
    const { model, facts, chain, world } = await createScene()
    model.mine([own(0)], EMPTY)
    await settled()
    const gone = model.at(11n)
    model.reorg(2, EMPTY, EMPTY, [own(0)])
    await settled()
    expect(facts().minedAt(0)?.receipt.blockNumber).toBe(13n)
    expect(gone && chain.stands(gone)).toBe(false)
    expect(chain.stands({ number: 11n, hash: model.at(11n)?.hash ?? '0x' })).toBe(true)
    expect(world.forks).toEqual([])
  })

  it('does not know what stands above a head that went back', async () => {
    const { model, facts, chain } = await createScene()
    model.mine([own(0)])
    await settled()
    const gone = model.head()
    model.reorg(1)
    await settled()
    expect(facts()).toMatchObject({ count: 0, head: { number: 10n } })
    expect(chain.stands(gone)).toBeNull()
    expect(facts().minedAt(0)).toBeNull()
  })

  it('never takes finality back while the chain only went back', async () => {
    const { model, facts, world } = await createScene()
    model.reorg(2)
    await settled()
    expect(facts()).toMatchObject({ finalized: 6n, head: { number: 8n } })
    expect(world.forks).toEqual([])
  })

  it.each([1, 4, 5, 30])(
    'a reorg of %i blocks is past finality only where final blocks go',
    async (depth) => {
      const { model, world } = await createScene({ before: 100 })
      for (let block = 0; block < 40; block += 1) {
        model.mine(EMPTY)
        await settled()
      }
      model.reorg(depth, ...Array.from({ length: depth + 1 }, () => EMPTY))
      await settled()
      expect(world.forks.length).toBe(depth > 4 ? 1 : 0)
      if (depth > 4) {
        expect(world.forks[0]).toMatchObject({ was: { number: 136n }, fromBlock: BigInt(141 - depth) })
      }
    },
  )

  it('sees at a start that what was final before it is gone', async () => {
    const lastFinal = { number: 5n, hash: `0x${'ee'.repeat(32)}` as const }
    const { world } = await createScene({ lastFinal })
    expect(world.forks).toEqual([{ was: lastFinal, fromBlock: 5n, doubtedFrom: 0n }])
  })

  it('sees that what was final is gone where the nodes leave it between its head and what they call final', async () => {
    const { model, world, facts, beforeFinal } = await createScene()
    // The first head after the start is read on the chain that goes, and what is final on the one that comes.
    beforeFinal(() => model.reorg(8, ...Array.from({ length: 9 }, () => EMPTY)))
    model.mine(EMPTY)
    await settled()
    await settled()
    expect(world.forks).toMatchObject([{ was: { number: 6n }, fromBlock: 6n }])
    expect(facts()).toMatchObject({ head: { number: 12n }, forkedFrom: 0n })
  })

  it('takes nothing above a fork for final where the head that showed it is gone from what is final', async () => {
    const { model, world, beforeFinal } = await createScene()
    for (let block = 0; block < 6; block += 1) {
      model.mine(EMPTY)
      await settled()
    }
    // Blocks 11 to 16 go, of which two were final; by the time that what is final is asked for, 13 to 17 of the others too.
    beforeFinal(() => model.reorg(5, ...Array.from({ length: 6 }, () => EMPTY)))
    model.reorg(6, EMPTY, EMPTY, [own(0)], EMPTY, EMPTY, EMPTY, EMPTY)
    await settled()
    await settled()
    expect(world.finals).toEqual([6n, 7n, 8n, 9n, 10n, 11n, 12n, 10n, 14n])
    expect(world.forks).toMatchObject([{ was: { number: 12n }, fromBlock: 11n }])
  })

  it('takes nothing above a fork for final while what relied on it is looked for', async () => {
    const { model, world, facts } = await createScene()
    for (let block = 0; block < 6; block += 1) {
      model.mine(EMPTY)
      await settled()
    }
    const report = Promise.withResolvers<void>()
    world.reported = report.promise
    model.reorg(6, [own(0)], EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY)
    await until(() => expect(facts().minedAt(0)?.receipt.blockNumber).toBe(11n))
    expect(facts().finalized).toBe(10n)
    report.resolve()
    await until(() => expect(facts().finalized).toBe(13n))
  })

  it('takes nothing for final, after a gap and a fork, that is of another fork again than the head beside it', async () => {
    const { model, world, facts, beforeFinal } = await createScene({ confirmations: 1n })
    const many = (blocks: number) => Array.from({ length: blocks }, () => EMPTY)
    beforeFinal(() => model.reorg(20, ...many(30)))
    model.reorg(8, ...many(80))
    await until(() => expect(facts()).toMatchObject({ head: { number: 92n }, finalized: 91n }))
    expect(world.finalAt.get(82n)).toBe(-1n)
    expect(world.finals).toEqual([9n, 91n])
    expect(world.forks).toMatchObject([{ was: { number: 9n }, fromBlock: 9n, doubtedFrom: 0n }])
  })

  it('takes nothing for final, below where it began, that is of another fork than the head beside it', async () => {
    const { model, world, facts, beforeFinal } = await createScene()
    // Blocks 8 to 11 go, none of which was final: by then 8 is, of the others, and what was found in the old one is not.
    beforeFinal(() => model.reorg(4, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY))
    model.mine(EMPTY)
    await until(() => expect(facts()).toMatchObject({ head: { number: 12n }, finalized: 8n }))
    expect(world).toMatchObject({ finals: [6n, 8n], failures: 1, moves: 1, forks: [] })
  })

  it('does not know how far down a fork went where it first went back below what was final', async () => {
    const { model, world, facts } = await createScene()
    model.reorg(6, EMPTY)
    await settled()
    model.mine(EMPTY, EMPTY, EMPTY)
    await settled()
    expect(world.forks).toMatchObject([{ was: { number: 6n }, fromBlock: 6n }])
    // In fact block 5 went too, which nobody calls final.
    expect(facts()).toMatchObject({ head: { number: 8n }, forkedFrom: 0n })
  })

  it('takes nothing for final while no node shows what was final before', async () => {
    const { model, world, beforeFinal } = await createScene()
    model.hide(6n)
    beforeFinal(() => model.reorg(8, ...Array.from({ length: 9 }, () => EMPTY)))
    model.mine(EMPTY)
    await settled()
    await settled()
    expect(world.finals).toEqual([6n])
    model.hide(null)
    await until(() => expect(world.forks).toMatchObject([{ was: { number: 6n } }]))
  })

  it('takes nothing for final, after a gap, that is of another fork than the head beside it', async () => {
    const { model, world, beforeFinal } = await createScene({ confirmations: 1n })
    beforeFinal(() => model.reorg(2, EMPTY, EMPTY))
    model.mine(...Array.from({ length: 70 }, () => EMPTY))
    await until(() => expect(world.finals).toEqual([9n, 79n]))
    expect(world).toMatchObject({ failures: 1, forks: [] })
  })

  it('asks which blocks stand below a start that found the finality of before broken', async () => {
    const lastFinal = { number: 5n, hash: `0x${'ee'.repeat(32)}` as const }
    const { model, chain } = await createScene({ lastFinal })
    const third = await model.nodes.block(3n)
    const there = { number: 3n, hash: third?.hash ?? '0x' }
    expect(chain.stands(there)).toBeNull()
    await settled()
    expect(chain.stands(there)).toBe(true)
    expect(chain.stands({ ...there, hash: lastFinal.hash })).toBe(false)
  })

  it('does not take the block of a fork whose head it has not read for one of its own', async () => {
    const lastFinal = { number: 5n, hash: `0x${'ee'.repeat(32)}` as const }
    const { model, chain } = await createScene({ lastFinal })
    const there = model.at(3n)
    model.reorgUnheard(8, [EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY])
    expect(there && chain.stands(there)).toBeNull()
    await settled()
    expect(there && chain.stands(there)).toBeNull()
    model.announce()
    await settled()
    expect(there && chain.stands(there)).toBeNull()
    await settled()
    expect(there && chain.stands(there)).toBe(false)
  })

  it('asks again for a block that the nodes showed of another fork, and then of its own', async () => {
    const lastFinal = { number: 5n, hash: `0x${'ee'.repeat(32)}` as const }
    const { model, chain, shows } = await createScene({ lastFinal })
    const there = model.at(3n)
    if (there === undefined) throw new TypeError('no block')
    // Servers behind one name, of which one is on another fork.
    shows.set(3n, { ...there, hash: lastFinal.hash })
    expect(chain.stands(there)).toBeNull()
    await settled()
    shows.clear()
    expect(chain.stands(there)).toBe(false)
    expect(chain.stands(there)).toBeNull()
    await settled()
    expect(chain.stands(there)).toBe(true)
  })

  it('tries a head again that it could not read', async () => {
    const { model, facts, world } = await createScene()
    model.fail(new TypeError('down'))
    model.mine([own(0)])
    await settled()
    expect(facts().count).toBe(0)
    model.fail(null)
    await settled()
    await settled()
    expect(facts().count).toBe(1)
    expect(world.failures).toBeGreaterThan(0)
  })
})

describe('what was mined before it looked', () => {
  type Model = ReturnType<typeof createModelChain>
  const start = async (instead: (nodes: SeekNodes, model: Model) => Partial<SeekNodes> = () => ({})) => {
    const model = createModelChain()
    model.mine(EMPTY, [own(0)], EMPTY, EMPTY, [own(1)])
    for (let block = 0; block < 200; block += 1) model.mine(EMPTY)
    let moves = 0
    const chain = await followCanonicalChain({
      nodes: { ...model.nodes, ...instead(model.nodes, model) },
      clock: systemClock,
      signers: [SIGNER],
      lastFinal: null,
      doubtedFrom: null,
      onMoved: async () => {
        moves += 1
      },
      onFinal: async () => {},
      onForkPastFinality: async () => {},
      onFailed: () => {},
    })
    following = chain
    return { model, chain, moves: () => moves }
  }

  it('is not known, and is found by the hash that is known', async () => {
    const { model, chain, moves } = await start()
    expect(chain.of(SIGNER).count).toBe(2)
    expect(chain.of(SIGNER).minedAt(0)).toBeUndefined()
    const block = model.at(2n)
    const hash = (await model.nodes.blockOf(block?.hash ?? '0x', [SIGNER]))?.transactions[0]?.hash
    model.calls.length = 0
    chain.seek({ signer: SIGNER, nonce: 0, hashes: hash === undefined ? [] : [hash], sinceBlock: 0n })
    await settled()
    expect(chain.of(SIGNER).minedAt(0)).toMatchObject({ hash, receipt: { blockNumber: 2n } })
    // The block that it is in, and the head after it: of which fork it is.
    expect(model.calls).toEqual(['transaction', 'block', 'block'])
    expect(moves()).toBe(1)
  })

  it('is found without its hash, by the block that took the nonce', async () => {
    const { model, chain } = await start()
    model.calls.length = 0
    chain.seek({ signer: SIGNER, nonce: 1, hashes: [`0x${'ab'.repeat(32)}`], sinceBlock: 2n })
    await settled()
    expect(chain.of(SIGNER).minedAt(1)).toMatchObject({ digest: DIGEST, receipt: { blockNumber: 5n } })
    expect(model.calls.length).toBeLessThan(22)
  })

  it('is found without its hash where the nodes keep no older state, however far back it may be', async () => {
    const model = createModelChain()
    model.mine(
      ...Array.from({ length: 100 }, () => EMPTY),
      [own(0)],
      ...Array.from({ length: 48 }, () => EMPTY),
    )
    const pruned = new RolekeeperError('node.quorum_missing', 'no state', { retry: 'later' })
    const found = await findMined({ signer: SIGNER, nonce: 0, hashes: [], sinceBlock: 0n }, model.head(), {
      ...model.nodes,
      transactionCount: async (signer, at) => {
        if (typeof at === 'bigint' && at < 97n) throw pruned
        return model.nodes.transactionCount(signer, at)
      },
    })
    expect(found?.receipt.blockNumber).toBe(101n)
  })

  it('is not kept where it is of a fork whose head was not read yet', async () => {
    const { model, chain, moves } = await start()
    model.reorgUnheard(205, [EMPTY, EMPTY, [own(0)], ...Array.from({ length: 202 }, () => EMPTY)])
    chain.seek({ signer: SIGNER, nonce: 0, hashes: [], sinceBlock: 0n })
    await settled()
    expect(chain.of(SIGNER).minedAt(0)).toBeUndefined()
    expect(moves()).toBe(0)
  })

  it('is not kept where another block than its own is known at its height', async () => {
    const hash = `0x${'ee'.repeat(32)}` as const
    const shown = { block: null as Head | null, transaction: null as MinedTransaction | null }
    const { model, chain, moves } = await start(({ block, transaction }) => ({
      block: async (number) => (shown.block?.number === number ? shown.block : block(number)),
      transaction: async (sought) => shown.transaction ?? transaction(sought),
    }))
    model.mine([own(2)])
    model.mine(EMPTY)
    await settled()
    const mined = chain.of(SIGNER).minedAt(2)
    const number = mined?.receipt.blockNumber ?? 0n
    if (mined == null) throw new TypeError('nothing was mined')
    // Servers behind one name: what is sought is of another fork, and the head is not.
    shown.block = { ...model.head(), number, hash }
    shown.transaction = { ...mined, nonce: 1, receipt: { ...mined.receipt, blockHash: hash } }
    chain.seek({ signer: SIGNER, nonce: 1, hashes: [mined.hash], sinceBlock: 2n })
    await settled()
    expect(chain.of(SIGNER).minedAt(1)).toBeUndefined()
    expect(moves()).toBe(2)
  })

  it('is kept of a long look as far as it came while its head stood', async () => {
    const many = Array.from({ length: 70 }, (_, nonce) => own(2 + nonce))
    const hashes = new Map<number, Hex>()
    const { model, chain } = await start(({ transaction }, before) => {
      before.mine(many, EMPTY, EMPTY)
      return {
        transaction: async (hash) => {
          // Of the second half of the look.
          if (hash === hashes.get(71)) before.reorgUnheard(1, [EMPTY, EMPTY])
          return transaction(hash)
        },
      }
    })
    const block = model.at(206n)
    const there = await model.nodes.blockOf(block?.hash ?? '0x', [SIGNER])
    for (const { nonce, hash } of there?.transactions ?? []) hashes.set(nonce, hash)
    for (const [nonce, hash] of hashes) chain.seek({ signer: SIGNER, nonce, hashes: [hash], sinceBlock: 2n })
    await settled()
    // The first was sought by itself.
    expect(chain.of(SIGNER).minedAt(3)).toMatchObject({ nonce: 3 })
    expect(chain.of(SIGNER).minedAt(71)).toBeUndefined()
  })

  it('is asked for once and not again and again where no node shows it', async () => {
    const { model, chain, moves } = await start()
    model.calls.length = 0
    chain.seek({ signer: SIGNER, nonce: 0, hashes: [], sinceBlock: 100n })
    await settled()
    expect(chain.of(SIGNER).minedAt(0)).toBeUndefined()
    expect(new Set(model.calls)).toEqual(new Set(['transactionCount']))
    expect(moves()).toBe(0)
  })

  it('is read anew after a gap, so that a long outage costs no walk', async () => {
    const { model, chain } = await start()
    const blocks = Array.from({ length: 65 }, (_, block) => (block === 30 ? [own(2)] : EMPTY))
    model.calls.length = 0
    model.mine(...blocks.slice(1))
    await settled()
    expect(model.calls.filter((call) => call === 'blockOf').length).toBe(64)
    model.calls.length = 0
    model.mine(...blocks)
    await settled()
    expect(model.calls.toSorted()).toEqual(['block', 'finalized', 'transactionCount'])
    expect(chain.of(SIGNER)).toMatchObject({ count: 4 })
    expect(chain.of(SIGNER).minedAt(3)).toBeUndefined()
  })
})
