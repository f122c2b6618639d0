import { type Hex, recoverAddress, serializeSignature } from 'viem'
import type { Nodes } from '../chain/nodes.ts'
import { invariant, type Refusal, RolekeeperError, refuse } from '../errors.ts'
import { checkPrepared } from '../guard/checks/check-prepared.ts'
import { lookNow } from '../guard/checks/recheck.ts'
import type { Ruleset } from '../guard/ruleset.ts'
import type { Journal, LedgerEntry } from '../journal/journal.ts'
import type { Gate } from '../ops/control.ts'
import { mayComeBack } from '../sign/kms-errors.ts'
import type { Signer } from '../sign/signer.ts'
import { untilClosed } from '../sign/until-closed.ts'
import { isMetadata } from '../workflow/metadata.ts'
import { HELD_MS, moved, type Step, wait } from '../workflow/step.ts'
import { type FrozenAnswer, move, type Note, type Workflow } from '../workflow/workflow.ts'

/** What attesting an answer needs. */
type AttestDeps = {
  readonly nowMs: () => number
  readonly ruleset: Ruleset
  readonly nodes: Pick<Nodes, 'simulate'>
  readonly journal: Pick<Journal, 'enterDigest' | 'ordered' | 'writeBound'>
  readonly signer: Signer
  readonly gate: () => Gate
  readonly alarm: (error: RolekeeperError) => void
}

/** A key that refuses is asked again this soon, until the answer is too old. */
const RETRY_MS = 1_000

/**
 * Judge an answer by the rules alone, and sign the typed data that a call of it carries: first the digest is recorded,
 * once for the workflow's life, then our own reads are asked, then the key. A key that is denied is asked again: the answer's
 * expiry ends that, and the end names the key. Throws what else the key and the nodes throw.
 */
export async function attest(workflow: Workflow, deps: AttestDeps): Promise<Step> {
  const { nowMs, ruleset } = deps
  const { prepared: frozen, attestation } = workflow
  invariant(frozen !== undefined, `workflow ${workflow.id} is prepared without an answer`)
  const checked = checkPrepared({ workflow, frozen, ruleset, nowMs: nowMs() })
  const { requestId } = frozen.answer
  if (isMetadata(workflow.proposal.workflowType)) {
    return checked.ok
      ? bind(awaited(workflow, frozen, nowMs()), workflow, requestId, deps)
      : moved(unlikeAsked(workflow, frozen, checked, nowMs()))
  }
  if (!checked.ok)
    return moved(move(workflow, 'refused', nowMs(), { note: sinceDenied(workflow.note, checked) }))
  const digest = checked.calls.find((call) => call.digest !== null)?.digest
  if (digest === undefined || digest === null)
    return bind(move(workflow, 'attested', nowMs()), workflow, requestId, deps)
  if (attestation === undefined)
    return bind({ ...workflow, attestation: { digest } }, workflow, requestId, deps)
  const looked = await lookNow({ ...checked, proposal: workflow.proposal, ruleset, nowMs: nowMs() }, deps)
  if (!looked.ok) return moved(move(workflow, 'refused', nowMs(), { note: looked }))
  const halted = haltedBy(workflow, deps)
  if (halted !== null) return halted
  await record(workflow, digest, deps)
  // Again: a process may have been stopped for long while that was under way, and its seat be another's.
  const haltedSince = haltedBy(workflow, deps)
  if (haltedSince !== null) return haltedSince
  const signature = await sign(workflow, digest, deps)
  if (signature instanceof RolekeeperError) return denied(workflow, signature, deps)
  const { note: _denied, ...signed } = workflow
  return moved(move(signed, 'attested', nowMs(), { attestation: { digest, signature } }))
}

