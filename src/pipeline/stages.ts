import type { Address } from 'viem'
import type { Nodes, SimulatedTransaction } from '../chain/nodes.ts'
import { invariant, type RolekeeperError } from '../errors.ts'
import { type Approval, approvalHash, whyAsk } from '../guard/approval.ts'
import { BUDGET_MS, checkBudget } from '../guard/budget.ts'
import { checkRequest } from '../guard/check-request.ts'
import { recheck } from '../guard/recheck.ts'
import type { Ruleset } from '../guard/ruleset.ts'
import type { Journal, Reservation } from '../journal/journal.ts'
import { type Gate, stopped } from '../ops/control.ts'
import type { Answer } from '../ops/orders.ts'
import type { ServiceClient } from '../service/client.ts'
import type { Signer } from '../sign/signer.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { attest } from './attest.ts'
import { claim } from './claim.ts'
import { clear, type SignerState } from './clear.ts'
import { conclude } from './conclude.ts'
import { confirm } from './confirm.ts'
import { hold } from './hold.ts'
import { carry } from './in-flight.ts'
import type { Stages } from './pipeline.ts'
import { prepare } from './prepare.ts'
import { request } from './request.ts'
import { type FeePolicy, quoteFees } from './transactions/fees.ts'
import type { ChainView } from './transactions/nonces.ts'
import { hasFailed } from './transactions/replace.ts'
import { payloadOf, revocationPayload } from './transactions/transaction.ts'

/** What the stages of one role are joined from. */
type StagesDeps = {
  readonly nowMs: () => number
  readonly journal: Journal
  readonly nodes: Nodes
  readonly client: Pick<ServiceClient, 'prepareWorkflow' | 'getWorkflow'>
  readonly chain: ChainView
  readonly signer: Signer
  readonly ruleset: Ruleset
  readonly approval: Approval
  /** A person's answer about a held workflow. */
  readonly answer: (id: string) => Answer | null
  readonly fees: FeePolicy
  /** Kill and pause, read now. */
  readonly gate: () => Gate
  readonly alarm: (error: RolekeeperError) => void
}

/** Join the stages of one role to their implementations. */
export function createStages(deps: StagesDeps): Stages {
  const { nowMs, journal, nodes, client, signer, ruleset, approval, fees } = deps
  const view = () => deps.chain.of(signer.address)
  const quote = () => quoteFees(view().baseFeePerGasWei, fees)

  const budget = async (ask: Reservation) => {
    const rows = await journal.reservations(ask.role, nowMs() - BUDGET_MS)
    const reservations = rows.filter((row) => row.shadow !== true)
    return checkBudget({ reservations, ask, limits: ruleset.limits, nowMs: nowMs() })
  }

  return {
    request: (workflow) =>
      request(workflow, {
        nowMs,
        stopped: () => stopped(deps.gate()),
        hold: (each) =>
          hold(each, {
            nowMs,
            whyAsk: (proposal) => whyAsk(proposal, approval),
            hashOf: (held) => approvalHash(held, ruleset.hash),
            expiresAfterMs: approval.expiresAfterMs,
            answer: deps.answer,
          }),
        checkRequest: (proposal) => checkRequest({ ...workflow, proposal, ruleset }),
        checkBudget: (proposal) =>
          budget({
            workflowId: workflow.id,
            role: workflow.role,
            atMs: nowMs(),
            usdMicros: proposal.exposure.usdMicros,
            gasWei: 0n,
            reverted: false,
          }),
        deploymentNamespace: ruleset.deployment.namespace,
      }),

    prepare: async (workflow) => {
      await journal.barrier()
      return prepare(workflow, {
        nowMs,
        post: (idempotencyKey, bodyText) => client.prepareWorkflow({ bodyText, idempotencyKey }),
      })
    },

    attest: (workflow) => attest(workflow, deps),

    clear: async (workflow) => clear(workflow, await signerState(workflow, deps), view, deps),

    claim: (workflow) =>
      claim(workflow, {
        nowMs,
        rulesetHash: ruleset.hash,
        fees: quote,
        nextNonce: (address) => nextNonce(workflow.chainId, address, journal),
        checkBudget: budget,
        claim: journal.claim.bind(journal),
      }),

    carry: (workflow) =>
      carry(workflow, {
        view,
        gate: deps.gate,
        rulesetHash: () => ruleset.hash,
        fees,
        signer,
        nodes,
        journal,
        recheck: (each) => recheck({ workflow: each, ruleset, nowMs: nowMs() }, { nodes }),
        alarm: deps.alarm,
        conclude: (each) =>
          conclude(each, {
            nowMs,
            baseFeePerGasWei: () => view().baseFeePerGasWei,
            fees,
            nodes,
            journal,
            revocation: revocationPayload,
            alarm: deps.alarm,
          }),
      }),

    confirm: (workflow) =>
      confirm(workflow, {
        nowMs,
        nodes,
        progress: async (requestId) => (await client.getWorkflow({ params: { requestId } })).answer,
      }),
  }
}

async function nextNonce(chainId: number, signer: Address, journal: Journal): Promise<number> {
  const nonce = await journal.nextNonce(chainId, signer)
  invariant(nonce !== null, `no nonce of ${signer} was adopted before it was claimed`)
  return nonce
}

async function signerState(workflow: Workflow, deps: StagesDeps): Promise<SignerState> {
  const { chainNonce, headNumber } = deps.chain.of(workflow.signer)
  const others = (await deps.journal.live()).filter(
    (other) => other.signer === workflow.signer && other.state === 'in_flight',
  )
  const pending = others
    .flatMap((other) => other.slots)
    .filter((slot) => slot.nonce >= chainNonce)
    .toSorted((a, b) => a.nonce - b.nonce)
    .flatMap((slot): SimulatedTransaction[] => {
      const last = slot.attempts.at(-1)
      if (last === undefined) return []
      const { to, data, valueWei, gasLimit } = payloadOf(slot, last.purpose)
      const { maxFeePerGasWei, maxPriorityFeePerGasWei } = last
      const { nonce, signer: from } = slot
      return [{ from, to, data, valueWei, gasLimit, nonce, maxFeePerGasWei, maxPriorityFeePerGasWei }]
    })
  return {
    headNumber,
    nextNonce: await nextNonce(workflow.chainId, workflow.signer, deps.journal),
    pending,
    standing: others
      .filter((other) => other.slots.some(hasFailed))
      .flatMap((other) => other.clearance?.allowances ?? []),
  }
}
