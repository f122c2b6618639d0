import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Refusal, RolekeeperError, refuse } from '../errors.ts'

/** What may stop a signature, read in the same turn before every KMS call and every first send. */
export type Gate = {
  /** No KMS call and no first send: the kill switch, or what passes by itself. */
  readonly closed: boolean
  /** Closed by nobody: the keeper ends, or does not know for now whether it holds the seat. */
  readonly isForNow?: true
  /** Nothing new; what is public is still bumped and closed. */
  readonly paused: boolean
  /** Why the signer is SAFE: nothing new of it, and what no node has is closed. Absent where it is not. */
  readonly safe?: Refusal
}

/** The switches as they are: `killed` stops every KMS call and first send, `paused` stops anything new. */
export type Control = {
  readonly killed: boolean
  readonly paused: boolean
  /** Nobody pulled them: their directory cannot be read. */
  readonly isUnreadable?: true
}

/** The switches, and the file in the state directory whose presence is "on". */
const FILES = { kill: 'KILL', pause: 'PAUSE' } as const
export type Switch = keyof typeof FILES

/**
 * Read the switches now: two system calls, nothing cached, because this is asked right before each KMS call. Whatever
 * cannot be read counts as killed: a directory that is gone says nothing about them.
 */
export function readControl(directory: string): Control {
  try {
    if (!statSync(directory).isDirectory()) return UNREADABLE
    return { killed: isThere(directory, 'kill'), paused: isThere(directory, 'pause') }
  } catch {
    return UNREADABLE
  }
}

const UNREADABLE: Control = { killed: true, paused: true, isUnreadable: true }

const isThere = (directory: string, which: Switch) =>
  statSync(join(directory, FILES[which]), { throwIfNoEntry: false }) !== undefined

/**
 * Turn a switch on or off; it survives a restart. Doing it again changes nothing.
 * @throws RolekeeperError `control.not_written` when the directory does not take it.
 */
export function setControl(directory: string, which: Switch, on: boolean): void {
  const file = join(directory, FILES[which])
  try {
    if (on) writeFileSync(file, '', { mode: 0o600 })
    else rmSync(file, { force: true })
  } catch (cause) {
    throw new RolekeeperError('control.not_written', `${file} could not be ${on ? 'written' : 'removed'}.`, {
      fix: `check that ${directory} is the keeper's directory and yours to write`,
      facts: { order: which, given: on },
      cause,
    })
  }
}

/** Close a gate that is open, for as long as what asks for it lasts. Pure. */
export const closedForNow = (gate: Gate, isClosed: boolean): Gate =>
  gate.closed || !isClosed ? gate : { ...gate, closed: true, isForNow: true }

/** Why nothing new may begin; `for_now` where that passes by itself, and refuses nothing; or null. Pure. */
export const stopped = (gate: Gate): Refusal | 'for_now' | null => {
  if (gate.isForNow === true) return 'for_now'
  if (gate.closed) return refuse('killed', 'The kill switch is on.')
  if (gate.safe !== undefined) return gate.safe
  return gate.paused ? refuse('paused', 'The keeper is paused.') : null
}
