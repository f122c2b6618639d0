import { type Checked, type Refusal, refuse } from '../../errors.ts'
import { plural } from '../../readable.js'
import { blockedText } from '../../service/contract/blocked-reasons.ts'
import type { PreparedWorkflow } from '../../service/contract/prepared-workflow.ts'
import { REQUEST_ID } from '../../service/contract/scalars.ts'
import { isOwn, WORKFLOW_CATALOGUE } from '../../service/contract/workflow-types.ts'
import { isMetadata } from '../../workflow/metadata.ts'
import type { FrozenAnswer, Workflow } from '../../workflow/workflow.ts'
import type { ClearedCall } from '../calls/call.ts'
import { checkCallee, checkSequence } from '../calls/sequence.ts'
import type { Subject } from '../policy/references.ts'
import type { Ruleset } from '../ruleset.ts'
import { checkRequest } from './check-request.ts'
import { checkAnswerAge, lifetimeOf } from './freshness.ts'
import { checkPostconditions } from './postconditions.ts'

/** The parts of a workflow that an answer is bound to. */
export type BoundWorkflow = Pick<Workflow, 'role' | 'chainId' | 'signer' | 'proposal' | 'attestation'>

/** What a static check established. */
type PreparedCheck = {
  readonly calls: readonly ClearedCall[]
  readonly subject: Subject
  /** Unix milliseconds from which nothing of this may be sent for the first time. */
  readonly notAfterMs: number
}

/** States of the service's freshness that we act on; any other, known or new, is not fresh. */
const FRESH: ReadonlySet<string> = new Set(['current', 'healthy'])

/**
 * Judge what the service prepared as if it were hostile: that it answers our request, is fresh and passed, and
 * consists of exactly the calls that the policy's rules allow, with our parameters, byte for byte. Pure.
 */
export function checkPrepared(options: {
  readonly workflow: BoundWorkflow
  readonly frozen: FrozenAnswer
  readonly ruleset: Ruleset
  readonly nowMs: number
}): Checked<PreparedCheck> {
  const { workflow, frozen, ruleset, nowMs } = options
  const { answer } = frozen
  const known = judged.get(frozen)
  const { workflowType } = workflow.proposal
  // What is done by preparing it has no age: none undoes what may be saved by now, and a reply that was lost comes again as it
  // was stored, maybe after its end. Nothing follows from it but the question whether the service shows it.
  const ageOf = (notAfterMs: number) =>
    isMetadata(workflowType) ? null : checkAnswerAge(frozen, ruleset.freshness, notAfterMs, nowMs)
  if (known !== undefined && isAbout(known, workflow, ruleset)) {
    const aged = ageOf(known.check.notAfterMs)
    return aged ?? { ok: true, ...known.check }
  }
  const requested = checkRequest({ ...workflow, ruleset })
  if (!requested.ok) return requested
  const lifetime = lifetimeOf(frozen, ruleset.freshness)
  const refusal =
    checkBinding(workflow, answer) ?? checkPreflight(workflow, answer, ruleset) ?? ageOf(lifetime.notAfterMs)
  if (refusal !== null) return refusal
  const deadlineS = BigInt(Math.floor(lifetime.endsAtMs / 1_000))
  const subject: Subject = { ...requested.subject, deadlineS }
  const calls = checkCalls(workflow, answer, ruleset, subject)
  if (!calls.ok) return calls
  const callee = ruleset.sanity.get(workflowType)?.callee
  const unlike =
    checkCallee(calls.calls, callee, subject) ??
    checkPostconditions(answer.canonicalPostconditions, workflowType, subject, calls.calls)
  if (unlike !== null) return unlike
  const check = { calls: calls.calls, subject, notAfterMs: lifetime.notAfterMs }
  judged.set(frozen, { workflow, ruleset, check })
  return { ok: true, ...check }
}

