import type { Address } from 'viem'
import type { Head, Nodes } from '../../chain/nodes.ts'
import { invariant, RolekeeperError } from '../../errors.ts'
import type { Journal } from '../../journal/journal.ts'
import type { ReplaceView } from './replace.ts'

/** What watching the chain needs. */
export type ChainViewDeps = {
  readonly nowMs: () => number
  readonly nodes: Pick<Nodes, 'chainId' | 'head' | 'onHead' | 'transactionCount' | 'send'>
  readonly journal: Pick<Journal, 'nextNonce' | 'adoptNonce' | 'byNonce'>
  readonly signers: readonly Address[]
  /** After each new head, when the counts are read. */
  readonly onHead: (head: Head) => void
  readonly onFailed: (error: unknown) => void
  readonly alarm: (error: RolekeeperError) => void
}

/** The chain as of its newest head: block, fees, and each signer's count. */
export type ChainView = {
  readonly of: (signer: Address) => ReplaceView
  /** Follow no more; resolves when the look under way has ended. */
  readonly stop: () => Promise<void>
}

/**
 * Watch the chain, and hold the ledger against it at start and at each head: a count above the ledger's is somebody
 * else with our key; a count below a nonce that we hold final is a chain that lost blocks, and its transactions are
 * sent again as they were.
 */
export async function watchChain(deps: ChainViewDeps): Promise<ChainView> {
  const { nodes, signers } = deps
  let head = await nodes.head()
  const counts = new Map<Address, number>()

  const reconcile = async (signer: Address, at: Head) => {
    // At the head itself: a count of a later block would hide what that block mined from a simulation on this one.
    const count = await nodes.transactionCount(signer, at.number)
    counts.set(signer, count)
    const next = await deps.journal.nextNonce(nodes.chainId, signer)
    if (next === null || count > next) {
      await deps.journal.adoptNonce(nodes.chainId, signer, count)
      if (next !== null) deps.alarm(usedElsewhere(signer, next, count))
    } else if (count < next) await resendLost(signer, count, next, deps)
  }

  await Promise.all(signers.map((signer) => reconcile(signer, head)))
  let reading: Promise<void> | undefined
  let stopped = false
  let newest = head
  const follow = async () => {
    try {
      do {
        const next = newest
        await Promise.all(signers.map((signer) => reconcile(signer, next)))
        head = next
        deps.onHead(head)
      } while (newest !== head && !stopped)
    } catch (error) {
      deps.onFailed(error)
    } finally {
      reading = undefined
    }
  }
  const unlisten = nodes.onHead((next) => {
    newest = next
    reading ??= follow()
  })

  return {
    of: (signer) => {
      const chainNonce = counts.get(signer)
      invariant(chainNonce !== undefined, `signer ${signer} is not watched`)
      return {
        nowMs: deps.nowMs(),
        headNumber: head.number,
        headTimestampS: head.timestampS,
        baseFeePerGasWei: head.baseFeePerGasWei,
        chainNonce,
      }
    },
    stop: async () => {
      stopped = true
      unlisten()
      await reading
    },
  }
}

const usedElsewhere = (signer: Address, next: number, count: number) =>
  new RolekeeperError(
    'nonce.used_elsewhere',
    `The chain counts ${count} transactions of ${signer}; the ledger holds ${next}.`,
    {
      fix: 'give this key to this keeper alone, then look at what the other transactions did.',
      facts: { signer, next, count },
    },
  )

/** Send again what had been final and is gone: the same bytes, so that the nonces behind it can land. */
async function resendLost(signer: Address, count: number, next: number, deps: ChainViewDeps): Promise<void> {
  for (let nonce = count; nonce < next; nonce += 1) {
    const holder = await deps.journal.byNonce(deps.nodes.chainId, signer, nonce)
    const slot = holder?.slots.find((each) => each.nonce === nonce && each.signer === signer)
    const landed = slot?.attempts.find((attempt) => attempt.hash === slot.inclusion?.hash)
    // An open slot is carried by its own workflow.
    if (slot?.state !== 'final' || landed?.raw === undefined) return
    await deps.nodes.send(landed.raw)
  }
}
