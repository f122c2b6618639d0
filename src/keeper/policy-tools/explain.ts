import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { problemIn } from '../../config/check.ts'
import { RolekeeperError } from '../../errors.ts'
import { whyAsk } from '../../guard/approval/approval.ts'
import { type BoundWorkflow, checkPrepared } from '../../guard/checks/check-prepared.ts'
import { exposureOf } from '../../guard/checks/check-request.ts'
import { nameAll } from '../../guard/explain/approval-screen.ts'
import { describeCall } from '../../guard/explain/describe-call.ts'
import { type Explanation, explainPrepared } from '../../guard/explain/explain.ts'
import type { Ruleset } from '../../guard/ruleset.ts'
import { preparedWorkflow, workflowPrepareRequest } from '../../service/contract/prepared-workflow.ts'
import { addr, hash32, hexBytes, ts } from '../../service/contract/scalars.ts'
import { WORKFLOW_TYPES } from '../../service/contract/workflow-types.ts'
import { readJson } from '../../service/json.ts'
import type { InputValue } from '../../workflow/proposal.ts'
import type { FrozenAnswer, Note, Workflow } from '../../workflow/workflow.ts'
import { openPolicy, openPolicyOf } from './file.ts'

const amount = z
  .string()
  .regex(/^[0-9]{1,78}$/)
  .transform(BigInt)
const input = z.record(
  z.string(),
  z.json().transform((value) => value as InputValue),
)

/** A workflow as `rolekeeper workflows show ID --json` prints it, as far as the static guard reads it. */
const journalled = z.object({
  chainId: z.number().int(),
  signer: addr,
  proposal: z.object({
    workflowType: z.enum(WORKFLOW_TYPES),
    kind: z.string(),
    subject: z.string(),
    occurrence: z.string(),
    summary: z.string(),
    input,
    exposure: z.object({ token: addr.nullable(), assets: amount, usdMicros: amount }),
    reason: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  }),
  prepared: z.object({ bytesSha256: z.string(), receivedAtMs: z.number(), answer: preparedWorkflow }),
  attestation: z.object({ digest: hash32, signature: hexBytes.optional() }).optional(),
})

/** What went to the service and came back: the two bodies of POST /v1/workflows/prepare, and when. */
const exchanged = z.object({
  request: workflowPrepareRequest.extend({
    workflowType: z.enum(WORKFLOW_TYPES),
    principalAddress: addr,
    input,
  }),
  answer: preparedWorkflow,
  receivedAt: ts.optional(),
})

/** What the static guard is asked about, as if its answer had just come. */
type ExplainRequest = {
  readonly workflow: Pick<BoundWorkflow, 'chainId' | 'signer' | 'attestation' | 'proposal'>
  readonly frozen: FrozenAnswer
}

/**
 * Say what a policy says of an answer that the service gave: of each call, which rule clears it, and why each other does
 * not. It asks nobody, needs no key and signs nothing; age counts as when the answer came.
 * @param prepared a workflow as `workflows show ID --json` prints it, or a mapping of `request`, `answer` and `receivedAt`.
 * @throws RolekeeperError `policy.answer_unreadable`, and what reading the policy throws.
 */
export function explainFile(
  file: string,
  config: string,
  prepared: string,
): Explanation & {
  readonly role: string
  readonly workflowType: string
  /** Why a person is asked first, by what it is alone; null where none is. */
  readonly asks: Note | null
} {
  const { ruleset, approval } = openPolicy(file, config)
  const { workflow, frozen } = askedIn(prepared, ruleset)
  const asked = { workflow: { ...workflow, role: ruleset.role }, frozen, ruleset, nowMs: frozen.receivedAtMs }
  return {
    role: ruleset.role,
    workflowType: workflow.proposal.workflowType,
    asks: whyAsk(workflow.proposal, approval),
    ...explainPrepared(asked),
  }
}

/**
 * Write the calls of a prepared workflow as the guard reads them, by the policy that its configuration names now; null where
 * nothing is prepared, or no agent of it is configured. What the policy clears not is said first, as it came.
 * @throws RolekeeperError what reading the policy throws.
 */
export function preparedCalls(workflow: Workflow, config: string): readonly string[] | null {
  const { prepared: frozen } = workflow
  const opened = frozen === undefined ? null : openPolicyOf(workflow, config)
  if (frozen === undefined || opened === null) return null
  const { ruleset } = opened
  const asked = { workflow, frozen, ruleset, nowMs: frozen.receivedAtMs }
  const checked = checkPrepared(asked)
  if (checked.ok) {
    const scene = { subject: checked.subject, ruleset }
    return checked.calls.map((call) => nameAll(describeCall(call, checked.subject), scene))
  }
  const calls = explainPrepared(asked).calls.map((call) => `${call.calls} of ${call.to}`)
  return [`not cleared by the policy of now: ${checked.check}: ${checked.message}`, ...calls]
}

function askedIn(file: string, ruleset: Ruleset): ExplainRequest {
  const read = readJson(readText(file))
  if (!read.ok) throw unreadable(file, read.message)
  const kept = journalled.safeParse(read.value)
  if (kept.success) {
    const { prepared, attestation, ...workflow } = kept.data
    return { workflow: { ...workflow, ...attested(attestation) }, frozen: prepared }
  }
  const sent = exchanged.safeParse(read.value)
  if (sent.success) return askedBy(sent.data, ruleset)
  const isExchange = read.value !== null && typeof read.value === 'object' && 'answer' in read.value
  throw unreadable(
    file,
    problemIn(read.value, isExchange ? exchanged : journalled)?.text ?? 'it is something else',
  )
}

/** Where nobody wrote down when the answer came: now, or where it has ended, as late as it may have. */
function askedBy(
  { request, answer, receivedAt }: z.output<typeof exchanged>,
  ruleset: Ruleset,
): ExplainRequest {
  const { workflowType, input, chainId, principalAddress } = request
  const counted = exposureOf({ workflowType, input }, principalAddress, ruleset)
  const exposure = counted.ok ? counted.exposure : { token: null, assets: 0n, usdMicros: 0n }
  const latest = Date.parse(answer.expiresAt) - ruleset.freshness.lifetimeMsMax
  const named = { kind: 'explained', subject: workflowType, occurrence: '', summary: '', reason: {} }
  return {
    workflow: { chainId, signer: principalAddress, proposal: { workflowType, input, exposure, ...named } },
    frozen: {
      bytesSha256: '',
      answer,
      receivedAtMs: receivedAt === undefined ? Math.min(Date.now(), latest) : Date.parse(receivedAt),
    },
  }
}

const attested = (
  attestation: z.output<typeof journalled>['attestation'],
): Pick<ExplainRequest['workflow'], 'attestation'> =>
  attestation === undefined
    ? {}
    : {
        attestation: {
          digest: attestation.digest,
          ...(attestation.signature === undefined ? {} : { signature: attestation.signature }),
        },
      }

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new RolekeeperError('policy.answer_unreadable', `${file} cannot be read.`, {
      fix: 'check the path and its permissions',
      cause,
    })
  }
}

const unreadable = (file: string, problem: string) =>
  new RolekeeperError('policy.answer_unreadable', `${file} is no prepared workflow: ${problem}.`, {
    fix: 'give what `rolekeeper workflows show ID --json` prints, or {"request": …, "answer": …} of a prepare call',
  })
