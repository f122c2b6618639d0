import type { Address } from 'viem'
import type { Nodes, SimulationResult } from '../chain/nodes.ts'
import { BrokenInvariant, type Checked, invariant, RolekeeperError, refuse } from '../errors.ts'
import { type Approval, whyAsk } from '../guard/approval.ts'
import { BUDGET_MS, checkBudget } from '../guard/budget.ts'
import type { ClearedCall } from '../guard/calls/call.ts'
import { checkPrepared } from '../guard/check-prepared.ts'
import { checkRequest } from '../guard/check-request.ts'
import { lookNow } from '../guard/recheck.ts'
import type { Ruleset } from '../guard/ruleset.ts'
import type { Journal, Reservation } from '../journal/journal.ts'
import { type Gate, stopped } from '../ops/control.ts'
import type { ServiceClient } from '../service/client.ts'
import { WORKFLOW_CATALOGUE } from '../service/contract/workflow-types.ts'
import { moved, type Step, wait } from '../workflow/step.ts'
import { move, type ShadowVerdict, type Workflow } from '../workflow/workflow.ts'
import { clear } from './clear.ts'
import type { Stage, Stages } from './pipeline.ts'
import { prepare } from './prepare.ts'
import { request } from './request.ts'
import { isBid } from './shadow-lots.ts'
import { type FeePolicy, quoteFees } from './transactions/fees.ts'

/** What the stages of a shadow are joined from: no signer, no session, nothing that claims a nonce or sends. */
type ShadowDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'barrier' | 'reservations' | 'settle'>
  readonly nodes: Pick<Nodes, 'chainId' | 'head' | 'calls' | 'transactionCount' | 'simulate' | 'codeHashes'>
  readonly client: Pick<ServiceClient, 'prepareWorkflow'>
  readonly ruleset: Ruleset
  readonly approval: Approval
  readonly fees: FeePolicy
  readonly gate: () => Gate
  /** Told how each workflow compares with what then happened. */
  readonly onScored: (verdict: ShadowVerdict) => void
}

/** A new head wakes what waits for it; this is for a node that stopped telling us of them. */
const HEAD_WAIT_MS = 2_000

const never: Stage = async ({ id, state }) => {
  throw new BrokenInvariant(`workflow ${id} is in shadow and ${state}: it holds no nonce`)
}

/**
 * Join the stages that a workflow in shadow passes: everything up to the signature, and then, in the place of the
 * claim, its score against the next block.
 */
export function createShadowStages(deps: ShadowDeps): Stages {
  const { nowMs, journal, nodes, client, ruleset, approval, fees } = deps
  const budget = async (workflow: Workflow, gasWei: bigint) => {
    const ask = reservationOf(workflow, gasWei, nowMs())
    const reservations = await journal.reservations(workflow.role, nowMs() - BUDGET_MS)
    return checkBudget({ reservations, ask, limits: ruleset.limits, nowMs: nowMs() })
  }
  return {
    request: (workflow) =>
      request(workflow, {
        nowMs,
        stopped: () => stopped(deps.gate()),
        // Nobody is asked about what is not done; that one would be is kept with the rest.
        hold: () => null,
        checkRequest: (proposal) => {
          const { executionMode } = WORKFLOW_CATALOGUE[proposal.workflowType]
          return executionMode === 'onchain_transaction'
            ? checkRequest({ proposal, role: workflow.role, signer: workflow.signer, ruleset })
            : refuse(
                'shadow_no_prepare',
                `${proposal.workflowType} is pinned to ${executionMode}: preparing it is its effect, so shadow does not.`,
              )
        },
        checkBudget: () => budget(workflow, 0n),
        deploymentNamespace: ruleset.deployment.namespace,
      }),

    prepare: async (workflow) => {
      await journal.barrier()
      return prepare(workflow, {
        nowMs,
        post: (idempotencyKey, bodyText) => client.prepareWorkflow({ bodyText, idempotencyKey }),
      })
    },

    attest: async (workflow) => {
      const { prepared: frozen } = workflow
      invariant(frozen !== undefined, `workflow ${workflow.id} is prepared without an answer`)
      const checked = checkPrepared({ workflow, frozen, ruleset, nowMs: nowMs() })
      if (!checked.ok) return moved(move(workflow, 'refused', nowMs(), { note: checked }))
      const shadowed = { calls: checked.calls.map(describeCall), ask: whyAsk(workflow.proposal, approval) }
      if (checked.calls.every(({ digest }) => digest === null)) {
        return moved(move(workflow, 'attested', nowMs(), { shadowed }))
      }
      const looked = await lookNow({ ...checked, proposal: workflow.proposal, ruleset, nowMs: nowMs() }, deps)
      if (!looked.ok) return moved(move(workflow, 'refused', nowMs(), { note: looked }))
      // What carries a signature cannot be simulated without it, and no shadow asks a key.
      const { number: blockNumber } = await nodes.head()
      const outcome = { verdict: 'unscored', blockNumber, gasWei: 0n } as const
      deps.onScored(outcome.verdict)
      return moved(
        move(workflow, 'shadowed', nowMs(), {
          shadowed: { ...shadowed, outcome },
          note: {
            check: outcome.verdict,
            message: `${MESSAGES[outcome.verdict]}: it ends where a key would be asked.`,
          },
        }),
      )
    },

    clear: async (workflow) => {
      const head = await nodes.head()
      const nextNonce = await nodes.transactionCount(workflow.signer, head.number)
      const signer = { headNumber: head.number, nextNonce, pending: [], standing: [] }
      const view = () => ({ headNumber: head.number, baseFeePerGasWei: head.baseFeePerGasWei })
      return clear(workflow, signer, view, { nowMs, nodes, ruleset, fees })
    },

    claim: (workflow) => score(workflow, deps, budget),
    carry: never,
    confirm: never,
  }
}

