import type { RunConfig } from '../../../config/config.ts'
import { printable, RolekeeperError } from '../../../errors.ts'
import type { ActiveSwitch, Control } from '../../../ops/control.ts'
import { directoryText } from '../../../ops/directory.ts'
import type { Finding } from '../../../ops/facet.ts'
import type { Outlet } from '../../../ops/outlet.ts'
import { plural, span } from '../../../readable.js'
import { judgeClock, type Times } from '../../doctor/checks/clock.ts'
import type { SeatStanding } from '../../seats/seating.ts'

/** A journal that has not answered by then holds everything up. */
export const JOURNAL_MS_MAX = 3_000

/** What a day of work writes is a tenth of it. */
const DISK_BYTES_WARNING = 1_073_741_824
/** SQLite needs room for its log even to finish what is under way. */
const DISK_BYTES_MIN = 134_217_728

/** The switches, each that is on by who pulled it; a state directory that cannot be read counts as both. Pure. */
export function controlFindings({ pulled, isUnreadable, directory }: Control): readonly Finding[] {
  if (isUnreadable === true) return [{ facet: 'kill', about: '', state: 'failing', error: UNREADABLE }]
  const of = (facet: 'kill' | 'pause'): readonly Finding[] => {
    const on = pulled.filter((each) => each.switch === facet)
    if (on.length === 0) return [{ facet, about: '', state: 'ok', message: 'off' }]
    return on.map((each) => ({
      facet,
      about: each.role ?? '',
      state: 'failing',
      isSaid: true,
      isSure: true,
      error: pulledError(each, directoryText(directory)),
    }))
  }
  return [...of('kill'), ...of('pause')]
}

const UNREADABLE = new RolekeeperError(
  'control.unreadable',
  'The state directory of this keeper cannot be read, which counts as killed: nothing is signed.',
  { fix: 'look at the disk and at who may read the directory.', retry: 'later' },
)

/** @param at what leads a command to this keeper. */
function pulledError({ switch: which, role, by, atMs, reason }: ActiveSwitch, at: string): RolekeeperError {
  const who = `${by ?? 'by hand'}, ${new Date(atMs).toISOString()}${reason === null ? '' : `: ${printable(reason)}`}`
  return which === 'kill'
    ? new RolekeeperError('control.killed', `Killed, nothing is signed (${who}).`, {
        fix: `\`rolekeeper unkill${at}\`, once the reason for it is gone.`,
      })
    : new RolekeeperError('control.paused', `Paused, nothing new begins (${who}).`, {
        fix: `\`rolekeeper resume${role === undefined ? '' : ` ${role}`}${at}\`, once the reason for it is gone.`,
      })
}

/** Whether this keeper's share of the seats is held. Pure. */
export const seatsFinding = ({ ok, message }: SeatStanding): Finding =>
  ok
    ? { facet: 'seats', about: '', state: 'ok', message }
    : {
        facet: 'seats',
        about: '',
        state: 'failing',
        error: new RolekeeperError('seats.not_held', `Seats are not held: ${message}`, {
          fix: 'see `rolekeeper fleet`: what Redis says, and who else holds them.',
          retry: 'later',
        }),
      }

/** Whether the journal takes what is written, by what a write ended in. Pure. */
export const journalFinding = (failed: unknown, live: number): Finding =>
  failed === null
    ? { facet: 'journal', about: '', state: 'ok', message: `${plural(live, 'workflow')} live` }
    : { facet: 'journal', about: '', state: 'failing', error: journalError(failed) }

const journalError = (failed: unknown) =>
  failed instanceof RolekeeperError
    ? failed
    : new RolekeeperError(
        'journal.not_writing',
        `The journal takes nothing: ${codeOf(failed)}. Without it nothing is signed and nothing ends.`,
        {
          fix: 'look at the disk of the state directory: its room, and who may write there.',
          retry: 'later',
        },
      )

/** The code of another's error; its message may hold a path or a URL. */
const codeOf = (error: unknown) => {
  // Its own code is a number.
  if (error instanceof Error && error.name === 'TimeoutError')
    return `a write was not taken in ${span(JOURNAL_MS_MAX)}`
  return error instanceof Error && 'code' in error ? String(error.code) : 'an unexpected error'
}

/** What room the state directory has. `freeBytes` is null where nobody says. Pure. */
export function diskFinding({ directory }: Pick<RunConfig, 'directory'>, freeBytes: number | null): Finding {
  const where = { facet: 'disk', about: '' } as const
  const free = freeBytes === null ? 'unknown' : `${Math.floor(freeBytes / 1_048_576)} MiB free`
  if (freeBytes === null || freeBytes >= DISK_BYTES_WARNING) return { ...where, state: 'ok', message: free }
  const state = freeBytes < DISK_BYTES_MIN ? 'failing' : 'warning'
  const error = new RolekeeperError(
    'disk.low',
    `The disk of ${directory} has ${free}; ${DISK_BYTES_WARNING / 1_048_576} MiB are careful, and below ${DISK_BYTES_MIN / 1_048_576} the journal may stop.`,
    { fix: 'make room there: what cannot be written is not signed.', retry: 'later' },
  )
  return { ...where, state, error }
}

/** What was lost longer ago says nothing of now. */
const LOST_MS = 60_000

/** Whether what is said is taken. Pure. */
export function outletFinding({ name, lost }: Outlet, monotonicMs: number): Finding {
  const where = { facet: 'output', about: name } as const
  const last = lost()
  if (last === null || monotonicMs - last.atMs > LOST_MS)
    return { ...where, state: 'ok', message: 'what is written is taken' }
  const error = new RolekeeperError(
    'output.lost',
    `The ${name} is lost: ${last.problem}; ${plural(last.count, 'line')} since the start. The keeper goes on.`,
    {
      fix: `see what reads the ${name} of this process; what it lacks is in the journal and in the audit.`,
      facts: { output: name },
      retry: 'later',
    },
  )
  return { ...where, state: 'warning', error }
}

/** Whether our clock is right, as the doctor judges it. Pure. */
export function clockFinding(times: Times): Finding {
  const { state, code, message, fix } = judgeClock(times)
  const where = { facet: 'clock', about: '' } as const
  if (state === 'ok') return { ...where, state, message }
  const details = { ...(fix === undefined ? {} : { fix }), retry: 'later' } as const
  return { ...where, state, error: new RolekeeperError(code, message, details) }
}
