import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import {
  type ChainView,
  type ChainViewDeps,
  watchChain,
} from '../../../src/pipeline/transactions/chain-view.ts'
import type { Slot } from '../../../src/workflow/slot.ts'
import { newDirectory } from '../../support/directory.ts'
import { createModelChain } from '../../support/model-chain.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 2))
const EMPTY: readonly [] = []
const sentBy = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => ({ from: SIGNER, nonce: from + index }))

let journal: Journal
let chain: ChainView | undefined
beforeEach(() => {
  journal = openSqliteJournal(newDirectory())
})
afterEach(async () => {
  await chain?.stop()
  chain = undefined
  await journal.close()
})

/** A chain of ten blocks whose first has five transactions of the signer; so they are final. */
const createWorld = () => {
  const model = createModelChain()
  model.mine(sentBy(0, 5), EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY)
  const world = {
    sent: [] as string[],
    heads: 0,
    failures: 0,
    alarms: [] as string[],
    safe: [] as { check: string; message: string; seen: string }[],
    /** Calls of the journal that fail, as where Redis is away. */
    failing: [] as readonly (keyof Journal)[],
    /** Awaited by each reading of a block. */
    reading: Promise.resolve(),
  }
  const deps: ChainViewDeps = {
    nowMs: () => 1_000,
    scope: '',
    clock: { ...systemClock, sleep: () => settled() },
    nodes: {
      ...model.nodes,
      blockOf: async (hash, senders) => {
        await world.reading
        return model.nodes.blockOf(hash, senders)
      },
      chainId: CHAIN,
      send: async (raw) => {
        world.sent.push(raw)
        return []
      },
    },
    journal: new Proxy(journal, {
      get: (target, name) =>
        world.failing.some((each) => each === name)
          ? () => Promise.reject(new RolekeeperError('journal.unreachable', 'x', { retry: 'later' }))
          : Reflect.get(target, name, target).bind(target),
    }),
    signers: [SIGNER],
    safe: (_, reason) => {
      world.safe.push(reason)
    },
    onHead: () => {
      world.heads += 1
    },
    onFailed: () => {
      world.failures += 1
    },
    alarm: (error) => world.alarms.push(error.code),
  }
  const watch = async () => {
    chain = await watchChain(deps)
    return chain
  }
  return { model, world, deps, watch }
}

/** A workflow that holds nonces 5, 6, …, one for each state; what is mined is in block 9. */
const hold = async (...states: readonly Slot['state'][]) => {
  await journal.adoptNonce(CHAIN, SIGNER, 5)
  await journal.open(workflowOf('cleared'))
  const slots = states.map((state, index): Slot => {
    const nonce = 5 + index
    const hash = `0x${String(nonce).padStart(64, '0')}` as const
    const raw = `0x0${nonce}` as const
    const inclusion = {
      hash,
      purpose: 'payload',
      blockNumber: 9n,
      blockHash: hash,
      status: 'success',
      gasUsed: 1n,
      effectiveGasPriceWei: 1n,
      tokens: [],
    } as const
    return slotOf({
      index,
      nonce,
      state,
      attempts: [attemptOf({ digest: hash, state: 'sent', raw, hash })],
      ...(state === 'open' ? {} : { inclusion }),
    })
  })
  await journal.claim(workflowOf('in_flight', { slots }), null)
}
const nextNonce = () => journal.nextNonce(CHAIN, SIGNER)

