import { createHash } from 'node:crypto'
import { type AbiParameter, encodeAbiParameters } from 'viem'
import type { Head } from '../chain/nodes.ts'
import { type Checked, type Refusal, refuse } from '../errors.ts'
import { subjectOf } from '../guard/checks/check-request.ts'
import type { Subject } from '../guard/policy/references.ts'
import { type Leaf, type Rule, rulesFor } from '../guard/policy/rule.ts'
import type { Value } from '../guard/policy/values.ts'
import type { Ruleset } from '../guard/ruleset.ts'
import type { PreparedWorkflow, TransactionIntent } from '../service/contract/prepared-workflow.ts'
import { WORKFLOW_CATALOGUE } from '../service/contract/workflow-types.ts'
import type { FrozenAnswer, Workflow } from '../workflow/workflow.ts'

/** What composing needs. */
type ComposeDeps = {
  readonly ruleset: Ruleset
  /** The newest agreed head: what is composed is as old as this block. */
  readonly head: Head
  readonly nowMs: number
}

/**
 * Compose what nobody prepares: the calls of the policy's rules, each argument the value that its rule demands, in the form
 * of an answer. From here on it is judged, signed and carried as any other. Pure.
 */
export function compose(
  workflow: Workflow,
  { ruleset, head, nowMs }: ComposeDeps,
): Checked<{ readonly frozen: FrozenAnswer }> {
  const { proposal, chainId } = workflow
  const { workflowType, input } = proposal
  const about = subjectOf(proposal, workflow.signer, ruleset)
  if (!about.ok) return about
  const endsAtMs = nowMs + ruleset.freshness.lifetimeMsMax
  const subject: Subject = { ...about.subject, deadlineS: BigInt(Math.floor(endsAtMs / 1_000)) }
  const transactions: TransactionIntent[] = []
  for (const rule of rulesFor(ruleset.rules.get(workflowType) ?? [], input)) {
    if (rule.optional) continue
    const call = callOf(rule, subject)
    if (!call.ok) return call
    const intent = { order: transactions.length, chainId, label: rule.id, value: '0' }
    transactions.push({ ...intent, ...call, transactionKind: 'contract_call', simulationRequired: true })
  }
  const { executionMode, custodyBoundary } = WORKFLOW_CATALOGUE[workflowType]
  const answer: PreparedWorkflow = {
    ok: true,
    requestId: `own-${workflow.id}`,
    workflowType,
    status: 'prepared',
    executionMode,
    custodyBoundary,
    snapshotHash: head.hash,
    expiresAt: new Date(endsAtMs).toISOString(),
    preflight: {
      status: 'passed',
      blockedReasons: [],
      freshness: { status: 'current', lagSeconds: 0, blockNumber: String(head.number) },
      revalidateAtExecution: [],
    },
    transactions,
    canonicalPostconditions: [],
  }
  const bytesSha256 = createHash('sha256').update(JSON.stringify(answer)).digest('hex')
  return { ok: true, frozen: { bytesSha256, answer, receivedAtMs: nowMs } }
}

type Composed = Pick<TransactionIntent, 'target' | 'calldata'>

function callOf(rule: Rule, subject: Subject): Checked<Composed> {
  const target = rule.target?.resolve(subject)
  if (typeof target !== 'string') return undetermined(rule, 'its target')
  const values: unknown[] = []
  for (const input of rule.abi.inputs) {
    const value = argumentOf(input, input.name ?? '', rule.leaves, subject)
    if (value === undefined) return undetermined(rule, input.name ?? '')
    values.push(value)
  }
  const encoded = encodeAbiParameters(rule.abi.inputs, values)
  return { ok: true, target: `0x${target.slice(2)}`, calldata: `${rule.selector}${encoded.slice(2)}` }
}

/** The value that the first test of a parameter names, member by member of a structure; undefined where none does. */
function argumentOf(
  parameter: AbiParameter,
  path: string,
  leaves: readonly Leaf[],
  subject: Subject,
): unknown {
  if (parameter.type === 'tuple' && 'components' in parameter) {
    const members = parameter.components.map(
      (each) => [each.name, argumentOf(each, `${path}.${each.name}`, leaves, subject)] as const,
    )
    return members.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(members)
  }
  const [test] = leaves.find((leaf) => leaf.path === path)?.tests ?? []
  if (test === undefined || !('reference' in test) || ('part' in test && test.part !== null)) return undefined
  const value: Value | undefined = test.reference.resolve(subject)
  return value
}

const undetermined = ({ id }: Rule, what: string): Refusal =>
  refuse(
    'call_not_determined',
    `Rule ${id}: ${what} follows neither from the request nor from the policy. Fix: give it one value by eq, or by $deadline.`,
  )
