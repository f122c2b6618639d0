import type { Moment } from '../../../agents/agent.ts'
import type { Rival } from '../../../agents/protocol/rival.ts'
import type { MinedLog, Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import type { Log } from '../../ops/log.ts'
import { LIQUIDATED_TOPIC, liquidationOf } from '../../pipeline/transactions/effects.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import { createCachedRead } from '../cached-read.ts'

/** What rivals gave to be first in markets, as nodes in agreement have it. */
export type Rivals = {
  /** As it was read last, nothing before. */
  readonly now: () => Moment['rivals']
  /** Read on if that is due, and do not wait for it. */
  readonly begin: () => void
}

const READ_EVERY_MS = 60_000
/** Blocks that are looked through at once; a keeper that starts, or was away, leaves out what was before. */
const BLOCKS_MAX = 300n
/** Liquidations that are looked at in one read, the newest: each is two calls a node. */
const READ_MAX = 10
/** So long they are kept, as the races of ours are, and so many. */
const DAY_MS = 86_400_000
const KEPT_MAX = 200

/** Create what is read of rivals in the markets of a deployment: everybody but the signers of a keeper. */
export function createRivals(
  agents: RunConfig['agents'],
  { markets }: Pick<Deployment, 'markets'>,
  {
    nodes,
    clock,
    log,
  }: {
    readonly nodes: Pick<Nodes, 'recent' | 'logs' | 'transaction' | 'block'>
    readonly clock: Clock
    readonly log: Log
  },
): Rivals {
  const addresses = markets.map(({ address }) => address)
  const ours = agents.map(({ signer }) => signer.address)
  let readTo: bigint | null = null
  let known: readonly Rival[] = []
  const read = async () => {
    const { number, timestampS } = await nodes.recent()
    const oldest = number > BLOCKS_MAX ? number - BLOCKS_MAX : 0n
    const fromBlock = readTo === null || readTo < oldest ? oldest : readTo + 1n
    if (fromBlock > number) return
    const found = await nodes.logs({ addresses, topic: LIQUIDATED_TOPIC, fromBlock, toBlock: number })
    const theirs = found.filter((each) => !ours.includes(liquidationOf(each).who))
    const added = await Promise.all(theirs.slice(-READ_MAX).map((each) => rivalOf(each, nodes)))
    readTo = number
    const isOfLate = ({ atMs }: Rival) => atMs > timestampS * 1_000 - DAY_MS
    known = [...known, ...added.flat()].filter(isOfLate).slice(-KEPT_MAX)
  }
  const { begin } = createCachedRead(read, {
    clock,
    everyMs: () => READ_EVERY_MS,
    onFailed: (error) => log.warn('could not read what rivals gave', {}, error),
  })
  return { now: () => known, begin }
}

/** What one gave; nothing where too few nodes have its transaction by now. */
async function rivalOf(
  log: MinedLog,
  { transaction, block }: Pick<Nodes, 'transaction' | 'block'>,
): Promise<readonly Rival[]> {
  const [mined, head] = await Promise.all([transaction(log.hash), block(log.blockNumber)])
  if (mined === null || head === null || mined.receipt.blockHash !== head.hash) return []
  const tipWei = mined.receipt.effectiveGasPriceWei - head.baseFeePerGasWei
  const { repayAssets } = liquidationOf(log)
  return [{ marketAddress: log.address, repayAssets, tipWei, atMs: head.timestampS * 1_000 }]
}
