import { type StdioOptions, spawn } from 'node:child_process'
import { existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { rolekeeper as runLine } from '../../src/cli/dispatch.ts'
import { EXIT, EXIT_MEANINGS } from '../../src/cli/parse/exit-codes.ts'
import { lockDirectory } from '../../src/journal/directory/lock.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { move, type Workflow } from '../../src/workflow/workflow.ts'
import { newDirectory } from '../support/directory.ts'

/** As a record of before texts were cleaned may have it. */
const HOSTILE = 'turned \u202e around \u009b2J hidden \u{e0041}'

const MAIN = resolve('src/cli/main.ts')
const COMMANDS = [
  'start',
  'sandbox',
  'run',
  'workflows',
  'explain',
  'submit',
  'nav',
  'pnl',
  'experience',
  'shadow',
  'approve',
  'reject',
  'plan',
  'pause',
  'resume',
  'kill',
  'unkill',
  'api',
  'schemas',
]

type Ended = { readonly code: number | null; readonly out: string; readonly err: string }

/** Run a command line in this process, as far as it can tell in a terminal's place. */
async function rolekeeper(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  let out = ''
  let err = ''
  const code = await runLine(args, {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    outIsTty: false,
    errIsTty: false,
    env,
  })
  return { code, out, err }
}

/** Run the program as a user does. */
function spawned(args: readonly string[], stdio: StdioOptions = 'pipe'): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...args], { cwd: folder(), stdio })
    let out = ''
    let err = ''
    child.stdout?.on('data', (part) => {
      out += part
    })
    child.stderr?.on('data', (part) => {
      err += part
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
  })
}

const folder = () => newDirectory()

