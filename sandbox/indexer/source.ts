import type { Address, Hex } from 'viem'
import type { Clock } from '../../src/clock.ts'
import { RolekeeperError } from '../../src/errors.ts'
import type { Deployment } from '../deploy/deploy.ts'
import type { Canonical, Snapshot } from './canonical.ts'
import { type BlockHeader, type ChainReader, createChainReader } from './chain-reader.ts'
import type { Checkpoints } from './checkpoint.ts'
import { type FollowDeps, follow, isFollowed, type Track } from './follow.ts'
import { lower } from './logs.ts'
import { snapshotOf } from './snapshot.ts'
import { readState } from './state.ts'

/** What one block made of everything, and the newest block in common with what was indexed before. */
export type Indexed = { readonly track: Track; readonly snapshot: Snapshot; readonly ancestor: bigint }

type Receipt = NonNullable<Awaited<ReturnType<ChainReader['receipt']>>>

/** Receipts that are remembered: more than settle within the blocks that a reorg may undo. */
const RECEIPTS_MAX = 4_096

/** A deployment on a chain, read block by block. */
type Source = {
  readonly head: () => Promise<BlockHeader>
  /**
   * Read from where `track` ends to `head`. Throws as {@link follow} and {@link readState} do, and
   * `indexer.other_chain` when the node is not on the deployment's chain, or before its first block.
   */
  readonly index: (track: Track, head: BlockHeader) => Promise<Indexed>
  /** How a transaction ended in a block of this track; null when none of its blocks holds it. */
  readonly transaction: (hash: Hex, track: Track) => ReturnType<Canonical['transaction']>
}

/**
 * Open the deployment, learning from its markets which oracles and registries to listen to.
 * Throws `indexer.node`, `indexer.no_deployment` or `indexer.other_chain`.
 */
export async function openSource(options: {
  readonly rpcUrl: string
  readonly deployment: Deployment
  readonly clock: Clock
  readonly checkpoints: Checkpoints
  readonly blocksKept: bigint
}): Promise<Source> {
  const { rpcUrl, deployment, clock, checkpoints, blocksKept } = options
  const { chainId } = deployment
  const startBlock = BigInt(deployment.startBlock)
  const markets = addressesOf(deployment, 'LendingMarket')
  const { lens, fundLens, registry } = deployment.contracts
  const before = checkpoints.latest()?.book
  const reader = createChainReader({
    rpcUrl,
    lens: lens.address,
    fundLens: fundLens.address,
    directory: registry.address,
    announced: [...(before?.vaults.keys() ?? []), ...(before?.channels.keys() ?? [])],
  })

  const assertOurChain = async (head: BlockHeader) => {
    const nodeChainId = await reader.chainId()
    if (nodeChainId === chainId && head.number >= startBlock) return
    throw new RolekeeperError(
      'indexer.other_chain',
      `The node is at block ${head.number} of chain ${nodeChainId}; the deployment is on chain ${chainId} from block ${startBlock}.`,
      { fix: 'start over with --fresh, or point the sandbox at its own chain.' },
    )
  }

  const first = await reader.head()
  await assertOurChain(first)
  const terms = await Promise.all(markets.map((market) => reader.market(market, first.hash)))
  const oracles = terms.map((state) => lower(state.oracle.oracle))
  const emitters = new Set([
    ...markets,
    ...oracles,
    ...terms.map((state) => lower(state.registry)),
    ...['AcquisitionHouse', 'RecoveryAuction', 'RfqDesk', 'FundFactory', 'PartnerChannel'].flatMap((name) =>
      addressesOf(deployment, name),
    ),
  ])
  const marketByOracle = new Map(
    markets.flatMap((market, index) => {
      const oracle = oracles[index]
      return oracle === undefined ? [] : [[oracle, market] as const]
    }),
  )
  const deps: FollowDeps = {
    reader: { header: reader.header, logs: reader.logs },
    context: { chainId, marketByOracle, emitters },
    startBlock,
    checkpoint: checkpoints.latest,
    blocksKept,
  }

  return {
    head: reader.head,
    index: async (before, head) => {
      const [{ track, ancestor }] = await Promise.all([follow(before, head, deps), assertOurChain(head)])
      const state = await readState(reader, markets, track.book, head.hash)
      const snapshot = snapshotOf(head, track.book, state, { chainId, indexedAtMs: clock.nowMs() })
      return { track, snapshot, ancestor }
    },
    transaction: createTransactionReader(reader),
  }
}

/** Create the reader of transactions: a receipt in a block that still stands is not read again. */
function createTransactionReader(reader: Pick<ChainReader, 'receipt'>): Source['transaction'] {
  /** The one asked for last at the end. */
  const receipts = new Map<Hex, Receipt>()
  return async (txHash, track) => {
    const stands = ({ blockNumber, blockHash }: Receipt) =>
      isFollowed(track, { number: blockNumber, hash: blockHash })
    const known = receipts.get(txHash)
    const receipt = known !== undefined && stands(known) ? known : await reader.receipt(txHash)
    receipts.delete(txHash)
    if (receipt === null || !stands(receipt)) return null
    receipts.set(txHash, receipt)
    if (receipts.size > RECEIPTS_MAX) receipts.delete(receipts.keys().next().value ?? txHash)
    return { blockNumber: receipt.blockNumber, status: receipt.status }
  }
}

const addressesOf = (deployment: Deployment, contractName: string): readonly Address[] =>
  Object.values(deployment.contracts)
    .filter((contract) => contract.contractName === contractName)
    .map((contract) => lower(contract.address))
