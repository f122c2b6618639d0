import { expect } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { RunConfig } from '../../src/config/config.ts'
import { examine } from '../../src/keeper/doctor/doctor.ts'
import { until } from './until.ts'

type Findings = Awaited<ReturnType<typeof examine>>

/**
 * Have the doctor examine a configuration. What a busy machine did not hear in time says nothing of it: that is asked again, as
 * the finding says.
 * @param sought the code of a finding that is to be there.
 */
export const examineInTime = (config: RunConfig, clock = systemClock, sought?: string): Promise<Findings> =>
  until(async () => {
    const findings = await examine(config, clock)
    const late = findings.filter(
      ({ code, message }) =>
        code !== sought &&
        (/\.(?:timeout|late)$/.test(`${code}`) ||
          (code === 'node.quorum_missing' && message.includes('did not answer within'))),
    )
    expect(late).toEqual([])
    return findings
  })