/** Judge the calls of an answer: what is done by preparing it has none, and one that comes with it is nothing that we asked for. */
function checkCalls(
  { proposal: { workflowType }, chainId, attestation }: BoundWorkflow,
  answer: PreparedWorkflow,
  { rules }: Ruleset,
  subject: Subject,
): Checked<{ readonly calls: readonly ClearedCall[] }> {
  if (!isMetadata(workflowType))
    return checkSequence(answer, chainId, rules.get(workflowType) ?? [], subject, attestation)
  const { length } = answer.transactions
  if (length === 0) return { ok: true, calls: [] }
  return refuse(
    'transactions_unasked',
    `The answer has ${plural(length, 'transaction')}; ${workflowType} is done by preparing it, and has none.`,
  )
}

type Judged = {
  readonly workflow: BoundWorkflow
  readonly ruleset: Ruleset
  readonly check: PreparedCheck
}

/** What passed, by the frozen answer: the same answer to the same workflow is judged four times, and only its age differs. */
const judged = new WeakMap<FrozenAnswer, Judged>()

const isAbout = (known: Judged, workflow: BoundWorkflow, ruleset: Ruleset): boolean =>
  known.ruleset === ruleset &&
  known.workflow.proposal === workflow.proposal &&
  known.workflow.attestation === workflow.attestation &&
  known.workflow.role === workflow.role &&
  known.workflow.chainId === workflow.chainId &&
  known.workflow.signer === workflow.signer

function checkBinding(workflow: BoundWorkflow, answer: PreparedWorkflow): Refusal | null {
  const type = workflow.proposal.workflowType
  const pinned = WORKFLOW_CATALOGUE[type]
  if (!answer.ok) return refuse('answer_not_ok', 'The service answered with ok false.')
  if (!REQUEST_ID.test(answer.requestId)) {
    return refuse(
      'request_id',
      'The answer calls its request something else than up to 200 letters, digits, dots, colons, hyphens and underscores.',
    )
  }
  if (answer.workflowType !== type) {
    return refuse('workflow_mismatch', `We asked for ${type}; the answer is for another workflow type.`)
  }
  // What is done by preparing it may be done by now; what we have to sign is not.
  if (answer.status !== 'prepared' && !isMetadata(type)) {
    return refuse(
      'already_final',
      `The answer's status is ${answer.status}; ${type} must be signed by us first.`,
    )
  }
  if (answer.executionMode !== pinned.executionMode) {
    return refuse(
      'execution_mode',
      `The execution mode is ${answer.executionMode}; ${type} is pinned to ${pinned.executionMode}.`,
    )
  }
  if (answer.custodyBoundary !== pinned.custodyBoundary) {
    return refuse(
      'custody_boundary',
      `The custody boundary is ${answer.custodyBoundary}; ${type} is pinned to ${pinned.custodyBoundary}.`,
    )
  }
  if (BigInt(answer.snapshotHash) === 0n) return refuse('snapshot_hash_missing', 'The snapshot hash is zero.')
  return null
}

function checkPreflight(workflow: BoundWorkflow, answer: PreparedWorkflow, ruleset: Ruleset): Refusal | null {
  const { preflight, canonicalPostconditions } = answer
  const { status, blockedReasons, freshness, revalidateAtExecution } = preflight
  if (status !== 'passed' || blockedReasons.length > 0) {
    return refuse('preflight_blocked', blockedText(preflight))
  }
  // Behind the preflight: one that is blocked has none. What is our own is over when the chain says so.
  if (canonicalPostconditions.length === 0 && !isOwn(workflow.proposal.workflowType)) {
    return refuse(
      'postconditions_missing',
      'The answer names no postcondition, so its success could not be seen.',
    )
  }
  if (!FRESH.has(freshness.status)) {
    return refuse('stale_snapshot', 'The service does not call its snapshot current or healthy.')
  }
  if (freshness.blockNumber === undefined || freshness.blockNumber === null) {
    return refuse(
      'snapshot_block_missing',
      'The preflight names no block, so its age in blocks is not known.',
    )
  }
  const sanity = ruleset.sanity.get(workflow.proposal.workflowType)
  const known: ReadonlySet<string> = new Set(sanity?.revalidations)
  const unknown = revalidateAtExecution.findIndex(
    (name) => !known.has(ruleset.revalidations.get(name) ?? name),
  )
  if (unknown >= 0) {
    return refuse(
      'revalidation_unknown',
      `Entry ${unknown} of revalidateAtExecution has no check of ours for ${workflow.proposal.workflowType}.`,
    )
  }
  return null
}
