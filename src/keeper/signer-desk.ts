import type { Address } from 'viem'
import type { Nodes } from '../chain/nodes.ts'
import { type Checked, RolekeeperError, refuse } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import type { SignerOrder } from '../ops/orders.ts'
import { type Doubt, type SafeReason, type Signers, usedElsewhere } from '../pipeline/transactions/safe.ts'
import { slotAt } from '../workflow/slot.ts'
import { isTerminal, type Workflow } from '../workflow/workflow.ts'

/** What looking after signers needs. */
export type SignerDeskDeps = {
  readonly nodes: Pick<Nodes, 'chainId' | 'head' | 'finalized' | 'transactionCount'>
  readonly journal: Pick<Journal, 'nextNonce' | 'byNonce' | 'get' | 'write' | 'adoptNonce'>
  readonly signers: Signers
  readonly addresses: readonly Address[]
  /** Close a nonce that nobody holds with a no-op; a refusal where no role of the signer can pay for it. */
  readonly fill: (signer: Address, nonce: number) => Promise<Checked<{ readonly workflow: Workflow }>>
  /** A workflow was changed, and is to be looked at. */
  readonly onChanged: (before: Workflow, after: Workflow) => void
}

/** Holds the journal against the chain for each signer, and does what people order about one. */
export type SignerDesk = {
  /**
   * Compare every signer that was not compared yet, every one in SAFE, as a doubt that was disproven is over, and every
   * one with a nonce that nobody holds.
   */
  readonly look: () => Promise<void>
  /** Say what an order comes to, and with `yes` do it. */
  readonly take: (order: SignerOrder) => Promise<Checked<{ readonly said: string }>>
}

/** What the chain counts of a signer, and what the journal does. */
type Standing = {
  readonly finalized: number
  readonly latest: number
  readonly pending: number
  readonly finalizedNumber: bigint
  readonly headNumber: bigint
  /** The journal's next nonce. */
  readonly next: number
  /** Nonces below it, from the chain's turn on, that nobody holds. */
  readonly unheld: readonly number[]
  /** Nonces that the journal holds final and the chain does not. */
  readonly ahead: readonly number[]
}

/** Nonces looked at between what is final and the journal's next. */
const SPAN_MAX = 2_000

/** Create the desk. */
export function createSignerDesk(deps: SignerDeskDeps): SignerDesk {
  const compared = new Set<Address>()
  /** Signers with nonces that nobody holds: their turn may come later, or what is pending there may go. */
  const unfilled = new Set<Address>()
  /** The head at which a count above ours was last seen: once it is final, the finalized count has the last word. */
  const seenAbove = new Map<Address, bigint>()

  const compare = async (signer: Address) => {
    const standing = await read(signer, deps)
    if (standing === null) return
    const isAbove = Math.max(standing.latest, standing.pending) > standing.next
    if (isAbove || !seenAbove.has(signer)) seenAbove.set(signer, standing.headNumber)
    for (const doubt of doubtsOf(signer, standing)) deps.signers.safe(signer, doubt)
    const isPast = standing.finalizedNumber >= (seenAbove.get(signer) ?? standing.headNumber)
    for (const reason of deps.signers.reasonsOf(signer)) {
      if (isDisproven(reason, standing, isPast)) deps.signers.leave(signer, reason)
    }
    const [turn] = standing.unheld
    // What nobody holds, and nobody has sent anything for, holds up everything behind it.
    if (turn === standing.latest && standing.pending <= turn && !isTrailing(standing)) {
      await deps.fill(signer, turn)
    }
    if (turn === undefined) unfilled.delete(signer)
    else unfilled.add(signer)
    compared.add(signer)
  }
  return {
    look: async () => {
      for (const signer of deps.addresses) {
        const isSafe = deps.signers.reasonsOf(signer).length > 0
        if (compared.has(signer) && !unfilled.has(signer) && !isSafe) continue
        try {
          await compare(signer)
        } catch (error) {
          if (!(error instanceof RolekeeperError)) throw error
          if (!compared.has(signer)) deps.signers.safe(signer, notCompared(error))
        }
        // A signer that stays SAFE, also over a restart, is not forgotten.
        for (const reason of deps.signers.reasonsOf(signer)) deps.signers.safe(signer, reason)
      }
    },
    take: async (order) => {
      const signer = deps.addresses.find((each) => each.toLowerCase() === order.signer.toLowerCase())
      if (signer === undefined)
        return refuse('signer_unknown', `${order.signer} is no signer of this keeper.`)
      const standing = await read(signer, deps)
      if (standing === null) return refuse('signer_unknown', `${signer} has no nonce in the journal yet.`)
      const planned = await PLANS[order.verb]({ ...deps, signer, standing, nonce: order.nonce })
      if (!planned.ok || !order.yes) return planned
      const acted = await planned.act()
      return acted.ok ? { ok: true, said: `${planned.said} Done.` } : acted
    },
  }
}

