import type { Role } from '../service/contract/roles.ts'
import type { Workflow } from '../workflow/workflow.ts'
import type { SummaryEvent, WorkflowCounts } from './events.ts'

/** The count of how workflows ended in this run. */
type Tally = {
  readonly ended: (workflow: Workflow) => void
  readonly summary: (
    roles: readonly Role[],
    parked: readonly Workflow[],
    money: SummaryEvent['money'],
    nowMs: number,
  ) => SummaryEvent
}

/** Create the tally of a run that began at `startedAtMs`. */
export function createTally(startedAtMs: number): Tally {
  const counts = new Map<string, number>()
  const count = (role: Role, state: string) => counts.get(`${role}:${state}`) ?? 0
  return {
    ended: ({ role, state }) => {
      counts.set(`${role}:${state}`, count(role, state) + 1)
    },
    summary: (roles, parked, money, nowMs) => ({
      type: 'summary',
      at: new Date(nowMs).toISOString(),
      durationMs: nowMs - startedAtMs,
      workflows: Object.fromEntries(
        roles.map((role): [Role, WorkflowCounts] => [
          role,
          {
            succeeded: count(role, 'succeeded'),
            refused: count(role, 'refused'),
            expired: count(role, 'expired'),
            reverted: count(role, 'reverted'),
            superseded: count(role, 'superseded'),
            partial: count(role, 'partial'),
            cancelled: count(role, 'cancelled'),
            unconfirmed: count(role, 'unconfirmed'),
            quarantined: count(role, 'quarantined'),
            shadowed: count(role, 'shadowed'),
            parked: parked.filter((workflow) => workflow.role === role).length,
          },
        ]),
      ),
      money,
    }),
  }
}
