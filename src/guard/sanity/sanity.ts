import { z } from 'zod'
import type { Role } from '../../service/contract/roles.ts'
import { allocatorSanity } from './allocator.ts'
import { assetManagerSanity } from './asset-manager.ts'
import { liquidatorSanity } from './liquidator.ts'
import { type Judgements, judgedBy } from './look.ts'
import { navReporterSanity } from './nav-reporter.ts'
import { rfqBidderSanity } from './rfq-bidder.ts'

const ROLE_POLICIES: ReadonlyMap<Role, z.ZodType<Judgements>> = new Map<Role, z.ZodType<Judgements>>([
  ['asset-manager', assetManagerSanity],
  ['liquidator', liquidatorSanity],
  ['allocator', allocatorSanity],
  ['nav-reporter', navReporterSanity],
  ['rfq-bidder', rfqBidderSanity],
])

/** A role without judgements of its own: rules, effects and simulation decide. */
const none: z.ZodType<Judgements> = judgedBy(z.strictObject({}), () => [])

/** Find the schema of `guard.sanity` in a role's policy; parsed, it holds the role's judgements. Pure. */
export const sanityPolicy = (role: Role): z.ZodType<Judgements> => ROLE_POLICIES.get(role) ?? none