const reservationOf = (workflow: Workflow, gasWei: bigint, atMs: number): Reservation => ({
  workflowId: workflow.id,
  role: workflow.role,
  atMs,
  usdMicros: workflow.proposal.exposure.usdMicros,
  gasWei,
  reverted: false,
  shadow: true,
})

const MESSAGES: Readonly<Record<ShadowVerdict, string>> = {
  won: 'It would still have gone through one block later',
  contested: 'It went in the very next block, to somebody as fast as we',
  missed: 'It was gone when it was looked at again',
  unscored: 'Nobody competes for it',
}

/** Run the same bundle again on a later block: what still goes through there was there for us to take. */
async function score(
  workflow: Workflow,
  deps: ShadowDeps,
  budget: (workflow: Workflow, gasWei: bigint) => Promise<Checked<unknown>>,
): Promise<Step> {
  const { clearance, shadowed } = workflow
  invariant(clearance !== undefined && shadowed !== undefined, `workflow ${workflow.id} was never cleared`)
  const head = await deps.nodes.head()
  if (head.number <= clearance.blockNumber) return wait(HEAD_WAIT_MS)
  const nowMs = deps.nowMs()
  const quoted = quoteFees(head.baseFeePerGasWei, deps.fees)
  if (!quoted.ok) return moved(move(workflow, 'refused', nowMs, { note: quoted }))
  const gas = clearance.payloads.reduce((sum, { predicted }) => sum + predicted.gasUsed, 0n)
  const gasWei = gas * quoted.fees.maxFeePerGasWei
  const affordable = await budget(workflow, gasWei)
  if (!affordable.ok) return moved(move(workflow, 'refused', nowMs, { note: affordable }))
  const result = await runAgain(workflow, head.number, quoted.fees, deps.nodes)
  const blockNumber = result?.block.number ?? head.number
  const goesThrough = result?.bundle.every(({ status }) => status === 'success') ?? false
  const isNext = blockNumber === clearance.blockNumber + 1n
  const verdict = goesThrough ? 'won' : isNext ? 'contested' : 'missed'
  await deps.journal.settle(reservationOf(workflow, gasWei, nowMs))
  deps.onScored(verdict)
  return moved(
    move(workflow, 'shadowed', nowMs, {
      shadowed: {
        ...shadowed,
        outcome: {
          ...{ verdict, blockNumber, gasWei },
          ...(isBid(workflow.proposal.workflowType) ? { lot: 'undecided' } : {}),
        },
      },
      note: { check: verdict, message: `${MESSAGES[verdict]} (block ${blockNumber}).` },
    }),
  )
}

/** Run what was cleared on top of the newest head; null when a node would not begin it. */
async function runAgain(
  { signer, clearance }: Workflow,
  headNumber: bigint,
  fees: { readonly maxFeePerGasWei: bigint; readonly maxPriorityFeePerGasWei: bigint },
  nodes: ShadowDeps['nodes'],
): Promise<SimulationResult | null> {
  const from: Address = signer
  const firstNonce = await nodes.transactionCount(from, headNumber)
  const bundle = (clearance?.payloads ?? []).map(({ payload }, index) => ({
    from,
    ...payload,
    ...fees,
    nonce: firstNonce + index,
  }))
  try {
    return await nodes.simulate({ pending: [], before: [], bundle, after: [] })
  } catch (error) {
    const isRejected = error instanceof RolekeeperError && error.code === 'node.simulation_rejected'
    // The real key moved on between the count and the simulation: look again.
    if (!isRejected || error.facts.reason === 'nonce_mismatch') throw error
    return null
  }
}

/** Write a decoded value as text: base units as digits, lists and structures by their members. Pure. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`
  if (value === null || typeof value !== 'object') return String(value)
  const members = Object.entries(value).map(([name, member]) => `${name}: ${shown(member)}`)
  return `{ ${members.join(', ')} }`
}

/** Write a cleared call as the guard read it: contract, function, and every argument by its name. Pure. */
export function describeCall({ rule, to, args }: Pick<ClearedCall, 'rule' | 'to' | 'args'>): string {
  const named = rule.abi.inputs.map(({ name = '' }) => `${name}: ${shown(args[name])}`)
  return `${to ?? 'new'}.${rule.abi.name}(${named.join(', ')})`
}
