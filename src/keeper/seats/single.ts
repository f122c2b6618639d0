import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import { gateBySwitches, readControl, takenBack } from '../../ops/control.ts'
import { fileMail } from '../../ops/mail.ts'
import { createTimers } from '../../queue/timers.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type { Candidate } from '../policy/candidates.ts'
import { withAudit } from '../records/audited-journal.ts'
import { openRecords } from '../records/records.ts'
import { openKeeperAudit } from '../telemetry/audit.ts'
import type { Seating, Tenure } from './seating.ts'

/** What a keeper that works alone needs. */
type AloneDeps = {
  readonly candidates: readonly Candidate[]
  readonly clock: Clock
  readonly alarm: (error: RolekeeperError) => void
}

/**
 * Sit alone, on the records of a directory: one term of every agent, which ends with the keeper. Throws what opening the
 * records throws, and `role.left_live`.
 */
export async function sitAlone(config: RunConfig, { candidates, clock, alarm }: AloneDeps): Promise<Seating> {
  const opened = await openRecords(config, { clock, alarm })
  const audit = await openKeeperAudit(config.directory, { clock }).catch(async (error) => {
    await opened.close()
    throw error
  })
  const records = {
    ...opened,
    journal: withAudit(opened.journal, audit, opened.resumed),
    close: async () => {
      await audit.close()
      await opened.close()
    },
  }
  const control = () => readControl(config.directory)
  const gate = () => gateBySwitches(control())
  try {
    proveNoneLeftLive(records.resumed, config)
  } catch (error) {
    await records.close()
    throw error
  }
  let tenure: Tenure | undefined
  return {
    drains: true,
    resumed: records.resumed.length,
    control,
    audit,
    takenBack: (pulled) => takenBack(config.directory, pulled),
    values: records.journal,
    hold: async (hold) => {
      const mail = fileMail(config.directory, records.journal)
      tenure = hold({ config, candidates, records, gate, mail, createQueue: createTimers })
      await tenure.begin()
    },
    standing: () => ({ ok: true, message: 'alone, with all of them', isStandby: false }),
    gauges: () => null,
    hint: () => undefined,
    leave: async () => tenure?.end(),
    close: records.close,
  }
}

/**
 * Prove at start that no role in shadow has workflows that were begun live: a shadow could not carry them, and they would
 * stand still with their nonces open. Throws RolekeeperError `role.left_live`.
 */
function proveNoneLeftLive(live: readonly Workflow[], { agents }: RunConfig): void {
  // Another agent of the same role, with another key, may well be live.
  const isShadow = ({ role, signer }: Workflow) =>
    agents.some((agent) => agent.mode === 'shadow' && agent.role === role && agent.signer.address === signer)
  const left = live.filter((workflow) => workflow.shadow !== true && isShadow(workflow))
  if (left.length === 0) return
  throw new RolekeeperError(
    'role.left_live',
    `The ${left[0]?.role} is in shadow, and ${left.length} of its workflows were begun live and have not ended.`,
    { fix: 'run it live until they have; `rolekeeper pause` keeps it from beginning others.' },
  )
}
