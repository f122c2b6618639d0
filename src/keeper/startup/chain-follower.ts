import type { Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Log } from '../../ops/log.ts'
import { watchChain } from '../../pipeline/transactions/chain-view.ts'
import { createGasMarket } from '../../pipeline/transactions/gas-market.ts'
import type { Ground } from '../ports.ts'
import type { KeeperRecords } from '../records/records.ts'
import type { Reports } from '../telemetry/reports.ts'
import { openNodes } from './connect.ts'

/** The chain as every role stands on it, until it is closed. */
export type ChainFollower = Ground & { readonly close: () => Promise<void> }

/** What trying again for ever needs. */
type TryDeps = {
  readonly clock: Clock
  /** Why it does not work yet. */
  readonly onFailed: (error: RolekeeperError) => void
  readonly stop: AbortSignal
}

/** What connecting to the nodes needs. */
export type ConnectDeps = TryDeps & {
  readonly reports: Pick<Reports, 'metrics' | 'alarm'>
  /** Whether something is in flight: then nothing that the nodes say ends the start. */
  readonly isInFlight: boolean
}

/** What following the chain needs. */
export type FollowDeps = TryDeps & {
  readonly nodes: Nodes
  readonly records: KeeperRecords
  readonly reports: Pick<Reports, 'alarm'>
  readonly log: Log
  readonly onHead: () => void
}

const RETRY_MS = 1_000
const RETRY_MS_MAX = 30_000

/** With nothing in flight, these end a start: a slip of the pen shows itself at once. */
const MISTAKES = ['node.wrong_chain', 'node.unreachable', 'node.http_status', 'node.no_base_fee']

/**
 * Connect to the nodes. Those that do not answer are tried again for ever while anything is in flight. Throws what cannot be
 * mended by itself, and the reason of `stop`.
 */
export const connectNodes = (config: RunConfig, deps: ConnectDeps): Promise<Nodes> =>
  untilItWorks(() => tryToConnect(config, deps), {
    ...deps,
    isMistake: ({ code }) => !deps.isInFlight && MISTAKES.includes(code),
  })

/**
 * Follow the chain for every signer that may have a transaction on it: those of the configuration, and those of workflows in
 * flight, whatever became of their roles. Tried again as `connectNodes` is.
 */
export async function followChain({
  nodes,
  records,
  log,
  onHead,
  ...deps
}: FollowDeps): Promise<ChainFollower> {
  const { clock } = deps
  const { nowMs } = clock
  const follow = () =>
    watchChain({
      nowMs,
      clock,
      nodes,
      journal: records.journal,
      safe: records.signers.safe,
      signers: records.addresses,
      scope: records.scope,
      onHead,
      alarm: deps.reports.alarm,
      onFailed: (error) => log.warn('could not follow the chain', {}, error),
    })
  const isMistake = ({ code }: RolekeeperError) => records.resumed.length === 0 && MISTAKES.includes(code)
  const chain = await untilItWorks(follow, { ...deps, isMistake })
  return { nodes, chain, gas: createGasMarket({ nodes, monotonicMs: clock.monotonicMs }), close: chain.stop }
}

async function untilItWorks<T>(
  work: () => Promise<T>,
  { clock, stop, onFailed, isMistake }: TryDeps & { readonly isMistake: (error: RolekeeperError) => boolean },
): Promise<T> {
  for (let waitMs = RETRY_MS; ; waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof RolekeeperError) || error.retry === 'never' || isMistake(error)) throw error
      onFailed(error)
    }
    await clock.sleep(waitMs, stop)
  }
}

async function tryToConnect(config: RunConfig, { clock, reports, isInFlight }: ConnectDeps): Promise<Nodes> {
  const nodes = await openNodes(config, clock, {
    onDisagreement: (error) => {
      if (error.code === 'node.alone') reports.metrics.nodeAlone(String(error.facts.node))
      reports.alarm(error)
    },
    // What is public waits for no node that the others can do without.
    onWrongChain: isInFlight ? reports.alarm : undefined,
  })
  const send: Nodes['send'] = async (raw) => {
    const outcomes = await nodes.send(raw)
    for (const { outcome } of outcomes) reports.metrics.sent(outcome)
    return outcomes
  }
  return { ...nodes, send }
}
