import type { Nodes } from '../chain/nodes.ts'
import type { Clock } from '../clock.ts'
import type { RunConfig } from '../config/config.ts'
import { RolekeeperError } from '../errors.ts'
import type { Log } from '../ops/log.ts'
import { createGasMarket, type GasMarket } from '../pipeline/transactions/gas-market.ts'
import { type ChainView, watchChain } from '../pipeline/transactions/nonces.ts'
import { openNodes } from './connect.ts'
import type { KeeperRecords } from './records.ts'
import type { Reports } from './reports.ts'

/** What every role stands on: the nodes, and the chain as it is followed for every signer. */
export type Ground = {
  readonly nodes: Nodes
  readonly chain: ChainView
  readonly gas: GasMarket
  readonly close: () => Promise<void>
}

/** What following the chain needs. */
export type GroundDeps = {
  readonly clock: Clock
  readonly records: KeeperRecords
  readonly reports: Pick<Reports, 'metrics' | 'alarm'>
  readonly log: Log
  readonly onHead: () => void
  /** Why the chain is not followed yet; it is tried again. */
  readonly onFailed: (error: RolekeeperError) => void
  readonly stop: AbortSignal
}

const RETRY_MS = 1_000
const RETRY_MS_MAX = 30_000

/** With nothing in flight, these end a start: a slip of the pen shows itself at once. */
const MISTAKES = ['node.wrong_chain', 'node.unreachable', 'node.http_status']

/**
 * Connect to the nodes, and follow the chain for every signer that may have a transaction on it: those of the
 * configuration, and those of workflows in flight, whatever became of their roles. Nodes that do not answer are tried
 * again for ever while anything is in flight. Throws what cannot be mended by itself, and the reason of `stop`.
 */
export async function openGround(config: RunConfig, deps: GroundDeps): Promise<Ground> {
  const { clock, stop } = deps
  const { resumed } = deps.records
  for (let waitMs = RETRY_MS; ; waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)) {
    try {
      return await tryToOpen(config, deps)
    } catch (error) {
      if (!(error instanceof RolekeeperError) || error.retry === 'never') throw error
      if (resumed.length === 0 && MISTAKES.includes(error.code)) throw error
      deps.onFailed(error)
    }
    await clock.sleep(waitMs, stop)
  }
}

async function tryToOpen(config: RunConfig, deps: GroundDeps): Promise<Ground> {
  const nodes = await connectNodes(config, deps)
  try {
    const { nowMs } = deps.clock
    const chain = await followChain(nodes, deps)
    const close = async () => {
      await chain.stop()
      await nodes.close()
    }
    return { nodes, chain, gas: createGasMarket({ nodes, nowMs }), close }
  } catch (error) {
    await nodes.close()
    throw error
  }
}

async function connectNodes(config: RunConfig, { clock, reports, records }: GroundDeps): Promise<Nodes> {
  const nodes = await openNodes(config, clock, {
    onDisagreement: (error) => {
      if (error.code === 'node.alone') reports.metrics.nodeAlone(String(error.facts.node))
      reports.alarm(error)
    },
    // What is public waits for no node that the others can do without.
    onWrongChain: records.resumed.length > 0 ? reports.alarm : undefined,
  })
  const send: Nodes['send'] = async (raw) => {
    const outcomes = await nodes.send(raw)
    for (const { outcome } of outcomes) reports.metrics.sent(outcome)
    return outcomes
  }
  return { ...nodes, send }
}

const followChain = (nodes: Nodes, { clock, records, ...deps }: GroundDeps): Promise<ChainView> =>
  watchChain({
    ...{ nowMs: clock.nowMs, clock, nodes, journal: records.journal, safe: records.signers.safe },
    signers: records.addresses,
    onHead: deps.onHead,
    onFailed: (error) => deps.log.warn('could not follow the chain', {}, error),
    alarm: deps.reports.alarm,
  })
