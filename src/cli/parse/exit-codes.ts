import type { RolekeeperError } from '../../errors.ts'

/** What every command ends with: a script tells by it what a person reads. */
export const EXIT = {
  done: 0,
  failed: 1,
  misunderstood: 2,
  wider: 3,
  unknown: 4,
  noKeeper: 5,
  interrupted: 130,
} as const

/** What each says, as `rolekeeper --help` and docs/operating.md have it. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  done: 'done, or the answer is yes',
  failed:
    'it failed, was refused, or the answer is no: what was asked about is not there, differs, is quarantined or is not proven',
  misunderstood:
    'the command line is not understood, or a file or directory that it names is not what it takes; nothing was done',
  wider: 'policy diff: the new policy is wider',
  unknown: 'policy diff: nobody can say whether it is wider',
  noKeeper:
    'no keeper runs there: an order was taken back; a kill, a pause or an answer was written, and holds for the next start',
  interrupted: 'ended at once, by a second Ctrl-C',
}

/** The errors that say that no keeper runs there. */
const NO_KEEPER = ['order.not_taken', 'order.no_keeper']
/** Those of a command line, a file or a directory. */
const MISUNDERSTOOD =
  /^(usage$|config\.|keeper\.none$|journal\.absent$|accounts\.absent$|fleet\.none$|policy\.answer_unreadable$)/

/** The exit code of an error. Pure. */
export function exitCodeOf({ code }: Pick<RolekeeperError, 'code'>): number {
  if (NO_KEEPER.includes(code)) return EXIT.noKeeper
  return MISUNDERSTOOD.test(code) ? EXIT.misunderstood : EXIT.failed
}