describe('the command line', () => {
  it('shows its commands, and its version', async () => {
    const help = await rolekeeper(['--help'])
    expect(help).toMatchObject({ code: 0, err: '' })
    for (const command of COMMANDS) expect(help.out).toMatch(new RegExp(`^ {2}${command} `, 'm'))
    expect(await rolekeeper([])).toMatchObject({ code: 2, out: help.out })
    expect((await rolekeeper(['--version'])).out).toMatch(/^rolekeeper \d+\.\d+\.\d+\n$/)
  })

  it('has one table of exit codes, in its help and in the docs', async () => {
    const { out } = await rolekeeper(['--help'])
    const page = readFileSync('docs/operating.md', 'utf8')
    for (const [name, meaning] of Object.entries(EXIT_MEANINGS)) {
      const code = EXIT[name as keyof typeof EXIT]
      expect(out).toContain(`\n  ${String(code).padStart(3)}  ${meaning}\n`)
      expect(page).toContain(`\n| ${code} | ${meaning} |\n`)
    }
  })

  it('writes an error as one JSON object where JSON is asked for', async () => {
    const { code, out, err } = await rolekeeper(['workflows', 'lst', '--json'])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(JSON.parse(err)).toEqual({
      type: 'error',
      code: 'usage',
      message: '"lst" is not a command of workflows.',
      fix: 'perhaps `list`; write `list` or `show ID`',
      facts: {},
    })
  })

  it.each(COMMANDS)('shows the help of %s', async (command) => {
    const { code, out, err } = await rolekeeper([command, '--help'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(new RegExp(`^rolekeeper ${command}\\b`))
    expect(out).toMatch(/^ {2}-h, --help +show this$/m)
  })

  it.each([
    [
      'an unknown command',
      ['strat'],
      'error usage: "strat" is not a command. Fix: perhaps `start`; see: rolekeeper --help',
    ],
    ['a name that objects have', ['constructor'], 'error usage: "constructor" is not a command.'],
    ['a command with an escape in it', ['a\u001b[2Jb'], 'error usage: "a [2Jb" is not a command.'],
    [
      'an unknown option',
      ['start', '--senario', 'calm'],
      'error usage: --senario is no option of start. Fix: perhaps `--scenario`; see: rolekeeper start --help',
    ],
    [
      'an option without its value',
      ['start', '--for'],
      "error usage: Option '--for <value>' argument missing.",
    ],
    [
      'one argument too many',
      ['kill', 'now'],
      'error usage: There is no place for "now". Fix: see: rolekeeper kill',
    ],
    [
      'a time without a unit',
      ['start', '--for', '60'],
      'error usage: --for is "60". Fix: give a number and a unit',
    ],
    [
      'a seed that is none',
      ['start', '--seed', '1.5'],
      'error usage: --seed is "1.5". Fix: give a whole number',
    ],
    [
      'a scenario with a slip in it',
      ['start', '--scenario', 'livly'],
      'error usage: There is no scenario "livly". Fix: perhaps `lively`; give one of lively, calm, volatile',
    ],
    [
      'a fault with a slip in it',
      ['start', '--fault', '{"latncyMs":1}'],
      'error usage: The faults are not understood: latncyMs is not a known key; allowed: latencyMs, dropReply, ',
    ],
    [
      'a fault of the stream with a slip in it',
      ['sandbox', '--fault', '{"stream":{"duplcate":1}}'],
      'stream.duplcate is not a known key; allowed: silent, drop, duplicate, reorder, seed. Fix: write `duplicate`, or remove it; "Faults" in docs',
    ],
    [
      'faults that are no JSON',
      ['sandbox', '--fault', '{latencyMs:1}'],
      'error usage: --fault is {latencyMs:1}, which is no JSON object. Fix: quote it for the shell',
    ],
    [
      'a list of faults',
      ['start', '--fault', '[1]'],
      'error usage: --fault is [1], which is no JSON object.',
    ],
    [
      'a value with a dash',
      ['pnl', '--since', '-1h'],
      'error usage: --since is "-1h", which begins with a dash. Fix: give its value without one; see: rolekeeper pnl',
    ],
    [
      'a home that no shell has put there',
      ['status', '--directory=~/keeper'],
      'error usage: --directory is "~/keeper", and nobody puts a folder in the place of ~ there. Fix: write --directory "$HOME/…"',
    ],
    [
      'a folder that an unset variable names',
      ['resume', '--directory', ''],
      'error usage: --directory is empty: a variable in its place may not be set. Fix: name a folder, or leave --directory out',
    ],
    [
      'a file that an unset variable names',
      ['policy', 'check', 'policies/liquidator.yaml', '--config='],
      'error usage: --config is empty: a variable in its place may not be set. Fix: name a file, or leave --config out',
    ],
    [
      'a list of addresses that an unset variable names',
      ['init', 'run.yaml', '--confirmed', ' '],
      'error usage: --confirmed is empty',
    ],
    ['no configuration', ['run'], 'error usage: --config is missing. Fix: name a run configuration'],
    [
      'a configuration that is not there',
      ['run', '--config', 'no.yaml'],
      'error config.unreadable: no.yaml cannot be read',
    ],
    [
      'a limit one past the most',
      ['workflows', 'list', '--limit', '1001'],
      'error usage: --limit is "1001". Fix: give a',
    ],
    [
      'an unknown command of signer',
      ['signer', 'shw'],
      'error usage: "shw" is not a command of signer. Fix: perhaps `show`; write show, fill, ',
    ],
    [
      'an unknown shell',
      ['completion', 'ksh'],
      'error usage: "ksh" is not a shell that is known here. Fix: perhaps `zsh`; give one of bash, zsh, fish',
    ],
    ['no shell', ['completion'], 'error usage: Say for which shell. Fix: give one of bash, zsh, fish'],
    ...[
      ['audit', 'exprt', 'export'],
      ['alarms', 'tst', 'test'],
      ['approver', 'repyl', 'reply'],
      ['experience', 'frget', 'forget'],
      ['nav', 'verfy', 'verify'],
      ['policy', 'chekc', 'check'],
      ['api', 'dif', 'diff'],
    ].map(([name = '', word = '', near = '']): [string, string[], string] => [
      `an unknown command of ${name}`,
      [name, word],
      `error usage: "${word}" is not a command of ${name}. Fix: perhaps \`${near}\`; `,
    ]),
    [
      'an unknown command of fleet',
      ['fleet', 'fond'],
      'There is no place for "fond". Fix: perhaps `found`; ',
    ],
    ['an unknown command of safe', ['safe', 'leav'], 'There is no place for "leav". Fix: perhaps `leave`; '],
    ['nothing to show', ['workflows'], 'error usage: Say what to show. Fix: write `list` or `show ID`'],
    ['nothing to submit', ['submit'], 'error usage: Say what to submit.'],
    [
      'a type that is none',
      ['submit', 'x\u001b[2J'],
      'error usage: "x [2J" is no workflow type. Fix: docs/api-on-a-laptop.md',
    ],
    [
      'a type with a slip in it',
      ['submit', 'depositt'],
      'error usage: "depositt" is no workflow type. Fix: perhaps `deposit`; docs/api-on-a-laptop.md',
    ],
    [
      'half of a type',
      ['submit', 'vaultDeploy'],
      'error usage: "vaultDeploy" is no workflow type. Fix: write role.asset_manager.vaultDeploy',
    ],
    [
      'a type without its input',
      ['submit', 'role.lender.investorRequestRedeem'],
      'Fix: name a JSON file with the input; rolekeeper submit role.lender.investorRequestRedeem --example writes one',
    ],
    [
      'a type of nobody',
      ['submit', 'deposit'],
      'error usage: deposit belongs to no role of a keeper. Fix: name',
    ],
    [
      'no input',
      ['submit', 'deposit', '--role', 'allocator'],
      'error usage: --input is missing. Fix: name a JSON file with the input',
    ],
    [
      'an input that is no JSON object',
      ['submit', 'deposit', '--role', 'allocator', '--input', 'package-lock.yaml'],
      'error config.input_unreadable: There is no file package-lock.yaml.',
    ],
    [
      'an input of something else',
      ['submit', 'deposit', '--role', 'allocator', '--input', 'package.json'],
      'Fix: its members are vaultAddress, assets, receiverAddress, minShares; rolekeeper submit deposit --example',
    ],
    [
      'a reason that is none',
      ['submit', 'deposit', '--role', 'allocator', '--reason', '[1]'],
      'error usage: --reason is no JSON object of words and numbers.',
    ],
    ['nothing to reject', ['reject'], 'error usage: Say what to reject. Fix: write `reject ID`'],
    ['blanks and ellipses to explain', ['explain', ' …… '], 'says too little to explain.'],
    ['nothing to explain', ['explain'], 'error usage: Say what to explain.'],
  ])('refuses %s in one line and exits with 2', async (_, args, line) => {
    const { code, out, err } = await rolekeeper(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err.trimEnd().split('\n')).toEqual([expect.stringContaining(line)])
  })

  it('refuses a configuration with a missing secret before anything is watched', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'run.yaml'), readFileSync('config/example.yaml'))
    const { code, err } = await rolekeeper(['run', '--config', join(cwd, 'run.yaml')], {
      ROLEKEEPER_SECRET_KEY: 'canary-key',
    })
    expect(code).toBe(2)
    expect(err).toMatch(
      /^error config\.invalid: \S+run\.yaml:\d+:12: chain\.nodes\.read\[0\] is "env:ROLEKEEPER_NODE_A"; [^\n]*\n$/,
    )
    expect(err).not.toContain('canary')
  })

  it('gives and takes back orders, by hand or by command', async () => {
    const directory = folder()
    const ordered = () => ['PAUSE', 'KILL'].map((file) => existsSync(join(directory, file)))
    const lock = lockDirectory(directory)
    const give = (name: string) => rolekeeper([name, '--directory', directory])
    expect(await give('pause')).toMatchObject({ code: 0, err: '' })
    expect(await give('kill')).toMatchObject({ code: 0, err: '' })
    expect(ordered()).toEqual([true, true])
    await give('resume')
    await give('unkill')
    expect(ordered()).toEqual([false, false])
    lock.release()
  })

  it('refuses to start beside another process on the same directory', async () => {
    const directory = folder()
    const lock = lockDirectory(directory)
    try {
      const { code, err } = await rolekeeper(['start', '--directory', directory, '--fresh'])
      expect(code).toBe(1)
      expect(err).toMatch(/^error journal\.locked: [^\n]*\n$/)
    } finally {
      lock.release()
    }
  })
})

