import type { Clock } from '../../clock.ts'
import type { AlarmTargetConfig } from '../../config/alarms.ts'
import type { RolekeeperError } from '../../errors.ts'
import { isHeld, type Workflow } from '../../workflow/workflow.ts'
import { heldEvent, type KeeperEvent } from '../events.ts'
import { createIncidents } from './incidents.ts'
import { createAlarmTarget, type Delivery, type TargetState } from './target.ts'

/** Alarms on their way to where people hear of them beside screen and log. */
export type AlarmsOut = {
  /** @param facet that it is of: the incident is over when that one is well. */
  readonly raise: (error: RolekeeperError, facet?: string) => void
  readonly hear: (event: KeeperEvent) => void
  /** A proposal that waited before this process began is told of when it waits no more. */
  readonly adopt: (workflow: Workflow) => void
  readonly targets: () => readonly TargetState[]
  /** Tell what waits, for a short time, and then nothing more. */
  readonly close: () => Promise<void>
}

/** What is over is looked at this often. */
const LOOK_MS = 5_000

/** What alarms out need. */
type AlarmsOutDeps = {
  readonly clock: Clock
  /** Names this keeper to those who are told. */
  readonly source: string
  /** The last filter before text leaves the process. */
  readonly scrub: (text: string) => string
  readonly onDelivery: (name: string, delivery: Delivery) => void
}

/** Tell each target of every incident: when it begins, once, and when it is over. */
export function createAlarmsOut(configs: readonly AlarmTargetConfig[], deps: AlarmsOutDeps): AlarmsOut {
  const { clock, source, scrub } = deps
  const targets = configs.map((config) => createAlarmTarget(config, deps))
  // How long an incident lasts is a span: only what people are told is of the clock that they set.
  const incidents = createIncidents(source, (notice) => {
    const [message, fix] = [scrub(notice.message), scrub(notice.fix)]
    const entry = { ...notice, message, fix, atMs: clock.nowMs() }
    for (const target of targets) target.push(entry)
  })
  const look = () => incidents.look(clock.monotonicMs())
  const looking = targets.length === 0 ? undefined : setInterval(look, LOOK_MS).unref()
  return {
    raise: (error, facet) => incidents.raise(error, clock.monotonicMs(), facet),
    hear: (event) => incidents.hear(event, clock.monotonicMs()),
    adopt: (workflow) => {
      const held = isHeld(workflow) ? heldEvent(workflow, null, clock.nowMs()) : null
      if (held !== null) incidents.adopt(held, clock.monotonicMs())
    },
    targets: () => targets.map((target) => target.state()),
    close: async () => {
      clearInterval(looking)
      await Promise.all(targets.map((target) => target.close()))
    },
  }
}
