import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RolekeeperError } from '../errors.ts'

/**
 * Read (or begin) what an instance's directory is known by: the lock of the directory proves that a process of before is no
 * more, and a name of the roster does not. Throws RolekeeperError `fleet.place`.
 */
export function placeOf(directory: string): string {
  const path = join(directory, 'place')
  try {
    writeFileSync(path, '', { flag: 'a', mode: 0o600 })
    const found = readFileSync(path, 'utf8')
    if (/^[0-9a-f]{16}$/.test(found)) return found
    const place = randomBytes(8).toString('hex')
    writeFileSync(path, place)
    return place
  } catch (cause) {
    throw new RolekeeperError('fleet.place', `${path} cannot be read and written.`, {
      fix: 'check that disk and who owns `directory`.',
      cause,
    })
  }
}
