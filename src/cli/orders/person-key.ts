import { readFileSync, statSync } from 'node:fs'
import { z } from 'zod'
import { printable, RolekeeperError } from '../../errors.ts'
import { type Identity, signText } from '../../guard/approval/person-key.ts'
import { type Io, usageError } from '../parse/command.ts'
import { author } from '../target/author.ts'

/** What a file of `rolekeeper approver new` holds. */
export type PersonKey = { readonly name: string; readonly privatePem: string }

/** The options that say by whose key something is said. */
export const KEY = {
  key: { help: 'the file of your own key, from `rolekeeper approver new`', value: 'FILE' },
  yes: { help: 'sign with that key without being asked first, as a script must' },
} as const

/** Whose key signs, and whether that is meant already. */
export type Signing = { readonly keyFile: string | undefined; readonly yes: boolean }

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

/**
 * Read a person's key, say what it would sign, and ask whether it may; null where no key is given.
 * @throws RolekeeperError `usage` where nobody says yes, and as {@link readPersonKey}.
 */
export async function keyToSign({ keyFile, yes }: Signing, says: string, io: Io): Promise<PersonKey | null> {
  if (keyFile === undefined) return null
  const key = readPersonKey(keyFile)
  if (yes) return key
  const what = `The key of ${key.name} would sign: ${printable(says, 1_000)}.`
  // Without a terminal nobody reads the question.
  const lines = io.errIsTty ? io.lines?.() : undefined
  if (lines === undefined) throw usageError(`${what} Nothing was signed.`, 'add --yes where that is meant')
  io.err(`${what}\nSign it? [y/N]: `)
  const { value } = await lines.next()
  await lines.return?.(undefined)
  if (/^\s*y(es)?\s*$/i.test(String(value))) return key
  throw usageError('Nothing was signed.', 'answer y where it is meant')
}

/** Say who says a text: the user of this machine, and by their key where one is given. Throws as {@link readPersonKey}. */
export function identify(text: string, key: PersonKey | null): Identity {
  const { by: user } = author()
  return key === null ? { user } : { user, name: key.name, signature: signText(text, key.privatePem) }
}