async function read(signer: Address, { nodes, journal }: SignerDeskDeps): Promise<Standing | null> {
  const [head, final] = await Promise.all([nodes.head(), nodes.finalized()])
  const [finalized, latest, pending] = await Promise.all([
    nodes.transactionCount(signer, final.hash),
    nodes.transactionCount(signer, head.hash),
    nodes.transactionCount(signer, 'pending'),
  ])
  // After the counts: what we claim meanwhile is never taken for somebody else's.
  const next = await journal.nextNonce(nodes.chainId, signer)
  if (next === null) return null
  const unheld: number[] = []
  const ahead: number[] = []
  for (let nonce = finalized; nonce < Math.min(next, finalized + SPAN_MAX); nonce += 1) {
    const holder = await journal.byNonce(nodes.chainId, signer, nonce)
    const slot = slotAt(holder, signer, nonce)
    if (slot === undefined && nonce >= latest) unheld.push(nonce)
    if (slot?.state === 'final') ahead.push(nonce)
  }
  const { number: headNumber } = head
  return { finalized, latest, pending, finalizedNumber: final.number, headNumber, next, unheld, ahead }
}

/** Whether nothing is held from the first unheld nonce on: then the next nonce is too high, and nothing has to be filled. */
const isTrailing = ({ unheld, next }: Standing): boolean => {
  const [first] = unheld
  return first !== undefined && unheld.length === Math.min(next - first, SPAN_MAX)
}

const counts = ({ finalized, latest, pending, next, headNumber, finalizedNumber }: Standing) =>
  `the chain counts ${latest} at block ${headNumber}, ${finalized} at the final block ${finalizedNumber} and ${pending} pending; the journal's next nonce is ${next}`

function doubtsOf(signer: Address, standing: Standing): readonly Doubt[] {
  const { latest, pending, next, ahead } = standing
  const seen = counts(standing)
  const doubts: Doubt[] = []
  if (Math.max(latest, pending) > next) doubts.push(usedElsewhere(signer, seen))
  if (ahead.length > 0) {
    doubts.push({
      check: 'journal_ahead_of_chain',
      message: `The journal holds nonce ${ahead[0]} final, and the chain does not.`,
      seen,
      toLeave: 'the chain has it final again; it is sent again as it was',
    })
  }
  if (isTrailing(standing)) {
    doubts.push({
      check: 'next_nonce_too_high',
      message: `Nobody holds nonce ${standing.unheld[0]} or any after it, and the next one would be ${next}.`,
      seen,
      toLeave: 'take the next nonce back with `rolekeeper signer resync`',
    })
  }
  return doubts
}

