import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Address } from 'viem'
import { findMined, type SeekNodes, unlessRefused } from '../../chain/find-mined.ts'
import type { MinedTransaction, Nodes } from '../../chain/nodes.ts'
import { isReopened } from '../../decide/open.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Journal } from '../../journal/journal.ts'
import { isApproval } from '../../pipeline/transactions/allowances.ts'
import type { ChainView } from '../../pipeline/transactions/chain-view.ts'
import { finalBefore, soughtFor } from '../../pipeline/transactions/follow.ts'
import { reservationOf } from '../../pipeline/transactions/reservation.ts'
import { idempotencyKey } from '../../workflow/keys.ts'
import { inputText } from '../../workflow/proposal.ts'
import { type LastRound, lastRoundOf } from '../../workflow/round.ts'
import { type Slot, slotAt } from '../../workflow/slot.ts'
import { isTerminal, type Workflow } from '../../workflow/workflow.ts'

/** What finding and keeping what landed since its workflow ended needs. */
type LandedDeps = {
  readonly nodes: SeekNodes & Pick<Nodes, 'chainId'>
  readonly journal: Pick<
    Journal,
    'byNonce' | 'byOpportunity' | 'get' | 'nextNonce' | 'open' | 'settle' | 'write'
  >
  readonly chain: Pick<ChainView, 'facts'>
  readonly onChanged: (before: Workflow, after: Workflow) => void
  readonly nowMs: () => number
}

/**
 * A workflow that ended without its effect, and the nonce at which its payload has landed all the same; `isCertain` is
 * false where the nodes do not say what took it.
 */
type Landed = { readonly workflow: Workflow; readonly nonce: number; readonly isCertain: boolean }

/** Nonces that are looked through. */
const SPAN_MAX = 2_000
/** And how many of them in one turn of the event loop. */
const TURN_NONCES = 8

/**
 * Find the workflows of some signers that ended without their effect and have it since: on another fork, past finality, what
 * had reverted or was replaced may go through. What one key has done, another of its role would do again. Where the nodes do
 * not say whether it has, it is among them: their state of old blocks may be gone for good.
 */
export async function landedSince(signers: readonly Address[], deps: LandedDeps): Promise<readonly Landed[]> {
  return (await Promise.all(signers.map((signer) => landedOf(signer, deps)))).flat()
}

async function landedOf(signer: Address, deps: LandedDeps): Promise<readonly Landed[]> {
  const { forkedFrom } = deps.chain.facts(signer)
  if (forkedFrom === null) return []
  const next = (await deps.journal.nextNonce(deps.nodes.chainId, signer)) ?? 0
  const found = new Map<string, Landed>()
  for (let nonce = next - 1; nonce >= Math.max(0, next - SPAN_MAX); nonce -= 1) {
    if ((next - nonce) % TURN_NONCES === 0) await nextTurn()
    const holders = await holdersOf(nonce, signer, deps)
    const inclusion = slotAt(holders[0] ?? null, signer, nonce)?.inclusion
    if (inclusion !== undefined && inclusion.blockNumber < forkedFrom) break
    for (const workflow of holders) {
      const slot = slotAt(workflow, signer, nonce)
      const isDue = slot?.kind === 'intent' && isReopened(workflow.state) && !isApproval(slot, workflow)
      if (!isDue) continue
      const landed = await hasLanded(slot, workflow, deps)
      if (landed !== false) found.set(workflow.id, { workflow, nonce, isCertain: landed !== null })
    }
  }
  return [...found.values()]
}

/** The workflow that holds a nonce, and those in whose place a person had it filled: what they had may land after all. */
async function holdersOf(
  nonce: number,
  signer: Address,
  { nodes, journal }: LandedDeps,
): Promise<readonly Workflow[]> {
  const holders: Workflow[] = []
  const found = await journal.byNonce(nodes.chainId, signer, nonce)
  let holder = found === 'archived' ? null : found
  while (holder !== null) {
    holders.push(holder)
    const { kind, input } = holder.proposal
    const instead = kind === 'fill' ? inputText(input, 'instead') : undefined
    holder = instead === undefined ? null : await journal.get(instead)
  }
  return holders
}

