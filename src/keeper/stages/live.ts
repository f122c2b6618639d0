import type { Address, Hex } from 'viem'
import type { SimulatedTransaction } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'
import { recheck } from '../../guard/checks/recheck.ts'
import { recheckPublic } from '../../guard/checks/recheck-public.ts'
import type { Cap } from '../../guard/limits/budget.ts'
import type { Journal } from '../../journal/journal.ts'
import { attest } from '../../pipeline/attest.ts'
import { claim } from '../../pipeline/claim.ts'
import { clear, type SignerState } from '../../pipeline/clear.ts'
import { type ConcludeDeps, conclude } from '../../pipeline/conclude.ts'
import { CONFIRMATION_MS_MAX, confirm } from '../../pipeline/confirm.ts'
import { type CarryDeps, carry, resend } from '../../pipeline/in-flight.ts'
import type { Stages } from '../../pipeline/pipeline.ts'
import { registrations } from '../../pipeline/register.ts'
import { type FeePolicy, firstOffer } from '../../pipeline/transactions/fees.ts'
import { hasFailed, type ReplaceTerms } from '../../pipeline/transactions/replace.ts'
import { payloadOf } from '../../pipeline/transactions/reservation.ts'
import { hasRoom } from '../../pipeline/transactions/window.ts'
import type { ServiceClient } from '../../service/client.ts'
import type { WalletSession } from '../../service/session.ts'
import type { Signer } from '../../sign/signer.ts'
import { wait } from '../../workflow/step.ts'
import type { StandingAllowance, Workflow } from '../../workflow/workflow.ts'
import type { RolePolicy } from '../policy/role-policy.ts'
import type { Ground, Records, Turns } from '../ports.ts'
import { createHold, endUnapproved } from './approval-hold.ts'
import { createTogether } from './batch-simulation.ts'
import { createBudget } from './budget-check.ts'
import { createRecordProof } from './prove-record.ts'
import { createRequestStages } from './request.ts'
import { createSaving } from './save.ts'

/** What the stages of one role are joined from. */
export type LiveStagesDeps = Ground &
  Records &
  Turns &
  Rules &
  Key & {
    readonly nowMs: () => number
    readonly monotonicMs: () => number
    readonly clock: Pick<Clock, 'sleep'>
    readonly client: Pick<ServiceClient, 'prepareWorkflow' | 'getWorkflow'>
    readonly alarm: (error: RolekeeperError) => void
  }

/** By what a role's workflows are judged. */
type Rules = Pick<RolePolicy, 'ruleset' | 'approval' | 'apart'> & {
  readonly fees: FeePolicy
  /** Over all signers. */
  readonly cap?: Cap | undefined
}

/** What a role signs with. */
type Key = {
  readonly signer: Signer
  /** Nonces that it may have in flight. */
  readonly window: number
  /** Of its wallet with the service. */
  readonly session: WalletSession
  /** What contracts may take from it, by the chain. */
  readonly standing: {
    readonly now: () => Promise<readonly StandingAllowance[]>
    /** Ask for it already, before a clearance needs it. */
    readonly ahead: () => void
    /** Note what a workflow is to allow: it counts as soon as it stands, also once the workflow has ended. */
    readonly expect: (allowances: readonly StandingAllowance[]) => void
  }
}

