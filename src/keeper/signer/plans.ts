import type { Address } from 'viem'
import type { SeekNodes } from '../../chain/find-mined.ts'
import type { Nodes } from '../../chain/nodes.ts'
import { type Checked, refuse } from '../../errors.ts'
import { allowanceView } from '../../guard/reads/views.ts'
import type { Journal } from '../../journal/journal.ts'
import type { SignerOrder } from '../../ops/orders.ts'
import type { ChainView } from '../../pipeline/transactions/chain-view.ts'
import { type Doubt, isOfForgotten, type SafeReason, type Signers } from '../../pipeline/transactions/safe.ts'
import { failsForEver, giveUp } from '../../workflow/quarantine.ts'
import { slotAt } from '../../workflow/slot.ts'
import { isTerminal, type StandingAllowance, type Workflow } from '../../workflow/workflow.ts'
import type { Filling } from './fill-nonce.ts'
import { keepFromAgain, landedSince, landedText } from './landed-since.ts'
import { counts, isTrailing, type NonceCounts } from './nonce-counts.ts'

/** What doing what people order about signers needs. */
export type OrderDeps = {
  readonly nodes: SeekNodes & Pick<Nodes, 'chainId' | 'calls'>
  readonly journal: Pick<
    Journal,
    | 'byNonce'
    | 'byOpportunity'
    | 'get'
    | 'ofSigner'
    | 'nextNonce'
    | 'open'
    | 'settle'
    | 'write'
    | 'adoptNonce'
  >
  readonly chain: Pick<ChainView, 'facts' | 'stands' | 'forgetForks'>
  readonly signers: Signers
  readonly addresses: readonly Address[]
  /** Close a nonce that nobody holds with a no-op; a refusal where no role of the signer can pay for it. */
  readonly fill: (
    signer: Address,
    nonce: number,
    filling: Filling,
  ) => Promise<Checked<{ readonly workflow: Workflow }>>
  /** A workflow was changed, and is to be looked at. */
  readonly onChanged: (before: Workflow, after: Workflow) => void
  readonly nowMs: () => number
}

const adopted = (standing: NonceCounts): Doubt => ({
  check: 'nonces_adopted',
  message: `The chain has nonces ${standing.next} to ${standing.finalized - 1}, and the journal does not know what they did.`,
  seen: counts(standing),
  toLeave: 'see what these transactions did, so that nothing of it is done again',
})

/** Why a nonce that nobody holds is closed. Pure. */
export const unheldAt = (signer: Address, nonce: number): Filling => ({
  note: {
    check: 'nonce_unheld',
    message: `Nobody held nonce ${nonce} of ${signer}: it is closed by a no-op.`,
  },
})

const contestedAt = (signer: Address, nonce: number): Filling => ({
  note: {
    check: 'nonce_contested',
    message: `A transaction that is none of ours is pending at nonce ${nonce} of ${signer}: a person put a no-op in its place.`,
  },
})

/** Nonces that are looked through for the highest that is held. */
const SPAN_MAX = 2_000

/** What the next nonce becomes where the journal adopts the final count; null where that is too far down to look. */
async function firstFree({ signer, standing, nodes, journal }: PlanRequest): Promise<number | null> {
  const { next, finalized } = standing
  const isHeld = async (nonce: number) => (await journal.byNonce(nodes.chainId, signer, nonce)) !== null
  let free = next
  while (free > finalized && next - free < SPAN_MAX && !(await isHeld(free - 1))) free -= 1
  return next - free === SPAN_MAX ? null : Math.max(free, finalized)
}

/** What an ended workflow had final at a nonce where the chain has nothing now; null where there is no such thing. */
async function lostAt(
  nonce: number,
  { signer, standing, nodes, journal }: PlanRequest,
): Promise<Filling | null> {
  if (!standing.ahead.includes(nonce) || nonce < standing.latest) return null
  const holder = await journal.byNonce(nodes.chainId, signer, nonce)
  if (holder === null || holder === 'archived') return null
  const over = slotAt(holder, signer, nonce)?.attempts.at(-1)
  if (over === undefined || !isTerminal(holder.state)) return null
  const message = `Workflow ${holder.id} ended ${holder.state} by its transaction at nonce ${nonce}, which the chain has lost: with a no-op there it is undone for good, unless it lands first.`
  return { note: { check: 'final_lost', message }, over, instead: holder.id }
}

/** What an order is about. */
type PlanRequest = OrderDeps & {
  readonly signer: Address
  readonly standing: NonceCounts
  readonly nonce: number | undefined
}