describe('watching the chain', () => {
  it('takes its first nonce from the finalized count, without a doubt', async () => {
    const { watch, world, model } = createWorld()
    const view = await watch()
    expect(await nextNonce()).toBe(5)
    expect(world.safe).toEqual([])
    expect(view.of(SIGNER)).toEqual({
      nowMs: 1_000,
      headNumber: 10n,
      headTimestampS: model.head().timestampS,
      baseFeePerGasWei: 1n,
      chainNonce: 5,
    })
    expect(view.facts(SIGNER)).toMatchObject({ finalized: 6n, count: 5 })
  })

  it('a count that is not final is never adopted: the first waits until it is, and is SAFE where others go on', async () => {
    const { watch, world, model } = createWorld()
    model.mine(sentBy(5, 6))
    await watch()
    for (let block = 0; block < 3; block += 1) model.mine(EMPTY)
    await settled()
    expect(await nextNonce()).toBeNull()
    expect(world.safe).toEqual([])
    model.mine(sentBy(6, 7))
    await settled()
    expect(await nextNonce()).toBe(6)
    expect(world.safe).toMatchObject([{ check: 'nonce_used_elsewhere' }])
  })

  it('adopts no second first nonce at a head that comes during the start', async () => {
    const { watch, world, model, deps } = createWorld()
    const { transactionCount } = deps.nodes
    const asked: (() => void)[] = []
    const held = { ...deps.nodes }
    held.transactionCount = async (signer, at) => {
      const count = await transactionCount(signer, at)
      if (at === 'finalized') await new Promise<void>((resolve) => asked.push(resolve))
      return count
    }
    Object.assign(deps, { nodes: held })
    const watching = watch()
    await settled()
    model.mine(sentBy(5, 6), EMPTY, EMPTY, EMPTY, EMPTY)
    await settled()
    while (asked.length > 0) asked.shift()?.()
    await watching
    await settled()
    while (asked.length > 0) asked.shift()?.()
    await settled()
    expect(await nextNonce()).toBe(5)
    expect(world.safe).toMatchObject([{ check: 'nonce_used_elsewhere' }])
  })

  it('one of three nodes that answers 1,000,000 to the count, or a transaction of another that a reorg takes back, moves no nonce', async () => {
    const { watch, world, model, deps } = createWorld()
    const lied = { ...deps.nodes, transactionCount: async () => 1_000_000 }
    const view = await watch()
    expect(await nextNonce()).toBe(5)
    // Counts are asked for where a look begins; from there on blocks alone count.
    Object.assign(deps.nodes, lied)
    model.mine(sentBy(5, 6))
    await settled()
    expect(await nextNonce()).toBe(5)
    expect(world.safe[0]).toMatchObject({
      check: 'nonce_used_elsewhere',
      seen: `nonce 5 in transaction ${view.facts(SIGNER).minedAt(5)?.hash} in block 11`,
    })
    const doubts = world.safe.length
    model.reorg(1, EMPTY, EMPTY)
    await settled()
    expect(view.of(SIGNER).chainNonce).toBe(5)
    expect(await nextNonce()).toBe(5)
    expect(world.safe).toHaveLength(doubts)
  })

  it('waits no longer for a first count that a reorg took back', async () => {
    const { watch, world, model } = createWorld()
    model.mine(sentBy(5, 6))
    await watch()
    expect(await nextNonce()).toBeNull()
    model.reorg(1, EMPTY, EMPTY)
    await settled()
    expect(await nextNonce()).toBe(5)
    expect(world.safe).toEqual([])
  })

  it('adopts nothing by itself once a journal has begun, however final it is', async () => {
    await hold('final')
    const { watch, world, model } = createWorld()
    model.mine(sentBy(5, 7), ...Array.from({ length: 20 }, () => EMPTY))
    await watch()
    expect(await nextNonce()).toBe(6)
    expect(world.safe[0]?.seen).toMatch(/counts 7 at block .* next nonce is 6/)
  })

  it('sends again, as they were, the final transactions that the chain lost', async () => {
    await hold('final', 'final', 'open')
    const { watch, world } = createWorld()
    await watch()
    expect(world.sent).toEqual(['0x05', '0x06'])
  })

  it('sends it all at once, so that a sender that hangs holds up the next head no longer than one would', async () => {
    await hold('final', 'final', 'final', 'final')
    const { watch, world, deps } = createWorld()
    let answer = () => {}
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    const send: ChainViewDeps['nodes']['send'] = async (raw) => {
      world.sent.push(raw)
      await answered
      return []
    }
    Object.assign(deps.nodes, { send })
    const watching = watch()
    await settled()
    expect(world.sent).toEqual(['0x05', '0x06', '0x07', '0x08'])
    answer()
    await watching
  })

  it('leaves what is open or mined to its own workflow', async () => {
    await hold('mined', 'open', 'final')
    const { watch, world } = createWorld()
    await watch()
    expect(world.sent).toEqual([])
  })

  it('a reorg deeper than finality is SAFE within one head, and names what relied on it, also what ended', async () => {
    await hold('final')
    const { watch, world, model } = createWorld()
    model.mine(sentBy(5, 6), EMPTY, EMPTY, EMPTY, EMPTY)
    await watch()
    for (let block = 0; block < 5; block += 1) {
      model.mine(EMPTY)
      await settled()
    }
    expect(world.safe).toEqual([])
    model.reorg(4, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY)
    await settled()
    expect(world.safe).toEqual([])
    model.reorg(13, EMPTY, ...Array.from({ length: 20 }, () => EMPTY))
    await settled()
    expect(world.safe.at(-1)).toMatchObject({ check: 'reorg_past_finality' })
    expect(world.safe.at(-1)?.message).toContain(`${workflowOf('in_flight').id} (in_flight)`)
    expect(world.alarms).toEqual(['chain.reorg_past_finality'])
    expect(world.sent).toEqual(['0x05'])
  })

  it('a reorg deeper than finality is SAFE at once and said in the end, also where nodes fail while it is looked into', async () => {
    await hold('final')
    const { watch, world, model, deps } = createWorld()
    model.mine(sentBy(5, 6), EMPTY, EMPTY, EMPTY, EMPTY)
    await watch()
    for (let block = 0; block < 5; block += 1) {
      model.mine(EMPTY)
      await settled()
    }
    const block = async (number: bigint) => {
      // The block that a workflow relied on.
      if (number === 9n) throw new RolekeeperError('node.disagreement', 'x')
      return model.nodes.block(number)
    }
    Object.assign(deps.nodes, { block })
    model.reorg(13, EMPTY, ...Array.from({ length: 20 }, () => EMPTY))
    await settled()
    expect(world.safe).toMatchObject([{ check: 'reorg_past_finality' }])
    expect(world.alarms).toEqual([])
    Object.assign(deps.nodes, { block: model.nodes.block })
    model.mine(EMPTY)
    await settled()
    expect(world.alarms).toEqual(['chain.reorg_past_finality'])
    expect(world.safe.at(-1)?.message).toContain(`${workflowOf('in_flight').id} (in_flight)`)
  })

  it('a fork past finality stays in doubt over a restart until it is forgotten; then the next is noticed, and that one not again', async () => {
    await hold('final')
    const { watch, world, model } = createWorld()
    const deep = async () => {
      model.reorg(8, ...Array.from({ length: 20 }, () => EMPTY))
      await settled()
    }
    const first = await watch()
    await deep()
    expect(first.facts(SIGNER).forkedFrom).toBe(0n)
    await first.stop()
    const second = await watch()
    expect(second.facts(SIGNER).forkedFrom).toBe(0n)
    expect(world.alarms).toEqual(['chain.reorg_past_finality'])
    await second.forgetForks()
    await second.stop()
    const third = await watch()
    expect(third.facts(SIGNER).forkedFrom).toBeNull()
    model.mine(EMPTY)
    await settled()
    expect(world.alarms).toEqual(['chain.reorg_past_finality'])
    await deep()
    expect(third.facts(SIGNER).forkedFrom).not.toBeNull()
    expect(world.alarms).toEqual(['chain.reorg_past_finality', 'chain.reorg_past_finality'])
  })

  it('a reorg deeper than finality while it was down is seen at the next start', async () => {
    const { watch, world, model } = createWorld()
    await (await watch()).stop()
    model.reorg(8, ...Array.from({ length: 20 }, () => EMPTY))
    expect(world.alarms).toEqual([])
    await watch()
    expect(world.alarms).toEqual(['chain.reorg_past_finality'])
  })

  it('tells of a head once it is read, and of the newest only where several came meanwhile', async () => {
    const { watch, world, model } = createWorld()
    const view = await watch()
    const gate = Promise.withResolvers<void>()
    world.reading = gate.promise
    for (let block = 0; block < 3; block += 1) model.mine(EMPTY)
    await settled()
    expect(world.heads).toBe(0)
    gate.resolve()
    await settled()
    expect(world.heads).toBe(2)
    expect(view.of(SIGNER).headNumber).toBe(13n)
  })

  describe('while the record is away', () => {
    it.each([['setValue'], ['nextNonce'], ['byNonce']] as const)(
      'every head is heard of, though %s fails at each',
      async (name) => {
        await hold('open')
        const { watch, world, model } = createWorld()
        const view = await watch()
        world.failing = [name]
        for (let block = 0; block < 3; block += 1) {
          model.mine(EMPTY)
          await settled()
        }
        expect(world).toMatchObject({ heads: 3, failures: 3 })
        expect(view.of(SIGNER).headNumber).toBe(13n)
        // What no record holds is not final: over a restart nobody would know what a fork took.
        expect(view.facts(SIGNER).finalized).toBe(name === 'setValue' ? 6n : 9n)
        world.failing = []
        model.mine(EMPTY)
        await settled()
        expect(world).toMatchObject({ heads: 4, failures: 3, safe: [] })
        expect(view.facts(SIGNER).finalized).toBe(10n)
      },
    )

    it('a fork past finality is SAFE at once, and said in the end', async () => {
      const { watch, world, model } = createWorld()
      const view = await watch()
      world.failing = ['setValue', 'nextNonce', 'byNonce']
      model.reorg(8, ...Array.from({ length: 20 }, () => EMPTY))
      await settled()
      expect(world).toMatchObject({ heads: 1, alarms: [], safe: [{ check: 'reorg_past_finality' }] })
      expect(view.facts(SIGNER).finalized).toBeLessThan(3n)
      world.failing = []
      model.mine(EMPTY)
      await settled()
      expect(world.alarms).toEqual(['chain.reorg_past_finality'])
    })

    it('a start that fails by it follows nothing behind the back of the next', async () => {
      const { watch, world, model } = createWorld()
      world.failing = ['nextNonce']
      await expect(watch()).rejects.toMatchObject({ code: 'journal.unreachable' })
      world.failing = []
      await watch()
      model.mine(EMPTY)
      await settled()
      expect(world.heads).toBe(1)
    })
  })

  it('stops when the look under way has ended, so that nothing touches a closed journal', async () => {
    const { watch, world, model } = createWorld()
    const view = await watch()
    const gate = Promise.withResolvers<void>()
    world.reading = gate.promise
    model.mine(EMPTY)
    model.mine(EMPTY)
    let stopped = false
    const stopping = (async () => {
      await view.stop()
      stopped = true
    })()
    await settled()
    expect(stopped).toBe(false)
    gate.resolve()
    await stopping
    await settled()
    expect(world.heads).toBe(1)
  })
})