/** Join the stages of one live role to their implementations. */
export function createLiveStages(deps: LiveStagesDeps): Stages {
  const { nowMs, journal, nodes, ruleset, fees } = deps
  const view = () => deps.chain.of(deps.signer.address)
  const budget = createBudget(deps)
  const together = createTogether(deps)
  const { gasWeiMax } = ruleset.limits.perWorkflow
  const requesting = createRequestStages({
    ...deps,
    client: askingAhead(deps),
    mayPrepare: () => ({ ok: true }),
    hold: createHold(deps),
    checkBudget: budget,
    save: createSaving(deps),
  })
  const following = createFollowingStages({
    ...deps,
    gasWeiMax,
    rulesetHash: ruleset.hash,
    deployment: ruleset.deployment,
    confirmationMsMax: ruleset.freshness.confirmationMsMax ?? CONFIRMATION_MS_MAX,
    prove: createRecordProof(deps),
    recheck: (each) => recheck({ workflow: each, ruleset, nowMs: nowMs() }, { nodes }),
    lookAgain: async (each) => {
      const pending = pendingOf(await journal.ofSigner(each.signer), view().chainNonce, each)
      return recheckPublic({ workflow: each, ruleset, pending, nowMs: nowMs() }, { nodes })
    },
    checkBudget: budget,
    reserve: (each, reservation) =>
      deps.alone(async () => {
        for (;;) {
          const affordable = await budget(reservation)
          if (!affordable.ok) return affordable
          const reserved = await journal.writeWithin(each, reservation, affordable.revision)
          if (reserved !== 'outdated') return reserved
        }
      }),
  })
  return {
    ...requesting,
    attest: async (workflow) => endUnapproved(workflow, deps) ?? attest(workflow, deps),
    clear: async (workflow, inLine = () => []) => {
      const ended = endUnapproved(workflow, deps)
      if (ended !== null) return ended
      if (!(await fits(workflow, deps))) return wait(FULL_MS)
      const nodesFor: Parameters<typeof clear>[2]['nodesFor'] = (options) => together(options, inLine)
      const signer = { ...(await signerState(workflow, deps)), isShared: inLine().length > 0 }
      return clear(workflow, signer, { nowMs, ruleset, fees, gas: deps.gas, nodesFor, newest: nodes.recent })
    },
    claim: (workflow) =>
      deps.alone(() =>
        claim(workflow, {
          nowMs,
          rulesetHash: ruleset.hash,
          safe: () => deps.gate().safe ?? null,
          fees: (needs) => {
            const gas = { ...needs, weiMax: gasWeiMax }
            return firstOffer(workflow, view().baseFeePerGasWei, fees, gas, deps.gas.tipWei())
          },
          nextNonce: (address) => nextNonce(workflow.chainId, address, journal),
          checkBudget: (ask) => budget(ask, workflow),
          claim: journal.claimWithin.bind(journal),
        }),
      ),
    ...following,
    carry: (workflow) => {
      // Before anything of it is sent, and after a restart before it ends.
      deps.standing.expect(allowancesOf(workflow))
      return following.carry(workflow)
    },
  }
}

/** Ask beside the service's answer for what a clearance needs next. */
const askingAhead = ({ client, standing }: LiveStagesDeps): Pick<ServiceClient, 'prepareWorkflow'> => ({
  prepareWorkflow: (call) => {
    const answer = client.prepareWorkflow(call)
    standing.ahead()
    return answer
  },
})

/** What the stages after the claim are joined from: a role that does not work has no rules, but may have these. */
export type FollowingStagesDeps = Pick<
  LiveStagesDeps,
  | 'nowMs'
  | 'clock'
  | 'journal'
  | 'nodes'
  | 'client'
  | 'chain'
  | 'gas'
  | 'urgentOf'
  | 'signer'
  | 'signers'
  | 'fees'
  | 'gate'
  | 'alarm'
> &
  Pick<ReplaceTerms, 'rulesetHash' | 'gasWeiMax'> &
  Pick<CarryDeps, 'recheck' | 'prove' | 'lookAgain' | 'checkBudget' | 'reserve'> & {
    readonly confirmationMsMax: number
    readonly deployment: ConcludeDeps['deployment']
  }

/** Raw bytes that are remembered as sent; when they are more, all go out once again, which does no harm. */
const SENT_MAX = 10_000

function createSentHere(): CarryDeps['sentHere'] {
  const heads = new Map<Hex, bigint>()
  return {
    get: (raw) => heads.get(raw),
    set: (raw, headNumber) => {
      if (heads.size >= SENT_MAX) heads.clear()
      heads.set(raw, headNumber)
    },
    delete: (raw) => void heads.delete(raw),
  }
}

/** Join what carries a workflow in flight, with what ends it once every slot is final, and what confirms it. */
export function createFollowingStages(
  deps: FollowingStagesDeps,
): Pick<Stages, 'carry' | 'confirm' | 'resend'> {
  const { nowMs, journal, nodes, client, chain, signer, fees, alarm, rulesetHash, gasWeiMax } = deps
  const view = () => chain.of(signer.address)
  const sentHere = createSentHere()
  const baseFeePerGasWei = () => view().baseFeePerGasWei
  const ending = { ...deps, baseFeePerGasWei, stands: chain.stands, safe: deps.signers.safe }
  return {
    carry: (workflow) =>
      carry(workflow, {
        ...deps,
        view,
        terms: () => ({
          fees,
          rulesetHash,
          gasWeiMax,
          urgent: urgentFees(deps.urgentOf(signer.address)),
          tipWei: deps.gas.tipWei(),
          noopGas: deps.gas.noopGas(signer.address),
        }),
        facts: () => chain.facts(signer.address),
        seek: chain.seek,
        sentHere,
        register: (each, atMs) => journal.post(registrations(each, atMs)),
        conclude: (each) => conclude(each, ending),
      }),
    confirm: (workflow) =>
      confirm(workflow, {
        nowMs,
        journal,
        alarm,
        stands: chain.stands,
        waitMsMax: deps.confirmationMsMax,
        progress: async (requestId) => (await client.getWorkflow({ params: { requestId } })).answer,
      }),
    resend: (workflow) => resend(workflow, { view, nodes, sentHere, alarm }),
  }
}