/** What was done by preparing it has nothing to sign: it is over once the service shows it, as of what it was prepared on. */
function awaited(workflow: Workflow, { answer }: FrozenAnswer, nowMs: number): Workflow {
  const { canonicalPostconditions: postconditions, preflight } = answer
  const blockNumber = BigInt(preflight.freshness.blockNumber ?? 0)
  return move(workflow, 'confirmed', nowMs, {
    realized: { tokens: [], gasWei: 0n, atMs: nowMs },
    awaiting: { blockNumber, postconditions, sinceMs: nowMs },
  })
}

/** An answer that is not what we asked for: where the preflight blocked nothing was done, and else a person looks what was. */
function unlikeAsked(
  workflow: Workflow,
  { answer }: FrozenAnswer,
  refusal: Refusal,
  nowMs: number,
): Workflow {
  if (answer.preflight.status !== 'passed') return move(workflow, 'refused', nowMs, { note: refusal })
  const message = `${refusal.message} What it is about may have been saved: see at the service.`
  return move(workflow, 'quarantined', nowMs, { note: { check: refusal.check, message } })
}

/** Write what follows from an answer, unless its request is another workflow's: then its progress would be the other's. */
async function bind(next: Workflow, workflow: Workflow, requestId: string, deps: AttestDeps): Promise<Step> {
  const written = await deps.journal.writeBound(next, requestId)
  if (written !== 'taken') return { type: 'written', workflow: written }
  const note = refuse('request_id_taken', `The answer's request ${requestId} is another workflow's already.`)
  const end = isMetadata(workflow.proposal.workflowType) ? 'quarantined' : 'refused'
  return moved(move(workflow, end, deps.nowMs(), { note }))
}

/** What the gate makes of a workflow that would be signed for; null where it is open. */
function haltedBy(workflow: Workflow, { gate, nowMs }: AttestDeps): Step | null {
  const { safe, closed, paused } = gate()
  if (safe !== undefined) return moved(move(workflow, 'refused', nowMs(), { note: safe }))
  return closed || paused ? wait(HELD_MS) : null
}

/** Enter a digest into the ledger for this workflow; resolves when it is durable. */
async function record(
  workflow: Workflow,
  digest: Hex,
  { journal, signer, nowMs }: AttestDeps,
): Promise<void> {
  const entry: LedgerEntry = {
    digest,
    kind: 'typed_data',
    signer: signer.address,
    workflowId: workflow.id,
    nonce: null,
    atMs: nowMs(),
  }
  await journal.enterDigest(entry)
  await journal.ordered([entry])
}

/** Ask again, once what the key lacks is the workflow's note. */
function denied(workflow: Workflow, error: RolekeeperError, { alarm }: AttestDeps): Step {
  alarm(error)
  const { code: check, message } = error
  return workflow.note?.check === check ? wait(RETRY_MS) : moved({ ...workflow, note: { check, message } })
}

/** Why an answer is refused: before what it has become meanwhile, the key that it waited for. Pure. */
const sinceDenied = (denial: Note | undefined, refusal: Refusal): Note =>
  denial === undefined
    ? refusal
    : { check: denial.check, message: `${denial.message} By now: ${refusal.check}: ${refusal.message}` }

/** Ask the key for a digest that is in the ledger for this workflow, and for nothing else; its error where it is denied. */
async function sign(
  workflow: Workflow,
  digest: Hex,
  { signer, gate }: AttestDeps,
): Promise<Hex | RolekeeperError> {
  const isClosed = () => gate().closed
  const signed = await untilClosed(isClosed, (signal) =>
    signer.signDigest(digest, signal).catch((error: unknown) => {
      if (error instanceof RolekeeperError && mayComeBack(error)) return error
      throw error
    }),
  )
  if (signed instanceof RolekeeperError) return signed
  const signature = serializeSignature(signed)
  const recovered = await recoverAddress({ hash: digest, signature })
  invariant(
    recovered.toLowerCase() === workflow.signer.toLowerCase(),
    `workflow ${workflow.id}: the signature is not the signer's`,
  )
  return signature
}
