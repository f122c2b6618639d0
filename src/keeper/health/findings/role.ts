import type { Address } from 'viem'
import { RolekeeperError } from '../../../errors.ts'
import type { Finding } from '../../../ops/facet.ts'
import { wayOut } from '../../../pipeline/transactions/safe.ts'
import { plural, span } from '../../../readable.js'
import type { Role } from '../../../service/contract/roles.ts'
import { subjectName } from '../../../service/contract/subject-name.ts'
import type { FeedState } from '../../../service/events/feed.ts'
import { isHeld, type Workflow } from '../../../workflow/workflow.ts'
import type { RoleAtWork, RoleState } from '../../role/role.ts'
import type { KeyOutcome } from '../../signer/role-signing.ts'
import type { Term } from '../../term/term.ts'
import { dueFinding } from './duty.ts'

/** A decision older than this many milliseconds is four sweeps missed. */
const DECISION_MS_MAX = 20_000

/** A role that a keeper has, and how it stands. */
export type RolePlace = { readonly role: Role; readonly state: RoleState }

/** What the service was when it was last read says nothing once reading it fails. Pure. */
export function serviceFinding(atWork: readonly Pick<RoleAtWork, 'duty'>[]): Finding {
  const where = { facet: 'service', about: '' } as const
  for (const { duty } of atWork) {
    const error = duty.failing()?.error
    if (error instanceof RolekeeperError && error.code.startsWith('service.'))
      return { ...where, state: 'failing', error }
  }
  const seen = atWork.map(({ duty }) => duty.lastSeen()?.freshness)
  const stale = seen.find((each) => each?.ok === false && each.isOurs !== true)
  if (stale !== undefined) {
    const error = new RolekeeperError(
      'service.stale',
      `What the service shows is too old: ${stale.message}.`,
      {
        fix: "ask the service's operator: its indexer is behind. Nothing new begins on stale figures.",
        retry: 'later',
      },
    )
    return { ...where, state: 'failing', error }
  }
  if (seen.length === 0 || seen.includes(undefined)) {
    const error = new RolekeeperError('service.not_read', 'The service was not read yet.', {
      fix: 'wait for the first look of each role.',
      retry: 'later',
    })
    return { ...where, state: 'failing', error, isBeginning: true }
  }
  return { ...where, state: 'ok', message: 'fresh' }
}

/** How changes are heard of. Pure. */
export function streamFinding(feed: Pick<FeedState, 'mode' | 'connections'> | null): Finding {
  const where = { facet: 'stream', about: '' } as const
  if (feed?.mode === 'stream')
    return { ...where, state: 'ok', message: `connected ${plural(feed.connections, 'time')}` }
  const isPolling = feed?.mode === 'polling'
  const isOpened = feed !== null && feed.connections > 0
  const error = isPolling
    ? new RolekeeperError(
        'stream.polling',
        'The stream of events is gone; the service is polled meanwhile.',
        {
          fix: 'look at what is between this machine and the service: changes are heard of seconds later.',
          retry: 'later',
        },
      )
    : new RolekeeperError('stream.down', 'No event is heard of: neither the stream nor polling works.', {
        fix: 'look at the service and the way to it: sweeps alone find what changes.',
        retry: 'later',
      })
  return {
    ...where,
    state: isPolling ? 'warning' : 'failing',
    error,
    ...(isOpened ? {} : { isBeginning: true }),
  }
}

/** Whether a role works. Why one is down was said when it went down. Pure. */
export function roleFinding({ role, state }: RolePlace): Finding {
  const where = { facet: 'role', about: role } as const
  if (state.type === 'up') return { ...where, state: 'ok', message: 'at work' }
  const error =
    state.type === 'down'
      ? state.reason
      : new RolekeeperError('role.opening', `The ${role} is being opened.`, {
          fix: 'wait for its proofs.',
          retry: 'later',
        })
  const isOpening = state.type === 'opening'
  return { ...where, state: 'failing', error, isSaid: true, ...(isOpening ? { isBeginning: true } : {}) }
}

/** Whether a role's key signs, by its last call. Pure. */
export function keyFinding({ role, signer, vitals }: RoleAtWork, monotonicMs: number): Finding {
  const where = { facet: 'key', about: role } as const
  const key = vitals.key()
  if (key === null) return { ...where, state: 'ok', message: 'none in shadow' }
  if (key.code === 'ok') return { ...where, state: 'ok', message: 'signs' }
  return {
    ...where,
    state: 'failing',
    error: notSigning({ role, signer }, key, monotonicMs),
  }
}

