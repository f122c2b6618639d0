import type { RunConfig } from '../config/config.ts'
import { RolekeeperError } from '../errors.ts'
import { countAnswers } from '../guard/approval/approvers.ts'
import { writeAnswer } from '../ops/orders.ts'
import { type Reply, startReplyListener } from '../ops/reply-listener.ts'
import { isHeld, type Workflow } from '../workflow/workflow.ts'
import type { Candidate } from './policy/candidates.ts'

/** What an answer from outside is held against. */
type RepliesDeps = {
  readonly live: () => readonly Workflow[]
  readonly candidates: readonly Candidate[]
}

/** No user of any machine: whoever is known by that alone cannot answer from outside. */
const OUTSIDE = 'reply'

/**
 * Take signed answers from outside where a configuration says so. They are written as `rolekeeper approve` writes them, and
 * the role proves them again.
 * @returns what ends it. Throws what listening throws.
 */
export async function listenForReplies(
  { replies, directory }: Pick<RunConfig, 'replies' | 'directory'>,
  deps: RepliesDeps,
): Promise<() => Promise<void>> {
  if (replies === undefined) return async () => {}
  const listener = await startReplyListener(replies, (reply) => {
    if (!isProven(reply, deps)) return false
    const { id, verdict, hash, name, signature } = reply
    writeAnswer(directory, id, { verdict, hash, by: { user: OUTSIDE, name, signature } })
    return true
  })
  return listener.close
}

/** Whether an answer is about what waits now, by the key of one whom its policy asks. */
export function isProven({ id, verdict, hash, name, signature }: Reply, deps: RepliesDeps): boolean {
  const workflow = deps.live().find((each) => each.id === id && isHeld(each))
  const policy = deps.candidates.find(
    ({ agent }) => agent.role === workflow?.role && agent.signer.address === workflow.signer,
  )?.policy
  if (workflow === undefined || policy === undefined || policy instanceof RolekeeperError) return false
  // Without approvers, whoever can write to the directory may answer: nobody proves that from outside.
  if (Object.keys(policy.approval.approvers).length === 0) return false
  const answer = { verdict, hash, by: { user: OUTSIDE, name, signature } }
  const { approved, rejected } = countAnswers(workflow, [answer], policy.approval)
  return approved.length > 0 || rejected !== null
}
