import { allocatorJudge } from './allocator.ts'
import {
  allocatorCrowdJudge,
  allocatorNoticeJudge,
  allocatorSpikesJudge,
  allocatorTogetherJudge,
} from './allocator-vaults.ts'
import { assetManagerJudge } from './asset-manager.ts'
import type { Judge } from './judgement.ts'
import { liquidatorWeatherJudge } from './liquidator.ts'
import { liquidatorTipsJudge } from './liquidator-tips.ts'
import { liquidatorBooksJudge, liquidatorClaimsJudge, liquidatorExitJudge } from './liquidator-worlds.ts'
import {
  managerAdverseJudge,
  managerFairJudge,
  managerInformedJudge,
  managerLearningJudge,
  managerOracleJudge,
} from './manager-worlds.ts'
import { navReporterJudge } from './nav-reporter.ts'
import { navCorrectionsJudge, navFastJudge, navFeesJudge, navWorldsJudge } from './nav-worlds.ts'
import { rfqBidderJudge } from './rfq-bidder.ts'
import { rfqAdverseJudge, rfqColdJudge, rfqFairJudge, rfqOracleJudge } from './rfq-worlds.ts'

/** Who is judged, in the order of the registry of roles. */
export const judges: readonly Judge[] = [
  liquidatorWeatherJudge(),
  liquidatorBooksJudge(),
  liquidatorExitJudge(),
  liquidatorClaimsJudge(),
  liquidatorTipsJudge(),
  allocatorJudge,
  allocatorSpikesJudge(),
  allocatorTogetherJudge(),
  allocatorNoticeJudge(),
  allocatorCrowdJudge(),
  navReporterJudge,
  navWorldsJudge,
  navFastJudge,
  navFeesJudge,
  navCorrectionsJudge,
  assetManagerJudge,
  managerFairJudge(),
  managerLearningJudge(),
  managerInformedJudge(),
  managerAdverseJudge(),
  managerOracleJudge(),
  rfqBidderJudge(),
  rfqFairJudge(),
  rfqAdverseJudge(),
  rfqOracleJudge(),
  rfqColdJudge(),
]