/** What waits for room wakes with each head; this is for a node that stopped announcing them. */
const FULL_MS = 2_000

async function fits(
  { signer, chainId, proposal, prepared }: Workflow,
  deps: LiveStagesDeps,
): Promise<boolean> {
  const inFlight = (await nextNonce(chainId, signer, deps.journal)) - deps.chain.of(signer).chainNonce
  const wanted = prepared?.answer.transactions.length ?? 1
  return hasRoom(inFlight, wanted, deps.window, proposal.urgent === true)
}

/** What urgent payloads offer, by their nonces. Pure. */
const urgentFees = (urgent: readonly Workflow[]): ReplaceTerms['urgent'] =>
  urgent.flatMap(({ slots }) =>
    slots.flatMap(({ state, nonce, attempts }) => {
      const last = attempts.at(-1)
      return state === 'open' && last?.purpose === 'payload' ? [{ nonce, fees: last }] : []
    }),
  )

async function nextNonce(chainId: number, signer: Address, journal: Journal): Promise<number> {
  const nonce = await journal.nextNonce(chainId, signer)
  if (nonce !== null) return nonce
  throw new RolekeeperError(
    'nonce.not_adopted',
    `What ${signer} sent before this keeper is not final yet, so its first nonce is not known.`,
    { fix: 'nothing: it goes on once that is final.', facts: { signer }, retry: 'later' },
  )
}

/** What a signer has on its way from a nonce on, in nonce order: of all, or of what comes before a workflow's open slots. */
function pendingOf(
  live: readonly Workflow[],
  chainNonce: number,
  { slots }: Workflow,
): readonly SimulatedTransaction[] {
  const first = slots.find(({ state }) => state === 'open')?.nonce ?? Number.POSITIVE_INFINITY
  return live
    .flatMap((other) => other.slots)
    .filter(({ nonce }) => nonce >= chainNonce && nonce < first)
    .toSorted((a, b) => a.nonce - b.nonce)
    .flatMap((slot): SimulatedTransaction[] => {
      const last = slot.attempts.at(-1)
      if (last === undefined) return []
      const { to, data, valueWei, gasLimit } = payloadOf(slot, last)
      const { maxFeePerGasWei, maxPriorityFeePerGasWei } = last
      const { nonce, signer: from } = slot
      return [{ from, to, data, valueWei, gasLimit, nonce, maxFeePerGasWei, maxPriorityFeePerGasWei }]
    })
}

async function signerState(workflow: Workflow, deps: LiveStagesDeps): Promise<Omit<SignerState, 'isShared'>> {
  const { head, count, finalized } = deps.chain.facts(workflow.signer)
  const live = await deps.journal.ofSigner(workflow.signer)
  const others = live.filter(({ state }) => state === 'in_flight')
  const failed = others.filter((other) => other.slots.some(hasFailed))
  // What a workflow in flight is to use up is in its own budget; all else that the chain shows is exposure.
  const named = others.flatMap(allowancesOf)
  deps.standing.expect(named)
  const standing = await deps.standing.now()
  return {
    head,
    finalizedNumber: finalized,
    nextNonce: await nextNonce(workflow.chainId, workflow.signer, deps.journal),
    pending: pendingOf(others, count, workflow),
    standing: [
      ...failed.flatMap(allowancesOf),
      ...standing.filter((one) => !named.some((other) => isSamePair(one, other))),
    ],
  }
}

const allowancesOf = ({ clearance }: Workflow): readonly StandingAllowance[] => clearance?.allowances ?? []

const isSamePair = (one: StandingAllowance, other: StandingAllowance): boolean =>
  one.token === other.token && one.spender === other.spender
