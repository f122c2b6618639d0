import { printable, RolekeeperError } from '../errors.ts'
import { type Command, type Io, usageError } from './parse/command.ts'
import { EXIT, EXIT_MEANINGS, exitCodeOf } from './parse/exit-codes.ts'
import { perhaps } from './parse/nearest.ts'

/** The commands, each loaded only when it is asked for: help is instant, and `run` loads nothing of the sandbox. */
const COMMANDS: Readonly<Record<string, { summary: string; load: () => Promise<Command> }>> = {
  start: {
    summary: 'sandbox and keeper together, live, on this machine',
    load: async () => (await import('./commands/start.ts')).start,
  },
  sandbox: {
    summary: 'the sandbox alone',
    load: async () => (await import('./commands/sandbox.ts')).sandbox,
  },
  run: {
    summary: 'the keeper, as a configuration says',
    load: async () => (await import('./commands/run.ts')).run,
  },
  status: {
    summary: 'how it stands: what is not well, each role, and what waits',
    load: async () => (await import('./commands/status.ts')).status,
  },
  init: {
    summary: 'a configuration and careful policies, from what service and chain say',
    load: async () => (await import('./commands/init.ts')).init,
  },
  doctor: {
    summary: 'what is wrong, before the first signature',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  workflows: {
    summary: 'what it did and does',
    load: async () => (await import('./commands/workflows.ts')).workflows,
  },
  console: {
    summary: 'a link to the page that shows what a keeper does',
    load: async () => (await import('./commands/console.ts')).console,
  },
  explain: {
    summary: 'why it acted, or why not',
    load: async () => (await import('./commands/explain.ts')).explain,
  },
  submit: {
    summary: 'a workflow by hand, through the same guard',
    load: async () => (await import('./commands/submit.ts')).submit,
  },
  nav: {
    summary: 'what a NAV report rests on, and its sum once more',
    load: async () => (await import('./commands/nav.ts')).nav,
  },
  restate: {
    summary: 'correct a NAV report, as its next revision',
    load: async () => (await import('./commands/restate.ts')).restate,
  },
  pnl: {
    summary: 'what each role expected, and what it got',
    load: async () => (await import('./commands/pnl.ts')).pnl,
  },
  experience: {
    summary: 'what roles learned from it, and how they forget',
    load: async () => (await import('./commands/experience.ts')).experience,
  },
  shadow: {
    summary: 'what roles in shadow would have done, and gained',
    load: async () => (await import('./commands/shadow.ts')).shadow,
  },
  approve: {
    summary: 'what waits for a person, and its yes',
    load: async () => (await import('./commands/approve.ts')).approve,
  },
  approver: {
    summary: 'a key of your own to approve with',
    load: async () => (await import('./commands/approver.ts')).approver,
  },
  alarms: {
    summary: 'whether those who should hear of alarms do',
    load: async () => (await import('./commands/alarms.ts')).alarms,
  },
  reject: { summary: "a person's no", load: async () => (await import('./commands/reject.ts')).reject },
  signer: {
    summary: 'how each signer stands, and what leaves SAFE',
    load: async () => (await import('./commands/signer.ts')).signer,
  },
  fleet: {
    summary: 'who holds what of a fleet, and how its Redis is',
    load: async () => (await import('./commands/fleet.ts')).fleet,
  },
  safe: {
    summary: 'why signers of a fleet are SAFE, and the way out',
    load: async () => (await import('./commands/safe.ts')).safe,
  },
  audit: {
    summary: 'all that was done, and whether the record of it is whole',
    load: async () => (await import('./commands/audit.ts')).audit,
  },
  plan: {
    summary: 'what differs from what is declared',
    load: async () => (await import('./commands/plan.ts')).plan,
  },
  pause: { summary: 'begin nothing new', load: async () => (await import('./commands/pause.ts')).pause },
  resume: { summary: 'take a pause back', load: async () => (await import('./commands/resume.ts')).resume },
  kill: {
    summary: 'sign nothing and send nothing new',
    load: async () => (await import('./commands/kill.ts')).kill,
  },
  unkill: { summary: 'take a kill back', load: async () => (await import('./commands/unkill.ts')).unkill },
  policy: {
    summary: 'write, check, test, compare and approve policies',
    load: async () => (await import('./commands/policy/policy.ts')).policy,
  },
  api: {
    summary: "compare a service's contract with ours",
    load: async () => (await import('./commands/api.ts')).api,
  },
  completion: {
    summary: 'complete commands, options and roles in bash, zsh and fish',
    load: async () => (await import('./parse/completion.ts')).completionOf(COMMANDS),
  },
  schemas: {
    summary: 'write the JSON Schemas of policies, for editors',
    load: async () => (await import('./commands/schemas.ts')).schemas,
  },
}

/**
 * Run a command line; every failure of ours becomes one line on standard error.
 * @param args what follows `rolekeeper`.
 * @returns the exit code, one of {@link EXIT}.
 */
export async function rolekeeper(args: readonly string[], io: Io): Promise<number> {
  const shown = {
    ...io,
    out: (text: string) => io.out(visible(text)),
    err: (text: string) => io.err(visible(text)),
  }
  try {
    return await dispatch(args, shown)
  } catch (error) {
    return report(error, shown, args.includes('--json'))
  }
}

/**
 * Write as JSON may what JSON leaves as it is, though a terminal acts on it, turns the line around by it, or shows nothing:
 * whatever is printed as JSON has texts of others in it as they came.
 */
const visible = (text: string): string =>
  text.replace(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu, (found) =>
    Array.from(
      { length: found.length },
      (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  )

async function dispatch([name, ...args]: readonly string[], io: Io): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    io.out(overview())
    return name === undefined ? EXIT.misunderstood : EXIT.done
  }
  if (name === '--version' || name === '-v') {
    const { version } = await import('./version.ts')
    io.out(`rolekeeper ${version}\n`)
    return 0
  }
  const chosen = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (chosen === undefined)
    throw usageError(
      `"${printable(name)}" is not a command.`,
      `${perhaps(name, Object.keys(COMMANDS))}see: rolekeeper --help`,
    )
  const run = await chosen.load()
  return run(args, io)
}

function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map(({ length }) => length))
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`)
  const codes = Object.entries(EXIT_MEANINGS).map(
    ([name, meaning]) => `  ${String(EXIT[name as keyof typeof EXIT]).padStart(3)}  ${meaning}`,
  )
  return `rolekeeper COMMAND [options]