/** Whether the finalized chain says that what a reason fears did not happen. Pure. */
function isDisproven(reason: SafeReason, standing: Standing, isPast: boolean): boolean {
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

const adopted = (standing: Standing): Doubt => ({
  check: 'nonces_adopted',
  message: `The chain has nonces ${standing.next} to ${standing.finalized - 1}, and the journal does not know what they did.`,
  seen: counts(standing),
  toLeave: 'see what these transactions did, so that nothing of it is done again',
})

/** What an order is about. */
type Asked = SignerDeskDeps & {
  readonly signer: Address
  readonly standing: Standing
  readonly nonce: number | undefined
}

/** What an order would do, and the doing. */
type Plan = Checked<{ readonly said: string; readonly act: () => Promise<Checked<unknown>> }>

const PLANS: Readonly<Record<SignerOrder['verb'], (asked: Asked) => Promise<Plan>>> = {
  fill: async ({ signer, standing, nonce, fill }) => {
    const wanted = nonce === undefined ? standing.unheld : standing.unheld.filter((each) => each === nonce)
    if (wanted.length === 0) return refuse('nonce_not_unheld', `Nothing to fill: ${counts(standing)}.`)
    if (isTrailing(standing))
      return refuse('next_nonce_too_high', 'Nobody holds anything behind it. Fix: rolekeeper signer resync.')
    const act = async () => {
      for (const each of wanted) {
        const filled = await fill(signer, each)
        if (!filled.ok) return filled
      }
      return { ok: true } as const
    }
    return { ok: true, said: `A no-op of ${signer} goes to nonce ${wanted.join(', ')}.`, act }
  },
  cancel: async ({ signer, nonce, nodes, journal, onChanged }) => {
    if (nonce === undefined)
      return refuse('nonce_missing', 'Say which nonce: rolekeeper signer cancel ADDRESS NONCE.')
    const workflow = await journal.byNonce(nodes.chainId, signer, nonce)
    const slot = slotAt(workflow, signer, nonce)
    if (workflow === null || slot?.state !== 'open' || slot.closing !== undefined || slot.kind === 'revoke')
      return refuse('nonce_not_open', `Nonce ${nonce} of ${signer} carries no open payload.`)
    const act = async () => {
      const closed = { ...slot, closing: 'cancelled_by_hand' }
      const slots = workflow.slots.map((each) => (each.index === slot.index ? closed : each))
      onChanged(workflow, await journal.write({ ...workflow, slots }))
      return { ok: true } as const
    }
    const said = `The payload of workflow ${workflow.id} at nonce ${nonce} is replaced by a no-op, unless it lands first.`
    return { ok: true, said, act }
  },
  release: async ({ signer, standing, signers, journal }) => {
    const reasons = signers.reasonsOf(signer)
    if (reasons.length === 0) return refuse('not_safe', `${signer} is not SAFE.`)
    const unproven = await unprovenOf(reasons, standing, journal)
    if (unproven !== null) return refuse('not_proven', unproven)
    const act = async () => {
      for (const reason of reasons) signers.leave(signer, reason)
      return { ok: true } as const
    }
    const checks = reasons.map(({ check }) => check).join(', ')
    return { ok: true, said: `${signer} leaves SAFE (${checks}): ${counts(standing)}.`, act }
  },
  resync: async ({ signer, standing, nodes, journal, signers }) => {
    const act = async () => {
      // First: what is adopted explains the counts to the keeper, and nothing to the person who has to look at it.
      if (standing.finalized > standing.next) signers.safe(signer, adopted(standing))
      await journal.adoptNonce(nodes.chainId, signer, standing.finalized)
      return { ok: true } as const
    }
    const said = `The next nonce of ${signer} becomes the first that is neither final on the chain nor held: ${counts(standing)}.`
    return { ok: true, said, act }
  },
}

/** What is not proven yet of what leaving takes: everything that the signer ever sent is final, and all of it is known. */
async function unprovenOf(
  reasons: readonly SafeReason[],
  standing: Standing,
  journal: Pick<Journal, 'get'>,
): Promise<string | null> {
  const { finalized, latest, pending, next } = standing
  if (finalized !== next || latest !== next || pending > next)
    return `Something of it is under way or unexplained: ${counts(standing)}. Fix: wait until they agree; where the final count is above the journal's, rolekeeper signer resync.`
  for (const { workflowId } of reasons) {
    const workflow = workflowId === undefined ? null : await journal.get(workflowId)
    if (workflow !== null && !isTerminal(workflow.state))
      return `Workflow ${workflow.id} is ${workflow.state}. Fix: wait for its end.`
  }
  return null
}
