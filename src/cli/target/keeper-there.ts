import { printable, RolekeeperError } from '../../errors.ts'
import { type KeeperAt, keeperAt } from '../../journal/directory/presence.ts'
import { ROLE_NAME, SHIPPED_ROLES } from '../../service/contract/roles.ts'
import { usageError } from '../parse/command.ts'
import { perhaps } from '../parse/nearest.ts'

/** A keeper's directory, whether or not it runs there now. */
export type KeeperThere = Exclude<KeeperAt, { readonly state: 'none' }>

/**
 * Find the keeper of a directory, before anything is written there.
 * @throws RolekeeperError `keeper.none` where no keeper ever worked in it.
 */
export function keeperThere(directory: string): KeeperThere {
  const there = keeperAt(directory)
  if (there.state !== 'none') return there
  throw new RolekeeperError(
    'keeper.none',
    `No keeper ever worked in ${printable(directory)}; nothing was done.`,
    {
      fix: 'name the directory of the keeper with --directory, or its run configuration with --config.',
      facts: { directory },
    },
  )
}

/** What a keeper staffs; null where it left no word of it. Pure. */
export function rolesOf(there: KeeperThere): readonly string[] | null {
  const presence = there.state === 'running' ? there.now : there.last
  return presence?.roles ?? null
}

/** Throws RolekeeperError `usage` for a role that is none of those that a keeper staffs, with the nearest. */
export function checkRole(role: string | undefined, staffed: readonly string[] | null): void {
  if (role === undefined || (staffed === null ? ROLE_NAME.test(role) : staffed.includes(role))) return
  const known = staffed ?? SHIPPED_ROLES
  throw usageError(
    `"${printable(role)}" is no role of this keeper.`,
    `${perhaps(role, known)}give one of ${known.join(', ')}`,
  )
}
