import { readFileSync, statSync } from 'node:fs'
import { z } from 'zod'
import { printable, RolekeeperError } from '../errors.ts'
import { type Identity, signText } from '../guard/person.ts'
import { author } from './author.ts'

/** What a file of `rolekeeper approver new` holds. */
export type PersonKey = { readonly name: string; readonly privatePem: string }

/** The option that says by whose key something is said. */
export const KEY = {
  key: { help: 'the file of your own key, from `rolekeeper approver new`', value: 'FILE' },
} as const

const personKey = z.strictObject({ name: z.string().min(1).max(40), privatePem: z.string().max(1_000) })

/**
 * Read a person's key.
 * @throws RolekeeperError `approver.key_unreadable`, and `approver.key_open` for a file that others may read.
 */
export function readPersonKey(file: string): PersonKey {
  let found: ReturnType<typeof personKey.safeParse> | undefined
  let mode = 0
  try {
    mode = statSync(file).mode
    found = personKey.safeParse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    // Absent, or no JSON: the same error.
  }
  if (found?.data === undefined) {
    throw new RolekeeperError('approver.key_unreadable', `${printable(file)} holds no approver's key.`, {
      fix: 'name the file that `rolekeeper approver new NAME` wrote.',
    })
  }
  if ((mode & 0o077) === 0) return found.data
  throw new RolekeeperError('approver.key_open', `Others than its owner may read ${printable(file)}.`, {
    fix: `chmod 600 ${printable(file)}; where somebody else had access, make a new key.`,
  })
}

/** Say who says a text: the user of this machine, and by their key where one is given. Throws as {@link readPersonKey}. */
export function identify(text: string, key: PersonKey | null): Identity {
  const { by: user } = author()
  return key === null ? { user } : { user, name: key.name, signature: signText(text, key.privatePem) }
}
