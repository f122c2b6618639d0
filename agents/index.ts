import type { Agent } from './agent.ts'
import { allocator } from './allocator/agent.ts'
import { assetManager } from './asset-manager/agent.ts'
import { byHand } from './by-hand.ts'
import { liquidator } from './liquidator/agent.ts'
import { navReporter } from './nav-reporter/agent.ts'
import { rfqBidder } from './rfq-bidder/agent.ts'

/** The roles that this release staffs. A role of your own is one line more. */
export const agents: readonly Agent[] = [
  liquidator,
  allocator,
  navReporter,
  assetManager,
  rfqBidder,
  ...byHand,
]
