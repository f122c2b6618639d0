import type { Address } from 'viem'
import { type Checked, RolekeeperError, refuse } from '../../errors.ts'
import type { SignerOrder } from '../../ops/orders.ts'
import {
  type Doubt,
  isOfForgotten,
  type SafeReason,
  usedElsewhere,
} from '../../pipeline/transactions/safe.ts'
import {
  counts,
  isTrailing,
  type NonceCounts,
  type NonceCountsDeps,
  readNonceCounts,
} from './nonce-counts.ts'
import { type OrderDeps, PLANS, unheldAt } from './plans.ts'
import type { Releases } from './release-quorum.ts'

/** What looking after signers needs. */
export type SignerDeskDeps = NonceCountsDeps & OrderDeps & { readonly releases: Releases }

/** Holds the journal against the chain for each signer, and does what people order about one. */
export type SignerDesk = {
  /**
   * Compare every signer that was not compared yet, every one in SAFE, as a doubt that was disproven is over, and every
   * one with a nonce that nobody holds; of all others, count at each head what is pending.
   */
  readonly look: () => Promise<void>
  /** Say what an order comes to, and with `yes` do it. */
  readonly take: (order: SignerOrder) => Promise<Checked<{ readonly text: string }>>
}

/** Create the desk. */
export function createSignerDesk(deps: SignerDeskDeps): SignerDesk {
  const compared = new Set<Address>()
  /** Signers with nonces that nobody holds: their turn may come later, or what is pending there may go. */
  const unfilled = new Set<Address>()
  /** The head at which a count above ours was last seen: once it is final, the finalized count has the last word. */
  const seenAbove = new Map<Address, bigint>()
  /** The head at which what is pending was last counted. */
  const pendingSeenAt = new Map<Address, bigint>()

  const compare = async (signer: Address) => {
    const standing = await readNonceCounts(signer, deps)
    if (standing === null) return
    const isAbove = Math.max(standing.latest, standing.pending) > standing.next
    if (isAbove || !seenAbove.has(signer)) seenAbove.set(signer, standing.headNumber)
    const isTooHigh = isNextTooHigh(standing, deps.signers.reasonsOf(signer))
    for (const doubt of doubtsOf(signer, standing, isTooHigh)) deps.signers.safe(signer, doubt)
    const isPast = standing.finalizedNumber >= (seenAbove.get(signer) ?? standing.headNumber)
    for (const reason of deps.signers.reasonsOf(signer)) {
      if (isDisproven(reason, standing, isPast)) deps.signers.leave(signer, reason)
    }
    const [turn] = standing.unheld
    // What nobody holds, and nobody has sent anything for, holds up everything behind it.
    if (turn === standing.latest && standing.pending <= turn && !isTooHigh)
      await deps.fill(signer, turn, unheldAt(signer, turn))
    if (turn === undefined) unfilled.delete(signer)
    else unfilled.add(signer)
    compared.add(signer)
  }
  /** Whether others have something pending after our next nonce: what has landed is seen at its head. */
  const isContested = async (signer: Address) => {
    const { number } = deps.chain.facts(signer).head
    if (pendingSeenAt.get(signer) === number) return false
    const pending = await deps.nodes.transactionCount(signer, 'pending')
    pendingSeenAt.set(signer, number)
    // After the count: what we claim meanwhile is never taken for somebody else's.
    const next = await deps.journal.nextNonce(deps.nodes.chainId, signer)
    return next !== null && pending > next
  }
  return {
    look: async () => {
      for (const signer of deps.addresses) {
        const isSafe = deps.signers.reasonsOf(signer).length > 0
        const isSettled = compared.has(signer) && !unfilled.has(signer) && !isSafe
        try {
          if (isSettled && !(await isContested(signer))) continue
          await compare(signer)
        } catch (error) {
          if (!(error instanceof RolekeeperError)) throw error
          if (!compared.has(signer)) deps.signers.safe(signer, notCompared(error))
        }
        // A signer that stays SAFE, also over a restart, is not forgotten.
        for (const reason of deps.signers.reasonsOf(signer)) deps.signers.safe(signer, reason)
      }
    },
    take: (order) => take(order, deps),
  }
}

/** Do what a person ordered about a signer, as {@link SignerDesk} says. */
async function take(order: SignerOrder, deps: SignerDeskDeps): Promise<Checked<{ readonly text: string }>> {
  const signer = deps.addresses.find((each) => each.toLowerCase() === order.signer.toLowerCase())
  if (signer === undefined)
    return refuse(
      'signer_unknown',
      `${order.signer} is no signer of this keeper. Fix: rolekeeper signer show has them.`,
    )
  const standing = await readNonceCounts(signer, deps)
  if (standing === null) return refuse('signer_unknown', `${signer} has no nonce in the journal yet.`)
  const planned = await PLANS[order.verb]({ ...deps, signer, standing, nonce: order.nonce })
  if (!planned.ok || !order.yes) return planned
  if (order.verb === 'release') {
    const released = deps.releases(signer, deps.signers.reasonsOf(signer), order.by)
    if (!released.ok) return released
    if (released.missing !== null)
      return { ok: true, text: `${planned.text} Not yet: it takes ${released.missing}.` }
  }
  const acted = await planned.act()
  return acted.ok ? { ok: true, text: `${planned.text} Done.` } : acted
}

/** Of what nobody remembers, the nonces are closed one by one, and none of them is held before. Pure. */
const isNextTooHigh = (standing: NonceCounts, reasons: readonly SafeReason[]): boolean =>
  isTrailing(standing) && !reasons.some(isOfForgotten)

function doubtsOf(signer: Address, standing: NonceCounts, isTooHigh: boolean): readonly Doubt[] {
  const { latest, pending, next, ahead } = standing
  const seen = counts(standing)
  const doubts: Doubt[] = []
  if (Math.max(latest, pending) > next) doubts.push(usedElsewhere(signer, seen))
  if (ahead.length > 0) {
    const [first] = ahead
    doubts.push({
      check: 'journal_ahead_of_chain',
      message: `The journal holds nonce ${first} final, and the chain does not.`,
      seen,
      toLeave: `the chain has it final again: it is sent again as it was; where it does not land, \`rolekeeper signer fill ${signer} ${first}\` says what putting a no-op there gives up`,
    })
  }
  if (isTooHigh) {
    doubts.push({
      check: 'next_nonce_too_high',
      message: `Nobody holds nonce ${standing.unheld[0]} or any after it, and the next one would be ${next}.`,
      seen,
      toLeave: `take the next nonce back with \`rolekeeper signer resync ${signer} --yes\``,
    })
  }
  return doubts
}

/** Whether the finalized chain says that what a reason fears did not happen. Pure. */
function isDisproven(reason: SafeReason, standing: NonceCounts, isPast: boolean): boolean {
  const { finalized, latest, pending, next, ahead } = standing
  if (reason.check === 'not_compared') return true
  if (reason.check === 'journal_ahead_of_chain') return ahead.length === 0
  if (reason.check === 'next_nonce_too_high') return !isTrailing(standing)
  return reason.check === 'nonce_used_elsewhere' && isPast && Math.max(finalized, latest, pending) <= next
}

const notCompared = (error: RolekeeperError): Doubt => ({
  check: 'not_compared',
  message: 'The journal was not compared with the chain yet.',
  seen: `${error.code}: ${error.shortMessage}`,
  toLeave: 'the nodes answer, which the keeper waits for by itself',
})
