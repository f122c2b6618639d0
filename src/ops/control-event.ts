import type { Role } from '../service/contract/roles.ts'
import type { ActiveSwitch, Control, SwitchRecord } from './control.ts'

/** A switch was pulled or taken back, by a command or by hand. */
export type ControlEvent = {
  readonly type: 'control'
  /** When the keeper saw it. */
  readonly at: string
  /** When it was given: before the start, for one that was on. */
  readonly givenAt: string
  readonly verb: 'pause' | 'resume' | 'kill' | 'unkill'
  /** The pause of this role alone. */
  readonly role?: Role
  /** `user@host`; null where a file says nothing: it was made or taken away by hand. */
  readonly by: string | null
  readonly reason: string | null
}

const TAKES_BACK = { pause: 'resume', kill: 'unkill' } as const

/**
 * Say what changed between two looks at the switches.
 * @param takenBack who took back a switch that was on.
 */
export function controlEvents(
  now: Control,
  before: readonly ActiveSwitch[],
  takenBack: (pulled: ActiveSwitch) => SwitchRecord,
  nowMs: number,
): readonly ControlEvent[] {
  const gone = before.filter((each) => !now.pulled.some((other) => isSame(each, other)))
  const come = now.pulled.filter((each) => !before.some((other) => isSame(each, other) && isAs(each, other)))
  return [
    ...gone.map((each) => eventOf(TAKES_BACK[each.switch], each, takenBack(each), nowMs)),
    ...come.map((each) => eventOf(each.switch, each, each, nowMs)),
  ]
}

const isSame = (one: ActiveSwitch, other: ActiveSwitch) =>
  one.switch === other.switch && one.role === other.role
const isAs = (one: ActiveSwitch, other: ActiveSwitch) =>
  one.by === other.by && one.atMs === other.atMs && one.reason === other.reason

const eventOf = (
  verb: ControlEvent['verb'],
  { role }: ActiveSwitch,
  { by, atMs, reason }: SwitchRecord,
  nowMs: number,
): ControlEvent => ({
  type: 'control',
  at: iso(nowMs),
  givenAt: iso(atMs),
  verb,
  ...(role === undefined ? {} : { role }),
  by,
  reason,
})

const iso = (ms: number) => new Date(ms).toISOString()
