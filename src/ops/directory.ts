import { resolve } from 'node:path'

/** Where the state lives when nothing else is said. */
export const DEFAULT_DIRECTORY = '.rolekeeper'

/** Write a path as a shell takes it. Pure. */
export const pathText = (path: string): string =>
  /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`

/** Write what leads a command to the keeper of a directory, a space before it; empty for the default of this place. */
export function directoryText(directory: string | undefined): string {
  const path = directory === undefined ? undefined : resolve(directory)
  return path === undefined || path === resolve(DEFAULT_DIRECTORY) ? '' : ` --directory ${pathText(path)}`
}
