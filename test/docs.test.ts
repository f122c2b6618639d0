import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readAccounts } from '../src/journal/sqlite/accounts.ts'
import { readSqliteJournal } from '../src/journal/sqlite/sqlite.ts'
import { isHeld } from '../src/workflow/workflow.ts'
import { QUIET_SEED } from './lab/conformance/quiet-story.ts'
import { runCommand } from './support/commands.ts'
import { newDirectory } from './support/directory.ts'
import { removeDirectory } from './support/sandbox.ts'
import { WAIT_MS_MAX } from './support/until.ts'

type Page = {
  readonly path: string
  readonly text: string
  /** Its fenced blocks. */
  readonly blocks: readonly { readonly language: string; readonly code: string }[]
  /** Its text without the fenced blocks. */
  readonly prose: string
}

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm
const CODE_SPAN = /`([^`\n]+)`/g

function readPage(path: string): Page {
  const text = readFileSync(path, 'utf8')
  const blocks = [...text.matchAll(FENCE)].map(([, language = '', code = '']) => ({ language, code }))
  return { path, text, blocks, prose: text.replace(FENCE, '') }
}

const inDocs = readdirSync('docs', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
const pages = ['README.md', ...inDocs].map(readPage)
const [readme = readPage('README.md')] = pages
const codeSpans = ({ prose }: Page) => [...prose.matchAll(CODE_SPAN)].map(([, code = '']) => code)
const lineCount = ({ text }: Page) => text.trimEnd().split('\n').length

/** The links of a page that lead to a file or a heading of ours, from the repository's root. */
const linksOf = ({ path, prose }: Page) =>
  [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
    if (URL.canParse(link)) return []
    const [file = '', anchor] = link.split('#')
    return [{ file: file === '' ? path : normalize(join(dirname(path), file)), anchor }]
  })

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = ({ prose }: Page) =>
  [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )

/** Files that a reader makes while following a page. */
const READERS_OWN = [
  'agents/treasurer',
  'policies/treasurer',
  'config/production.yaml',
  'config/policies',
  'config/liquidator.yaml',
  'config/shadow.yaml',
]
/** The languages whose blocks are a reader's own files. */
const FILES = ['ts', 'yaml']

/** The paths of this repository that a page names; `<role>` stands for any one. */
const pathsOf = ({ prose, blocks }: Page) =>
  [prose, ...blocks.flatMap(({ language, code }) => (FILES.includes(language) ? [] : [code]))]
    .flatMap((text) => [
      ...text.matchAll(/(?<![\w./-])(?:src|agents|sandbox|config|policies|test|docs)\/[\w./<>-]*/g),
    ])
    .map(([path]) => path.replace(/\.$/, '').replace('<role>', 'liquidator'))
    .filter((path) => !READERS_OWN.some((own) => path.startsWith(own)))

describe('every page', () => {
  it('has at most 150 lines as the README, and fewer than 200 in docs/', () => {
    expect(lineCount(readme)).toBeLessThanOrEqual(150)
    expect(pages.filter((page) => lineCount(page) >= 200).map(({ path }) => path)).toEqual([])
  })

  it('is linked from the README', () => {
    const linked = linksOf(readme).map(({ file }) => file)
    // Runbooks are found by their alarm: test/ops/rules.test.ts.
    const alone = inDocs.filter((path) => !path.startsWith('docs/runbooks/'))
    expect(alone.filter((path) => !linked.includes(path))).toEqual([])
  })

  it('links to files and headings that are there', () => {
    const broken = pages.flatMap((page) =>
      linksOf(page)
        .filter(({ file, anchor }) => {
          const target = pages.find(({ path }) => path === file)
          return (
            !existsSync(file) || (anchor !== undefined && !(target && anchorsOf(target).includes(anchor)))
          )
        })
        .map(({ file, anchor = '' }) => `${page.path}: ${file}#${anchor}`),
    )
    expect(broken).toEqual([])
  })

  it('names files and metrics that are there', () => {
    const sources = ['counters', 'gauges', 'role-gauges', 'fleet-metrics'].map(
      (name) => `src/ops/metrics/${name}.ts`,
    )
    const metrics = sources.map((path) => readFileSync(path, 'utf8')).join()
    const absent = pages.flatMap((page) => [
      ...pathsOf(page).filter((path) => !existsSync(path)),
      ...codeSpans(page)
        .filter((code) => /^rolekeeper_[a-z_]+$/.test(code))
        .filter((code) => !metrics.includes(`'${code.replace('rolekeeper_', '')}'`)),
    ])
    expect(absent).toEqual([])
  })

  it('asks no registry for a name that anybody may take', () => {
    expect(pages.filter(({ text }) => /\bnpx +rolekeeper\b/.test(text)).map(({ path }) => path)).toEqual([])
  })

  it('shows the two commands in one block of the README', () => {
    const both = readme.blocks.filter(
      ({ code }) => code.includes('npm install && npm start') && code.includes('npm install && npm test'),
    )
    expect(both).toHaveLength(1)
  })
})

