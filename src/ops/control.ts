import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { printable, type Refusal, RolekeeperError, refuse } from '../errors.ts'
import { ROLE_NAME, type Role } from '../service/contract/roles.ts'
import { directoryText } from './directory.ts'

/** What may stop a signature, read in the same turn before every KMS call and every first send. */
export type Gate = {
  /** No KMS call and no first send: the kill switch, or what passes by itself. */
  readonly closed: boolean
  /** Closed by nobody: the keeper ends, or does not know for now whether it holds the seat. */
  readonly isForNow?: true
  /** Nothing new; what is public is still bumped and closed. */
  readonly paused: boolean
  /** The same for these roles alone; absent where there are none. */
  readonly pausedRoles?: readonly Role[]
  /** The switches that are on, with who turned them on; absent where none is. */
  readonly pulled?: readonly ActiveSwitch[]
  /** Where commands find them; absent where none is on, or no directory has them. */
  readonly directory?: string
  /** Why the signer is SAFE: nothing new of it, and what no node has is closed. Absent where it is not. */
  readonly safe?: Refusal
}

/** The switches: `kill` stops every KMS call and first send, `pause` stops anything new, of all roles or of one. */
export type Switch = 'kill' | 'pause'

/** Who pulled a switch or took it back, when and why. */
export type SwitchRecord = {
  /** `user@host`; null where a person made the file by hand. */
  readonly by: string | null
  /** Milliseconds since 1970, by the machine of who did it. */
  readonly atMs: number
  readonly reason: string | null
}

/** A switch that is on; `role` where it is the pause of that role alone. */
export type ActiveSwitch = SwitchRecord & { readonly switch: Switch; readonly role?: Role }

/** The switches as they are. */
export type Control = {
  readonly killed: boolean
  /** Every role is. */
  readonly paused: boolean
  /** Each that is on, those of single roles too. */
  readonly pulled: readonly ActiveSwitch[]
  /** Whose they are: where they were read. Absent where that is no directory. */
  readonly directory?: string
  /** Nobody pulled them: their directory cannot be read. */
  readonly isUnreadable?: true
}

/** The files in the state directory whose presence is "on": KILL, PAUSE, and PAUSE-role. */
const FILE = /^(KILL|PAUSE)(?:-(.+))?$/
const fileOf = (which: Switch, role?: Role) => `${which.toUpperCase()}${role === undefined ? '' : `-${role}`}`

/** What was done with them, one JSON object a line, the oldest first: a file that goes cannot say who took it away. */
const HISTORY = 'control.jsonl'

/** Far above who, when and why. */
const BYTES_MAX = 4_096

/**
 * Read the switches now: one look at the directory, nothing cached, because this is asked right before each KMS call.
 * Whatever cannot be read counts as killed: a directory that is gone says nothing about them.
 */
export function readControl(directory: string): Control {
  let names: readonly string[]
  try {
    names = readdirSync(directory)
  } catch {
    return { killed: true, paused: true, pulled: [], directory, isUnreadable: true }
  }
  return { ...controlOf(names.flatMap((name) => pulledBy(name, directory))), directory }
}

/** Say what switches that are on come to. Pure. */
export const controlOf = (pulled: readonly ActiveSwitch[]): Control => ({
  killed: pulled.some((each) => each.switch === 'kill'),
  paused: pulled.some((each) => each.switch === 'pause' && each.role === undefined),
  pulled,
})

/** The gate that switches make. Pure. */
export function gateBySwitches({ killed, paused, pulled, directory }: Control): Gate {
  const pausedRoles = pulled.flatMap(({ role }) => role ?? [])
  return {
    closed: killed,
    paused,
    ...(pausedRoles.length === 0 ? {} : { pausedRoles }),
    ...(pulled.length === 0 ? {} : { pulled }),
    ...(directory === undefined || !(killed || paused || pulled.length > 0) ? {} : { directory }),
  }
}

function pulledBy(name: string, directory: string): readonly ActiveSwitch[] {
  const [, word, role] = FILE.exec(name) ?? []
  if (word === 'KILL' && role === undefined) return [{ switch: 'kill', ...pullIn(join(directory, name)) }]
  if (word !== 'PAUSE' || (role !== undefined && !ROLE_NAME.test(role))) return []
  return [{ switch: 'pause', ...(role === undefined ? {} : { role }), ...pullIn(join(directory, name)) }]
}

const pull = z.object({
  by: z.string().max(200).nullable().default(null),
  atMs: z.int().nonnegative(),
  reason: z.string().max(1_000).nullable().default(null),
})

/** Read who made a file, and why; of one made by hand only its time is known. It is on, whatever it holds. */
function pullIn(file: string): SwitchRecord {
  let atMs = 0
  try {
    const found = statSync(file)
    atMs = Math.round(found.mtimeMs)
    // Anything else than a file could keep whoever reads it waiting.
    if (found.isFile() && found.size <= BYTES_MAX) return pull.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    // As one made by hand.
  }
  return { by: null, atMs, reason: null }
}

/** Read who says what of a switch, as JSON; what says nothing is of somebody, at a time that is not known. Pure. */
export function pullOf(text: string): SwitchRecord {
  try {
    return pull.parse(JSON.parse(text))
  } catch {
    return { by: null, atMs: 0, reason: null }
  }
}

/** Who turns a switch on or off; made by hand where absent. `role` for the pause of one role alone. */
type SwitchRequest = Partial<SwitchRecord> & { readonly role?: Role | undefined }

/**
 * Turn a switch on or off; it survives a restart. Of one that is on already, who, when and why stay as they are; a reason that
 * nobody gave yet is added.
 * @throws RolekeeperError `control.not_written` when the directory does not take it.
 */
