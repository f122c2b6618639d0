import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { RolekeeperError } from '../../errors.ts'
import { isLocked } from './lock.ts'

/** What a keeper leaves in its directory, so that others find it. */
export type Presence = {
  readonly pid: number
  /** Milliseconds since 1970. */
  readonly startedAtMs: number
  /** Base URL of its ops port. */
  readonly opsUrl: string
  readonly version: string
  /** What it staffs. */
  readonly roles: readonly string[]
}

/** Whether a keeper is there, as its directory shows it. */
export type KeeperAt =
  /** `none`: this is no keeper's directory. */
  | { readonly state: 'none' }
  /** `ended`: one worked here, and none does now; `last` is what it left. */
  | { readonly state: 'ended'; readonly last: Presence | null }
  /** `running`: a process holds the directory. `now` is null until its ops port is open. */
  | { readonly state: 'running'; readonly now: Presence | null }

const FILE = 'keeper.json'
const fileIn = (directory: string) => join(directory, FILE)
/** What only a keeper makes; a sandbox takes the lock too, for a moment. */
const MARKS = [FILE, 'journal.sqlite', 'watermark.log', 'fleet.json']

const presence = z.object({
  pid: z.int(),
  startedAtMs: z.int(),
  opsUrl: z.string(),
  version: z.string(),
  roles: z.array(z.string()),
})

/** Say in a directory that its keeper is up. */
export const leavePresence = (directory: string, here: Presence): void =>
  writeFileSync(fileIn(directory), JSON.stringify(here), { mode: 0o600 })

/** Take away what the keeper before this one left: its port may be another's by now. */
export const forgetPresence = (directory: string): void => rmSync(fileIn(directory), { force: true })

/**
 * Say whether a keeper works in a directory: the lock says so, which the operating system takes from a process however it
 * ends. It only looks, and makes nothing.
 */
export function keeperAt(directory: string): KeeperAt {
  const left = presenceIn(directory)
  if (isLocked(directory)) return { state: 'running', now: left }
  const hasWorked = MARKS.some((name) => existsSync(join(directory, name)))
  return hasWorked ? { state: 'ended', last: left } : { state: 'none' }
}

/**
 * Say that records are not there: `journal.absent` or `accounts.absent` of a directory that no keeper worked in, and
 * `journal.lost` or `accounts.lost` of one that a keeper worked in.
 */
export function withoutRecords(
  what: 'journal' | 'accounts',
  directory: string,
  cause?: unknown,
): RolekeeperError {
  const sentence = `There ${what === 'journal' ? 'is no journal' : 'are no accounts'} in ${directory}`
  return keeperAt(directory).state === 'none'
    ? new RolekeeperError(`${what}.absent`, `${sentence}.`, {
        fix: 'name the directory of a keeper that has run, with --directory.',
        cause,
      })
    : new RolekeeperError(`${what}.lost`, `${sentence}, and a keeper worked there.`, {
        fix: 'put what is missing back from a backup (docs/runbooks/restore.md); a keeper that has just begun writes it soon.',
        cause,
      })
}

function presenceIn(directory: string): Presence | null {
  try {
    return presence.parse(JSON.parse(readFileSync(fileIn(directory), 'utf8')))
  } catch {
    // Of an older release, or one that is about to write it.
    return null
  }
}
