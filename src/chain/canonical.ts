import type { Address } from 'viem'
import type { Clock } from '../clock.ts'
import { type BlockName, createFinality, type FinalityDeps, NO_HEAD } from './finality.ts'
import { findMined, onceEach, type PassedNonce, type SeekNodes, unlessRefused } from './find-mined.ts'
import { createHashLookup } from './hash-lookup.ts'
import type { BlockOf, Head, MinedTransaction, Nodes, UnreadBlock } from './nodes.ts'
import {
  createRecentBlocks,
  isGone,
  isGoneBelow,
  isOther,
  type RecentBlocks,
  unsettled,
} from './recent-blocks.ts'

/** What following the canonical chain needs. */
export type CanonicalDeps = FinalityDeps & {
  readonly nodes: SeekNodes & Pick<Nodes, 'head' | 'onHead' | 'finalized'>
  readonly clock: Pick<Clock, 'sleep' | 'monotonicMs'>
  readonly signers: readonly Address[]
  /** After each head, and when something that was sought is found; the next head waits for it. */
  readonly onMoved: () => Promise<void>
  readonly onFailed: (error: unknown) => void
}

/** The chain that the nodes agree on, as far as it concerns one signer. */
export type SignerFacts = {
  readonly head: Head
  /** The height at and below which nothing changes any more. */
  readonly finalized: bigint
  /** The lowest height at which the chain left blocks that had been final; null when it never did, or that is forgotten. */
  readonly forkedFrom: bigint | null
  /** Transactions counted at the head. */
  readonly count: number
  /** What took a nonce: null when nothing did up to the head, undefined when it is not known (see `seek`). */
  readonly minedAt: (nonce: number) => MinedTransaction | null | undefined
}

/** The canonical chain, followed head by head. All it says is as of the newest head that was read whole. */
export type CanonicalChain = {
  readonly of: (signer: Address) => SignerFacts
  /** Whether a block that was seen in the canonical chain is there; null above the head, and where finality broke. */
  readonly stands: (block: BlockName) => boolean | null
  /** Look for what took a nonce below the blocks that are known; `onMoved` is called when it is found. */
  readonly seek: (sought: PassedNonce) => void
  /** Take what is final for certain again: a person has seen what forks past finality did, and nothing relies on what is gone. */
  readonly forgetForks: () => void
  /** Null while each head is read whole. */
  readonly unread: () => UnreadBlock | null
  /** Follow no more; resolves when the look under way has ended. */
  readonly stop: () => Promise<void>
}

/** A head further ahead than this is not walked to block by block: counts are read anew, and the rest is sought. */
const GAP_BLOCKS_MAX = 64n
/** How soon a head that could not be read is tried again. */
const RETRY_MS = 500
/** Nonces looked for at once. */
const SOUGHT_AT_ONCE = 64

/**
 * Follow the canonical chain: at each agreed head the blocks down to one that is known are read, each with what our
 * signers have in it. So the cost of a head depends neither on how many workflows wait nor on the time to finality.
 * Throws what the nodes throw when the first head cannot be read.
 */
export async function followCanonicalChain(deps: CanonicalDeps): Promise<CanonicalChain> {
  const { nodes, clock } = deps
  const follower = createFollower(deps)
  let newest = await nodes.head()
  await follower.start(newest)
  const sought = new Map<string, PassedNonce>()
  const stopping = new AbortController()
  let reading: Promise<void> | undefined

  const read = async () => {
    const { hash } = follower.ring().head()
    let found = false
    try {
      if (newest.hash !== hash) await follower.advance(newest)
      const wanted = [...sought.values()]
      sought.clear()
      found = await look(wanted, follower, nodes, stopping.signal)
    } finally {
      // Also where keeping what is final failed: what waits for a head is not held up by the record.
      if (found || follower.ring().head().hash !== hash) await deps.onMoved()
    }
  }
  let unread: UnreadBlock | null = null
  const isBehind = () =>
    !stopping.signal.aborted && (newest.hash !== follower.ring().head().hash || sought.size > 0)
  const follow = async () => {
    while (isBehind()) {
      try {
        await read()
        unread = null
      } catch (error) {
        unread = { sinceMs: unread?.sinceMs ?? clock.monotonicMs(), error }
        deps.onFailed(error)
        await clock.sleep(RETRY_MS, stopping.signal).catch(() => undefined)
      }
    }
  }
  const begin = () => {
    reading ??= follow().finally(() => {
      reading = undefined
      // What came since the last look.
      if (isBehind()) begin()
    })
  }
  const unlisten = nodes.onHead((next) => {
    newest = next
    begin()
  })

  return {
    of: (signer) => factsOf(signer, follower),
    stands: (block) => stands(block, follower),
    seek: (each) => {
      sought.set(`${each.signer} ${each.nonce}`, each)
      begin()
    },
    forgetForks: follower.forgetForks,
    unread: () => unread,
    stop: async () => {
      stopping.abort()
      unlisten()
      await reading
    },
  }
}

