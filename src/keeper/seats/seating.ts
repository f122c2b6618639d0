import type { Nodes } from '../../chain/nodes.ts'
import type { RunConfig } from '../../config/config.ts'
import type { AuditLog } from '../../ops/audit/log.ts'
import type { ActiveSwitch, Control, Gate, SwitchRecord } from '../../ops/control.ts'
import type { Mail } from '../../ops/mail.ts'
import type { FleetGauges } from '../../ops/metrics/fleet-metrics.ts'
import type { Queue } from '../../queue/queue.ts'
import type { TimersDeps } from '../../queue/timers.ts'
import type { Candidate } from '../policy/candidates.ts'
import type { KeeperRecords } from '../records/records.ts'

/** A seat that a keeper holds: what it decides and signs for, for as long as it does. */
export type HeldSeat = {
  /** With the agents of the seat alone. */
  readonly config: RunConfig
  readonly candidates: readonly Candidate[]
  readonly records: KeeperRecords
  readonly gate: () => Gate
  /** What people order of it. */
  readonly mail: Mail
  /** Make what wakes its workflows, from this process and, in a fleet, from others. */
  readonly createQueue: (deps: TimersDeps) => Queue
}

/** What is done with a seat: a term, as its seating sees it. */
export type Tenure = {
  /** Throws why it cannot begin. */
  readonly begin: () => Promise<void>
  /** Resolves when nothing of it goes on any more, also where it had not begun. */
  readonly end: () => Promise<void>
}

/** How it stands with a keeper's share of the seats. */
export type SeatStanding = {
  readonly ok: boolean
  readonly message: string
  /** Whether it holds none: then nothing that a seat is judged by says anything. */
  readonly isStandby: boolean
}

/** Where a keeper's records are, and how it comes to hold seats: alone it holds all of them, in a fleet its share. */
export type Seating = {
  /** Whether it follows what is in flight to its end before it stops; in a fleet others go on with it. */
  readonly drains: boolean
  /** What was in flight when it was opened. Null: not known before a seat is held. */
  readonly resumed: number | null
  readonly control: () => Control
  /** Of this keeper's directory: what it did, whichever seats it held. */
  readonly audit: AuditLog
  /** Who took back a switch that was on. */
  readonly takenBack: (pulled: ActiveSwitch) => SwitchRecord
  /** Where a keeper keeps how far its feed has come. */
  readonly values: Pick<KeeperRecords['journal'], 'getValue' | 'setValue'>
  /** Hold seats from now on. Alone it resolves once the term has begun, and throws why it cannot. */
  readonly hold: (hold: (seat: HeldSeat) => Tenure, nodes: Pick<Nodes, 'onHead'>) => Promise<void>
  readonly standing: () => SeatStanding
  /** Null alone. */
  readonly gauges: () => FleetGauges | null
  /** Let those who hold the seats that this keeper does not hold look again. */
  readonly hint: () => void
  /** Park every term, and leave its seat to others. */
  readonly leave: () => Promise<void>
  readonly close: () => Promise<void>
}
