import type { Address } from 'viem'
import type { Watch } from '../../agents/agent.ts'
import type { Nodes } from '../chain/nodes.ts'
import type { Clock } from '../clock.ts'
import type { AgentConfig, RunConfig } from '../config/config.ts'
import { createRecent } from '../decide/around.ts'
import { assessGain, rememberClaim } from '../decide/gains.ts'
import { createDuty, type Duty } from '../decide/loop.ts'
import { openProposal, opportunityOf } from '../decide/open.ts'
import { type Checked, RolekeeperError } from '../errors.ts'
import { exposureOf } from '../guard/check-request.ts'
import type { Ruleset } from '../guard/ruleset.ts'
import type { Journal } from '../journal/journal.ts'
import { createCollections } from '../observe/collections.ts'
import { createAskingSight, createLiquidatorSight, type Sight, type SightDeps } from '../observe/sight.ts'
import type { Sources } from '../observe/sources.ts'
import { type Gate, stopped } from '../ops/control.ts'
import type { KeeperEvent } from '../ops/events.ts'
import type { Log } from '../ops/log.ts'
import type { Metrics } from '../ops/metrics.ts'
import type { Stages } from '../pipeline/pipeline.ts'
import { createLotScores, type LotScores } from '../pipeline/shadow-lots.ts'
import type { ChainView } from '../pipeline/transactions/nonces.ts'
import type { ServiceClient } from '../service/client.ts'
import type { Role } from '../service/contract/roles.ts'
import type { Proposal } from '../workflow/proposal.ts'
import type { Workflow } from '../workflow/workflow.ts'
import type { RolePolicy } from './role-policy.ts'
import { createShadowStages } from './shadow-stages.ts'
import { openRoleSigning } from './signing.ts'
import { clientOf, proveAccess } from './startup-checks.ts'

/** What the roles of one keeper share. */
export type Shared = {
  readonly config: RunConfig
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly journal: Journal
  readonly nodes: Nodes
  readonly client: ServiceClient
  readonly sources: Sources
  readonly chain: ChainView
  readonly gate: () => Gate
  readonly emit: (event: KeeperEvent) => void
  readonly alarm: (error: RolekeeperError) => void
  readonly onOpened: (workflow: Workflow) => void
  /** Open one proposal of the keeper after another. */
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>
}

/** Workflows that a start reads back, for what agents remember. */
const JOURNAL_ROWS = 1_000

/** A role that is staffed: its signer proven where it is live, its stages joined, on duty. */
export type StaffedRole = {
  readonly role: Role
  readonly signer: Address
  /** With the role's own key. */
  readonly client: ServiceClient
  readonly watches: Watch
  readonly ruleset: Ruleset
  readonly mode: AgentConfig['mode']
  /** Whether a workflow, or what it reserved, is anything to this role: what is in shadow is not to a live one. */
  readonly counts: (one: { readonly shadow?: true }) => boolean
  /** The stages that a workflow of the role passes. */
  readonly stagesOf: (workflow: Workflow) => Stages
  /** Count what an input exposes, by guard.effects and limits.pricesUsdMicros. */
  readonly exposureOf: (request: Pick<Proposal, 'workflowType' | 'input'>) => ReturnType<typeof exposureOf>
  /** Open what a person submitted, as a workflow of this role; again, it is the same one. */
  readonly open: (proposal: Proposal, shadow: boolean) => Promise<Checked<{ readonly workflowId: string }>>
  readonly lotScores: LotScores
  readonly duty: Duty
  readonly arming: Sight['arming']
  /** Tell of a workflow of the role that ended. */
  readonly ended: (workflow: Workflow) => void
  /** Remember what a confirmed workflow opened, and say what one that succeeded brought. */
  readonly assess: (workflow: Workflow) => Promise<void>
  /** The KMS's last word: `ok` or an error's code. */
  readonly kmsOutcome: () => string
}

/**
 * Staff one role: join its parts, and for a live one open its signer. A role in shadow is never given one. Throws what
 * opening the signer throws.
 */