const SECRETS = 'set -a; . .rolekeeper/sandbox.env; set +a\n'
/** Commands that this test does not run, by how they begin, and why. */
const NOT_RUN: readonly (readonly [string, string])[] = [
  ['npm install', 'changes the machine, and comes before every test'],
  ['npm link', 'changes the machine; test/end-to-end/linked.test.ts covers it'],
  ['npm run conformance', 'takes a minute; test/lab/conformance covers it'],
  ['npm run judgement', 'takes a minute; test/lab/judgement covers it'],
  ['npm run bench', 'takes minutes'],
  ['npm run day', 'takes minutes'],
  ['npm run chaos', 'takes minutes'],
  ['npm run attacks', 'takes minutes; test/lab/attacks covers it'],
  ['npm run mutate', 'takes minutes'],
  ['npm run slips', 'takes a minute; test/lab/slips covers it'],
  ['npm run fuzz', 'takes minutes; test/lab/fuzz covers it'],
  ['npm run contracts', 'takes a minute, and changes files only where a contract did'],
  ['npm run properties', 'takes a minute; the same files are in this suite'],
  ['npm run simulate', 'takes minutes; test/lab/simulation covers it'],
  ['npm run nodes', 'takes an hour; test/lab/nodes covers some of it'],
  ['npm test', 'is this suite'],
  ['rolekeeper sandbox', 'test/lab/conformance covers it'],
  ['npm start -- --json --for', 'takes minutes'],
  [
    'npm start -- --fresh',
    'starts as the others; test/end-to-end/shadow-scenarios.test.ts plays what troubles its roles',
  ],
  ['npm start -- --shadow', 'starts as the others; test/end-to-end/shadow.test.ts covers it'],
  ['npm start -- --fault', 'starts as the others; test/sandbox/service/faults covers what goes wrong'],
  ['npm run schemas && npm start', 'needs the role typed in; test/end-to-end/own-role.test.ts covers it'],
  ['npx vitest run', 'is a part of this suite'],
  ['rolekeeper run --config config/production.yaml', 'needs a real service and AWS'],
  ['rolekeeper doctor --config FILE', 'test/keeper/doctor covers it'],
  ['rolekeeper doctor --config config/production', 'as the last'],
  ['rolekeeper init config/production.yaml service=', 'needs a real service'],
  [`${SECRETS}rolekeeper init`, 'test/cli/commands/init.test.ts covers it'],
  ['rolekeeper kill --reason', 'others are run beside that keeper; `rolekeeper kill` is run, and taken back'],
  ['rolekeeper pause liquidator', 'as the last, with the pause of the allocator'],
  ['sudo useradd', 'changes the machine'],
  ['aws iam', 'needs AWS'],
  ['rolekeeper init FILE', 'test/cli/commands/init.test.ts covers it'],
  ['rolekeeper alarms test', 'needs targets; test/ops/alarms/alarms-out.test.ts covers it'],
  ['rolekeeper approver reply', 'needs a listener; test/keeper/replies.test.ts covers it'],
  ['rolekeeper approve ID --hash HASH --key FILE', 'is run with a key that is there'],
  ['rolekeeper approve --', 'is an option that is named'],
  ['rolekeeper audit verify', 'test/ops/audit covers it'],
  ['rolekeeper status --watch', 'runs until Ctrl-C; test/end-to-end/health.test.ts covers the rest'],
  ['rolekeeper api diff https://', 'needs a real service'],
  ['rolekeeper run --config config/shadow.yaml', 'takes a minute; test/end-to-end/shadow.test.ts covers it'],
  ['rolekeeper shadow --config', 'needs the run before it'],
  ['rolekeeper workflows list --config', 'as the last'],
  ['rolekeeper fleet', 'needs a fleet; test/cli/fleet-commands.test.ts covers it'],
  ['rolekeeper policy diff OLD', 'needs two policies; test/keeper/policy-tools/file.test.ts covers it'],
  ['rolekeeper policy approve OLD', 'as the last'],
  ['rolekeeper safe', 'needs a fleet; test/keeper/seats/fleet-safe.test.ts covers it'],
  [
    'rolekeeper submit role.vault_owner.vaultFeeConfigUpdate --input',
    'needs addresses typed in; test/end-to-end/every-type.test.ts covers it',
  ],
  ['docker compose', 'needs Docker, a real service and AWS'],
  ['redis-server', 'takes a port that may be in use; test/end-to-end/compose.test.ts starts a fleet on one'],
  ['export ROLEKEEPER_INSTANCE', 'as the last'],
  ['rolekeeper run --config .rolekeeper/fleet.yaml', 'as the last'],
]
const isRun = (command: string) => !NOT_RUN.some(([begins]) => command.startsWith(begins))

