import type { Address, Hex } from 'viem'
import { z } from 'zod'
import {
  type CanonicalChain,
  type CanonicalDeps,
  followCanonicalChain,
  type SignerFacts,
} from '../../chain/canonical.ts'
import type { BlockName, ForkPastFinality } from '../../chain/finality.ts'
import type { PassedNonce } from '../../chain/find-mined.ts'
import { NO_TRANSACTION, type Nodes } from '../../chain/nodes.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Journal } from '../../journal/journal.ts'
import { plural } from '../../readable.js'
import { type Slot, slotAt } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type { ReplaceView } from './replace.ts'
import { type Signers, usedElsewhere } from './safe.ts'

/** What watching the chain needs. */
export type ChainViewDeps = {
  readonly nowMs: () => number
  readonly clock: CanonicalDeps['clock']
  readonly nodes: CanonicalDeps['nodes'] & Pick<Nodes, 'chainId' | 'send'>
  readonly journal: Pick<Journal, 'nextNonce' | 'adoptNonce' | 'byNonce' | 'getValue' | 'setValue'>
  readonly signers: readonly Address[]
  /** What sets apart where several follow the chain on one journal, each for its signers; empty where one does. */
  readonly scope: string
  /** Take a signer to SAFE: it claims nothing new until the reason is explained. */
  readonly safe: Signers['safe']
  /** After each new head, and when something that was sought is found. */
  readonly onHead: () => void
  readonly onFailed: (error: unknown) => void
  readonly alarm: (error: RolekeeperError) => void
}

/** The chain as of its newest agreed head. */
export type ChainView = {
  /** Block, fees, and a signer's count. */
  readonly of: (signer: Address) => ReplaceView
  /** What following a signer's slots needs. */
  readonly facts: (signer: Address) => SignerFacts
  readonly seek: (sought: PassedNonce) => void
  /** Whether a block is in the canonical chain; null where it is not known. */
  readonly stands: (block: BlockName) => boolean | null
  /** Take what is final for certain again after a fork past finality, also over a restart (see `CanonicalChain`). */
  readonly forgetForks: () => Promise<void>
  readonly unread: CanonicalChain['unread']
  /** Follow no more; resolves when the look under way has ended. */
  readonly stop: () => Promise<void>
}

/** The journal's value that holds the last final block of a chain, as who follows it for some signers saw it. */
const finalKey = (chainId: number, scope: string) => `final:${chainId}${scope}`
/** The journal's value that says from which height on what was final is in doubt. */
const doubtKey = (chainId: number, scope: string) => `doubted:${chainId}${scope}`
const storedBlock = z.object({
  number: z.string().transform(BigInt),
  hash: z.custom<`0x${string}`>((hash) => typeof hash === 'string' && /^0x[0-9a-f]{64}$/.test(hash)),
})

/**
 * Doubt what became final after the last block that a journal calls final: one that went back knows of no fork since, while
 * what its watermark brought back was cleared by blocks that such a fork may have taken.
 */
export async function doubtAfterLastFinal(
  journal: Pick<Journal, 'getValue' | 'setValue'>,
  chainId: number,
): Promise<void> {
  const stored = await journal.getValue(finalKey(chainId, ''))
  const doubted = await journal.getValue(doubtKey(chainId, ''))
  const from = stored === null ? 0n : storedBlock.parse(JSON.parse(stored)).number + 1n
  if (doubted === null || from < BigInt(doubted)) await journal.setValue(doubtKey(chainId, ''), String(from))
}

/**
 * Watch the chain, and hold the ledger against it at start and at each head: a count above the ledger's is somebody
 * else with our key, and takes the signer to SAFE; a count below a nonce that we hold final is a chain that lost blocks,
 * and its transactions are sent again as they were. A first nonce is adopted from the finalized count, and no later one.
 */
export async function watchChain(deps: ChainViewDeps): Promise<ChainView> {
  const { nodes, journal, signers, scope } = deps
  const key = finalKey(nodes.chainId, scope)
  const stored = await journal.getValue(key)
  const doubted = await journal.getValue(doubtKey(nodes.chainId, scope))
  /** What was counted since a signer without a nonce was first looked at, at least. */
  const firstCounts = new Map<Address, number>()
  let reconciling: Promise<unknown> = Promise.resolve()
  /** One after another, also where a head comes during the start: what the first adopts is another's nonce to the second. */
  const reconcile = () => {
    const next = () =>
      Promise.all(signers.map((signer) => reconcileSigner(signer, canonical.of(signer), firstCounts, deps)))
    reconciling = reconciling.then(next, next)
    return reconciling
  }
  const canonical = await followCanonicalChain({
    nodes,
    clock: deps.clock,
    signers,
    onFailed: deps.onFailed,
    lastFinal: stored === null ? null : storedBlock.parse(JSON.parse(stored)),
    doubtedFrom: doubted === null ? null : BigInt(doubted),
    onFinal: ({ number, hash }) => journal.setValue(key, JSON.stringify({ number: String(number), hash })),
    onForkPastFinality: (fork) => reportFork(fork, deps),
    onMoved: async () => {
      try {
        await reconcile()
      } finally {
        deps.onHead()
      }
    },
  })
  try {
    await reconcile()
  } catch (error) {
    await canonical.stop()
    throw error
  }
  return {
    of: (signer) => {
      const { head, count } = canonical.of(signer)
      return {
        nowMs: deps.nowMs(),
        headNumber: head.number,
        headTimestampS: head.timestampS,
        baseFeePerGasWei: head.baseFeePerGasWei,
        chainNonce: count,
      }
    },
    facts: canonical.of,
    seek: canonical.seek,
    stands: canonical.stands,
    forgetForks: () => {
      canonical.forgetForks()
      return journal.setValue(doubtKey(nodes.chainId, scope), null)
    },
    unread: canonical.unread,
    stop: canonical.stop,
  }
}

