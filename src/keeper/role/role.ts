import type { Address } from 'viem'
import type { Agent, Moment } from '../../../agents/agent.ts'
import { loadWithIncludes } from '../../config/include.ts'
import { locating } from '../../config/policy.ts'
import type { Duty } from '../../decide/decision-loop.ts'
import { createRecent } from '../../decide/recent-workflows.ts'
import { type RolekeeperError, refuse } from '../../errors.ts'
import { createCollections } from '../../observe/collections.ts'
import { createObserver, type Observer } from '../../observe/observer.ts'
import type { Sources } from '../../observe/sources.ts'
import type { Gate } from '../../ops/control.ts'
import type { ServiceClient } from '../../service/client.ts'
import { BORROWER_EVENTS } from '../../service/contract/assumptions.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { Hint } from '../../service/events/hints.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { proveSound } from '../doctor/prove-sound.ts'
import type { World } from '../doctor/world.ts'
import { createShadowScores, type ShadowScores } from '../money/shadow-scores.ts'
import { proveViews } from '../policy/prove-views.ts'
import type { RolePolicy } from '../policy/role-policy.ts'
import type { Ground, Records, Runtime, Turns } from '../ports.ts'
import type { RoleSigning } from '../signer/role-signing.ts'
import { proveAccess } from '../startup/access.ts'
import type { DeploymentProof } from '../startup/deployment-proof.ts'
import { proveService } from '../startup/service.ts'
import { compareWithService } from './compare-service.ts'
import type { DutyState } from './duty-ledger.ts'
import { openWithEvidence, PACKS_MAX } from './evidence-store.ts'
import { createOpener, createRoleOrders, keysLike, type RoleOrders } from './open-proposal.ts'
import { createRejections } from './rejections.ts'
import { createRoleDuty, type RoleDuty } from './role-duty.ts'
import { createRoleWorkflows, type RoleWorkflows } from './role-workflows.ts'
import { type Vitals, vitalsOf } from './vitals.ts'

/** What the roles of one keeper share. */
export type RoleDeps = Runtime & Ground & Records & Turns & Outside & Heard

/** What is asked beside the chain. */
type Outside = {
  /** With the role's own key, once a role has it. */
  readonly client: ServiceClient
  readonly sources: Sources
  /** Of the contracts and the units of the configuration's deployment. */
  readonly proof: Pick<DeploymentProof, 'prove' | 'again'>
  /** Reads what settings are judged by. */
  readonly world: () => Promise<World>
}

/** Who hears of what a role did. */
type Heard = {
  readonly onOpened: (workflow: Workflow) => void
  readonly onMove: (before: Workflow, after: Workflow) => void
}

/** Workflows that a start reads back, for what agents remember. */
const JOURNAL_ROWS = 1_000

/** A role at work: its signer proven where it is live, its stages joined, on duty. */
export type RoleAtWork = {
  readonly role: Role
  readonly signer: Address
  /** With the role's own key. */
  readonly client: ServiceClient
  readonly duty: Duty
  /** How late it is with what it should do, and what keeps it from more. */
  readonly duties: () => DutyState
  /** Hear of a change: the role looks again when it is of its concern. */
  readonly hear: (hint: Hint) => void
  readonly workflows: RoleWorkflows
  readonly orders: RoleOrders
  readonly shadowScores: ShadowScores
  readonly vitals: Vitals
}

/** How a role of the configuration stands: at work, being opened, or down for a reason. */
export type RoleState =
  | { readonly type: 'opening' }
  | { readonly type: 'up'; readonly role: RoleAtWork }
  | { readonly type: 'down'; readonly reason: RolekeeperError }

/** Prove the views of a role, and say of one that is nowhere where its policy names it. */
async function proveRoleViews({ agent, policy, ruleset }: RolePolicy, { nodes }: RoleDeps): Promise<void> {
  try {
    await proveViews(nodes, ruleset, policy.guard)
  } catch (error) {
    locating(loadWithIncludes(agent.policy), () => {
      throw error
    })
  }
}

