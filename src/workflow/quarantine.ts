import { move, type Workflow } from './workflow.ts'

/** Steps in a row that throw until a workflow is quarantined. */
export const STRIKES_MAX = 3

/** Whether a quarantined workflow's step failed again, in a row: what concluding it would see to may never be done. Pure. */
export const failsForEver = ({ quarantined, strikes }: Workflow): boolean =>
  quarantined !== undefined && strikes > STRIKES_MAX

/**
 * End a quarantined workflow whose steps fail, as it is: what it reserved stays reserved, and an approval that stands stays
 * for a person to take back. Only where the chain is final past each of its nonces. Pure.
 */
export function giveUp(workflow: Workflow, nowMs: number): Workflow {
  const { quarantined, clearance, slots } = workflow
  const cause = quarantined?.note.message ?? 'Its steps fail.'
  const left = (clearance?.allowances ?? []).map(
    ({ spender, token }) => ` Not looked at: ${spender} may still take ${token} from ${workflow.signer}.`,
  )
  const note = { check: 'three_strikes', message: `${cause}${left.join('')}` }
  const ended = slots.map((slot) => ({ ...slot, state: 'final' as const }))
  return move({ ...workflow, slots: ended }, 'quarantined', nowMs, { note })
}
