import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Hex } from 'viem'
import type { SignerFacts } from '../chain/canonical.ts'
import type { PassedNonce } from '../chain/find-mined.ts'
import { LEFT_ALONE, type Nodes } from '../chain/nodes.ts'
import { type Checked, invariant, type Refusal, RolekeeperError } from '../errors.ts'
import { entryOf } from '../journal/entered.ts'
import type { Journal } from '../journal/journal.ts'
import type { Signer } from '../sign/signer.ts'
import { untilClosed } from '../sign/until-closed.ts'
import { type Attempt, type Slot, withLastAttempt } from '../workflow/slot.ts'
import { HELD_MS, moved, type Step, wait } from '../workflow/step.ts'
import type { Note, Workflow } from '../workflow/workflow.ts'
import { finalBefore, follow, isSettled, soughtFor } from './transactions/follow.ts'
import { type RaiseDeps, writeReplacements } from './transactions/raise.ts'
import {
  isAboveCap,
  isPublic,
  latestMs,
  orderReplacements,
  type ReplaceTerms,
  type ReplaceView,
} from './transactions/replace.ts'
import { type Signers, takenBy } from './transactions/safe.ts'
import { assembleRaw, proveOrdered } from './transactions/transaction.ts'
import { isResendDue } from './transactions/window.ts'

/** The head at which each of some bytes last went out: what an earlier process sent, nodes may have forgotten. */
type SentHere = {
  readonly get: (raw: Hex) => bigint | undefined
  readonly set: (raw: Hex, headNumber: bigint) => void
  readonly delete: (raw: Hex) => void
}

/** What carrying a workflow in flight needs. */
export type CarryDeps = {
  readonly view: () => ReplaceView
  /** What replacements are held to now. */
  readonly terms: () => ReplaceTerms
  readonly signer: Signer
  /** What the chain has of our signer's. */
  readonly facts: () => SignerFacts
  /** Where a nonce that we hold was taken by somebody else, the signer begins nothing new. */
  readonly signers: Pick<Signers, 'safe'>
  /** Look for what took a nonce; the workflow runs again when it is found. */
  readonly seek: (sought: PassedNonce) => void
  readonly nodes: Pick<Nodes, 'send'>
  /** The head at which this process last sent some bytes. */
  readonly sentHere: SentHere
  readonly journal: Pick<Journal, 'barrier' | 'ledgerEntry' | 'ordered' | 'write'>
  /** Put in the outbox what the service should know of a workflow: its payloads that a node has. */
  readonly register: (workflow: Workflow, atMs: number) => Promise<void>
  /** The service's `revalidateAtExecution` and our own last looks; asked while the KMS signs. */
  readonly recheck: (workflow: Workflow) => Promise<Checked<unknown>>
  /** Why our rules let nothing of a record be signed, before a key is asked; null where they do. */
  readonly prove: (workflow: Workflow) => Refusal | null
  readonly alarm: (error: RolekeeperError) => void
  /** What happens once every slot is final. */
  readonly conclude: (workflow: Workflow) => Promise<Step>
} & RaiseDeps

/** Heads wake a workflow in flight; this is for a node that stopped announcing them. */
const IDLE_MS = 2_000
const RETRY_MS = 1_000

/** The last look may be this old at the first send; over a restart or a kill it is taken again. */
const LOOK_AGE_MS_MAX = 2_000

const lastAttempt = (slot: Slot): Attempt => {
  const last = slot.attempts.at(-1)
  invariant(last !== undefined, `slot ${slot.nonce} has no attempt`)
  return last
}

const withSlots = (workflow: Workflow, slots: readonly Slot[], nowMs: number): Workflow => ({
  ...workflow,
  slots,
  updatedAtMs: nowMs,
  strikes: 0,
})

/**
 * Do the next thing that the slots of a workflow in flight need: follow what is public, order replacements, ask the
 * KMS for what is ordered, send what is signed, resend. Each is one effect that is harmless to repeat.
 */
export async function carry(workflow: Workflow, deps: CarryDeps): Promise<Step> {
  const slots = await followSlots(workflow, deps)
  const nowMs = deps.view().nowMs
  if (slots.some((slot, index) => slot !== workflow.slots[index])) {
    const next = withSlots(workflow, slots, nowMs)
    // Also what this process never sent: a crash took its record, and the chain has it.
    if (slots.some(({ inclusion }, index) => inclusion?.hash !== workflow.slots[index]?.inclusion?.hash))
      await deps.register(next, nowMs)
    return moved(next)
  }
  if (slots.every((slot) => slot.state === 'final')) return deps.conclude(workflow)
  const stops = quarantineOf(workflow) ?? deps.gate().safe
  const closed = stops === undefined ? workflow : withClosed(workflow, stops)
  if (closed !== workflow) return moved(closed)
  // What others pay is asked for while something may have to be replaced, and not while all of it waits to be final.
  const isOpen = slots.some(({ state }) => state === 'open')
  const replaced = isOpen ? orderReplacements(workflow, deps.view(), deps.terms()) : workflow
  if (replaced !== workflow) {
    const written = await writeReplacements(workflow, withSlots(workflow, replaced.slots, nowMs), deps)
    if (written !== null) return { type: 'written', workflow: written }
  }
  const open = slots.filter((slot) => slot.state === 'open')
  const ordered = open.filter((slot) => lastAttempt(slot).state === 'ordered')
  const signed = open.filter((slot) => lastAttempt(slot).state === 'signed')
  // Together they land in one block: a payload is not sent while another of its workflow waits for its signature.
  const next = ordered.length > 0 ? await sign(workflow, ordered, deps) : await send(workflow, signed, deps)
  if (next.type !== 'wait') return next
  await resend({ slots }, deps)
  return next
}