function factsOf(signer: Address, { ring, finalized, forkedFrom }: Follower): SignerFacts {
  const known = ring()
  const count = known.count(signer)
  return {
    head: known.head(),
    finalized: finalized(),
    forkedFrom: forkedFrom(),
    count,
    minedAt: (nonce) => known.minedAt(signer, nonce) ?? (nonce < count ? undefined : null),
  }
}

function stands({ number, hash }: BlockName, follower: Follower): boolean | null {
  const { ring, forkedFrom, finalized, isThere } = follower
  const known = ring().at(number)
  if (known !== undefined) return known.hash === hash
  if (number >= ring().floor()) return null
  // What is below the blocks that are known was final long ago, but for what a fork put in doubt.
  if (number < (forkedFrom() ?? ring().floor())) return true
  return number <= finalized() ? isThere({ number, hash }) : null
}

/** The ring of known blocks, and how it grows. One caller at a time. */
type Follower = {
  readonly ring: () => RecentBlocks
  readonly finalized: () => bigint
  readonly forkedFrom: () => bigint | null
  readonly forgetForks: () => void
  readonly start: (head: Head) => Promise<void>
  readonly advance: (head: Head) => Promise<void>
  /** Whether the nodes agree on a block below the ring; null while they are asked. */
  readonly isThere: (block: BlockName) => boolean | null
  /** What took a nonce; null where it is not found. */
  readonly find: (sought: PassedNonce, nodes: SeekNodes) => Promise<MinedTransaction | null>
  /** Keep what was found, unless there is none, or the chain has left the head meanwhile; whether it was kept. */
  readonly keep: (found: readonly MinedTransaction[]) => Promise<boolean>
}

