import type { Address } from 'viem'
import type { Head, Nodes, SimulatedTransaction, SimulationResult } from '../chain/nodes.ts'
import { type Checked, invariant, RolekeeperError } from '../errors.ts'
import { checkPrepared } from '../guard/checks/check-prepared.ts'
import { lookNow } from '../guard/checks/recheck.ts'
import { describeCall } from '../guard/explain/describe-call.ts'
import type { Ruleset } from '../guard/ruleset.ts'
import type { Reservation } from '../journal/journal.ts'
import type { WorkflowType } from '../service/contract/workflow-types.ts'
import { moved, type Step, wait } from '../workflow/step.ts'
import {
  type LentMore,
  move,
  type Note,
  type ShadowVerdict,
  type TokenFlow,
  type Workflow,
} from '../workflow/workflow.ts'
import { type FeePolicy, type Fees, gasOf, quoteFees } from './transactions/fees.ts'

/** What judging and scoring in shadow need: no signer, no session, nothing that claims a nonce or sends. */
export type ShadowDeps = {
  readonly nowMs: () => number
  readonly nodes: Pick<Nodes, 'head' | 'transactionCount' | 'simulate'>
  readonly ruleset: Ruleset
  readonly fees: FeePolicy
  /** Why a person would be asked first; null when none would. */
  readonly whyAsk: (workflow: Workflow) => Note | null
  readonly checkBudget: (ask: Reservation) => Promise<Checked<unknown>>
  /** Keep what it would have spent. */
  readonly settle: (reservation: Reservation) => Promise<void>
  /** Read what a bundle would bring on top of a block; null where the chain does not say. */
  readonly measure: (
    signer: Address,
    bundle: readonly SimulatedTransaction[],
    at: Head,
  ) => Promise<{ readonly assets: readonly TokenFlow[]; readonly lent?: readonly LentMore[] } | null>
  /** Whether a type bids on a lot that is decided later. */
  readonly isBid: (type: WorkflowType) => boolean
  /** How each workflow compares with what then happened. */
  readonly onScored: (verdict: ShadowVerdict) => void
}

/** A new head wakes what waits for it; this is for a node that stopped announcing them. */
const HEAD_WAIT_MS = 2_000

/**
 * Judge an answer by the rules and by our own reads, and keep it as the guard read it. What would ask a key next ends
 * here: it cannot be simulated without its signature. Throws what the nodes throw.
 */
export async function judge(workflow: Workflow, deps: ShadowDeps): Promise<Step> {
  const { nowMs, nodes, ruleset } = deps
  const { prepared: frozen } = workflow
  invariant(frozen !== undefined, `workflow ${workflow.id} is prepared without an answer`)
  const checked = checkPrepared({ workflow, frozen, ruleset, nowMs: nowMs() })
  if (!checked.ok) return moved(move(workflow, 'refused', nowMs(), { note: checked }))
  const calls = checked.calls.map((call) => describeCall(call, checked.subject))
  const shadowed = { calls, ask: deps.whyAsk(workflow) }
  if (checked.calls.every(({ digest }) => digest === null)) {
    return moved(move(workflow, 'attested', nowMs(), { shadowed }))
  }
  const looked = await lookNow({ ...checked, proposal: workflow.proposal, ruleset, nowMs: nowMs() }, deps)
  if (!looked.ok) return moved(move(workflow, 'refused', nowMs(), { note: looked }))
  const { number: blockNumber } = await nodes.head()
  const outcome = { verdict: 'unscored', blockNumber, gasWei: 0n } as const
  deps.onScored(outcome.verdict)
  const message = `${MESSAGES[outcome.verdict]}: it ends where a key would be asked.`
  return moved(
    move(workflow, 'shadowed', nowMs(), {
      shadowed: { ...shadowed, outcome },
      note: { check: outcome.verdict, message },
    }),
  )
}

const reservationOf = (workflow: Workflow, gasWei: bigint, atMs: number): Reservation => ({
  workflowId: workflow.id,
  role: workflow.role,
  signer: workflow.signer,
  atMs,
  usdMicros: workflow.proposal.exposure.usdMicros,
  gasWei,
  reverted: false,
  ...(workflow.clearance?.uses === undefined ? {} : { uses: workflow.clearance.uses }),
  shadow: true,
})

