import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import type { RolekeeperError } from '../../errors.ts'
import { gateBySwitches, readControl, takenBack } from '../../ops/control.ts'
import { fileMail } from '../../ops/mail.ts'
import { createTimers } from '../../queue/timers.ts'
import { withAudit } from '../records/audited-journal.ts'
import { openRecords } from '../records/records.ts'
import { proveNoneLeftLive } from '../startup-checks.ts'
import { openKeeperAudit } from '../telemetry/audit.ts'
import type { Candidate } from '../term/staff.ts'
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