/** What an order would do, and the doing. */
type Plan = Checked<{ readonly text: string; readonly act: () => Promise<Checked<unknown>> }>

/** What each order would do, with what it goes by. */
export const PLANS: Readonly<Record<SignerOrder['verb'], (asked: PlanRequest) => Promise<Plan>>> = {
  fill: async (asked) => {
    const { signer, standing, nonce, fill } = asked
    const { unheld, contested } = standing
    if (isTrailing(standing))
      return refuse(
        'next_nonce_too_high',
        `Nobody holds anything behind it. Fix: rolekeeper signer resync ${signer} --yes.`,
      )
    const lost = nonce === undefined ? null : await lostAt(nonce, asked)
    // The first of them is claimed first.
    const upTo = nonce ?? Number.POSITIVE_INFINITY
    const taken =
      nonce === undefined || contested.includes(nonce) ? contested.filter((each) => each <= upTo) : []
    const fillings = new Map<number, Filling>([
      ...unheld
        .filter((each) => nonce === undefined || each === nonce)
        .map((each) => [each, unheldAt(signer, each)] as const),
      ...taken.map((each) => [each, contestedAt(signer, each)] as const),
      ...(nonce === undefined || lost === null ? [] : [[nonce, lost] as const]),
    ])
    if (fillings.size === 0) return refuse('nonce_not_unheld', `Nothing to fill: ${counts(standing)}.`)
    const act = async () => {
      for (const [each, filling] of fillings) {
        const filled = await fill(signer, each, filling)
        if (!filled.ok) return filled
      }
      return { ok: true } as const
    }
    const replaces =
      taken.length === 0
        ? ''
        : ', in place of what others have pending there, unless that lands first. It is raised until the nodes take it, up to fees.maxFeePerGas'
    const text = `A no-op of ${signer} goes to nonce ${[...fillings.keys()].join(', ')}${replaces}.`
    return { ok: true, text: lost === null ? text : `${text} ${lost.note.message}`, act }
  },
  cancel: async ({ signer, nonce, nodes, journal, onChanged }) => {
    if (nonce === undefined)
      return refuse('nonce_missing', 'Say which nonce: rolekeeper signer cancel ADDRESS NONCE.')
    const holder = await journal.byNonce(nodes.chainId, signer, nonce)
    const workflow = holder === 'archived' ? null : holder
    const slot = slotAt(workflow, signer, nonce)
    if (workflow === null || slot?.state !== 'open' || slot.closing !== undefined || slot.kind === 'revoke')
      return refuse(
        'nonce_not_open',
        `Nonce ${nonce} of ${signer} carries no open payload. Fix: rolekeeper signer show has the open ones.`,
      )
    const act = async () => {
      const closed = { ...slot, closing: 'cancelled_by_hand' }
      const slots = workflow.slots.map((each) => (each.index === slot.index ? closed : each))
      onChanged(workflow, await journal.write({ ...workflow, slots }))
      return { ok: true } as const
    }
    const text = `The payload of workflow ${workflow.id} at nonce ${nonce} is replaced by a no-op, unless it lands first.`
    return { ok: true, text, act }
  },
  release: async (asked) => {
    const { signer, standing, signers } = asked
    const reasons = signers.reasonsOf(signer)
    if (reasons.length === 0) return refuse('not_safe', `${signer} is not SAFE.`)
    const named = await namedBy(reasons, asked)
    const unproven = unprovenOf(named, standing, signer) ?? (await unfoundedOf(asked))
    if (unproven !== null) return refuse('not_proven', unproven)
    const stuck = await Promise.all(
      named.map(async (workflow) => ({ workflow, left: await leftBy(workflow, asked) })),
    )
    const landed = await landedSince(asked.addresses, asked)
    const act = async () => {
      for (const each of landed) await keepFromAgain(each, asked)
      for (const { workflow } of stuck) {
        asked.onChanged(workflow, await asked.journal.write(giveUp(workflow, asked.nowMs())))
      }
      for (const reason of reasons) signers.leave(signer, reason)
      const isDoubted = asked.addresses.some((each) => signers.reasonsOf(each).some(isOfFork))
      if (reasons.some(isOfFork) && !isDoubted) await asked.chain.forgetForks()
      return { ok: true } as const
    }
    const checks = reasons.map(({ check }) => check).join(', ')
    const ends = stuck.map(
      ({ workflow: { id }, left }) =>
        ` Workflow ${id} fails at every step and ends quarantined as it is: what it reserved stays reserved${left}.`,
    )
    const text = `${signer} leaves SAFE (${checks}): ${counts(standing)}.${ends.join('')}${landed.map(landedText).join('')}`
    return { ok: true, text, act }
  },
  resync: async (asked) => {
    const { signer, standing, nodes, journal, signers } = asked
    if (signers.reasonsOf(signer).some(isOfForgotten))
      return refuse(
        'nonces_forgotten',
        `What nobody remembers may land at the nonces of ${signer} that are not closed yet. Fix: wait until they are.`,
      )
    const free = await firstFree(asked)
    const act = async () => {
      // First: what is adopted explains the counts to the keeper, and nothing to the person who has to look at it.
      if (standing.finalized > standing.next) signers.safe(signer, adopted(standing))
      await journal.adoptNonce(nodes.chainId, signer, standing.finalized)
      return { ok: true } as const
    }
    const verb = free === standing.next ? 'stays' : 'becomes'
    const text = `The next nonce of ${signer} ${verb} ${free === null ? '' : `${free}, `}the first that is neither final on the chain nor held: ${counts(standing)}.`
    return { ok: true, text, act }
  },
}

