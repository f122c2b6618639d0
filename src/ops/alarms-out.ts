import type { Clock } from '../clock.ts'
import type { AlarmTargetConfig } from '../config/alarms.ts'
import type { RolekeeperError } from '../errors.ts'
import { createIncidents } from './alarm-incidents.ts'
import { createAlarmTarget, type Delivery, type TargetState, targetFailing } from './alarm-target.ts'
import type { KeeperEvent } from './events.ts'

/** Alarms on their way to where people hear of them beside screen and log. */
export type AlarmsOut = {
  /** @param facet that it is of: the incident is over when that one is well. */
  readonly raise: (error: RolekeeperError, facet?: string) => void
  readonly hear: (event: KeeperEvent) => void
  readonly targets: () => readonly TargetState[]
  /** Tell what waits, for a short time, and then nothing more. */
  readonly close: () => Promise<void>
}

/** What is over, and which targets fail, is looked at this often. */
const LOOK_MS = 5_000
/** A target that is away for less loses nothing. */
const FAILING_MS_MAX = 60_000

/** What alarms out need. */
type AlarmsOutDeps = {
  readonly clock: Clock
  /** Names this keeper to those who are told. */
  readonly source: string
  /** The last filter before text leaves the process. */
  readonly scrub: (text: string) => string
  readonly onDelivery: (name: string, delivery: Delivery) => void
  /** A target fails: the others, the screen and the log say so. */
  readonly alarm: (error: RolekeeperError) => void
}

/** Tell each target of every incident: when it begins, once, and when it is over. */
export function createAlarmsOut(configs: readonly AlarmTargetConfig[], deps: AlarmsOutDeps): AlarmsOut {
  const { clock, source, scrub, alarm } = deps
  const targets = configs.map((config) => createAlarmTarget(config, deps))
  const incidents = createIncidents(source, (notice) => {
    const told = { ...notice, message: scrub(notice.message), fix: scrub(notice.fix) }
    for (const target of targets) target.push(told)
  })
  const look = () => {
    const nowMs = clock.nowMs()
    incidents.look(nowMs)
    for (const { name, failingSinceMs, problem } of targets.map((target) => target.state())) {
      const failingMs = nowMs - (failingSinceMs ?? nowMs)
      if (failingMs > FAILING_MS_MAX) alarm(targetFailing(name, problem, failingMs))
    }
  }
  const looking = targets.length === 0 ? undefined : setInterval(look, LOOK_MS).unref()
  return {
    raise: (error, facet) => incidents.raise(error, clock.nowMs(), facet),
    hear: (event) => incidents.hear(event, clock.nowMs()),
    targets: () => targets.map((target) => target.state()),
    close: async () => {
      clearInterval(looking)
      await Promise.all(targets.map((target) => target.close()))
    },
  }
}
