import type { CommandLine } from './command-line.ts'
import { type Controls, controlsOf } from './seat.ts'

/** What is set for a fleet: `value` empty takes it away; `first` leaves one that is there as it is. */
export type Setting = { readonly name: string; readonly value: string; readonly keeps: 'first' | 'last' }

/** Set something for the whole fleet; holders hear of it at their next beat or barrier. @returns all that is set. */
export async function setForFleet(
  { name, value, keeps }: Setting,
  store: Pick<CommandLine, 'keys' | 'run'>,
): Promise<Controls> {
  const { values } = await store.run('control', [store.keys.control], [name, value, keeps])
  return controlsOf(values[0], values[1])
}
