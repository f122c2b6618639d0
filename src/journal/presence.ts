import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
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

/** What only a keeper makes: its lock, and the instance of a fleet what it works in. */
const MARKS = ['lock.sqlite', 'fleet.json']
const fileIn = (directory: string) => join(directory, 'keeper.json')

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
  if (!MARKS.some((name) => existsSync(join(directory, name)))) return { state: 'none' }
  const left = presenceIn(directory)
  return isLocked(directory) ? { state: 'running', now: left } : { state: 'ended', last: left }
}

function presenceIn(directory: string): Presence | null {
  try {
    return presence.parse(JSON.parse(readFileSync(fileIn(directory), 'utf8')))
  } catch {
    // Of an older release, or one that is about to write it.
    return null
  }
}