const MESSAGES: Readonly<Record<ShadowVerdict, string>> = {
  won: 'It would still have gone through one block later',
  contested: 'It went in the very next block, to somebody as fast as we',
  missed: 'It was gone when it was looked at again',
  unscored: 'Nobody competes for it',
}

/** Run the same bundle again on a later block: what still goes through there was there for us to take. */
export async function score(workflow: Workflow, deps: ShadowDeps): Promise<Step> {
  const { clearance, shadowed } = workflow
  invariant(clearance !== undefined && shadowed !== undefined, `workflow ${workflow.id} was never cleared`)
  const head = await deps.nodes.head()
  if (head.number <= clearance.blockNumber) return wait(HEAD_WAIT_MS)
  const nowMs = deps.nowMs()
  const quoted = quoteFees(head.baseFeePerGasWei, deps.fees, { ownTipWei: workflow.proposal.offer?.tipWei })
  if (!quoted.ok) return moved(move(workflow, 'refused', nowMs, { note: quoted }))
  const { used, dataFeeWei } = gasOf(clearance.payloads)
  const gasWei = used * quoted.fees.maxFeePerGasWei + dataFeeWei
  const affordable = await deps.checkBudget(reservationOf(workflow, gasWei, nowMs))
  if (!affordable.ok) return moved(move(workflow, 'refused', nowMs, { note: affordable }))
  const bundle = await bundleOf(workflow, head.number, quoted.fees, deps.nodes)
  const result = await runAgain(bundle, deps.nodes)
  const { number: blockNumber, timestampS } = result?.block ?? head
  const goesThrough = result?.bundle.every(({ status }) => status === 'success') ?? false
  const isNext = blockNumber === clearance.blockNumber + 1n
  const verdict = goesThrough ? 'won' : isNext ? 'contested' : 'missed'
  const isBid = deps.isBid(workflow.proposal.workflowType)
  // What a bid brings is known once its lot is decided.
  const came =
    verdict === 'won' && result !== null && !isBid
      ? await deps.measure(workflow.signer, bundle, result.block)
      : null
  await deps.settle(reservationOf(workflow, gasWei, nowMs))
  deps.onScored(verdict)
  return moved(
    move(workflow, 'shadowed', nowMs, {
      shadowed: {
        ...shadowed,
        outcome: {
          verdict,
          blockNumber,
          gasWei: used * priceOf(quoted.fees, result?.block ?? head) + dataFeeWei,
          ...(isBid ? { lot: 'undecided' } : {}),
          ...(came === null ? {} : { came: { ...came, atMs: timestampS * 1_000 } }),
        },
      },
      note: { check: verdict, message: `${MESSAGES[verdict]} (block ${blockNumber}).` },
    }),
  )
}

/** What a unit of gas costs in the block after a head, wei. Pure. */
const priceOf = (fees: Fees, { baseFeePerGasWei }: Head): bigint => {
  const wei = baseFeePerGasWei + fees.maxPriorityFeePerGasWei
  return wei < fees.maxFeePerGasWei ? wei : fees.maxFeePerGasWei
}

/** What was cleared, as the signer would send it now. */
async function bundleOf(
  { signer: from, clearance }: Workflow,
  headNumber: bigint,
  fees: Fees,
  nodes: ShadowDeps['nodes'],
): Promise<readonly SimulatedTransaction[]> {
  const firstNonce = await nodes.transactionCount(from, headNumber)
  return (clearance?.payloads ?? []).map(({ payload }, index) => ({
    from,
    ...payload,
    ...fees,
    nonce: firstNonce + index,
  }))
}

/** Run a bundle on top of the newest head; null when a node would not begin it. */
async function runAgain(
  bundle: readonly SimulatedTransaction[],
  nodes: ShadowDeps['nodes'],
): Promise<SimulationResult | null> {
  try {
    return await nodes.simulate({ pending: [], before: [], bundle, after: [] })
  } catch (error) {
    const isRejected = error instanceof RolekeeperError && error.code === 'node.simulation_rejected'
    // The real key moved on between the count and the simulation: look again.
    if (!isRejected || error.facts.reason === 'nonce_mismatch') throw error
    return null
  }
}
