import type { Address } from 'viem'
import type { Head } from '../../chain/nodes.ts'
import { createCachedRead } from '../cached-read.ts'
import { JOURNAL_MS_MAX } from './findings/process.ts'
import { atWork, type HealthDeps } from './keeper-view.ts'
import { type LimitUse, usedNow } from './limit-use.ts'

const HEAD_MS = 500
/** Of a fleet's journal, one question: a budget is spent within seconds at the soonest. */
const USED_MS = 3_000
const JOURNAL_MS = 5_000
/** Gas is spent by the workflow; three of them are seconds. */
const BALANCES_MS = 15_000
/** A key that nobody asked for so long is asked whether it is there: what is due then finds out no sooner. */
const KEYS_MS = 15_000

/** What is asked beside a look, because the answer may take long; a look takes what came last. */
export type Probes = {
  /** Begin what is due; nothing is waited for. */
  readonly begin: () => void
  /** The agreed head. */
  readonly head: () => Head | null
  /** What a write of the journal ended in; null where it went well. */
  readonly journalFailed: () => unknown
  readonly balanceWei: (signer: Address) => bigint | null
  /** What of the limits is used; null before the first read. */
  readonly used: () => LimitUse | null
}

/** Create the probes of one keeper. What fails is tried again when it is due; what it means is for its facet to say. */
export function createProbes(deps: HealthDeps): Probes {
  const { clock } = deps
  const every = <T>(ms: number, read: () => Promise<T>) =>
    createCachedRead(read, { clock, everyMs: () => ms, onFailed: () => undefined })
  const head = every(HEAD_MS, async () => (await deps.nodes()?.recent()) ?? null)
  const journal = every(JOURNAL_MS, () => writeFailed(deps))
  const balances = createCachedRead(() => readBalances(deps), {
    clock,
    onFailed: () => undefined,
    // While the chain is not followed yet, there was nobody to ask.
    everyMs: ({ size }) => (size === 0 ? HEAD_MS : BALANCES_MS),
  })
  const used = every(USED_MS, () => usedNow(deps))
  const keys = every(KEYS_MS, () => Promise.all(atWork(deps).map(({ vitals }) => vitals.askKey())))
  return {
    begin: () => {
      for (const probe of [head, journal, balances, used, keys]) probe.begin()
    },
    head: head.last,
    journalFailed: () => journal.last()?.failed ?? null,
    balanceWei: (signer) => balances.last()?.get(signer) ?? null,
    used: used.last,
  }
}

/** Write a value into each journal that is held: what a full disk or a server that is away does not take. */
async function writeFailed(deps: HealthDeps): Promise<{ readonly failed: unknown }> {
  const late = AbortSignal.timeout(JOURNAL_MS_MAX)
  const over = new Promise<never>((_, reject) => {
    late.addEventListener('abort', () => reject(late.reason), { once: true })
  })
  const at = String(deps.clock.nowMs())
  const writes = Promise.all(deps.terms().map(({ records }) => records.journal.setValue('health', at)))
  return Promise.race([writes, over]).then(
    () => ({ failed: null }),
    (failed: unknown) => ({ failed }),
  )
}

async function readBalances(deps: HealthDeps): Promise<ReadonlyMap<Address, bigint>> {
  const nodes = deps.nodes()
  const signers = nodes === undefined ? [] : deps.terms().flatMap((term) => term.payers())
  const reads = signers.map(async ({ signer }) => [signer, await nodes?.balanceWei(signer)] as const)
  return new Map(
    (await Promise.all(reads)).flatMap(([signer, wei]) => (wei === undefined ? [] : [[signer, wei]])),
  )
}
