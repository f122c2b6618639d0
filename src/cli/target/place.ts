import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { SharedPlace } from '../../config/place.ts'
import { RolekeeperError } from '../../errors.ts'
import { createFolder } from '../../journal/directory/lock.ts'
import { unwritable } from '../../journal/faults.ts'
import type { JournalPlace } from '../../journal/open.ts'
import { DEFAULT_DIRECTORY, pathText } from '../../ops/directory.ts'
import { type Io, usageError } from '../parse/command.ts'
import { DIRECTORY } from '../parse/options.ts'

/** Where a keeper's records are: in its directory, or in the Redis that its fleet shares. */
export type KeeperPlace = JournalPlace & {
  readonly shared?: SharedPlace
  /** The instance of the fleet that works in the directory; absent where none has. */
  readonly instance?: string
  /** The run configuration that says so; empty where none does. */
  readonly file: string
}

/** The same of a fleet. */
export type FleetPlace = KeeperPlace & { readonly shared: SharedPlace }

/** Whether the records are a fleet's. Pure. */
export const isFleet = (place: KeeperPlace): place is FleetPlace => place.shared !== undefined

/** The options that say where the records are. */
export const PLACE = {
  config: { help: 'the run configuration, which says where the records are', value: 'FILE' },
  directory: DIRECTORY,
} as const

/** What was given of {@link PLACE}. */
export type GivenPlace = { readonly config?: string; readonly directory?: string }

/** Write what leads another command to the same place, a space before it; empty for the default. Pure. */
export function placeText({ config, directory }: GivenPlace): string {
  const [option, path] = config === undefined ? ['--directory', directory] : ['--config', config]
  if (path === undefined) return ''
  return ` ${option} ${pathText(path)}`
}

/** What an instance of a fleet leaves in its directory, so that commands find the fleet's records from there. */
type InstancePlace = { readonly config: string; readonly instance: string }

const leftFile = (directory: string) => join(directory, 'fleet.json')

/** Leave in a keeper's directory which fleet it works in; take it away where it works in none. Throws `journal.failed`. */
export function leavePlace(
  {
    directory,
    fleet,
  }: { readonly directory: string; readonly fleet?: Pick<InstancePlace, 'instance'> | undefined },
  file: string,
): void {
  try {
    if (fleet === undefined) {
      rmSync(leftFile(directory), { force: true })
      return
    }
    createFolder(directory)
    const left: InstancePlace = { config: resolve(file), instance: fleet.instance }
    writeFileSync(leftFile(directory), JSON.stringify(left), { mode: 0o600 })
  } catch (cause) {
    throw unwritable(directory, cause)
  }
}

/**
 * Find the records that a command is about: of a run configuration, or of a directory and the fleet that its instance works
 * in. Throws RolekeeperError `usage` for both, and what loading the configuration throws.
 */
export async function placeOf({ config, directory }: GivenPlace, io: Pick<Io, 'env'>): Promise<KeeperPlace> {
  if (config !== undefined && directory !== undefined) {
    throw usageError(
      '--config and --directory are both given.',
      'a configuration names its directory: give one',
    )
  }
  if (config !== undefined) {
    const place = await load(config, io)
    return asPlace(place.directory, { ...place, file: config }, leftIn(place.directory))
  }
  const here = directory ?? DEFAULT_DIRECTORY
  const left = leftIn(here)
  if (left === null) return { directory: here, file: '' }
  return asPlace(here, { ...(await load(left.config, io, here)), file: left.config }, left)
}

/** Find the fleet that a command is about. Throws as {@link placeOf} does, and `fleet.none` for a keeper that works alone. */
export async function fleetAt(given: GivenPlace, io: Pick<Io, 'env'>): Promise<FleetPlace> {
  const place = await placeOf(given, io)
  if (isFleet(place)) return place
  throw new RolekeeperError('fleet.none', `The keeper of ${place.directory} works in no fleet.`, {
    fix: 'name the configuration of a fleet with --config, or the directory of one of its instances.',
  })
}

async function load(file: string, { env }: Pick<Io, 'env'>, known?: string) {
  const { loadPlace } = await import('../../config/place.ts')
  return loadPlace(file, env, known)
}

function asPlace(
  directory: string,
  { shared, file }: { readonly shared?: SharedPlace; readonly file: string },
  left: InstancePlace | null,
): KeeperPlace {
  if (shared === undefined) return { directory, file }
  const { endpoint, fleet } = shared.store
  const instance = left === null ? {} : { instance: left.instance }
  return { directory, file, redis: { endpoint, fleet }, shared, ...instance }
}

function leftIn(directory: string): InstancePlace | null {
  let text: string
  try {
    text = readFileSync(leftFile(directory), 'utf8')
  } catch {
    return null
  }
  try {
    const { config, instance }: Partial<InstancePlace> = JSON.parse(text)
    if (typeof config === 'string' && typeof instance === 'string') return { config, instance }
  } catch {
    // As what follows.
  }
  throw new RolekeeperError('fleet.left', `${leftFile(directory)} does not say which fleet works there.`, {
    fix: 'give the run configuration with --config; the next start of the instance writes it anew.',
  })
}