/** Whether a payload of a slot went through at its nonce; null where the nodes do not say. */
async function hasLanded(
  slot: Slot,
  { clearance }: Workflow,
  { nodes, chain }: LandedDeps,
): Promise<boolean | null> {
  const payloads = slot.attempts.filter(({ purpose }) => purpose === 'payload')
  const isEffect = (mined: MinedTransaction | null) =>
    mined?.receipt.status === 'success' &&
    payloads.some(({ hash, digest }) => hash === mined.hash || digest === mined.digest)
  const facts = chain.facts(slot.signer)
  const known = facts.minedAt(slot.nonce)
  if (known !== undefined) return isEffect(known)
  const hashes = payloads.flatMap(({ hash }) => hash ?? [])
  if (hashes.length === payloads.length) {
    const mined = await unlessRefused(Promise.all(hashes.map((hash) => nodes.transaction(hash))))
    return mined === null ? null : mined.some(isEffect)
  }
  // What a watermark brought back is known by its digest alone, as is what a process that died had signed.
  const sought = soughtFor(slot, finalBefore(clearance), facts)
  const mined = await unlessRefused(findMined(sought, facts.head, nodes))
  return mined === null ? null : isEffect(mined)
}

/** Say what keeping a workflow from being tried again does, for people. Pure. */
export const landedText = ({ workflow: { id, state }, nonce, isCertain }: Landed): string =>
  isCertain
    ? ` Workflow ${id} ended ${state}, and its payload at nonce ${nonce} has landed since: its opportunity is not tried again.`
    : ` Workflow ${id} ended ${state}, and the nodes do not say whether its payload has landed at nonce ${nonce} since: its opportunity is not tried again.`

/** Count what such a workflow moved in the budgets again, and end the newest round of its opportunity as `partial`, so that no other begins. */
export async function keepFromAgain(landed: Landed, deps: LandedDeps): Promise<void> {
  const { workflow } = landed
  await deps.journal.settle(reservationOf(workflow, deps.nowMs()))
  const last = (await deps.journal.byOpportunity(workflow.opportunity)) ?? lastRoundOf(workflow)
  // A round that claimed nonces since has an end of its own.
  if (last.hasClaimed && last.id !== workflow.id) return
  const note = { check: 'landed_since', message: landedText(landed).trim() }
  const end = { state: 'partial' as const, updatedAtMs: deps.nowMs(), note }
  const newest = last.id === workflow.id ? workflow : await deps.journal.get(last.id)
  const written = newest === null ? null : await writeUnlessArchived({ ...newest, ...end }, last, deps)
  if (newest !== null && written !== null) return deps.onChanged(newest, written)
  // It has left for an archive, where nothing is written: one more round says it.
  const round = last.round + 1
  const id = idempotencyKey(workflow.opportunity, round)
  const again: Workflow = { ...workflow, id, round, slots: [], state: 'discovered', version: 0 }
  if ((await deps.journal.open(again)) === 'exists') throw begunAgain(id)
  deps.onChanged(again, await deps.journal.write({ ...again, ...end }))
}

async function writeUnlessArchived(
  ended: Workflow,
  last: LastRound,
  { journal }: LandedDeps,
): Promise<Workflow | null> {
  try {
    return await journal.write(ended)
  } catch (error) {
    const isConflict = error instanceof RolekeeperError && error.code === 'journal.conflict'
    if (!isConflict || !isTerminal(last.state)) throw error
    return null
  }
}

const begunAgain = (workflowId: string) =>
  new RolekeeperError('journal.conflict', `Workflow ${workflowId} was begun meanwhile.`, {
    fix: 'give the same command again.',
    facts: { workflowId },
    retry: 'now',
  })
