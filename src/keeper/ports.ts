import type { Address } from 'viem'
import type { Nodes } from '../chain/nodes.ts'
import type { Clock } from '../clock.ts'
import type { RunConfig } from '../config/config.ts'
import type { RolekeeperError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import type { Gate } from '../ops/control.ts'
import type { KeeperEvent } from '../ops/events.ts'
import type { Log } from '../ops/log.ts'
import type { Mail } from '../ops/mail.ts'
import type { Metrics } from '../ops/metrics/metrics.ts'
import type { ChainView } from '../pipeline/transactions/chain-view.ts'
import type { GasMarket } from '../pipeline/transactions/gas-market.ts'
import type { Signers } from '../pipeline/transactions/safe.ts'
import type { Workflow } from '../workflow/workflow.ts'

/** What every part of a keeper has: its configuration, its time, and where it says what happens. */
export type Runtime = {
  readonly config: RunConfig
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly emit: (event: KeeperEvent) => void
  readonly alarm: (error: RolekeeperError) => void
}

/** What every role stands on: the nodes, and the chain as it is followed for every signer. */
export type Ground = {
  readonly nodes: Nodes
  readonly chain: ChainView
  readonly gas: GasMarket
}

/** What was done, and what people answered. */
export type Records = {
  readonly journal: Journal
  readonly signers: Pick<Signers, 'reasonsOf' | 'safe'>
  /** People's answers about held workflows. */
  readonly mail: Pick<Mail, 'answers' | 'everyMs'>
}

/** When something may be done, one after another. */
export type Turns = {
  /** Kill and pause, read now; for a live role also with its signer's own reasons. */
  readonly gate: () => Gate
  /** One work of the keeper after another: to open a proposal, to judge and take a budget. */
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>
  /** What is urgent and in flight with a signer. */
  readonly urgentOf: (signer: Address) => readonly Workflow[]
}
