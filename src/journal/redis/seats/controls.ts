import type { CommandLine } from '../link/command-line.ts'
import { type Controls, controlsOf } from './seat.ts'

/** What stands against a setting: another by this name, whose text names this. */
export type SettingConflict = { readonly name: string; readonly names: string }

/** What is set for a fleet: `value` empty takes it away; `first` leaves one that is there as it is. */
export type FleetSetting = {
  readonly name: string
  readonly value: string
  readonly keeps: 'first' | 'last'
  readonly unless?: SettingConflict
}

/** Set something for the whole fleet; holders hear of it at their next beat or barrier. @returns all that is set. */
export async function setForFleet(
  { name, value, keeps, unless }: FleetSetting,
  store: Pick<CommandLine, 'keys' | 'run'>,
): Promise<Controls> {
  const args = [name, value, keeps, unless?.name ?? '', unless?.names ?? '']
  const { values } = await store.run('control', [store.keys.control], args)
  return controlsOf(values[0], values[1])
}
