import type { Holding } from './holding.ts'
import { isHeld, type Workflow } from './workflow.ts'

/** What of a live workflow those see who do not carry it. */
export type Brief = Pick<Workflow, 'id' | 'role' | 'signer' | 'shadow'> & {
  readonly proposal: Pick<
    Workflow['proposal'],
    'workflowType' | 'kind' | 'subject' | 'occurrence' | 'input' | 'exposure' | 'lot' | 'offer'
  >
  /** Whether it waits for a person. */
  readonly held: boolean
  /** Nonces of its signer that it has under way; what has claimed nothing yet will take one at least. */
  readonly nonces: number
  /** What it was cleared to come to, once it has claimed. */
  readonly holdings?: readonly Holding[]
}

/** Say of a workflow what those see who do not carry it. Pure. */
export function briefOf(workflow: Workflow): Brief {
  const { id, role, signer, shadow, slots, clearance } = workflow
  const holdings = slots.length === 0 ? undefined : clearance?.holdings
  const { workflowType, kind, subject, occurrence, input, exposure, lot, offer } = workflow.proposal
  return {
    id,
    role,
    signer,
    ...(shadow === undefined ? {} : { shadow }),
    proposal: {
      workflowType,
      kind,
      subject,
      occurrence,
      input,
      exposure,
      ...(lot === undefined ? {} : { lot }),
      ...(offer === undefined ? {} : { offer }),
    },
    held: isHeld(workflow),
    nonces: slots.length === 0 ? 1 : slots.filter(({ state }) => state === 'open').length,
    ...(holdings === undefined ? {} : { holdings }),
  }
}