/** Where the slots of a workflow stand on the chain. What is not known of one that the chain is past is looked for. */
async function followSlots({ id, slots, clearance }: Workflow, deps: CarryDeps): Promise<readonly Slot[]> {
  const facts = deps.facts()
  const below = finalBefore(clearance)
  for (const slot of slots) {
    const isCertain = isSettled(slot) && facts.forkedFrom === null
    const mined = facts.minedAt(slot.nonce)
    if (!isCertain && mined === undefined) deps.seek(soughtFor(slot, below, facts))
    const isOther = mined != null && slot.attempts.every(({ digest }) => digest !== mined.digest)
    if (isOther) deps.signers.safe(slot.signer, await takenBy(mined, slot, id, deps.journal))
  }
  return slots.map((slot) => follow(slot, facts, below))
}

/**
 * Slots whose last attempt may go one step further now. A payload that no node has yet also needs a clearance
 * that has not run out; a no-op or a revocation only closes what is open.
 */
function mayProceed(workflow: Workflow, slots: readonly Slot[], deps: CarryDeps): readonly Slot[] {
  // Read once for all of them, in this turn: it asks the disk.
  const gate = deps.gate()
  return slots.filter((slot) => {
    if (gate.closed) return false
    if (lastAttempt(slot).purpose === 'noop' || slot.kind === 'revoke')
      return !isAboveCap(slot, deps.terms().fees)
    // Its no-op cannot be afforded yet: until then its payload goes nowhere either.
    if (slot.closing !== undefined) return false
    if (isPublic(slot)) return true
    return (
      !gate.paused && gate.safe === undefined && latestMs(deps.view()) < (workflow.clearance?.notAfterMs ?? 0)
    )
  })
}

async function signSlot(slot: Slot, signal: AbortSignal, deps: CarryDeps): Promise<Slot> {
  const attempt = lastAttempt(slot)
  proveOrdered(slot, attempt)
  const signature = await deps.signer.signDigest(attempt.digest, signal)
  return withLastAttempt(slot, {
    ...attempt,
    ...(await assembleRaw(slot, attempt, signature)),
    state: 'signed',
  })
}

/** Ask the KMS for every ordered digest at once, and then, while it signs, take the last looks. */
async function sign(workflow: Workflow, ordered: readonly Slot[], deps: CarryDeps): Promise<Step> {
  await deps.journal.ordered(ordered.map((slot) => entryOf(slot, lastAttempt(slot), workflow.id)))
  const ready = mayProceed(workflow, ordered, deps)
  if (ready.length === 0) return wait(HELD_MS)
  const payloads = ready.filter((slot) => slot.kind === 'intent' && lastAttempt(slot).purpose === 'payload')
  const forged = payloads.length === 0 ? null : deps.prove(workflow)
  if (forged !== null) return moved(withClosed(workflow, forged, payloads))
  const [looked, ...results] = await untilClosed(
    () => deps.gate().closed,
    (signal) =>
      Promise.all([
        ready.some(isFirstSend) ? nextTurn().then(() => deps.recheck(workflow)) : ({ ok: true } as const),
        ...ready.map((slot) =>
          signSlot(slot, signal, deps).catch((error: unknown) => {
            if (error instanceof RolekeeperError) return error
            throw error
          }),
        ),
      ]),
  )
  const failure = results.find((result) => result instanceof RolekeeperError)
  if (failure !== undefined && failure.retry === 'never') deps.alarm(failure)
  const next = workflow.slots.map((slot) => {
    const result = results.find((other) => !(other instanceof RolekeeperError) && other.index === slot.index)
    return result === undefined || result instanceof RolekeeperError ? slot : result
  })
  const signed = withSlots(workflow, next, deps.view().nowMs)
  if (!looked.ok) return moved(withClosed(signed, looked))
  if (next.every((slot, index) => slot === workflow.slots[index])) return wait(RETRY_MS)
  return moved(signed)
}

/** Whether a slot's last attempt is a payload of the proposal's of which no node has any form: a revocation only closes. */
const isFirstSend = (slot: Slot): boolean =>
  slot.kind === 'intent' && !isPublic(slot) && lastAttempt(slot).purpose === 'payload'

const quarantineOf = ({ quarantined }: Workflow): Note | undefined =>
  quarantined === undefined ? undefined : { ...quarantined.note, check: 'quarantined' }

