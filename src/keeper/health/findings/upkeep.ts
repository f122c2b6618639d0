import { RolekeeperError } from '../../../errors.ts'
import { TARGET_FAILING_MS, type TargetState, targetFailing } from '../../../ops/alarms/target.ts'
import type { AuditState } from '../../../ops/audit/log.ts'
import type { Finding } from '../../../ops/facet.ts'
import { span } from '../../../readable.js'
import type { SecretsState } from '../../telemetry/watch-secrets.ts'

/** What a keeper keeps and is given beside its work, and whom it tells. */
export type UpkeepState = {
  readonly audit: AuditState
  readonly secrets: SecretsState
  readonly targets: readonly TargetState[]
}

/** What no effect waits for is on disk within a second. */
const AUDIT_MS_MAX = 3_000

/** How that stands: the audit, the secrets, and each target of alarms. Pure. */
export const upkeepFindings = (
  { audit, secrets, targets }: UpkeepState,
  monotonicMs: number,
): readonly Finding[] => [
  auditFinding(audit, monotonicMs),
  secretsFinding(secrets),
  ...targets.map((target) => targetFinding(target, monotonicMs)),
]

function auditFinding({ head, waitingSinceMs, damage }: AuditState, monotonicMs: number): Finding {
  const where = { facet: 'audit', about: '' } as const
  const waitedMs = monotonicMs - (waitingSinceMs ?? monotonicMs)
  if (waitedMs > AUDIT_MS_MAX) return { ...where, state: 'failing', error: notWriting(waitedMs) }
  if (damage !== null) return { ...where, state: 'warning', error: damage }
  return { ...where, state: 'ok', message: `${head.seq} records` }
}

const notWriting = (ms: number) =>
  new RolekeeperError(
    'audit.not_writing',
    `For ${span(ms)} the disk has not taken what was written to the audit; ${span(AUDIT_MS_MAX)} is too long. Nothing is signed before it has.`,
    { fix: 'look at the disk of the state directory: what holds up its writes.', retry: 'later' },
  )

function secretsFinding({ unread, refused }: SecretsState): Finding {
  const where = { facet: 'secrets', about: '' } as const
  if (refused !== null) return { ...where, state: 'failing', error: refused }
  if (unread !== null) return { ...where, state: 'warning', error: unread }
  return { ...where, state: 'ok', message: 'all that were read anew could be' }
}

function targetFinding({ name, failingSinceMs, problem }: TargetState, monotonicMs: number): Finding {
  const where = { facet: 'alarms', about: name } as const
  const ms = monotonicMs - (failingSinceMs ?? monotonicMs)
  if (ms > TARGET_FAILING_MS) return { ...where, state: 'warning', error: targetFailing(name, problem, ms) }
  return { ...where, state: 'ok', message: 'takes what it is told' }
}