function createFollower(deps: CanonicalDeps): Follower {
  const { nodes, signers } = deps
  let ring = createRecentBlocks(NO_HEAD, new Map())
  const finality = createFinality(deps)
  const hashes = createHashLookup({ ...deps, head: () => ring.head() })

  /** Take what is final now; `fork` is where the chain left what was, `lowest` how far down that may go. */
  const settle = async (agreed: Head, fork: bigint | null, lowest = fork) => {
    if (fork !== null) {
      hashes.forget()
      finality.broke(fork, lowest ?? fork)
    }
    if (await finality.settle(agreed, ring)) ring.prune(finality.last().number)
  }
  /** Begin anew at a head: counts as of it, and nothing known below. */
  const rebase = async (head: Head, agreed: Head) => {
    // A node that shows two forks at once, as a pool of servers may: what it shows next decides.
    if (agreed.number === head.number - 1n && agreed.hash !== head.parentHash) throw unsettled(agreed.number)
    const final = finality.last()
    const [hasFork, ...counts] = await Promise.all([
      isGone(final, agreed, nodes),
      ...signers.map((signer) => nodes.transactionCount(signer, head.hash)),
    ])
    ring = createRecentBlocks(head, new Map(signers.map((signer, index) => [signer, counts[index] ?? 0])))
    await settle(agreed, hasFork ? final.number : null, 0n)
  }
  const advance = async (head: Head) => {
    const [path, agreed] = await Promise.all([pathTo(head, ring, deps), nodes.finalized()])
    if (path === null) return rebase(head, agreed)
    const final = finality.last()
    const replaced = path.blocks.find(
      ({ head: { number, hash } }) =>
        number <= final.number &&
        (isOther(ring.at(number), hash) || (number === final.number && hash !== final.hash)),
    )
    // Where the ring was begun anew since, it does not say how far down the chain left what was final.
    const isWhole = ring.at(final.number)?.hash === final.hash
    const hasFork = isHidden(final, agreed, ring) && (await isGoneBelow(ring, final, agreed, nodes))
    if (hasFork || !ring.replace(path.above, path.blocks)) return rebase(head, agreed)
    const fork = replaced?.head.number ?? null
    await settle(agreed, fork, isWhole ? fork : 0n)
  }
  return {
    ring: () => ring,
    finalized: finality.height,
    forkedFrom: finality.doubtedFrom,
    forgetForks: finality.forget,
    start: async (head) => rebase(head, await nodes.finalized()),
    advance,
    isThere: hashes.isThere,
    find: (sought, asked) => unlessRefused(find(sought, ring, asked)),
    keep: async (found) => {
      const fitting = found.filter(({ receipt }) => !isOther(ring.at(receipt.blockNumber), receipt.blockHash))
      if (fitting.length === 0) return false
      // Of which fork it is shows only in that the head stands after it was found.
      const top = await unlessRefused(nodes.block(ring.head().number))
      if (top?.hash !== ring.head().hash) return false
      for (const each of fitting) ring.found(each)
      return true
    },
  }
}

/** Whether the known blocks do not say that what is final now follows what was: soon after a start. Pure. */
const isHidden = (final: BlockName, agreed: Head, ring: RecentBlocks): boolean =>
  final.number < agreed.number && agreed.number < ring.floor()

/** Look for what took some nonces; whether anything was found and kept. */
async function look(
  wanted: readonly PassedNonce[],
  follower: Follower,
  nodes: CanonicalDeps['nodes'],
  stopping: AbortSignal,
): Promise<boolean> {
  const asked = { ...nodes, block: onceEach(nodes.block) }
  let isKept = false
  for (let from = 0; from < wanted.length && !stopping.aborted; from += SOUGHT_AT_ONCE) {
    const some = await Promise.all(
      wanted.slice(from, from + SOUGHT_AT_ONCE).map((each) => follower.find(each, asked)),
    )
    // By turns: a long look is not in vain where the chain leaves the head before its end.
    const wasKept = await follower.keep(some.filter((each) => each !== null))
    isKept ||= wasKept
  }
  return isKept
}

/** Look for what took a nonce. */
async function find(
  sought: PassedNonce,
  ring: RecentBlocks,
  nodes: SeekNodes,
): Promise<MinedTransaction | null> {
  const known = ring.minedAt(sought.signer, sought.nonce)
  if (known !== undefined) return known
  return ring.count(sought.signer) <= sought.nonce ? null : findMined(sought, ring.head(), nodes)
}

/** The blocks from one that is known up to a head, lowest first; null when they are too many or part below all that is known. */
async function pathTo(
  head: Head,
  ring: RecentBlocks,
  { nodes, signers }: CanonicalDeps,
): Promise<{ readonly above: bigint; readonly blocks: readonly BlockOf[] } | null> {
  if (head.number > ring.head().number + GAP_BLOCKS_MAX) return null
  const blocks: BlockOf[] = []
  let { number, hash } = head
  while (ring.at(number)?.hash !== hash) {
    if (number <= ring.floor()) return null
    // Most heads follow the one that is known, and what was counted at that one need not be asked for again.
    const before =
      hash === head.hash ? ring.counts({ number: number - 1n, hash: head.parentHash }, signers) : undefined
    const block = await nodes.blockOf(hash, signers, before)
    if (block === null || block.head.number !== number) throw unsettled(number)
    blocks.push(block)
    hash = block.head.parentHash
    number -= 1n
  }
  return { above: number, blocks: blocks.toReversed() }
}
