import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import type { RolePolicy } from '../policy/role-policy.ts'
import { judgeCharges } from './checks/charges.ts'
import { judgeClock } from './checks/clock.ts'
import { judgeEligibility } from './checks/eligibility.ts'
import { judgePolicy } from './checks/policy.ts'
import { serviceAheadMs } from './checks/service.ts'
import { refuseFailing } from './finding.ts'
import type { World } from './world.ts'

/** What proving takes. */
type SoundDeps = {
  readonly world: () => Promise<World>
  readonly config: RunConfig
  readonly clock: Pick<Clock, 'nowMs'>
}

/**
 * Prove of a role what the doctor would fail it for and nothing else proves: our clock, what the chain charges, the amounts of its
 * policy against it, and that its signer may do what the role does. Throws RolekeeperError with the code of what fails, and `node.*`.
 */
export async function proveSound(rolePolicy: RolePolicy, deps: SoundDeps): Promise<void> {
  const { config, clock } = deps
  const [world, service] = await Promise.all([deps.world(), serviceAheadMs(config, clock)])
  const { agent } = rolePolicy
  const headMs = world.head.timestampS * 1_000
  refuseFailing([
    judgeClock({ nowMs: clock.nowMs(), headMs, servers: { 'the service': service } }),
    ...judgeCharges(world),
    ...judgePolicy(rolePolicy, world),
    // A shadow does nothing that it would have to be let in for.
    ...(agent.mode === 'live' ? [judgeEligibility(agent, config.agents, world)] : []),
  ])
}