/** Prove what a role needs, each to its end: a key opens for what is in flight, whatever the service says of the role. */
async function proveRole(
  rolePolicy: RolePolicy,
  signing: RoleSigning | null,
  deps: RoleDeps,
  stop: AbortSignal,
): Promise<void> {
  const { config, log, client, proof } = deps
  const access = proveService(client, config.chain.id, log).then(() =>
    proveAccess(client, rolePolicy.does, log),
  )
  const proven = proof.prove()
  // What units and symbols are wrong of says nothing of prices.
  const sound = proven.then(() => proveSound(rolePolicy, deps))
  const all = [signing?.key.open(stop), proven, proveRoleViews(rolePolicy, deps), access, sound]
  for (const each of await Promise.allSettled(all)) if (each.status === 'rejected') throw each.reason
}

/**
 * Open one role: prove what it needs, and join its parts. A role in shadow has no `signing`. Throws what opening the
 * key, and RolekeeperError `service.*`, `deployment.*` and `node.*` of what is refused.
 */
export async function openRole(
  rolePolicy: RolePolicy,
  signing: RoleSigning | null,
  deps: RoleDeps,
  stop: AbortSignal,
): Promise<RoleAtWork> {
  const { agent } = rolePolicy
  const { config, journal, client } = deps
  const { role } = agent
  const signer = agent.signer.address
  await proveRole(rolePolicy, signing, deps, stop)
  if (signing !== null) await compareWithService({ role, signer }, { ...deps, nowMs: deps.clock.nowMs })
  // What is only in shadow is nothing to a live role: not in flight, not done, no colleague's.
  const counts = ({ shadow }: { readonly shadow?: true }) => signing === null || shadow !== true
  const collections = createCollections(client, signing?.session ?? null, config.service.assumptions)
  const observer = createRoleObserver(rolePolicy, signer, deps, collections, () => duty.look())
  const unmarked = await journal.unmarked(role)
  // The last that is waited for: what ends after this is heard of.
  const newest = (await journal.newestOf(role, JOURNAL_ROWS)).filter(counts)
  const recent = createRecent(newest, deps.clock.nowMs)
  const keys = keysLike(agent, config)
  const rejections = createRejections(newest, { ...deps, approval: rolePolicy.approval })
  const opener = createOpener({ role, signer }, { ...deps, keys, rejections })
  const ownDeps = { ...deps, gate: gateToOpen(signing, deps) }
  const duty: RoleDuty = createRoleDuty(rolePolicy, ownDeps, {
    newest,
    observer: lookingBeside(observer, signing, deps),
    recent: recent.list,
    rivals: signing?.rivals ?? (() => []),
    experience: signing?.experience ?? (() => []),
    experienced: signing?.experienced ?? (() => Promise.resolve()),
    journal: {
      ofRole: async (which) => (await journal.ofRole(which)).filter(counts),
      onLots: async () => (await journal.onLots()).filter(counts),
      addDecisions: (rows) => journal.addDecisions(rows),
    },
    open: (proposal) =>
      openWithEvidence(
        proposal,
        evidenceOf(rolePolicy, proposal, duty.lastSeen()),
        { directory: config.directory, packsMax: PACKS_MAX },
        (kept) => opener.open(kept, signing === null),
      ),
  })
  const shadowScores = createShadowScores(rolePolicy, { ...deps, collections })
  for (const workflow of unmarked) shadowScores.add(workflow)
  return {
    role,
    signer,
    client,
    duty,
    duties: duty.book.state,
    shadowScores,
    hear: earOf(rolePolicy, observer, duty),
    workflows: createRoleWorkflows(rolePolicy, deps, {
      live: signing?.stages ?? null,
      lastSeen: duty.lastSeen,
      onMoved: (before, after) => counts(after) && duty.book.moved(before, after),
      onEnded: (workflow) => {
        shadowScores.add(workflow)
        rejections.ended(workflow)
        if (counts(workflow)) recent.add(workflow)
      },
    }),
    orders: createRoleOrders(rolePolicy, opener, deps),
    vitals: vitalsOf(rolePolicy, signing, counts, observer),
  }
}

