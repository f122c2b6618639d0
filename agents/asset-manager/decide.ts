import type { Proposal } from '../../src/workflow/proposal.ts'
import { type Decision, type Moment, type PassedOver, passOver } from '../agent.ts'
import { chooseBids } from './bids.ts'
import { reconcile } from './declared/reconcile.ts'
import type { ManagerPolicy } from './policy.ts'
import type { ManagerSeen } from './seen.ts'

/**
 * Decide what to pause, what to set up or change as declared, and which positions to bid for, and say of everything
 * else why not. Pure. In this order: what keeps holders safe, what is declared, what earns.
 */
export function decide(seen: Moment & ManagerSeen, policy: ManagerPolicy): Decision {
  if (!seen.freshness.ok) return passAllOver(seen)
  const outcomes = reconcile(seen, policy.declared).map(({ outcome }) => outcome)
  const steps = outcomes.filter((outcome): outcome is Proposal => 'workflowType' in outcome)
  const left = outcomes.filter((outcome): outcome is PassedOver => 'check' in outcome)
  const [pauses, others] = [steps.filter(isPause), steps.filter((step) => !isPause(step))]
  const bids = chooseBids(seen, policy)
  const againAtMs = nextTimeMs(seen, policy)
  return {
    proposals: [...pauses, ...others, ...bids.proposals],
    passedOver: [...left, ...bids.passedOver],
    ...(againAtMs === null ? {} : { lookAgainAtMs: againAtMs }),
  }
}

/** When the last call of the next lot begins. */
function nextTimeMs({ lots, chain, nowMs }: Moment & ManagerSeen, { bidding }: ManagerPolicy): number | null {
  const timesS = lots
    .filter(({ row }) => row.status === 'open')
    .map(({ row }) => Math.floor(Date.parse(row.closesAt) / 1_000) - bidding.lastCallS)
    .filter((timeS) => timeS > chain.timestampS)
  return timesS.length === 0 ? null : nowMs + (Math.min(...timesS) - chain.timestampS) * 1_000
}

const isPause = ({ kind }: Proposal) => kind === 'pause'

function passAllOver({ freshness, lots }: Moment & ManagerSeen): Decision {
  const subjects = ['declared', ...lots.map(({ row }) => row.id)]
  const stop = {
    check: 'observation_not_fresh',
    message: freshness.message,
    reason: { ageMs: freshness.ageMs },
  }
  return { proposals: [], passedOver: subjects.map((subject) => passOver(subject, stop)) }
}
