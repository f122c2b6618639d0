import type { AgentConfig, RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Accounts } from '../../journal/sqlite/accounts.ts'
import { closedForNow, gateOfRole } from '../../ops/control.ts'
import type { Log } from '../../ops/log.ts'
import type { Stages } from '../../pipeline/pipeline.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { createWorldReader } from '../doctor/world.ts'
import type { Candidate } from '../policy/candidates.ts'
import { admitPolicy } from '../policy/loosening.ts'
import type { RolePolicy } from '../policy/role-policy.ts'
import { gateOf, openRole, type RoleAtWork, type RoleDeps, type RoleState } from '../role/role.ts'
import { createRoleSigning, type RoleSigning } from '../signer/role-signing.ts'
import { caretakerStages, roleAbsent } from '../stages/caretaker.ts'
import { clientOf } from '../startup/access.ts'
import { createDeploymentProof, gateBy } from '../startup/deployment-proof.ts'

/** What staffing needs. */
export type StaffDeps = RoleDeps & {
  readonly accounts: Accounts
  /** The changes of policies that this start may take up though they loosen, by their hashes. */
  readonly loosens: readonly string[]
  /** Called when a role comes up, or goes down for another reason than before. */
  readonly onState: (agent: AgentConfig, state: RoleState) => void
}

/** The roles of a configuration, each opened by itself. */
export type Staff = {
  /** Find out which policies may work, before anything goes on by them: until then, what is public is only followed. */
  readonly admit: () => Promise<void>
  /** Try to open every role. Resolves when each was tried once, or some take long: those go on by themselves. */
  readonly open: () => Promise<void>
  readonly atWork: () => readonly RoleAtWork[]
  readonly states: () => readonly { readonly agent: AgentConfig; readonly state: RoleState }[]
  /** The role of a workflow, when it is at work. */
  readonly of: (workflow: Workflow) => RoleAtWork | undefined
  /** Open a role anew by the policy that its candidate has now; what it did is in the journal, and goes on by that. */
  readonly renew: (agent: AgentConfig) => Promise<void>
  /** The stages of a workflow: its role's, or those of a caretaker. */
  readonly stagesOf: (workflow: Workflow) => Stages
  /** End every look and every try. */
  readonly stop: () => Promise<void>
}

/** A role that does not open is tried again after this long, twice as long each time. */
const RETRY_MS = 1_000
const RETRY_MS_MAX = 60_000
/** A key or a service that hangs holds up the other roles no longer. */
const FIRST_TRY_MS_MAX = 3_000

/** Create the staff of a configuration. Nothing is asked until it is opened; caretakers are there from the beginning. */
export function createStaff(
  candidates: readonly Candidate[],
  shared: Omit<StaffDeps, 'proof' | 'world'>,
): Staff {
  const stop = new AbortController()
  const proof = createDeploymentProof(shared.config.deployment, shared)
  const world = createWorldReader(shared.nodes, shared.config)
  const deps = { ...shared, proof, world, gate: gateBy(proof, shared.gate) }
  const posts = candidates.map((candidate) => createPost(candidate, deps, stop.signal))
  const postOf = ({ role, signer, shadow }: Workflow) =>
    posts.find(
      ({ agent }) =>
        agent.role === role && agent.signer.address === signer && (agent.mode === 'live' || shadow === true),
    )
  const atWork = () =>
    posts.flatMap((post) => {
      const state = post.state()
      return state.type === 'up' ? [state.role] : []
    })
  return {
    admit: async () => {
      await Promise.all(posts.map((post) => post.admit()))
    },
    open: async () => {
      const tried = Promise.all(posts.map((post) => post.open()))
      await Promise.race([tried, deps.clock.sleep(FIRST_TRY_MS_MAX, stop.signal).catch(() => undefined)])
    },
    atWork,
    states: () => posts.map((post) => ({ agent: post.agent, state: post.state() })),
    of: (workflow) => {
      const state = postOf(workflow)?.state()
      return state?.type === 'up' ? state.role : undefined
    },
    stagesOf: (workflow) => {
      const post = postOf(workflow)
      const state = post?.state()
      if (state?.type === 'up') return state.role.workflows.stagesOf(workflow)
      const { deployment } = deps.config
      const gate = gateOfRole(workflow.role, gateOf(workflow.signer, deps))
      const care = { ...deps, deployment, nowMs: deps.clock.nowMs, gate }
      return caretakerStages(workflow, post?.signing()?.stages ?? null, care)
    },
    renew: async (agent) => posts.find((post) => post.agent === agent)?.renew(),
    stop: async () => {
      stop.abort()
      await Promise.all(atWork().map(({ duty }) => duty.stop()))
      await Promise.all(posts.map((post) => post.ended()))
    },
  }
}

/** One place in the staff. */
type Post = {
  readonly agent: AgentConfig
  /** What a live role's workflows are carried with before it is open; null in shadow, and where its policy may not work. */
  readonly signing: () => RoleSigning | null
  readonly state: () => RoleState
  readonly admit: () => Promise<void>
  /** Resolves after the first try. */
  readonly open: () => Promise<void>
  /** Leave what is open, and open it anew. Resolves after the first try. */
  readonly renew: () => Promise<void>
  readonly ended: () => Promise<void>
}