/** Runs until it is interrupted. */
const isSession = (command: string) => command.startsWith('npm start')
/** The session that all other commands are run beside. */
const SHARED = 'npm start'

/** The commands of a block, one a line, without comments; what belongs together stays together. */
const commandsIn = (code: string): readonly string[] => {
  const lines = code
    .split('\n')
    .map((line) => line.replace(/\s+#\s.*$/, ''))
    .filter((line) => line.trim() !== '')
  const alone = lines.every((line) => isSession(line) || !isRun(line))
  return alone ? lines : [lines.join('\n')]
}

const commands = [
  ...new Set(
    pages.flatMap((page) => [
      ...codeSpans(page).filter((code) => /^(npm|npx|docker|rolekeeper) /.test(code)),
      ...page.blocks.flatMap(({ language, code }) => (language === 'sh' ? commandsIn(code) : [])),
    ]),
  ),
]
const ran = commands.filter(isRun)
const others = ran.filter((command) => !isSession(command))

/** One command is run as `npm link` makes it; the others are spared what it takes to find the checkout. */
const LINKED = 'rolekeeper --help'
/** A command that asks nothing of a shell: it is run in this process, which spares it the start of one. */
const isPlain = (command: string) => command !== LINKED && /^rolekeeper [\w./:@=, -]+$/.test(command)
const ROOT = process.cwd()
const SHORT = 'rolekeeper() { node src/cli/main.ts "$@"; }\n'

/** All commands of all pages, one after the other. */
const WHOLE_MS_MAX = 10 * WAIT_MS_MAX

type Ended = { readonly code: number | null; readonly out: string; readonly err: string }

/** Start a command in a directory, in a process group of its own, as a terminal does. */
function start(command: string, directory: string) {
  // A shell that ignored Ctrl-C would pass that on; one that dies of it would hide how the command ended.
  const script = `trap : INT\n${command === LINKED ? '' : SHORT}${command}`
  const path = `${join(ROOT, 'src/cli/bin')}:${dirname(process.execPath)}:${process.env.PATH}`
  const child = spawn('sh', ['-e', '-c', script], {
    cwd: directory,
    detached: true,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject).once('close', (code) => resolve({ code, out, err }))
  })
  return { child, ended }
}

/** Wait until a session says that it is ready, or has ended. */
const untilReady = ({ child, ended }: ReturnType<typeof start>) =>
  Promise.race([
    ended,
    new Promise<void>((resolve) => {
      child.stdout.on('data', (text: string) => /\bready\b/.test(text) && resolve())
    }),
  ])

/** Press Ctrl-C: the whole group gets it. */
const interrupt = ({ pid }: ChildProcess) => pid !== undefined && process.kill(-pid, 'SIGINT')

/** Make a directory that is this checkout to a command, but whose state, policies and configurations are its own. */
function makeCheckout(): string {
  const directory = newDirectory()
  for (const part of ['agents', 'src', 'sandbox', 'package.json', 'node_modules'])
    symlinkSync(join(ROOT, part), join(directory, part))
  for (const part of ['policies', 'config'])
    cpSync(join(ROOT, part), join(directory, part), { recursive: true })
  return directory
}

describe('every command of the pages', () => {
  const made: string[] = []
  const answered: string[] = []
  const running = new Set<ChildProcess>()
  let directory: string
  let state: string
  let shared: ReturnType<typeof start>

  const launch = (command: string, where: string) => {
    const started = start(command, where)
    running.add(started.child)
    void started.ended.finally(() => running.delete(started.child))
    return started
  }

  const end = (command: string): Promise<Ended> =>
    isPlain(command) ? runCommand(command.split(' ').slice(1), process.env) : launch(command, directory).ended

  /** Read the shared session's journal, once there is what `find` looks for. */
  async function untilFound<T>(
    find: (journal: ReturnType<typeof readSqliteJournal>) => Promise<T | undefined>,
  ) {
    const journal = readSqliteJournal(state)
    try {
      for (;;) {
        const found = await find(journal)
        if (found !== undefined) return found
        await setTimeout(100)
      }
    } finally {
      await journal.close()
    }
  }

  beforeAll(async () => {
    directory = makeCheckout()
    state = join(directory, '.rolekeeper')
    made.push(directory)
    shared = launch(`${SHARED} -- --seed ${QUIET_SEED}`, directory)
    await untilReady(shared)
    // The asset manager's policy asks about three things that the sandbox's story begins with.
    await untilFound(async (journal) =>
      (await journal.live()).filter(isHeld).length >= 3 ? true : undefined,
    )
    process.chdir(directory)
  })

  afterAll(async () => {
    process.chdir(ROOT)
    for (const child of running) if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    for (const each of made) removeDirectory(each)
  })

  /** Put what a reader would: an id of a workflow, of one that waits for an answer, or an address. */
  async function fillIn(command: string): Promise<string> {
    if (command.includes('0xBORROWER')) {
      const borrower = await untilFound(async (journal) => {
        const rows = await journal.decisions(':', 100)
        const parts = rows.flatMap(({ role, subject }) => (role === 'liquidator' ? subject.split(':') : []))
        return parts.findLast((part) => isAddress(part))
      })
      return command.replace('0xBORROWER', borrower)
    }
    if (!/\bID\b/.test(command)) return command
    const asks = /\b(approve|reject) ID/.test(command)
    const isVerified = command.includes('nav verify')
    const { id, hold } = await untilFound(async (journal) => {
      const rows = asks ? (await journal.live()).filter(isHeld) : await journal.list(1_000)
      return rows.find(({ id, proposal }) =>
        isVerified ? proposal.reason.evidence !== undefined : !answered.includes(id),
      )
    })
    if (/\breject ID|--hash/.test(command)) answered.push(id)
    return command.replace(/\bID\b/, id.slice(0, 8)).replace(/\bHASH\b/, hold?.hash ?? '')
  }

  /** Say what is wrong with how a command ended; null where nothing is. */
  const problemOf = (command: string, { code, out, err }: Ended, codes: readonly number[]) =>
    codes.includes(code ?? -1) && out.trim() !== ''
      ? null
      : `${command}: exit ${code}. ${out.slice(-2_000)}${err}`

  it('is run, or is named with the reason why it is not', () => {
    expect(commands).toContain(SHARED)
    expect(others).toContain(LINKED)
    const stale = NOT_RUN.filter(([begins]) => !commands.some((command) => command.startsWith(begins)))
    expect(stale).toEqual([])
  })

  it('works beside a keeper that runs', { timeout: WHOLE_MS_MAX }, async () => {
    const problems: string[] = []
    const reported = untilReported()
    // What waits for another report waits beside the others.
    const corrections = others.filter((command) => command.includes('restate primeNavOracle'))
    for (const command of [...others.filter((each) => !corrections.includes(each)), ...corrections]) {
      if (corrections.includes(command)) await reported
      if (command.includes('--check')) await untilFound(entered)
      // The exit code of a plan, and of an examination, is its answer.
      const codes = ['rolekeeper plan', 'rolekeeper doctor'].includes(command) ? [0, 1] : [0]
      const problem = problemOf(command, await end(await fillIn(command)), codes)
      if (problem !== null) problems.push(problem)
    }
    expect(problems).toEqual([])
    interrupt(shared.child)
    expect((await shared.ended).out).toContain('■ summary')
  })

  /** Wait for another report of the oracle that the pages restate: the next is a minute away, and would overtake a correction. */
  async function untilReported(): Promise<void> {
    const { contracts } = JSON.parse(readFileSync(join(state, 'sandbox.json'), 'utf8'))
    const oracle: string = contracts.primeNavOracle.toLowerCase()
    let before: string | undefined
    await untilFound(async (journal) => {
      const rows = await journal.newestOf('nav-reporter', 100)
      const newest = rows.find(
        ({ state, proposal }) => state === 'succeeded' && proposal.subject.includes(oracle),
      )
      before ??= newest?.id ?? 'none'
      return newest?.id === before ? undefined : newest
    })
  }

  /** Find an account that has gone on since its opening: there is nothing to check before. */
  const entered = async () => {
    const accounts = readAccounts(state)
    try {
      const pages = await accounts.pages()
      return pages.find(({ from }) => from !== null)
    } finally {
      await accounts.close()
    }
  }
})