/**
 * Close every intent that no node has, and `others`: the last look refused, the workflow is quarantined, or its signer is SAFE.
 * @returns the same object where nothing is left to close.
 */
function withClosed(workflow: Workflow, { check, message }: Note, others: readonly Slot[] = []): Workflow {
  const isOpen = (slot: Slot) => (isFirstSend(slot) && slot.state === 'open') || others.includes(slot)
  if (!workflow.slots.some((slot) => isOpen(slot) && slot.closing === undefined)) return workflow
  const slots = workflow.slots.map((slot) => (isOpen(slot) ? { ...slot, closing: check } : slot))
  return { ...workflow, slots, note: { check, message } }
}

/** Send what is signed, to every node, once its raw bytes are on disk. */
async function send(workflow: Workflow, signed: readonly Slot[], deps: CarryDeps): Promise<Step> {
  if (signed.length === 0) return wait(IDLE_MS)
  await deps.journal.barrier()
  // Either way: by a clock that was put back, every look is fresh.
  const lookAgeMs = Math.abs(deps.view().nowMs - workflow.updatedAtMs)
  if (lookAgeMs > LOOK_AGE_MS_MAX && mayProceed(workflow, signed, deps).some(isFirstSend)) {
    const looked = await deps.recheck(workflow)
    if (!looked.ok) return moved(withClosed(withSlots(workflow, workflow.slots, deps.view().nowMs), looked))
  }
  const ready = mayProceed(workflow, signed, deps)
  if (ready.length === 0) return wait(HELD_MS)
  const { headNumber } = deps.view()
  const sentNow = await Promise.all(ready.map((slot) => sendRaw(slot, lastAttempt(slot), deps)))
  // What no node could be sent now does not leave later by itself: it waits here, under the gate and the last look.
  if (!sentNow.includes(true)) return wait(RETRY_MS)
  const sentAtMs = deps.view().nowMs
  const next = workflow.slots.map((slot) =>
    sentNow[ready.indexOf(slot)] === true
      ? withLastAttempt(slot, { ...lastAttempt(slot), state: 'sent', sentAtMs, sentAtBlock: headNumber })
      : slot,
  )
  const sent = withSlots(workflow, next, sentAtMs)
  await deps.register(sent, sentAtMs)
  return moved(sent)
}

/** What sending takes that was acknowledged before: no key and no record. */
type ResendDeps = Pick<CarryDeps, 'view' | 'nodes' | 'sentHere' | 'alarm'>

/** Send to every node; whether any of them was there to be sent anything. */
async function sendRaw(slot: Slot, { raw }: Attempt, deps: ResendDeps): Promise<boolean> {
  invariant(raw !== undefined, `slot ${slot.nonce} is sent without raw bytes`)
  const before = deps.sentHere.get(raw)
  deps.sentHere.set(raw, deps.view().headNumber)
  const outcomes = await deps.nodes.send(raw)
  if (outcomes.every(({ detail }) => detail === LEFT_ALONE)) {
    if (before === undefined) deps.sentHere.delete(raw)
    else deps.sentHere.set(raw, before)
    return false
  }
  if (outcomes.some(({ outcome }) => outcome === 'accepted' || outcome === 'unknown')) return true
  // The nonce stays: a node that does not say so may have it, and the same bytes go out again.
  const outcomeText = outcomes.map(({ node, outcome }) => `${node} ${outcome}`).join(', ')
  if (outcomes.every(({ outcome }) => outcome === 'nonce_too_low')) return true
  deps.alarm(
    new RolekeeperError(
      'broadcast.refused',
      `No node took nonce ${slot.nonce} of ${slot.signer}: ${outcomeText}.`,
      {
        fix: 'check the signer’s balance and the fee cap; the same bytes are sent again.',
        facts: { nonce: slot.nonce, signer: slot.signer },
        retry: 'later',
      },
    ),
  )
  return true
}

/**
 * Send again what is public, once at a head: also while the kill switch holds back what would replace it, and while the
 * record cannot be reached.
 */
export async function resend({ slots }: Pick<Workflow, 'slots'>, deps: ResendDeps): Promise<void> {
  const view = deps.view()
  /** What was sent and is not recorded as such is public too: its record ended in between. */
  const lastSentHere = ({ raw }: Attempt) => (raw === undefined ? undefined : deps.sentHere.get(raw))
  // What was mined above the head is gone, or the nodes lag: either way the same bytes do no harm.
  const isOut = ({ state, inclusion }: Slot) =>
    state === 'open' ||
    (state === 'mined' && inclusion !== undefined && inclusion.blockNumber > view.headNumber)
  const due = slots.filter(isOut).flatMap((slot) => {
    const sent = slot.attempts.findLast(
      (attempt) => attempt.state === 'sent' || lastSentHere(attempt) !== undefined,
    )
    // A payload that must not run any more is not helped on its way.
    if (sent === undefined || (slot.closing !== undefined && sent.purpose === 'payload')) return []
    return isResendDue(slot, lastSentHere(sent), view) ? [{ slot, sent }] : []
  })
  await Promise.all(due.map(({ slot, sent }) => sendRaw(slot, sent, deps)))
}
