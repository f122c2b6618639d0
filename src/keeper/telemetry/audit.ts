import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import { endProcess } from '../../journal/faults.ts'
import { headText } from '../../ops/audit/chain.ts'
import { type AuditLog, openAudit } from '../../ops/audit/log.ts'
import type { KeeperEvent } from '../../ops/events.ts'
import type { Reports } from './reports.ts'

/** What of a keeper's events the audit has beside what the journal takes. */
const RECORDED: ReadonlySet<KeeperEvent['type']> = new Set([
  'alarm',
  'control',
  'gain',
  'policy',
  'ready',
  'role',
  'seat',
  'summary',
])

/** The log says where the chain ends this often: who keeps the log elsewhere can hold the audit against it. */
const HEAD_MS = 3_600_000

/** Open the audit of a directory that this process has locked. Throws RolekeeperError `audit.failed`. */
export const openKeeperAudit = (directory: string, { clock }: { readonly clock: Clock }): Promise<AuditLog> =>
  openAudit(directory, { ...clock, onFailed: endProcess })

/** Record what a keeper says of itself from here on, and as what it begins. @returns what ends it. */
export function recordReports(
  audit: AuditLog,
  { environment, hash, chain }: Pick<RunConfig, 'environment' | 'hash' | 'chain'>,
  reports: Pick<Reports, 'of' | 'onEvent'>,
): () => Promise<void> {
  const { log, version, candidates } = reports.of
  const roles = candidates.map(({ agent: { role, mode, signer }, policy }) => ({
    role,
    mode,
    signer: signer.address,
    ruleset: policy instanceof RolekeeperError ? null : policy.ruleset.hash,
  }))
  audit.record('start', { version, environment, configuration: hash, chainId: chain.id, roles })
  const say = async () => {
    // A disk that takes nothing is told by the audit itself.
    await audit.flush().catch(() => undefined)
    log.info('the head of the audit', { head: headText(audit.state().head) })
  }
  void say()
  const saying = setInterval(say, HEAD_MS).unref()
  const stop = reports.onEvent(({ type, at: saidAt, ...facts }) => {
    if (RECORDED.has(type)) audit.record(type, { ...facts, saidAt })
  })
  return () => {
    clearInterval(saying)
    stop()
    audit.record('stop', {})
    return say()
  }
}
