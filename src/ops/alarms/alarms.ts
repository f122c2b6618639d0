import type { Clock } from '../../clock.ts'
import type { RolekeeperError } from '../../errors.ts'

/** The same alarm is raised again after this long. */
const REPEAT_MS = 60_000
/** Alarms remembered, so that each is raised once a minute. */
const ALARMS_MAX = 1_000

/** What tells alarms of one code apart. */
const ABOUT = ['workflowId', 'role', 'signer', 'check', 'node', 'hash', 'problem'] as const

/** What an alarm is about, so that two of one code are told apart; empty where it says nothing of one. Pure. */
export const aboutOf = ({ facts }: RolekeeperError): readonly string[] =>
  ABOUT.map((fact) => String(facts[fact] ?? ''))

/** Limit alarms: each of one code about one thing is raised at most once a minute. */
export function createAlarms(
  raise: (error: RolekeeperError, nowMs: number, facet?: string) => void,
  { nowMs, monotonicMs }: Pick<Clock, 'nowMs' | 'monotonicMs'>,
): (error: RolekeeperError, facet?: string) => void {
  const raisedAtMs = new Map<string, number>()
  return (error, facet) => {
    const now = monotonicMs()
    const about = [error.code, ...aboutOf(error), facet].join(' ')
    if (now - (raisedAtMs.get(about) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return
    raisedAtMs.delete(about)
    raisedAtMs.set(about, now)
    const oldest = raisedAtMs.keys().next().value
    if (raisedAtMs.size > ALARMS_MAX && oldest !== undefined) raisedAtMs.delete(oldest)
    raise(error, nowMs(), facet)
  }
}