const notSigning = (
  { role, signer }: { readonly role: Role; readonly signer: Address },
  { code, sinceMs, lastMs }: KeyOutcome,
  monotonicMs: number,
) =>
  new RolekeeperError(
    'key.not_signing',
    `The key of the ${role}'s signer ${signer} has signed nothing for ${span(monotonicMs - sinceMs)} (${code}, the last try ${span(monotonicMs - lastMs)} ago).`,
    {
      fix: 'look at the KMS, and at what it allows this keeper; what waits for a signature goes on by itself.',
      facts: { role, signer, reason: code },
      retry: 'later',
    },
  )

/** Now, by both clocks. */
type Now = { readonly nowMs: number; readonly monotonicMs: number }

/** Whether a role decides, and does what it owes. */
export function dutyFinding({ role, duty, duties }: RoleAtWork, { nowMs, monotonicMs }: Now): Finding {
  const where = { facet: 'duty', about: role } as const
  if (duty.isStopped()) return { ...where, state: 'ok', message: 'decides nothing any more: its keeper ends' }
  const failing = duty.failing()
  if (failing !== null)
    return {
      ...where,
      state: 'failing',
      error: notDeciding(role, failing.error, monotonicMs - failing.sinceMs),
    }
  const atMs = duty.lastDecidedAtMs()
  if (atMs === null || nowMs - atMs > DECISION_MS_MAX) {
    const ms = atMs === null ? 'not looked yet' : `not looked for ${span(nowMs - atMs)}`
    const error = new RolekeeperError(
      'role.not_looking',
      `The ${role} has ${ms}; ${span(DECISION_MS_MAX)} is too long.`,
      { fix: 'see in the log what its look waits for.', facts: { role }, retry: 'later' },
    )
    return { ...where, state: 'failing', error, ...(atMs === null ? { isBeginning: true } : {}) }
  }
  const known = duty.lastSeen()?.deployment
  return dueFinding(duties(), (subject) => (known === undefined ? subject : subjectName(subject, known)))
}

function notDeciding(role: Role, error: unknown, ms: number): RolekeeperError {
  const known = error instanceof RolekeeperError ? error : null
  const why = known === null ? 'something unforeseen' : `${known.code}: ${known.shortMessage}`
  return new RolekeeperError('role.not_deciding', `The ${role} has decided nothing for ${span(ms)}: ${why}`, {
    fix: known?.fix ?? `see in the log why it could not look; it goes on by itself.`,
    facts: { role, reason: known?.code ?? 'unexpected' },
    retry: 'later',
  })
}

/** Whether signers are SAFE, those of a role together. What doubts a signer was said as it was found. Pure. */
export function signerFinding(
  about: string,
  signers: readonly Address[],
  terms: readonly Pick<Term, 'records' | 'safe'>[],
): Finding {
  const where = { facet: 'signer', about } as const
  const doubts = signers.flatMap((signer) =>
    terms.flatMap(({ records }) =>
      records.signers.reasonsOf(signer).map((reason) => {
        const { check, message, seen } = reason
        return {
          text: `${signer} is SAFE (${check}): ${message} Seen: ${seen}.`,
          fix: wayOut(signer, reason),
        }
      }),
    ),
  )
  const ofFleet = terms.flatMap((term) => term.safe()?.message ?? [])
  const [fix] = [...doubts.map((doubt) => doubt.fix), ...ofFleet.map(() => 'see `rolekeeper safe`')]
  if (fix === undefined) return { ...where, state: 'ok', message: 'not SAFE' }
  const message = [...doubts.map(({ text }) => text), ...ofFleet].join(' ')
  return {
    ...where,
    state: 'failing',
    isSaid: true,
    error: new RolekeeperError('signer.safe', message, { fix, retry: 'later' }),
  }
}

/** What waits for a person. Each was said as it was held. Pure. */
export function approvalsFinding(workflows: readonly Workflow[], nowMs: number): Finding {
  const where = { facet: 'approvals', about: '' } as const
  const untilMs = workflows.flatMap((each) =>
    isHeld(each) && each.hold !== undefined ? [each.hold.untilMs] : [],
  )
  if (untilMs.length === 0) return { ...where, state: 'ok', message: 'nothing waits for a person' }
  const error = new RolekeeperError(
    'approvals.waiting',
    `${plural(untilMs.length, 'workflow waits', 'workflows wait')} for a person; the first expires in ${span(Math.max(0, Math.min(...untilMs) - nowMs))}.`,
    { fix: 'see `rolekeeper approve`.' },
  )
  return { ...where, state: 'warning', error, isSaid: true }
}
