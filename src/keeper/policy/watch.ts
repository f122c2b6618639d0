import { statSync } from 'node:fs'
import type { Clock } from '../../clock.ts'
import type { AgentConfig } from '../../config/config.ts'
import { loadWithIncludes } from '../../config/include.ts'
import { RolekeeperError } from '../../errors.ts'
import type { KeeperEvent } from '../../ops/events.ts'
import type { Watched } from './candidates.ts'
import { refusalOfLoosening } from './loosening.ts'
import type { Position, RolePolicy } from './role-policy.ts'

/** What watching policies needs. */
type WatchDeps = {
  readonly clock: Pick<Clock, 'sleep' | 'nowMs'>
  readonly emit: (event: KeeperEvent) => void
  /** Load the policy of a position, as a start does. */
  readonly load: (position: Position) => RolePolicy
  /** Work by the policy that a position has now; what it worked by is looked up then, as at a start. */
  readonly renew: (agent: AgentConfig) => Promise<void>
  /** Whether a role is down because it may not work by the policy that it has. */
  readonly isKept: (agent: AgentConfig) => boolean
  readonly alarm: (error: RolekeeperError) => void
}

/** Editors write a new file in the place of the old one, and some in two steps: what stands for so long is meant. */
const LOOK_MS = 2_000

/**
 * Watch the files of policies, with what they include. One that is only narrower is taken up; one that is wider, or that
 * nobody can compare, and one that does not load are refused with an alarm, and the role goes on by what it has. A role that
 * is down for its policy is opened anew by whatever its file says next, as by a start.
 * @returns how to stop.
 */
export function watchPolicies(watched: readonly Watched[], deps: WatchDeps): () => Promise<void> {
  const stop = new AbortController()
  // Each by itself: a role whose key or service hangs while it is opened anew keeps no other from being tightened.
  const watching = watched.map(async (each) => {
    const look = createLook(each, deps)
    for (;;) {
      await deps.clock.sleep(LOOK_MS, stop.signal)
      await look()
    }
  })
  const stopped = Promise.all(watching).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error
  })
  return async () => {
    stop.abort()
    await stopped
  }
}

/**
 * Create the look at one policy: what it finds for the first time is only remembered, and again is taken up or refused. What
 * cannot be read is tried at each look: it may include what is not there yet.
 */
function createLook(
  watched: Watched,
  { clock, load, renew, isKept, alarm, emit }: WatchDeps,
): () => Promise<void> {
  const { agent } = watched
  let files: readonly string[] = [agent.policy]
  let known: string | null = null
  let seen: string | null = null
  let refused = watched.policy instanceof RolekeeperError ? watched.policy.shortMessage : null
  return async () => {
    const { policy } = watched
    const members = policy instanceof RolekeeperError ? null : policy.members
    const kept = members === null || isKept(agent)
    const stands = [kept, ...files.map(stampOf)].join('\n')
    if (stands === known) refused = null
    if (stands === known || stands !== seen) {
      seen = stands
      return
    }
    try {
      const { files: read, value } = loadWithIncludes(agent.policy)
      // Not as of the end: what is written while the role is opened anew is another.
      known = stands
      files = read
      if (JSON.stringify(value) === JSON.stringify(members)) return
      const next = load(watched)
      const refusal = members === null || kept ? null : refusalOfLoosening(agent, members, next.members)
      if (refusal !== null) throw refusal
      watched.policy = next
      if (!kept) {
        watched.tightened += 1
        const at = new Date(clock.nowMs()).toISOString()
        emit({ type: 'policy', at, role: next.ruleset.role, ruleset: next.ruleset.hash })
      }
    } catch (error) {
      if (!(error instanceof RolekeeperError)) throw error
      if (error.shortMessage === refused) return
      refused = error.shortMessage
      if (!kept) return alarm(notTakenUp(agent, error))
      watched.policy = error
    }
    await renew(agent)
  }
}

/** When and as what a file was written last; of one that cannot be looked at, why. */
function stampOf(file: string): string {
  try {
    const { ino, mtimeMs, size } = statSync(file)
    return `${ino} ${mtimeMs} ${size}`
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  }
}

const notTakenUp = ({ role, policy }: AgentConfig, error: RolekeeperError): RolekeeperError =>
  error.code === 'policy.loosened'
    ? error
    : new RolekeeperError('policy.not_taken_up', `${policy} changed and is refused: ${error.shortMessage}`, {
        fix: `${error.fix ?? 'correct it'}. The ${role} goes on by the policy that it has; a start would refuse this one.`,
        facts: { role, reason: error.code, problem: error.shortMessage },
      })