/** Write down what a proposal rests on; null where its role does not. */
const evidenceOf = ({ does, policy }: RolePolicy, proposal: Proposal, seen: Moment | null) =>
  seen === null ? null : (does.evidence?.(proposal, seen, policy.strategy) ?? null)

/** Begin with each look what is looked at beside it, and waited for by nobody. */
const lookingBeside = (
  observer: Observer,
  signing: RoleSigning | null,
  { proof }: Pick<RoleDeps, 'proof'>,
): Observer => ({
  ...observer,
  observe: (around) => {
    proof.again()
    signing?.lookBeside()
    return observer.observe(around)
  },
})

/** Close a gate to what is new also while it is not known what was lost, or what came of earlier work. */
export const gateToOpen =
  (signing: Pick<RoleSigning, 'unread'> | null, { gate }: Pick<RoleDeps, 'gate'>) =>
  (): Gate => {
    const safe = signing?.unread() ?? null
    return safe === null ? gate() : { ...gate(), safe }
  }

/** Close the gate of a signer's work also while the signer is SAFE. A shadow signs nothing: none is closed to it. */
export const gateOf =
  (signer: Address, { gate, signers }: Pick<RoleDeps, 'gate' | 'signers'>) =>
  (): Gate => {
    const [reason] = signers.reasonsOf(signer)
    if (reason === undefined) return gate()
    return {
      ...gate(),
      safe: refuse('signer_safe', `${signer} is SAFE (${reason.check}): ${reason.message}`),
    }
  }

/** Join the role's observer to the service and our nodes. */
function createRoleObserver(
  { agent: { role }, does, policy, ruleset }: RolePolicy,
  signer: Address,
  { config, clock, log, nodes, client, sources, gas }: RoleDeps,
  collections: ReturnType<typeof createCollections>,
  lookAgain: () => void,
): Observer {
  return createObserver(
    does,
    policy.strategy,
    {
      client,
      collections,
      nodes,
      clock,
      outside: sources.ask,
      onSwept: lookAgain,
      dataFeeWei: () => gas.dataFeeWei() ?? 0n,
      onSweepFailed: (error) => log.warn('could not sweep', { role }, error),
      onFirstSweepSlow: (sweptMs) =>
        log.warn('the first sweep goes on, so nothing is decided', { role, sweptMs }),
      onProofFailed: (error) => log.warn('could not prove units again', { role }, error),
      onUnfiltered: (collection) =>
        log.warn('the service does not filter a collection by wallet, so each look reads all of it', {
          role,
          collection,
        }),
      onArmed: (market, armed) =>
        armed.ok
          ? log.info('market armed', { role, market })
          : log.warn('market not armed', { role, market, reason: armed.message }),
    },
    {
      deployment: ruleset.deployment,
      limits: ruleset.freshness,
      priorityFeePerGasWei: policy.fees.priorityFeePerGasWei,
      signer,
      ours: config.agents.map((each) => each.signer.address),
    },
  )
}

/** Name the events that an agent wants to hear of. Pure. */
export const eventTypesOf = ({ watches, book }: Agent): readonly string[] => [
  ...new Set([
    ...watches.eventTypes,
    ...(book?.collections ?? []).map((collection) => BORROWER_EVENTS[collection]),
  ]),
]

function earOf({ does }: RolePolicy, observer: Observer, duty: Duty): RoleAtWork['hear'] {
  const eventTypes = eventTypesOf(does)
  return (hint) => {
    observer.note(hint)
    if (hint.type === 'sweep' || eventTypes.includes(hint.type)) duty.look()
  }
}
