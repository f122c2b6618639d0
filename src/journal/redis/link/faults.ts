import { RolekeeperError } from '../../../errors.ts'

/** Why a command has no answer, and whether the server may have run it all the same. Stays inside this folder. */
export class LineFault extends Error {
  override readonly name = 'LineFault'
  /** The first word of what the server answered, or of what the network did. */
  readonly word: string
  readonly mayHaveRun: boolean

  constructor(word: string, mayHaveRun: boolean) {
    super(word)
    this.word = word
    this.mayHaveRun = mayHaveRun
  }
}

/** What a server answers that ran nothing, and may soon do so: it restarts, was demoted, or lacks our scripts. */
const PASSING = new Set([
  ...['NOSCRIPT', 'READONLY', 'LOADING', 'MASTERDOWN', 'BUSY', 'NOREPLICAS'],
  ...[
    'GENERATION',
    'BEHIND',
    'DOUBTED',
    'LATE',
    'LEFT',
    'closed',
    'timeout',
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
  ],
])

/** Whether the same command may be sent again, on another line. Pure. */
export const isPassing = ({ word, mayHaveRun }: LineFault): boolean => mayHaveRun || PASSING.has(word)

/** What a fault is for a person, by its word. */
const FIXES: ReadonlyMap<string, { readonly code: string; readonly fix: string }> = new Map([
  [
    'OOM',
    {
      code: 'journal.full',
      fix: 'give Redis more memory (`maxmemory`); what is under way goes on, nothing new is opened or claimed.',
    },
  ],
  [
    'MISCONF',
    { code: 'journal.failed', fix: "look at Redis's log: its disk does not take the append-only file." },
  ],
  [
    'READONLY',
    { code: 'journal.replica', fix: 'name the master in `journal.redis`; this server is a replica.' },
  ],
  ['LOADING', { code: 'journal.loading', fix: 'none needed: Redis reads its files; it is tried again.' }],
  ['NOREPLICAS', { code: 'journal.not_replicated', fix: 'bring the replicas back.' }],
  ['WRONGPASS', { code: 'journal.refused', fix: 'correct the user name and the password for Redis.' }],
  ['NOAUTH', { code: 'journal.refused', fix: 'give the password for Redis.' }],
  ['NOPERM', { code: 'journal.refused', fix: 'allow this user the commands and keys of docs/fleet.md.' }],
  [
    'certificate',
    {
      code: 'journal.refused',
      fix: 'give the CA that signed the certificate of Redis, and name the host as the certificate does.',
    },
  ],
])

/**
 * Say why Redis did nothing, or why it is not known whether it did. Never the server's own text or a cause: ioredis puts the
 * arguments of a command there, a password included. Pure.
 */
export function faultError({ word, mayHaveRun }: LineFault, server: string): RolekeeperError {
  const facts = { server, answer: word }
  if (mayHaveRun) {
    return new RolekeeperError(
      'journal.unknown',
      `Redis at ${server} did not answer (${word}): whether it wrote is not known.`,
      {
        fix: 'none needed: the record is read again before anything is decided.',
        facts,
        retry: 'later',
      },
    )
  }
  const known = FIXES.get(word)
  return new RolekeeperError(
    known?.code ?? 'journal.unreachable',
    `Redis at ${server} did nothing of what it was asked: ${word}.`,
    { fix: known?.fix ?? 'see that Redis runs and can be reached from this machine.', facts, retry: 'later' },
  )
}

/** Say that another instance holds a seat now, or nobody: what this one decided for it is void. Pure. */
export const seatLost = (seat: string): RolekeeperError =>
  new RolekeeperError('seat.lost', `This instance no longer holds the seat ${seat}.`, {
    fix: 'none needed: who holds it goes on from the record.',
    facts: { seat },
    retry: 'later',
  })

/**
 * Say that Redis lacks what it answered this instance for and no barrier had passed, as a replica does that lagged and was
 * promoted. What is in memory is void: who holds the seat takes it again, and reads it anew. Pure.
 */
export const tailLost = (seat: string): RolekeeperError =>
  new RolekeeperError('seat.lost', `Redis lacks what was last written to the seat ${seat}.`, {
    fix: 'none needed: nothing had followed from it; the seat is taken again from the record.',
    facts: { seat, tail: true },
    retry: 'later',
  })

/** What a server has forgotten that had acknowledged more. */
export type LostWrites = {
  readonly seen: string
  readonly expected: string
  /** The generation that it was known in. */
  readonly gen: string
}

/** Say that Redis is not what this instance saw acknowledged: flushed, restored, or a replica that lagged. Pure. */
export const amnesia = ({ seen, expected, gen }: LostWrites): RolekeeperError =>
  new RolekeeperError('journal.amnesia', `Redis has forgotten what it acknowledged: ${seen}; ${expected}.`, {
    fix: 'sign nothing; see `rolekeeper safe`, which says what must be proven first.',
    facts: { seen, expected, gen },
  })

/** Say that another instance saw more acknowledged than Redis has. Pure. */
export const doubted = (by: string, gen: string): RolekeeperError =>
  amnesia({ seen: 'it is behind another instance', expected: `${by} saw more of it`, gen })