/** The workflows that some reasons name and that have not ended. */
async function namedBy(
  reasons: readonly SafeReason[],
  { journal }: Pick<OrderDeps, 'journal'>,
): Promise<readonly Workflow[]> {
  const ids = new Set(reasons.flatMap(({ workflowId }) => workflowId ?? []))
  const found = await Promise.all([...ids].map((id) => journal.get(id)))
  return found.flatMap((workflow) => (workflow === null || isTerminal(workflow.state) ? [] : [workflow]))
}

/**
 * What is not proven yet of what leaving takes: everything that the signer ever sent is final, and all of it is known; and
 * what a reason names has ended, or never will by itself. Pure.
 */
function unprovenOf(named: readonly Workflow[], standing: NonceCounts, signer: Address): string | null {
  const { finalized, latest, pending, next } = standing
  if (finalized !== next || latest !== next || pending > next)
    return `Something of it is under way or unexplained: ${counts(standing)}. Fix: wait until they agree; where more is pending than the journal has, rolekeeper signer fill ${signer} --yes; where the final count is above the journal's, rolekeeper signer resync ${signer} --yes.`
  const goesOn = named.find((workflow) => !failsForEver(workflow))
  return goesOn === undefined
    ? null
    : `Workflow ${goesOn.id} is ${goesOn.state}. Fix: wait for its end; where its steps go on failing, release ends it.`
}

/** What leaves in doubt which blocks are final for good. */
const isOfFork = ({ check }: SafeReason) =>
  check === 'reorg_past_finality' || check === 'journal_behind_watermark'

/**
 * Which workflow in flight has a nonce that is not final for it yet, though the chain counts it, or relies on a block that is
 * gone; null where none does. One that fails for ever looks at nothing any more.
 */
async function unfoundedOf({
  signer,
  journal,
  chain,
}: Pick<PlanRequest, 'signer' | 'journal' | 'chain'>): Promise<string | null> {
  for (const workflow of await journal.ofSigner(signer)) {
    if (failsForEver(workflow)) continue
    const { id, slots } = workflow
    const open = slots.filter(({ state }) => state !== 'final').map(({ nonce }) => nonce)
    if (open.length > 0)
      return `Workflow ${id} does not have nonce ${open.join(', ')} final yet. Fix: wait, and ask again.`
    for (const { inclusion } of slots) {
      if (inclusion === undefined) continue
      const { blockNumber: number, blockHash: hash } = inclusion
      if (chain.stands({ number, hash }) !== true)
        return `Workflow ${id} relies on block ${number}, which is gone, or is still looked for. Fix: wait, and ask again.`
    }
  }
  return null
}

/** What of a workflow's approvals stands and would be left to a person, as the end of a sentence. */
async function leftBy({ clearance, signer }: Workflow, { nodes }: Pick<OrderDeps, 'nodes'>): Promise<string> {
  const allowances: readonly StandingAllowance[] = clearance?.allowances ?? []
  const views = allowances.map(({ token, spender }) => allowanceView(token, signer, spender))
  const values = views.length === 0 ? [] : await nodes.calls(views.map(({ call }) => call))
  const standing = allowances.filter((_, at) => views[at]?.decode(values[at]) !== 0n)
  return standing
    .map(({ token, spender }) => `, and ${spender} may still take ${token}: take that approval back`)
    .join('')
}
