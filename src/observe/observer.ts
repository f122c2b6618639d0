import type { Address } from 'viem'
import type { Agent, Armed, Around, Moment } from '../../agents/agent.ts'
import type { BorrowerCollection } from '../../agents/rows.ts'
import type { Nodes } from '../chain/nodes.ts'
import type { Clock } from '../clock.ts'
import type { ServiceClient } from '../service/client.ts'
import { createProofs, proveUnits } from './arming.ts'
import { createBook, type RowHint } from './book.ts'
import { createBorrowerRows } from './borrower-rows.ts'
import type { Collections } from './collections.ts'
import { type ObserveDeps, type ObserveInput, observe } from './observe.ts'
import { waitAndSay } from './sweeps.ts'
import type { WaveDeps } from './waves.ts'

/** What an observer is joined from. */
export type ObserverDeps = {
  readonly client: Pick<ServiceClient, 'pages'>
  readonly collections: Collections
  readonly nodes: Pick<Nodes, 'chainId' | 'head' | 'calls' | 'balanceWei'>
  readonly clock: Clock
  readonly outside: WaveDeps['outside']
  readonly dataFeeWei: ObserveDeps['dataFeeWei']
  /** What was armed, or is not any more. */
  readonly onArmed: (address: Address, armed: Armed) => void
  /** Something is to be seen without any event. */
  readonly onSwept: () => void
  readonly onSweepFailed: (error: unknown) => void
  /** The first sweep goes on: nothing is seen before it has ended. */
  readonly onFirstSweepSlow: (sweptMs: number) => void
  /** A later proof of units failed: what was proven stays, and it is tried again. */
  readonly onProofFailed: (error: unknown) => void
  /** The service does not filter a collection by wallet: each look sweeps it. */
  readonly onUnfiltered: (collection: BorrowerCollection) => void
}

/** What an observer knows from the beginning. */
export type ObserverInput = Omit<ObserveInput, keyof Around | 'chainId'>

/** How a role observes. */
export type Observer = {
  readonly observe: (around: Around) => Promise<Moment>
  /** Take note of an event: what it names is read again by the next look. */
  readonly note: (hint: RowHint) => void
  /** How much of what the agent proves is armed and not; null for a role that arms nothing. */
  readonly arming: () => { readonly armed: number; readonly unarmed: number } | null
  /** Give up what goes on beside looks. */
  readonly close: () => void
}

/**
 * Create the observer of an agent: it keeps the agent's book and proofs of units from look to look. The first observation
 * waits for the first sweep and the first proof.
 */
export function createObserver(
  agent: Agent,
  policy: unknown,
  deps: ObserverDeps,
  input: ObserverInput,
): Observer {
  const { nodes, clock, onArmed, onFirstSweepSlow } = deps
  const { chainId } = nodes
  const known = { ...input, chainId }
  const rows = createBorrowerRows(deps.client, clock.monotonicMs, deps.onUnfiltered)
  const waveDeps = { ...deps, ofWallets: rows.ofWallets }
  const { book: fold, arming } = agent
  const book = fold === undefined ? null : createBook(fold, { ...deps, ...input, rows, chainId })
  const prove = async () =>
    arming === undefined ? new Map() : proveUnits(arming, known, book?.current(), waveDeps)
  const proofs = createProofs(prove, clock, { onArmed, onFailed: deps.onProofFailed })
  let isSwept = false
  let previous: unknown = null
  return {
    observe: async (around) => {
      if (!isSwept) await waitAndSay(book?.sweepIfDue(), clock, onFirstSweepSlow)
      isSwept = true
      if (arming !== undefined) await proofs.proveIfDue()
      const kept = { previous, book, armed: proofs.armed() }
      const seen = await observe(agent, policy, kept, waveDeps, { ...known, ...around })
      previous = seen
      return seen
    },
    note: (hint) => book?.note(hint),
    arming: () => {
      if (arming === undefined) return null
      const verdicts = [...proofs.armed().values()]
      const count = verdicts.filter(({ ok }) => ok).length
      return { armed: count, unarmed: verdicts.length - count }
    },
    close: () => book?.close(),
  }
}
