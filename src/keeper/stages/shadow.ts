import type { Address } from 'viem'
import { type MarkedBy, readTokenFlows } from '../../accounts/shadow-marks.ts'
import type { Nodes } from '../../chain/nodes.ts'
import { BrokenInvariant, refuse } from '../../errors.ts'
import { type Approval, whyAsk } from '../../guard/approval/approval.ts'
import { checkAllowances } from '../../guard/limits/allowances.ts'
import { BUDGET_MS, checkBudget } from '../../guard/limits/budget.ts'
import type { Ruleset } from '../../guard/ruleset.ts'
import type { Journal, Reservation } from '../../journal/journal.ts'
import type { Gate } from '../../ops/control.ts'
import { clear } from '../../pipeline/clear.ts'
import type { Stages } from '../../pipeline/pipeline.ts'
import { judge, type ShadowDeps, score } from '../../pipeline/shadow.ts'
import { isBid } from '../../pipeline/shadow-lots.ts'
import type { FeePolicy } from '../../pipeline/transactions/fees.ts'
import type { GasMarket } from '../../pipeline/transactions/gas-market.ts'
import type { ServiceClient } from '../../service/client.ts'
import { isMetadata } from '../../workflow/metadata.ts'
import type { ShadowVerdict, Workflow } from '../../workflow/workflow.ts'
import { isLimitedWith } from '../policy/shared-limits.ts'
import { createRequestStages } from './request.ts'

/** What the stages of a shadow are joined from: no signer, no session, nothing that claims a nonce or sends. */
type ShadowStagesDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'barrier' | 'reservations' | 'settle'>
  readonly nodes: Pick<Nodes, 'chainId' | 'head' | 'transactionCount' | 'simulate'>
  /** By which prices what comes is marked. */
  readonly marked: MarkedBy
  readonly client: Pick<ServiceClient, 'prepareWorkflow'>
  readonly ruleset: Ruleset
  readonly approval: Approval
  /** Signers whose limits are others. */
  readonly apart: readonly Address[]
  readonly fees: FeePolicy
  readonly gas: Pick<GasMarket, 'dataFees'>
  readonly gate: () => Gate
  /** How each workflow compares with what then happened. */
  readonly onScored: (verdict: ShadowVerdict) => void
}

const never = async ({ id, state }: Workflow): Promise<never> => {
  throw new BrokenInvariant(`workflow ${id} is in shadow and ${state}: it holds no nonce`)
}

/**
 * Join the stages that a workflow in shadow passes: everything up to the signature, and then, in the place of the
 * claim, its score against the next block.
 */
export function createShadowStages(deps: ShadowStagesDeps): Stages {
  const { nowMs, journal, nodes, ruleset, approval, fees, gas } = deps
  const budget = async (ask: Reservation) => {
    const atMs = nowMs()
    const all = await journal.reservations(ask.role, atMs - BUDGET_MS)
    const rows = all.filter((row) => isLimitedWith(row, deps.apart))
    const affordable = checkBudget({ reservations: rows, ask, limits: ruleset.limits, nowMs: atMs })
    if (!affordable.ok) return affordable
    return checkAllowances({ rows, ask, allowances: ruleset.allowances, nowMs: atMs })
  }
  const shadow = {
    nowMs,
    nodes,
    ruleset,
    fees,
    isBid,
    checkBudget: budget,
    onScored: deps.onScored,
    whyAsk: (workflow: Workflow) => whyAsk(workflow.proposal, approval),
    settle: journal.settle.bind(journal),
    measure: (...about: Parameters<ShadowDeps['measure']>) =>
      readTokenFlows(...about, { by: deps.marked, nodes }),
  }
  return {
    // Nobody is asked about what is not done; that a person would be is kept with the rest.
    ...createRequestStages({ ...deps, hold: async () => null, mayPrepare, checkBudget: budget }),
    attest: (workflow) => judge(workflow, shadow),
    clear: async (workflow) => {
      const head = await nodes.head()
      const nextNonce = await nodes.transactionCount(workflow.signer, head.number)
      // It orders nothing: what is final does not matter to it.
      const signer = { head, finalizedNumber: 0n, nextNonce, pending: [], standing: [], isShared: false }
      return clear(workflow, signer, { nowMs, ruleset, fees, gas, nodesFor: () => nodes, newest: nodes.head })
    },
    claim: (workflow) => score(workflow, shadow),
    carry: never,
    confirm: never,
    resend: never,
  }
}

/** Refuse what is done by preparing it. Pure. */
function mayPrepare({ proposal }: Workflow) {
  return isMetadata(proposal.workflowType)
    ? refuse(
        'shadow_no_prepare',
        `${proposal.workflowType} is pinned to metadata_only: preparing it is its effect, so shadow does not.`,
      )
    : ({ ok: true } as const)
}