async function reconcileSigner(
  signer: Address,
  facts: SignerFacts,
  firstCounts: Map<Address, number>,
  deps: ChainViewDeps,
): Promise<void> {
  const { nodes, journal } = deps
  const known = await journal.nextNonce(nodes.chainId, signer)
  const next = known ?? (await firstNonce(signer, facts, firstCounts, deps))
  if (next === null) return
  if (facts.count > next) deps.safe(signer, usedElsewhere(signer, takenBy(next, facts)))
  else if (facts.count < next) await resendLost(signer, facts.count, next, deps)
}

/** Adopt a first nonce once what was counted at first is final; null until then, and nothing is claimed. */
async function firstNonce(
  signer: Address,
  { count }: SignerFacts,
  firstCounts: Map<Address, number>,
  { nodes, journal }: ChainViewDeps,
): Promise<number | null> {
  // Less where a reorg took back what was counted.
  const first = Math.min(count, firstCounts.get(signer) ?? count)
  firstCounts.set(signer, first)
  const final = await nodes.transactionCount(signer, 'finalized')
  if (final < first) return null
  await journal.adoptNonce(nodes.chainId, signer, final)
  return final
}

/** What took a signer's next nonce, and where. */
function takenBy(next: number, { minedAt, count, head }: SignerFacts): string {
  const mined = minedAt(next)
  const by =
    mined?.hash === NO_TRANSACTION ? 'without a transaction of its own' : `in transaction ${mined?.hash}`
  return mined
    ? `nonce ${next} ${by} in block ${mined.receipt.blockNumber}`
    : `the chain counts ${count} at block ${head.number}; the journal's next nonce is ${next}`
}

/** Lost nonces that are sent again at one head. */
const RESENT_MAX = 64

/** Send again what had been final and is gone: the same bytes, so that the nonces behind it can land. */
async function resendLost(signer: Address, count: number, next: number, deps: ChainViewDeps): Promise<void> {
  const lost: Hex[] = []
  for (let nonce = count; nonce < Math.min(next, count + RESENT_MAX); nonce += 1) {
    const slot = (await holderOf(signer, nonce, deps))?.slot
    const landed = slot?.attempts.find((attempt) => attempt.hash === slot.inclusion?.hash)
    // An open slot is carried by its own workflow.
    if (slot?.state !== 'final' || landed?.raw === undefined) break
    lost.push(landed.raw)
  }
  // At once: the next head waits, and a sender that hangs takes its time for each.
  await Promise.all(lost.map((raw) => deps.nodes.send(raw)))
}

async function holderOf(
  signer: Address,
  nonce: number,
  { nodes, journal }: ChainViewDeps,
): Promise<{ readonly workflow: Workflow; readonly slot: Slot } | null> {
  const workflow = await journal.byNonce(nodes.chainId, signer, nonce)
  if (workflow === null || workflow === 'archived') return null
  const slot = slotAt(workflow, signer, nonce)
  return slot === undefined ? null : { workflow, slot }
}

/** Workflows that one alarm names; the journal has the rest. */
const NAMED_MAX = 20

/** Say what was final and is not, and which workflows relied on it, also those that ended: their signers go to SAFE. */
async function reportFork(fork: ForkPastFinality, deps: ChainViewDeps): Promise<void> {
  const { was, fromBlock } = fork
  const left = `Block ${was.number} was final as ${was.hash}, and the chain has other blocks from ${fromBlock} on at the latest.`
  const toLeave =
    'see that the nodes agree on one chain again, and what became of each workflow that is named'
  const safe = (message: string, seen: string) => {
    for (const signer of deps.signers)
      deps.safe(signer, { check: 'reorg_past_finality', message, seen, toLeave })
  }
  // At once: a record may be away, and nodes that do not agree may take long to say what relied on it.
  const doubted = deps.journal.setValue(doubtKey(deps.nodes.chainId, deps.scope), String(fork.doubtedFrom))
  safe(left, `block ${fromBlock}`)
  await doubted
  const relied = (await Promise.all(deps.signers.map((signer) => reliedOn(signer, deps)))).flat()
  const named = relied.slice(0, NAMED_MAX).map(({ id, state }) => `${id} (${state})`)
  const rest = relied.length > NAMED_MAX ? ` and ${relied.length - NAMED_MAX} more` : ''
  const message = `${left} What relied on them: ${named.join(', ') || 'no workflow'}${rest}.`
  safe(message, `block ${fromBlock}, and ${plural(relied.length, 'workflow')} that relied on it`)
  deps.alarm(
    new RolekeeperError('chain.reorg_past_finality', message, {
      fix: 'compare the nodes in `chain.nodes`; look at these workflows, then leave SAFE with `rolekeeper signer release`.',
      facts: { fromBlock: String(fromBlock), wasFinal: String(was.number), workflows: relied.length },
    }),
  )
}

/** The workflows of a signer whose blocks are gone, newest nonce first, down to one whose block stands. */
async function reliedOn(signer: Address, deps: ChainViewDeps): Promise<readonly Workflow[]> {
  const { nodes, journal } = deps
  const found = new Map<string, Workflow>()
  const next = (await journal.nextNonce(nodes.chainId, signer)) ?? 0
  for (let nonce = next - 1; nonce >= 0; nonce -= 1) {
    const holder = await holderOf(signer, nonce, deps)
    if (holder === null) break
    const { slot, workflow } = holder
    if (slot.inclusion === undefined) continue
    const block = await nodes.block(slot.inclusion.blockNumber)
    if (block?.hash === slot.inclusion.blockHash) break
    found.set(workflow.id, workflow)
  }
  return [...found.values()]
}
