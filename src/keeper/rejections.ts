import { rejectedText } from '../decide/open.ts'
import { type Refusal, refuse } from '../errors.ts'
import { type Approvers, takenBackBy } from '../guard/approvers.ts'
import type { Journal } from '../journal/journal.ts'
import type { Mail } from '../ops/mail.ts'
import type { Proposal } from '../workflow/proposal.ts'
import { REJECTED, type Workflow } from '../workflow/workflow.ts'

/** What people rejected of a role, for as long as it is the same that is proposed. */
export type Rejections = {
  /** Note what ended. */
  readonly ended: (workflow: Workflow) => void
  /** Why a proposal is not opened: it is what a person rejected, whatever a block has changed of it since; else null. */
  readonly against: (proposal: Proposal) => Promise<Refusal | null>
  /** Whether a person took back the rejection of a workflow. */
  readonly isTakenBack: (workflowId: string) => Promise<boolean>
}

/** What looking for the answer that takes one back needs. */
type RejectionsDeps = {
  readonly journal: Pick<Journal, 'get'>
  readonly mail: Pick<Mail, 'answers'>
  readonly approval: Approvers
}

/** Remember what people rejected. @param newest what ended of late, the newest first. */
export function createRejections(
  newest: readonly Workflow[],
  { journal, mail, approval }: RejectionsDeps,
): Rejections {
  const rejected = new Map<string, Workflow>()
  const ended: Rejections['ended'] = (workflow) => {
    const { proposal, note, hold } = workflow
    // An order is a person's own word, each time that it is given.
    if (hold === undefined || proposal.kind === 'order') return
    if (note?.check === REJECTED) rejected.set(keyOf(proposal), workflow)
    else rejected.delete(keyOf(proposal))
  }
  for (const workflow of newest.toReversed()) ended(workflow)
  const isTakenBack: Rejections['isTakenBack'] = async (id) => {
    const workflow = await journal.get(id)
    if (workflow?.hold === undefined) return false
    const answers = await mail.answers(id, workflow.hold.hash)
    return takenBackBy(workflow, answers, approval) !== null
  }
  return {
    ended,
    isTakenBack,
    against: async (proposal) => {
      const found = rejected.get(keyOf(proposal))
      if (found === undefined || !isAlike(proposal, found.proposal)) return null
      return (await isTakenBack(found.id)) ? null : refuse(REJECTED, rejectedText(found.id))
    },
  }
}

const keyOf = ({ workflowType, kind, subject }: Proposal) => `${workflowType} ${kind} ${subject}`

/**
 * Whether a proposal is what was rejected: in the same words, or with all amounts within a tenth of those. Its occurrence
 * says less, for any block may change that.
 */
const isAlike = (now: Proposal, then: Proposal): boolean =>
  now.summary === then.summary ||
  (then.exposure.usdMicros > 0n &&
    isNear(now.exposure.usdMicros, then.exposure.usdMicros) &&
    isNear(now.worthUsdMicros ?? 0n, then.worthUsdMicros ?? 0n))

const isNear = (now: bigint, then: bigint): boolean => {
  const moved = now > then ? now - then : then - now
  return moved * 10n <= (then < 0n ? -then : then)
}
