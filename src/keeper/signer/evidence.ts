import type { Address } from 'viem'
import type { MinedTransaction, Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Adopted, ChainEvidence } from '../../fleet/safe-proof.ts'
import { BUDGET_MS } from '../../guard/limits/budget.ts'
import type { Journal } from '../../journal/journal.ts'
import { paidWei } from '../../workflow/slot.ts'
import { openNodes } from '../startup/connect.ts'

/**
 * Read what the nodes show of a signer: of each alone what it counts, and of all what was mined in the last day that a ledger
 * does not have. Throws what opening and asking them throws.
 */
export async function readSignerEvidence(
  signer: Address,
  config: RunConfig,
  { clock, journal }: LookDeps,
): Promise<ChainEvidence> {
  const nodes = await openNodes(config, clock)
  try {
    const counts = await countsOf(signer, config, clock)
    return { counts, adopted: await adoptedOf(signer, nodes, { clock, journal }) }
  } finally {
    await nodes.close()
  }
}

/** Read of each of some signers what was mined in the last day that a ledger does not have; null where the nodes do not say. */
export async function readAdopted(
  signers: readonly string[],
  config: RunConfig,
  look: LookDeps,
): Promise<ReadonlyMap<string, ChainEvidence['adopted']>> {
  const found = new Map<string, ChainEvidence['adopted']>()
  if (signers.length === 0) return found
  const nodes = await openNodes(config, look.clock)
  try {
    // One after the other: a fleet may have a thousand.
    for (const signer of signers) found.set(signer, await adoptedOf(signer as Address, nodes, look))
    return found
  } finally {
    await nodes.close()
  }
}

/** Each has a pool of its own, and no agreement would show what one of them alone has. */
async function countsOf(signer: Address, config: RunConfig, clock: Clock): Promise<ChainEvidence['counts']> {
  const { read, send } = config.chain.nodes
  const byUrl = new Map([...read, ...send].map((url) => [url.reveal(), url]))
  const urls = [...byUrl.values()]
  return Promise.all(
    urls.map(async (url, index) => {
      const node = `node ${index + 1}`
      const chain = { ...config.chain, nodes: { read: [url], send: [url], agree: 1 } }
      try {
        return { node, ...(await countsOfOne(signer, { ...config, chain }, clock)) }
      } catch (error) {
        if (!(error instanceof RolekeeperError)) throw error
        return { node, problem: error.code }
      }
    }),
  )
}

async function countsOfOne(signer: Address, config: RunConfig, clock: Clock) {
  const alone = await openNodes(config, clock)
  try {
    const head = await alone.head()
    const [latest, pending] = await Promise.all([
      alone.transactionCount(signer, head.hash),
      alone.transactionCount(signer, 'pending'),
    ])
    return { latest, pending }
  } finally {
    await alone.close()
  }
}

type LookDeps = { readonly clock: Clock; readonly journal: Pick<Journal, 'ledgerEntry'> }

/** What budgets count of the past; null where the nodes have no state that old. */
async function adoptedOf(
  signer: Address,
  nodes: Nodes,
  { clock, journal }: LookDeps,
): Promise<readonly Adopted[] | null> {
  try {
    const head = await nodes.head()
    const from = await blockSince(Math.floor((clock.nowMs() - BUDGET_MS) / 1_000), head.number, nodes)
    const mined = await minedIn(
      signer,
      { number: from, count: await countAt(signer, from, nodes) },
      { number: head.number, count: await countAt(signer, head.number, nodes) },
      nodes,
    )
    const known = await Promise.all(
      mined.map(({ digest }) => (digest === null ? null : journal.ledgerEntry(digest, signer))),
    )
    return Promise.all(mined.filter((_, index) => known[index] === null).map((each) => adopt(each, nodes)))
  } catch (error) {
    if (error instanceof RolekeeperError && error.code.startsWith('node.')) return null
    throw error
  }
}

const countAt = (signer: Address, number: bigint, nodes: Nodes) => nodes.transactionCount(signer, number)

/** The newest block before a time, or the first. */
async function blockSince(timestampS: number, head: bigint, nodes: Nodes): Promise<bigint> {
  let [low, high] = [0n, head]
  while (low < high) {
    const middle = (low + high + 1n) / 2n
    const block = await nodes.block(middle)
    if (block === null || block.timestampS >= timestampS) high = middle - 1n
    else low = middle
  }
  return low
}

/** A height, and how much a signer had sent by it. */
type Counted = { readonly number: bigint; readonly count: number }

/** Find what a signer sent between two heights: halves in which nothing was sent are not looked at. */
async function minedIn(
  signer: Address,
  from: Counted,
  to: Counted,
  nodes: Nodes,
): Promise<readonly MinedTransaction[]> {
  if (to.count <= from.count) return []
  if (to.number - from.number === 1n) {
    const block = await nodes.block(to.number)
    const found = block && (await nodes.blockOf(block.hash, [signer]))
    const mined = found?.transactions ?? []
    if (mined.length !== to.count - from.count) throw notShown(to.number)
    return mined
  }
  const number = (from.number + to.number) / 2n
  const middle = { number, count: await countAt(signer, number, nodes) }
  return [...(await minedIn(signer, from, middle, nodes)), ...(await minedIn(signer, middle, to, nodes))]
}

async function adopt({ nonce, hash, receipt }: MinedTransaction, nodes: Nodes): Promise<Adopted> {
  const block = await nodes.block(receipt.blockNumber)
  return {
    nonce,
    hash,
    atMs: (block?.timestampS ?? 0) * 1_000,
    gasWei: paidWei(receipt),
    reverted: receipt.status === 'reverted',
  }
}

const notShown = (number: bigint) =>
  new RolekeeperError('node.not_shown', `The nodes do not show what block ${number} holds.`, {
    retry: 'later',
  })
