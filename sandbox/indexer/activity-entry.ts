import type { Address } from 'viem'
import type { ActivityResource } from '../../src/service/contract/resources.ts'

/** An activity row, with the market and vault that it concerns. */
export type ActivityEntry = {
  readonly resource: ActivityResource
  readonly marketAddress: Address | null
  readonly vaultAddress: Address | null
}

/** What an activity row needs beside its log. */
export type ActivityContext = {
  readonly chainId: number
  /** An oracle's logs do not name the market that reads it. */
  readonly marketByOracle: ReadonlyMap<Address, Address>
}

/** What a log says happened, to which resource. */
export type LogEntry = {
  readonly resourceType:
    | 'market'
    | 'vault'
    | 'wrapper'
    | 'position'
    | 'liquidation'
    | 'rfq'
    | 'auction'
    | 'acquisition'
    | 'fund'
    | 'nav_oracle'
  readonly resourceId: string
  readonly type: string
  readonly amount?: bigint
  readonly marketAddress?: Address
  readonly vaultAddress?: Address
}