describe('the program', () => {
  it('runs as it is typed, and ends by itself with its exit code', async () => {
    const [help, version, wrong] = await Promise.all([
      spawned(['--help']),
      spawned(['--version']),
      spawned(['kill', '--directory', 'no']),
    ])
    expect(help).toMatchObject({ code: 0, out: (await rolekeeper(['--help'])).out, err: '' })
    expect(version).toMatchObject({ code: 0, err: '' })
    expect(wrong).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(/^error keeper\.none: [^\n]*\n$/),
    })
  })
})

describe('where nobody takes what is said', () => {
  const full = () => openSync('/dev/full', 'w')

  it('names the disk that takes no output, and does not end as if it had said it', async () => {
    expect(await spawned(['--help'], ['ignore', full(), 'pipe'])).toMatchObject({
      code: 1,
      err: 'error output.lost: Standard output does not take what is written: its disk is full. Fix: make room there, or write it elsewhere; what was asked for may be done.\n',
    })
  })

  it('ends with the code of what it could not say', async () => {
    for (const stdio of [
      ['ignore', 'pipe', full()],
      ['ignore', full(), full()],
    ] satisfies StdioOptions[])
      expect(await spawned(['kill', '--directory', 'no'], stdio)).toMatchObject({ code: 2 })
  })

  it('starts the sandbox and its keeper all the same', async () => {
    const { code, out } = await spawned(
      ['start', '--for', '1s', '--json', '--scenario', 'calm', '--seed', '5'],
      ['ignore', 'pipe', full()],
    )
    expect(out).toContain('"type":"ready"')
    expect(code).toBe(0)
  })
})