export function setControl(directory: string, which: Switch, on: boolean, setting: SwitchRequest = {}): void {
  const { role, by = null, atMs = Date.now(), reason = null } = setting
  const file = join(directory, fileOf(which, role))
  try {
    if (on) pullFile(file, firstPull(file, { by, atMs, reason }))
    // Before the file goes: who sees that looks here who took it.
    note(directory, { switch: which, on, by, atMs, reason, ...(role === undefined ? {} : { role }) })
    if (!on) rmSync(file, { force: true })
  } catch (cause) {
    throw new RolekeeperError('control.not_written', `${file} could not be ${on ? 'written' : 'removed'}.`, {
      fix: `check that ${directory} is the keeper's directory and yours to write`,
      facts: { order: which, given: on },
      cause,
    })
  }
}

/** Write who pulled a switch first; nothing for one that is pulled by hand. */
function firstPull(file: string, pull: SwitchRecord): string {
  const before = existsSync(file) ? pullIn(file) : null
  const { by, atMs, reason } = before ?? pull
  const first: SwitchRecord = { by, atMs, reason: reason ?? pull.reason }
  return first.by === null && before === null ? '' : JSON.stringify(first)
}

/** Make the file at once with all that it says; on a disk that takes no text, empty. */
function pullFile(file: string, text: string): void {
  const draft = `${file}.${process.pid}.draft`
  try {
    writeFileSync(draft, text, { mode: 0o600 })
    renameSync(draft, file)
  } catch {
    rmSync(draft, { force: true })
    writeFileSync(file, '', { mode: 0o600 })
  }
}

type Noted = ActiveSwitch & { readonly on: boolean }

/** A switch is never held up by its history. */
function note(directory: string, noted: Noted): void {
  try {
    // Its line begins here, whatever became of the end of the one before.
    appendFileSync(join(directory, HISTORY), `\n${JSON.stringify(noted)}`, { mode: 0o600 })
  } catch {
    // Then who took it back is not known.
  }
}

/** Say who took back a switch that was on, by the history of its directory; by nobody known where that does not say. */
export function takenBack(directory: string, { switch: which, role, atMs }: ActiveSwitch): SwitchRecord {
  const last = historyOf(directory).findLast((each) => each.switch === which && each.role === role)
  return last !== undefined && !last.on && last.atMs >= atMs
    ? last
    : { by: null, atMs: Date.now(), reason: null }
}

/** What was done with the switches; a line that a crash or a full disk cut off says nothing, and hides none of the others. */
function historyOf(directory: string): readonly Noted[] {
  try {
    return readFileSync(join(directory, HISTORY), 'utf8')
      .split('\n')
      .flatMap((line) => notedIn(line) ?? [])
  } catch {
    return []
  }
}

function notedIn(line: string): Noted | null {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

/** Close a gate that is open, for as long as what asks for it lasts. Pure. */
export const closedForNow = (gate: Gate, isClosed: boolean): Gate =>
  gate.closed || !isClosed ? gate : { ...gate, closed: true, isForNow: true }

/** The gate of one role's work: paused also where that role alone is. */
export const gateOfRole = (role: Role, gate: () => Gate) => (): Gate => {
  const { pulled, ...found } = gate()
  const own = pulled?.filter((each) => each.role === undefined || each.role === role)
  const ofRole = own === undefined || own.length === 0 ? found : { ...found, pulled: own }
  return found.pausedRoles?.includes(role) === true ? { ...ofRole, paused: true } : ofRole
}

/** Why nothing new may begin; `for_now` where that passes by itself, and refuses nothing; or null. Pure. */
export const stopped = (gate: Gate): Refusal | 'for_now' | null => {
  if (gate.isForNow === true) return 'for_now'
  if (gate.closed) return refuse('killed', killedText(gate))
  if (gate.safe !== undefined) return gate.safe
  return gate.paused ? refuse('paused', pausedText(gate)) : null
}

/** Who reads it may not be who did it: it says who did, and what undoes it. */
function killedText({ pulled = [], directory }: Gate): string {
  const fix = `\`rolekeeper unkill${directoryText(directory)}\``
  const kill = pulled.find((each) => each.switch === 'kill')
  return kill === undefined
    ? `The kill switch is on, or what says so cannot be read. Fix: ${fix}, or let the keeper read its directory.`
    : `The kill switch is on: ${whoText(kill)}. Fix: ${fix} once it may sign again.`
}

function pausedText({ pulled = [], pausedRoles, directory }: Gate): string {
  const at = directoryText(directory)
  const pauses = pulled.filter((each) => each.switch === 'pause')
  const pause = pauses.find(({ role }) => role === undefined) ?? pauses[0]
  if (pause === undefined)
    return `${pausedRoles === undefined ? 'The keeper' : 'The keeper, or this role of it,'} is paused. Fix: \`rolekeeper resume${at}\`.`
  const [what, ...role] = pause.role === undefined ? ['keeper'] : [pause.role, pause.role]
  return `The ${what} is paused: ${whoText(pause)}. Fix: \`${['rolekeeper resume', ...role].join(' ')}${at}\` once it may begin anew.`
}

function whoText({ by, atMs, reason }: SwitchRecord): string {
  const who = by === null ? 'somebody did it by hand' : `${printable(by)} did it`
  const when = atMs === 0 ? 'at a time that is not known' : new Date(atMs).toISOString()
  return `${who}, ${when}${reason === null ? '' : `: ${printable(reason).replace(/\.$/, '')}`}`
}
