import { span } from '../../../readable.js'
import { time } from '../../../units.ts'
import { type Finding, failed, passed, warned } from '../finding.ts'

/** What says what time it is, beside our own clock: how far it is ahead of ours, milliseconds; null where it says nothing. */
export type Times = {
  readonly nowMs: number
  /** Of the newest block: a chain that stands still is behind every clock, and ahead of none that is right. */
  readonly headMs: number | null
  /** By the service's and the KMS's own clocks. */
  readonly servers: Readonly<Record<string, number | null>>
}

/** Blocks, answers and approvals are dated by other clocks: what is off by more is refused as stale, or believed too long. */
const OFF_MS_MAX = 30_000
/** A Date header is in whole seconds, and comes late by a round trip. */
const OFF_MS_NOTICED = 5_000

const offText = (aheadMs: number) =>
  `${span(Math.round(Math.abs(aheadMs) / 1_000) * 1_000)} ${aheadMs > 0 ? 'behind' : 'ahead of'}`

const FIX = 'set the time of this machine, and keep it: `timedatectl set-ntp true`, or chrony.'

/**
 * Judge our clock by others. Where the chain sides with it against a server, the server's is wrong; where nothing but the chain
 * speaks, a block of the future counts against us. Pure.
 */
export function judgeClock({ nowMs, headMs, servers }: Times): Finding {
  const headAheadMs = headMs === null ? null : headMs - nowMs
  const offsets = Object.entries(servers).flatMap(([name, aheadMs]) =>
    aheadMs === null ? [] : [{ name, aheadMs }],
  )
  const off = offsets.toSorted((one, other) => Math.abs(other.aheadMs) - Math.abs(one.aheadMs))[0]
  const isWith = headAheadMs !== null && Math.abs(headAheadMs) <= OFF_MS_MAX
  const says = `${time(BigInt(Math.floor(nowMs / 1_000)))} here`
  if (off === undefined) {
    if (headAheadMs !== null && headAheadMs > OFF_MS_MAX)
      return isOff(says, offText(headAheadMs), 'the newest block')
    const message = `${says}; no other clock could be asked but the chain's.`
    return passed('clock', '', message)
  }
  if (Math.abs(off.aheadMs) <= OFF_MS_NOTICED) {
    const names = offsets.map(({ name }) => name).join(' and ')
    return passed('clock', '', `${says}, within ${span(OFF_MS_NOTICED)} of ${names}.`)
  }
  if (isWith || Math.abs(off.aheadMs) <= OFF_MS_MAX) {
    const message = `This machine's clock is ${offText(off.aheadMs)} that of ${off.name}; ${span(OFF_MS_MAX)} is the limit.`
    return warned('clock', '', { code: 'clock.off', message, fix: FIX })
  }
  return isOff(says, offText(off.aheadMs), `that of ${off.name}`)
}

const isOff = (says: string, by: string, than: string): Finding =>
  failed('clock', '', {
    code: 'clock.off',
    message: `This machine's clock is ${by} ${than}: it is ${says}; ${span(OFF_MS_MAX)} is the limit.`,
    fix: FIX,
  })