describe('the journal on the command line', () => {
  const id = 'a1b2c3d4e5f60718293a4b5c6d7e8f90'
  const other = 'a1ffffffffffffffffffffffffffffff'
  const subject = `0x${'a1'.repeat(20)}:0x${'b2'.repeat(20)}:0x${'c3'.repeat(20)}`
  const directory = folder()
  const ask = (...args: string[]) => rolekeeper([...args, '--directory', directory])

  const discovered = (name: string, round: number): Workflow => ({
    id: name,
    role: 'liquidator',
    chainId: 31_337,
    signer: `0x${'d4'.repeat(20)}`,
    opportunity: 'f'.repeat(64),
    round,
    proposal: {
      workflowType: 'role.liquidator.liquidate',
      kind: 'liquidate',
      subject,
      occurrence: '1:2',
      input: {},
      exposure: { token: null, assets: 1n, usdMicros: 1n },
      summary: 'health 0.987: repay 1,234.50 sUSD',
      reason: { repayAssets: '1234500000', healthFactorWad: '987000000000000000' },
    },
    state: 'discovered',
    version: 0,
    createdAtMs: Date.UTC(2026, 10, 21),
    updatedAtMs: Date.UTC(2026, 10, 21),
    strikes: 0,
    slots: [],
  })

  beforeAll(async () => {
    const lock = lockDirectory(directory)
    const journal = openSqliteJournal(directory)
    await journal.open(discovered(id, 0))
    await journal.open(discovered(other, 1))
    const note = { check: 'target_not_allowed', message: 'Target 0xbad is not allowed.' }
    const opened = await journal.get(id)
    if (opened !== null) await journal.write(move(opened, 'refused', opened.createdAtMs + 41, { note }))
    const row = {
      role: 'liquidator',
      subject,
      atMs: Date.UTC(2026, 10, 21),
      reason: { healthFactorWad: '1013000000000000000' },
    } as const
    await journal.addDecisions([
      { ...row, check: 'health_above_one', message: 'Health is 1.013; below 1 is liquidatable.' },
      { ...row, subject: `0x01:0x02:0xc3${'00'.repeat(18)}c3`, check: 'gone', message: 'It is gone.' },
      { ...row, subject: 'recoveryFund:custodian', check: 'source_behind', message: 'It ends early.' },
      { ...row, subject: 'primeVault:custodian', check: 'source_behind', message: HOSTILE },
    ])
    await journal.barrier()
    await journal.close()
    lock.release()
  })

  it('lists workflows, for people and as JSON', async () => {
    const list = await ask('workflows', 'list')
    expect(list).toMatchObject({ code: 0, err: '' })
    expect(list.out).toMatch(/^id +begun \(UTC\) +role +state +workflow +about +check\n/)
    expect(list.out).toMatch(
      /^a1b2c3d4 {2}2026-11-21T00:00:00 {2}liquidator +refused +liquidation +0xa1a1…a1a1 0xb2b2…b2b2 0xc3c3…c3c3 +target_not_allowed$/m,
    )
    const json = await ask('workflows', 'list', '--json', '--limit', '1')
    expect(JSON.parse(json.out)).toMatchObject({ chainId: 31_337 })
  })

  it.each([
    [['--state', 'refused'], [id]],
    [['--role', 'liquidator', '--state', 'discovered'], [other]],
    [['--role', 'allocator'], []],
    [['--since', '1m'], []],
  ])('lists by %j', async (filter, ids) => {
    const { out } = await ask('workflows', 'list', '--json', ...filter)
    expect(
      out
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).id),
    ).toEqual(ids)
  })

  it('names the nearest of a role or a state that is none', async () => {
    expect((await ask('workflows', 'list', '--state', 'revertd')).err).toContain('Fix: perhaps `reverted`; ')
    expect((await ask('workflows', 'list', '--role', 'alocator')).err).toContain('Fix: perhaps `allocator`; ')
  })

  it('shows every state with its time, by the beginning of an id', async () => {
    const { code, out } = await ask('workflows', 'show', 'a1b2')
    expect(code).toBe(0)
    expect(out).toContain('2026-11-21T00:00:00.000Z  discovered')
    expect(out).toMatch(
      /2026-11-21T00:00:00\.041Z {2}refused +41 ms {2}target_not_allowed: Target 0xbad is not allowed\./,
    )
    expect((await ask('workflows', 'show', 'a1')).err).toContain('Several workflows begin with "a1".')
    expect(await ask('workflows', 'show', '99')).toMatchObject({
      code: 1,
      err: expect.stringContaining('No workflow begins with "99" of those under way'),
    })
  })

  it('explains in numbers why it acted, and how it ended', async () => {
    const { out } = await ask('explain', id)
    expect(out).toContain(`${id}  liquidator  liquidation  0x`)
    expect(out).toContain('  repay   1,234,500,000 base units\n  health  0.987\n')
    expect(out).toContain('It is refused: target_not_allowed. Target 0xbad is not allowed.')
  })

  it('explains why it left a position alone, by a part of its subject', async () => {
    const { code, out } = await ask('explain', `0x${'C3'.repeat(20)}`)
    expect(code).toBe(0)
    expect(out).toContain('health_above_one: Health is 1.013; below 1 is liquidatable.')
    expect(out).toContain('  health  1.013')
    expect((await ask('explain', 'recoveryFund')).out).toContain('source_behind: It ends early.')
    expect(await ask('explain', '0xdead')).toMatchObject({
      code: 1,
      err: expect.stringContaining('Nothing was decided about "0xdead".'),
    })
    const [json = ''] = (await ask('explain', 'recoveryFund', '--json')).out.split('\n')
    expect(JSON.parse(json)).toMatchObject({ check: 'source_behind' })
  })

  it('writes as JSON what a terminal would act on, or not show, so that it is seen, and read back as it was', async () => {
    const { out } = await ask('explain', 'primeVault', '--json')
    expect(out).toContain(String.raw`turned \u202e around \u009b2J hidden \udb40\udc41`)
    expect(JSON.parse(out)).toMatchObject({ message: HOSTILE })
  })

  it.each([
    ['an address, by its ends', ['0xc3c3…c3c3']],
    ['the same with full stops and in upper case', ['0XC3C3...C3C3']],
    ['what stands in a line of it', ['0xa1a1…a1a1 0xb2b2…b2b2 0xc3c3…c3c3']],
    ['the same without quotes', ['0xa1a1…a1a1', '0xb2b2…b2b2', '0xc3c3…c3c3']],
    ['parts of it alone', ['0xa1a1…a1a1', '0xc3c3…c3c3']],
  ])('explains what the screen shows, pasted: %s', async (_, words) => {
    const { code, out } = await ask('explain', ...words)
    expect(code).toBe(0)
    expect(out).toContain('health_above_one: Health is 1.013')
  })

  it('takes an id as the screen shows it, in either case, and lists what a short one may be', async () => {
    for (const shown of ['a1b2c3', 'A1B2C3', 'a1b2…8f90', 'a1b2c3...'])
      expect((await ask('explain', shown)).out).toContain(`${id}  liquidator`)
    expect((await ask('workflows', 'show', 'A1B2C3')).out).toContain(id)
    const several = await ask('explain', 'a1b2', 'x')
    expect(several.code).toBe(1)
    expect((await ask('workflows', 'show', 'a1')).err).toContain(
      'Fix: write one of a1ffffffffff (liquidator, discovered), a1b2c3d4e5f6 (liquidator, refused)',
    )
    expect((await ask('explain', '0xc3…c4')).err).toContain('Nothing was decided about "0xc3…c4".')
    const twins = await ask('explain', '0xc3…c3')
    expect(twins.err).toContain(`Several begin and end so: 0xc3${'00'.repeat(18)}c3, 0x${'c3'.repeat(20)}.`)
  })
})