export async function staffRole(rolePolicy: RolePolicy, shared: Shared): Promise<StaffedRole> {
  const { agent, does, policy, ruleset, approval } = rolePolicy
  const { config, clock, log, metrics, journal, nodes } = shared
  const { role } = agent
  const client = clientOf(shared.client, config, agent)
  await proveAccess(client, does, log)
  const hands = agent.mode === 'live' ? await openRoleSigning(agent, rolePolicy, { ...shared, client }) : null
  const signer = hands?.signer ?? agent.signer.address
  // What is only in shadow is nothing to a live role: not in flight, not done, no colleague's.
  const counts = ({ shadow }: { readonly shadow?: true }) => hands === null || shadow !== true
  const live = async () => (await journal.live()).filter(counts)
  const collections = createCollections(client, hands?.session ?? null, config.service.assumptions)
  const sightDeps: SightDeps = {
    collections,
    nodes,
    clock,
    deployment: ruleset.deployment,
    limits: ruleset.freshness,
    priorityFeePerGasWei: policy.fees.priorityFeePerGasWei,
    signer,
    ours: config.agents.map((each) => each.signer.address),
    outside: shared.sources.ask,
    onArmed: (market, armed) =>
      armed.ok
        ? log.info('market armed', { role, market })
        : log.warn('market not armed', { role, market, reason: armed.message }),
  }
  const sight =
    role === 'liquidator'
      ? createLiquidatorSight(does.secondPrices?.(policy.strategy) ?? [], sightDeps)
      : createAskingSight(does, policy.strategy, sightDeps)
  const openerOf = (shadow: boolean) => ({ role, chainId: nodes.chainId, signer, shadow })
  const open = (proposal: Proposal, shadow: boolean) =>
    shared.alone(() => openProposal(proposal, openerOf(shadow), { nowMs: clock.nowMs, journal }))
  const newest = await journal.newestOf(role, JOURNAL_ROWS)
  const recent = createRecent(newest.filter(counts), clock.nowMs)
  const duty = createDuty({
    role,
    workflowTypes: does.workflowTypes,
    nowMs: clock.nowMs,
    observe: sight.observe,
    decide: (seen) => does.decide(seen, policy.strategy),
    prices: (seen) => does.prices?.(seen) ?? [],
    recent: recent.list,
    open: (proposal) => open(proposal, hands === null),
    stopped: () => stopped(shared.gate()),
    journal: { live, addDecisions: (rows) => journal.addDecisions(rows) },
    onOpened: shared.onOpened,
    onDecided: ({ proposals, passedOver }, seen, tookMs) => {
      for (const { check, subject, message, alarm } of passedOver) {
        if (alarm === undefined) continue
        const facts = { role, subject }
        shared.alarm(new RolekeeperError(`${role}.${check}`, message, { ...alarm, facts, retry: 'later' }))
      }
      metrics.decided(role, proposals.length, passedOver.length, tookMs)
      for (const { check } of passedOver) metrics.refused(role, 'agent', check)
      const at = new Date(seen.nowMs).toISOString()
      const counts = { proposals: proposals.length, passedOver: passedOver.length }
      shared.emit({ type: 'decision', role, at, ...counts })
    },
    onFailed: (error) => log.warn('could not look', { role }, error),
    emit: shared.emit,
  })
  const shadowStages = createShadowStages({
    nowMs: clock.nowMs,
    journal,
    nodes,
    client,
    ruleset,
    approval,
    fees: policy.fees,
    gate: shared.gate,
    onScored: (verdict) => metrics.scored(role, verdict),
  })
  const lotScores = createLotScores({ collections, journal })
  for (const workflow of await journal.shadowed()) if (workflow.role === role) lotScores.add(workflow)
  return {
    role,
    signer,
    client,
    watches: does.watches,
    ruleset,
    mode: agent.mode,
    counts,
    stagesOf: ({ shadow }) => (shadow === true || hands === null ? shadowStages : hands.stages),
    exposureOf: (request) => exposureOf(request, signer, ruleset),
    open: async (proposal, shadow) => {
      const opened = await open(proposal, shadow)
      if (opened.ok) {
        shared.onOpened(opened.workflow)
        return { ok: true, workflowId: opened.workflow.id }
      }
      // Opened before a crash that came before the reply: it is this order's all the same.
      const known = await journal.byOpportunity(opportunityOf(proposal, openerOf(shadow)))
      return known === null ? opened : { ok: true, workflowId: known.id }
    },
    lotScores,
    duty,
    arming: sight.arming,
    ended: (workflow) => {
      lotScores.add(workflow)
      if (counts(workflow)) recent.add(workflow)
    },
    assess: async (workflow) => {
      if (workflow.state === 'confirmed') return rememberClaim(workflow, journal)
      const seen = duty.lastSeen()
      const gain = await assessGain(workflow, journal, (done) =>
        seen === null ? null : (does.assess?.(done, seen, policy.strategy) ?? null),
      )
      if (gain === null) return
      const at = new Date(clock.nowMs()).toISOString()
      const profitUsdMicros = String(gain.profitUsdMicros)
      shared.emit({ type: 'gain', id: workflow.id, role, at, ...gain, profitUsdMicros })
    },
    kmsOutcome: hands?.kmsOutcome ?? (() => 'ok'),
  }
}
