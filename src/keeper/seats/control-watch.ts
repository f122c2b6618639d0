import type { Clock } from '../../clock.ts'
import type { ActiveSwitch } from '../../ops/control.ts'
import { type ControlEvent, controlEvents } from '../../ops/control-event.ts'
import type { Log } from '../../ops/log.ts'
import type { Seating } from './seating.ts'

/** A person who pulled a switch sees within a second that it was heard. */
const LOOK_MS = 250

/** What watching the switches needs. */
type WatchDeps = {
  readonly seating: Pick<Seating, 'control' | 'takenBack'>
  readonly emit: (event: ControlEvent) => void
  readonly log: Log
  readonly clock: Pick<Clock, 'nowMs'>
}

/** Say of each switch that it was pulled or taken back, also of one that is on from the start. @returns how to stop. */
export function watchControl({ seating, emit, log, clock }: WatchDeps): () => void {
  let before: readonly ActiveSwitch[] = []
  const look = () => {
    const now = seating.control()
    // A directory that cannot be read says nothing of them.
    if (now.isUnreadable === true) return
    for (const event of controlEvents(now, before, seating.takenBack, clock.nowMs())) {
      const { verb, role, by, reason, givenAt } = event
      log.warn('control', { verb, role, by, reason, givenAt })
      emit(event)
    }
    before = now.pulled
  }
  look()
  const timer = setInterval(look, LOOK_MS)
  return () => clearInterval(timer)
}
