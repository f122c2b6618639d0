import type { DecisionRow, Journal, LedgerEntry } from '../../journal/journal.ts'
import type { AuditFacts, AuditLog } from '../../ops/audit/log.ts'
import type { Attempt, Slot } from '../../workflow/slot.ts'
import { isTerminal, type Workflow } from '../../workflow/workflow.ts'

/** Those of its methods that answer with a workflow as it is from then on. */
const WRITES: ReadonlySet<string> = new Set(['write', 'claim', 'claimWithin', 'writeWithin', 'writeBound'])
/** Before an irreversible effect one of these is waited for. */
const BARRIERS: ReadonlySet<string> = new Set(['barrier', 'ordered'])

/**
 * Have all that a journal takes recorded in the audit: a proposal, each state with its verdict, each approval, order and
 * signature. What a barrier has passed is on disk in both: no key is asked, and nothing is sent, before the audit has it. Both
 * disks are written at once.
 * @param live what has not ended, as the journal has it.
 */
export function withAudit<J extends Journal>(journal: J, audit: AuditLog, live: readonly Workflow[]): J {
  const known = new Map(live.map((workflow) => [workflow.id, workflow]))
  const moved = (after: Workflow) => {
    const before = known.get(after.id)
    if (isTerminal(after.state)) known.delete(after.id)
    else known.set(after.id, after)
    for (const [kind, facts] of factsOf(after, before)) audit.record(kind, facts)
  }
  const told = (name: string, [first]: readonly unknown[], answer: unknown) => {
    if (WRITES.has(name) && typeof answer === 'object') moved(answer as Workflow)
    else if (name === 'open' && answer === 'opened') moved(first as Workflow)
    else if (name === 'enterDigest') audit.record('order', entryFacts(first as LedgerEntry))
    else if (name === 'addDecisions') {
      for (const row of first as readonly DecisionRow[]) audit.record('decision', decisionFacts(row))
    }
  }
  return new Proxy(journal, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      if (BARRIERS.has(name)) {
        return async (...args: readonly unknown[]) => {
          const [answer] = await Promise.all([Reflect.apply(value, target, args), audit.flush()])
          return answer
        }
      }
      return async (...args: readonly unknown[]) => {
        const answer = await Reflect.apply(value, target, args)
        told(name, args, answer)
        return answer
      }
    },
  })
}

const entryFacts = ({ digest, kind, signer, workflowId, nonce }: LedgerEntry): AuditFacts => ({
  digest,
  of: kind,
  signer,
  workflow: workflowId,
  nonce,
})

const decisionFacts = ({ role, subject, check, message }: DecisionRow): AuditFacts => ({
  role,
  subject,
  check,
  message,
})

/** Say what a write of a workflow is in an audit. Pure. */
function factsOf(
  after: Workflow,
  before: Workflow | undefined,
): readonly [kind: string, facts: AuditFacts][] {
  const { id: workflow, role } = after
  const facts: [string, AuditFacts][] = []
  if (before === undefined && after.state === 'discovered') {
    const { workflowType, subject, summary, gainUsdMicros } = after.proposal
    const proposal = { workflowType, subject, summary, gainUsdMicros: String(gainUsdMicros) }
    const isShadow = after.shadow === true ? { shadow: true } : {}
    facts.push([
      'proposal',
      { workflow, role, signer: after.signer, round: after.round, ...proposal, ...isShadow },
    ])
  }
  const { hold } = after
  if (hold !== undefined && hold.hash !== before?.hold?.hash) {
    const { hash, check, message, rules } = hold
    facts.push(['held', { workflow, role, hash, rules, check, message }])
  }
  for (const approval of hold?.approvals.slice(before?.hold?.approvals.length ?? 0) ?? []) {
    const { by, identity, atMs } = approval
    facts.push(['approval', { workflow, role, hash: hold?.hash, by, ...identity, givenAtMs: atMs }])
  }
  if (after.state !== before?.state && before !== undefined) {
    facts.push([
      'verdict',
      { workflow, role, from: before.state, state: after.state, ...verdictFacts(after) },
    ])
  }
  for (const slot of after.slots) {
    facts.push(
      ...slotFacts(
        slot,
        before?.slots.find(({ index }) => index === slot.index),
        { workflow, role },
      ),
    )
  }
  return facts
}

function verdictFacts({ state, note, clearance, prepared, realized }: Workflow): AuditFacts {
  return {
    ...(note === undefined || !isTerminal(state) ? {} : { check: note.check, message: note.message }),
    ...(state !== 'prepared' || prepared === undefined ? {} : { answerSha256: prepared.bytesSha256 }),
    ...(state !== 'cleared' || clearance === undefined
      ? {}
      : {
          ruleset: clearance.rulesetHash,
          block: String(clearance.blockNumber),
          tokens: clearance.predictedTokens.map(({ token, assets }) => ({ token, assets: String(assets) })),
        }),
    ...(state !== 'confirmed' || realized === undefined
      ? {}
      : {
          gasWei: String(realized.gasWei),
          tokens: realized.tokens.map(({ token, assets }) => ({ token, assets: String(assets) })),
        }),
  }
}

function slotFacts(
  { signer, nonce, attempts, inclusion, state }: Slot,
  before: Slot | undefined,
  of: AuditFacts,
): readonly [string, AuditFacts][] {
  const facts: [string, AuditFacts][] = []
  for (const [index, attempt] of attempts.entries()) {
    const stood = before?.attempts[index]
    if (stood?.state === attempt.state) continue
    const kinds = STEPS.slice(
      stood === undefined ? 0 : STEPS.indexOf(stood.state) + 1,
      STEPS.indexOf(attempt.state) + 1,
    )
    for (const step of kinds)
      facts.push([KIND[step], { ...of, signer, nonce, ...attemptFacts(attempt, step) }])
  }
  if (state === 'final' && before?.state !== 'final' && inclusion !== undefined) {
    const { hash, blockNumber, status } = inclusion
    facts.push(['final', { ...of, signer, nonce, hash, block: String(blockNumber), status }])
  }
  return facts
}

const STEPS: readonly Attempt['state'][] = ['ordered', 'signed', 'sent']
const KIND = { ordered: 'order', signed: 'signature', sent: 'sent' } as const

function attemptFacts(attempt: Attempt, step: Attempt['state']): AuditFacts {
  const { digest, purpose, hash, maxFeePerGasWei } = attempt
  return step === 'ordered' ? { digest, purpose, maxFeePerGasWei: String(maxFeePerGasWei) } : { digest, hash }
}
