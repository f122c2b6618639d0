import type { Role } from '../service/contract/roles.ts'

/** This instance of a fleet took a seat, left it to another, or lost it. */
export type SeatEvent = {
  readonly type: 'seat'
  readonly at: string
  /** The signer's address in lower case, or of a shadow `shadow:<role>:<address>`. */
  readonly seat: string
  readonly roles: readonly Role[]
  readonly state: 'held' | 'left' | 'lost'
}
