import { printable } from '../../../errors.ts'
import { KEY } from '../../orders/person-key.ts'
import { command, type Io, unknownWord, usageError } from '../../parse/command.ts'

/** What follows a verb of `policy`: its arguments, as many as it names, the run configuration, and options of its own. */
type Verb = {
  readonly takes: readonly string[]
  /** Answers may follow. */
  readonly more?: true
  readonly run: (args: readonly string[], given: PolicyOptions, io: Io) => Promise<number>
}
type PolicyOptions = {
  readonly config: string
  readonly last?: string
  readonly json?: true
  readonly defaults?: true
  readonly hash?: string
  readonly key?: string
}

const VERBS: Readonly<Record<string, Verb>> = {
  check: { takes: ['FILE'], run: ([file = ''], { config }, io) => check(file, config, io) },
  explain: {
    takes: ['FILE', 'PREPARED.json'],
    run: async ([file = '', prepared = ''], { config }, io) => {
      const { explainPolicy } = await import('./explain.ts')
      return explainPolicy(file, prepared, config, io)
    },
  },
  diff: {
    takes: ['OLD', 'NEW'],
    run: async ([old = '', now = ''], { config }, io) => {
      const { diffPolicies } = await import('./diff.ts')
      return diffPolicies(old, now, config, io)
    },
  },
  approve: {
    takes: ['OLD', 'NEW'],
    run: async ([old = '', now = ''], given, io) => {
      const { approvePolicy } = await import('./diff.ts')
      return approvePolicy(old, now, given, io)
    },
  },
  new: {
    takes: ['ROLE', 'FILE'],
    more: true,
    run: async ([role = '', file = '', ...answers], given, io) => {
      const { writeNewPolicy } = await import('./new.ts')
      return writeNewPolicy({ role, file, answers }, given, io)
    },
  },
  test: {
    takes: ['FILE'],
    run: async ([file = ''], given, io) => {
      const { testPolicy } = await import('./test.ts')
      return testPolicy(file, given, io)
    },
  },
}

/** `rolekeeper policy`: what is written, before anything runs by it. */
export const policy = command({
  name: 'policy',
  usage:
    'new ROLE FILE | check FILE | explain FILE PREPARED.json | test FILE | diff OLD NEW | approve OLD NEW --config RUN',
  help: `new: write a role's policy for the deployment of RUN into FILE, which must not be there: it proves that chain and service are
what RUN says, reads prices, and asks for the rest on standard input; an answer may stand in the command too, as NAME=VALUE.
check: load a policy as a start does, and say where and what is wrong with it, or binds nothing. Exits with 0 when
nothing is, 1 when something binds nothing, 1 or 2 when it is refused. Where a node of RUN answers, each function is looked for in
the code that RUN pins.
explain: say of an answer that the service prepared which rule clears each of its calls, and why each other does not: every
condition that failed, with both values. It asks nobody, needs no key and signs nothing. PREPARED.json is what
\`rolekeeper workflows show ID --json\` prints, or {"request": …, "answer": …} of a prepare call. Exits with 1 when refused, 2 when
PREPARED.json is neither.
diff: say of each setting and rule in which two policies of a role differ whether NEW is wider, narrower, or that nobody can
say. Exits with 0 when NEW is the same or narrower, 3 when it is wider, 4 when it is unknown, 1 or 2 when one is refused.
approve: the same, and with --hash approve exactly that change, into NEW.approvals: a start takes up a looser policy only with
as many approvals as the quorum of OLD asks.
test: judge by a policy the answers that the journal has of its role's newest workflows, and say which it would have cleared
or refused other than was done then. Exits with 1 when any.
RUN is a run configuration: its deployment says which contracts there are, and how many decimals each token has.

  rolekeeper policy check policies/liquidator.yaml --config config/production.yaml`,
  options: {
    config: { help: 'the run configuration whose deployment it is for', value: 'RUN' },
    ...KEY,
    hash: { help: 'approve the change that this hash names, and nothing else', value: 'HASH' },
    last: { help: 'of test: how many workflows (default: 1000, at most 10000)', value: 'N' },
    json: { help: 'of test: print JSON' },
    defaults: { help: 'of new: ask nothing for which there is a careful answer' },
  },
  argumentsMax: 60,
  run: async ({ config, ...given }, [name, ...args], io) => {
    const verb = name !== undefined && Object.hasOwn(VERBS, name) ? VERBS[name] : undefined
    if (verb === undefined) {
      const known = Object.keys(VERBS)
      const asks = `policy takes one of ${known.join(', ')}.`
      const fix = `write one of ${known.join(', ')}; see: rolekeeper policy --help`
      throw unknownWord(name, { known, a: 'a command of policy', asks, fix })
    }
    const isMore = args.length > verb.takes.length && verb.more === undefined
    if (args.length < verb.takes.length || isMore || config === undefined) {
      const takes = [...verb.takes, '--config RUN'].join(' ')
      throw usageError(`policy ${name} takes ${takes}.`, 'see: rolekeeper policy --help')
    }
    return verb.run(args, { config, ...given }, io)
  },
})

async function check(file: string, config: string, io: Io): Promise<number> {
  const { checkFile } = await import('../../../keeper/policy-tools/file.ts')
  const { readCodes } = await import('../../../keeper/policy-tools/functions.ts')
  const codes = await readCodes(config, io.env)
  const { role, hash, isStaffed, lints, far } = checkFile(file, config, codes)
  const list = ({ at, problem, fix }: (typeof lints)[number]) =>
    io.out(`${printable(at)}: ${problem}. Fix: ${fix}\n`)
  lints.forEach(list)
  if (far.length > 0) {
    const are = far.length === 1 ? 'One number is' : `${far.length} numbers are`
    io.out(`${are} far from the shipped policy of the ${role}. Each is a slip, or meant:\n`)
    far.forEach(list)
  }
  const among = isStaffed
    ? ''
    : ` without signers, as no agent of ${printable(config)} names it: a keeper's hash differs`
  io.out(
    `${printable(file)}: a policy of the ${role}, which loads; its rules are ${hash.slice(0, 12)}${among}.\n`,
  )
  const unread = [...codes].flatMap(([address, code]) => (code === null ? [address] : []))
  if (unread.length === codes.size)
    io.out(
      'No node was asked, or none shows what is pinned: functions are compared with the shipped policies, by name alone.\n',
    )
  else if (unread.length > 0)
    io.out(
      `No node shows what is pinned at ${unread.join(', ')}: functions that may be there are compared by name alone.\n`,
    )
  return lints.length === 0 ? 0 : 1
}