Keeps on-chain roles staffed: it watches, decides by policy, checks what it is given to sign, signs with a KMS,
broadcasts, and follows each workflow to its end.

Commands:
${rows.join('\n')}

Each has --help. --version shows the version.

Exit codes:
${codes.join('\n')}
`
}

/**
 * Say in one line what went wrong, or as one JSON object; a stack trace helps nobody who runs this.
 * @returns the exit code.
 */
export function report(error: unknown, io: Pick<Io, 'err'>, isJson = false): number {
  const known = error instanceof RolekeeperError ? error : unexpected(error)
  const { code, facts, fix } = known
  const message = printable(known.shortMessage, 1_000)
  if (isJson) io.err(`${JSON.stringify({ type: 'error', code, message, fix: fix ?? null, facts })}\n`)
  else io.err(`error ${code}: ${printable(known.message, 1_000)}\n`)
  return exitCodeOf(known)
}

function unexpected(error: unknown): RolekeeperError {
  const name = error instanceof Error ? printable(error.name) : typeof error
  const at = error instanceof Error ? /^\s+at .*$/m.exec(error.stack ?? '')?.[0]?.trim() : undefined
  const where = at === undefined ? '' : ` ${printable(at)}`
  return new RolekeeperError('internal', `An unexpected ${name}${where}.`, { fix: 'report it with the log.' })
}