function createPost(candidate: Candidate, shared: StaffDeps, stop: AbortSignal): Post {
  const { agent } = candidate
  const { config, clock } = shared
  const client = clientOf(shared.client, config, agent)
  const ofSigner = agent.mode === 'live' ? gateOf(agent.signer.address, shared) : shared.gate
  const gate = gateOfRole(agent.role, ofSigner)
  const deps: StaffDeps = { ...shared, client, gate }
  let round = new AbortController()
  let signing = signingOf(candidate, deps, round.signal)
  let isAdmitted = false
  let state: RoleState = { type: 'opening' }
  let last: Promise<void> = Promise.resolve()

  const become = (next: RoleState) => {
    const isNews = next.type !== state.type || codeOf(next) !== codeOf(state)
    state = next
    if (isNews) deps.onState(agent, next)
    if (next.type === 'down') deps.alarm(roleDown(agent, next.reason))
  }
  const admitted = async (): Promise<RolePolicy> => {
    const { policy } = candidate
    if (policy instanceof RolekeeperError) throw policy
    await admitPolicy(policy, deps)
    isAdmitted = true
    return policy
  }
  const tryOnce = async (over: AbortSignal): Promise<void> => {
    try {
      const policy = await admitted()
      const role = await openRole(policy, signing, deps, over)
      if (over.aborted) await role.duty.stop()
      else become({ type: 'up', role })
    } catch (error) {
      if (!over.aborted) become({ type: 'down', reason: reasonOf(error, agent, deps.log) })
    }
  }
  const tryAgain = async (over: AbortSignal): Promise<void> => {
    for (let waitMs = RETRY_MS; state.type !== 'up'; waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)) {
      await clock.sleep(waitMs, over)
      await tryOnce(over)
    }
  }
  const open = () => {
    const over = AbortSignal.any([stop, round.signal])
    const first = tryOnce(over)
    const isRefused = candidate.policy instanceof RolekeeperError
    // Ends early only when the keeper stops, or it is opened anew.
    last = first.then(() => (isRefused ? undefined : tryAgain(over).catch(() => undefined)))
    return first
  }
  return {
    agent,
    signing: () => (isAdmitted ? signing : null),
    state: () => state,
    // Why one may not is said where it is opened.
    admit: () => admitted().then(noop, noop),
    open,
    renew: async () => {
      round.abort('it is opened anew')
      round = new AbortController()
      const left = state.type === 'up' ? state.role.duty.stop() : undefined
      state = { type: 'opening' }
      signing = signingOf(candidate, deps, round.signal)
      await left
      await open()
    },
    ended: () => last,
  }
}

/** Join what a live role signs by. A step of it that is under way when its policy is left signs and sends nothing any more. */
function signingOf({ agent, policy }: Candidate, deps: StaffDeps, left: AbortSignal): RoleSigning | null {
  if (policy instanceof RolekeeperError || agent.mode === 'shadow') return null
  const gate = () => closedForNow(deps.gate(), left.aborted)
  return createRoleSigning(policy, { ...deps, gate, onKmsCall: deps.metrics.kmsCalled })
}

const noop = () => undefined

const codeOf = (state: RoleState) => (state.type === 'down' ? state.reason.code : null)

/** A defect takes down one role, not what the others carry. */
function reasonOf(error: unknown, { role }: AgentConfig, log: Log): RolekeeperError {
  if (error instanceof RolekeeperError) return error
  log.error('a role could not be opened', { role }, error)
  return new RolekeeperError('role.broken', `Opening the ${role} failed unexpectedly.`, {
    fix: 'report it with the log.',
    retry: 'later',
  })
}

const roleDown = (agent: AgentConfig, { code, shortMessage, fix }: RolekeeperError) =>
  new RolekeeperError('role.down', `The ${agent.role} is down (${code}): ${shortMessage}`, {
    ...(fix === undefined ? {} : { fix }),
    facts: { role: agent.role, signer: agent.signer.address, reason: code },
    retry: 'later',
  })

/**
 * Why nobody can work, when every role is refused for what time does not mend; null otherwise. What cannot be read is
 * no refusal.
 */
export function refusalOfAll(states: ReturnType<Staff['states']>): RolekeeperError | null {
  const reasons = states.map(({ state }) => (state.type === 'down' ? state.reason : null))
  const isForGood = (reason: RolekeeperError | null) =>
    reason !== null && reason.retry === 'never' && reason.code !== 'service.garbage'
  return reasons.every(isForGood) ? (reasons[0] ?? null) : null
}

/** Whether a role is down because it may not work by its policy. Pure. */
export const isKeptDown = (agent: AgentConfig, states: ReturnType<Staff['states']>): boolean =>
  states.some((each) => each.agent === agent && codeOf(each.state)?.startsWith('policy.loosen') === true)

/** Those roles and signers of live workflows that no live agent holds, as alarms. Pure. */
export function absentRoles(resumed: readonly Workflow[], { agents }: RunConfig): readonly RolekeeperError[] {
  const absent = resumed.filter(
    ({ role, signer, shadow }) =>
      shadow !== true &&
      !agents.some(
        (agent) => agent.mode === 'live' && agent.role === role && agent.signer.address === signer,
      ),
  )
  const byPlace = new Map(absent.map((workflow) => [`${workflow.role} ${workflow.signer}`, workflow]))
  return [...byPlace.values()].map(({ role, signer }) => roleAbsent(role, signer))
}
