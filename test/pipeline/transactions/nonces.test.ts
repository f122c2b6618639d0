import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Head } from '../../../src/chain/nodes.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite.ts'
import { type ChainViewDeps, watchChain } from '../../../src/pipeline/transactions/nonces.ts'
import type { Slot } from '../../../src/workflow/slot.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const HASH = `0x${'aa'.repeat(32)}` as const
const head = (number: bigint): Head => ({
  number,
  hash: HASH,
  parentHash: HASH,
  timestampS: Number(number),
  baseFeePerGasWei: 5n,
})
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

let journal: Journal
beforeEach(() => {
  journal = openSqliteJournal(mkdtempSync(join(tmpdir(), 'chain-view-')))
})
afterEach(() => journal.close())

const createWorld = () => {
  const world = {
    count: 5,
    counting: Promise.resolve(),
    failure: null as Error | null,
    sent: [] as string[],
    heads: [] as bigint[],
    failures: 0,
    alarms: [] as string[],
    tell: (_head: Head) => {},
    listening: false,
  }
  const deps: ChainViewDeps = {
    nowMs: () => 1_000,
    nodes: {
      chainId: CHAIN,
      head: async () => head(10n),
      onHead: (listener) => {
        world.tell = listener
        world.listening = true
        return () => {
          world.listening = false
        }
      },
      transactionCount: async () => {
        const { count } = world
        await world.counting
        if (world.failure !== null) throw world.failure
        return count
      },
      send: async (raw) => {
        world.sent.push(raw)
        return []
      },
    },
    journal,
    signers: [SIGNER],
    onHead: ({ number }) => world.heads.push(number),
    onFailed: () => {
      world.failures += 1
    },
    alarm: (error) => world.alarms.push(error.code),
  }
  return { world, deps }
}
let setup: ReturnType<typeof createWorld>
beforeEach(() => {
  setup = createWorld()
})

/** A workflow that holds nonces 5, 6, …, one for each state. */
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
      blockHash: HASH,
      status: 'success',
      gasUsed: 1n,
      effectiveGasPriceWei: 1n,
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

describe('watching the chain', () => {
  it('takes its first nonce from the chain, without an alarm', async () => {
    const chain = await watchChain(setup.deps)
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(5)
    expect(setup.world.alarms).toEqual([])
    expect(chain.of(SIGNER)).toEqual({
      nowMs: 1_000,
      headNumber: 10n,
      headTimestampS: 10,
      baseFeePerGasWei: 5n,
      chainNonce: 5,
    })
    expect(() => chain.of(`0x${'00'.repeat(20)}`)).toThrow(/is not watched/)
    await chain.stop()
  })

  it('alarms where the chain counts one transaction more than the ledger, and follows it', async () => {
    await hold('final')
    setup.world.count = 6
    const chain = await watchChain(setup.deps)
    expect(setup.world.alarms).toEqual([])
    setup.world.count = 7
    setup.world.tell(head(11n))
    await settled()
    expect(setup.world.alarms).toEqual(['nonce.used_elsewhere'])
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(7)
    await chain.stop()
  })

  it('sends again, as they were, the final transactions that the chain lost', async () => {
    await hold('final', 'final', 'open')
    await (await watchChain(setup.deps)).stop()
    expect(setup.world.sent).toEqual(['0x05', '0x06'])
  })

  it('leaves what is open or mined to its own workflow', async () => {
    await hold('mined', 'open', 'final')
    await (await watchChain(setup.deps)).stop()
    setup.world.count = 6
    await (await watchChain(setup.deps)).stop()
    expect(setup.world.sent).toEqual([])
  })

  it('tells of a head when its counts are read, and of the newest only where several came meanwhile', async () => {
    const chain = await watchChain(setup.deps)
    const gate = Promise.withResolvers<void>()
    setup.world.counting = gate.promise
    for (const number of [11n, 12n, 13n]) setup.world.tell(head(number))
    await settled()
    expect(setup.world.heads).toEqual([])
    gate.resolve()
    await settled()
    expect(setup.world.heads).toEqual([11n, 13n])
    expect(chain.of(SIGNER).headNumber).toBe(13n)
    await chain.stop()
  })

  it('goes on with the next head after a count that failed', async () => {
    const chain = await watchChain(setup.deps)
    setup.world.failure = new TypeError('down')
    setup.world.tell(head(11n))
    await settled()
    expect(setup.world).toMatchObject({ failures: 1, heads: [] })
    setup.world.failure = null
    setup.world.tell(head(12n))
    await settled()
    expect(setup.world.heads).toEqual([12n])
    await chain.stop()
  })

  it('stops when the look under way has ended, so that nothing touches a closed journal', async () => {
    const chain = await watchChain(setup.deps)
    const gate = Promise.withResolvers<void>()
    setup.world.counting = gate.promise
    setup.world.tell(head(11n))
    setup.world.tell(head(12n))
    let stopped = false
    const stopping = (async () => {
      await chain.stop()
      stopped = true
    })()
    await settled()
    expect({ stopped, listening: setup.world.listening }).toEqual({ stopped: false, listening: false })
    gate.resolve()
    await stopping
    await settled()
    expect(setup.world.heads).toEqual([11n])
  })
})
