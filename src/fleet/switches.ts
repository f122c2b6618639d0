import type { CommandLine } from '../journal/redis/link/command-line.ts'
import { setForFleet } from '../journal/redis/seats/controls.ts'
import {
  type ActiveSwitch,
  type Control,
  controlOf,
  pullOf,
  type Switch,
  type SwitchRecord,
  setControl,
} from '../ops/control.ts'
import type { Role } from '../service/contract/roles.ts'

/** What Redis calls the switches; that of one role has its name behind it. */
const NAMES = { kill: 'killed', pause: 'paused' } as const
export const switchName = (which: Switch, role?: Role) =>
  `${NAMES[which]}${role === undefined ? '' : `:${role}`}`
/** Who took one back last, for those who see it go. */
const takenName = (name: string) => `taken:${name}`

/** Who set something for a fleet, and when, ms since 1970 by that machine's clock. */
export type Author = { readonly by: string; readonly atMs: number; readonly reason?: string | null }

/**
 * Turn a switch on or off for this machine and the fleet: on here first, as that needs nobody; off here last. Throws what
 * the directory or Redis does not take. @param directory null on a machine without an instance. @returns the sequence of Redis
 * from which on an instance that has heard shows what it makes of this.
 */
export async function switchFleet(
  which: Switch,
  on: boolean,
  { role, ...author }: Author & { readonly role?: Role | undefined },
  {
    directory,
    store,
  }: { readonly directory: string | null; readonly store: Pick<CommandLine, 'keys' | 'run'> },
): Promise<number> {
  const setting = { ...author, role }
  const name = switchName(which, role)
  const value = JSON.stringify(author)
  if (on && directory !== null) setControl(directory, which, true, setting)
  if (!on) await setForFleet({ name: takenName(name), value, keeps: 'last' }, store)
  const { seq } = await setForFleet({ name, value: on ? value : '', keeps: 'last' }, store)
  if (on || directory === null) return seq
  setControl(directory, which, false, setting)
  // What the instance here showed by then may still be of its file.
  return (await setForFleet({ name: takenName(name), value, keeps: 'last' }, store)).seq
}

/** What is on here or in the fleet is on. Pure. */
export function switchesOf(local: Control, controls: ReadonlyMap<string, string>): Control {
  const isHere = (each: ActiveSwitch) =>
    local.pulled.some((own) => own.switch === each.switch && own.role === each.role)
  const all = controlOf([...local.pulled, ...pulledInFleet(controls).filter((each) => !isHere(each))])
  return { ...local, ...all, killed: local.killed || all.killed, paused: local.paused || all.paused }
}

/** The switches that are on for a fleet, each with who, when and why. Pure. */
export const pulledInFleet = (controls: ReadonlyMap<string, string>): readonly ActiveSwitch[] =>
  [...controls].flatMap(([name, text]): ActiveSwitch[] => {
    if (name === NAMES.kill) return [{ switch: 'kill', ...pullOf(text) }]
    if (name === NAMES.pause) return [{ switch: 'pause', ...pullOf(text) }]
    const role = name.startsWith(switchName('pause', '')) ? name.slice(switchName('pause', '').length) : ''
    return role === '' ? [] : [{ switch: 'pause', role, ...pullOf(text) }]
  })

/** Say who took back a switch that was on, by what is set for a fleet; null where that does not say. Pure. */
export function takenBackOf(
  { switch: which, role, atMs }: ActiveSwitch,
  controls: ReadonlyMap<string, string>,
): SwitchRecord | null {
  const text = controls.get(takenName(switchName(which, role)))
  const last = text === undefined ? null : pullOf(text)
  return last !== null && last.atMs >= atMs ? last : null
}

/** Read who set something for a fleet; null where nobody did. Pure. */
export function authorOf(text: string | undefined): Author | null {
  if (text === undefined) return null
  // It is set all the same.
  const { by, atMs, reason } = pullOf(text)
  return by === null ? { by: 'somebody', atMs: 0 } : { by, atMs, ...(reason === null ? {} : { reason }) }
}
