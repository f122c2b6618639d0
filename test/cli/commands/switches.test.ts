import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { lockDirectory } from '../../../src/journal/directory/lock.ts'
import { leavePresence } from '../../../src/journal/directory/presence.ts'
import { readControl } from '../../../src/ops/control.ts'
import { runCommand } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'

const ME = `${userInfo().username}@${hostname()}`
const folder = () => newDirectory()
const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** A directory that a keeper works in, as far as a command can tell. */
function keeper(roles: readonly string[] = ['liquidator', 'allocator']): string {
  const directory = folder()
  ends.push(lockDirectory(directory).release)
  leavePresence(directory, { pid: process.pid, startedAtMs: 1, opsUrl: 'http://x', version: '1', roles })
  return directory
}

/** One where a keeper worked that ended. */
function ended(): string {
  const directory = folder()
  writeFileSync(join(directory, 'journal.sqlite'), '')
  return directory
}

describe('a directory that is no keeper’s', () => {
  const VERBS = ['pause', 'resume', 'kill', 'unkill']

  it.each(VERBS)('is told so by `%s --directory /nope`, which ends with 2', async (verb) => {
    const directory = join(folder(), 'nope')
    const { code, out, err } = await runCommand([verb, '--directory', directory])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toBe(
      `error keeper.none: No keeper ever worked in ${directory}; nothing was done. Fix: name the directory of the keeper with --directory, or its run configuration with --config.\n`,
    )
    expect(existsSync(directory)).toBe(false)
  })

  it.each(VERBS)('is left as it is by `%s` beside a stray directory', async (verb) => {
    const directory = folder()
    mkdirSync(join(directory, 'notes'))
    expect(await runCommand([verb, '--directory', directory])).toMatchObject({ code: 2, out: '' })
    expect(readdirSync(directory)).toEqual(['notes'])
  })
})

it('kills where a keeper ran that runs no more, says that none does, and ends with 5', async () => {
  const directory = ended()
  const killed = await runCommand(['kill', '--directory', directory])
  expect(killed.code).toBe(5)
  expect(killed.err).toBe(`No keeper runs in ${directory} now: this holds for its next start.\n`)
  expect(readControl(directory).killed).toBe(true)
  const unkilled = await runCommand(['unkill', '--directory', directory, '--json'])
  expect(unkilled.code).toBe(5)
  expect(JSON.parse(unkilled.out)).toMatchObject({ verb: 'unkill', changed: true, isKeeperRunning: false })
  expect(readControl(directory).killed).toBe(false)
})

it('keeps who gave it, when and why, and says what changed and what is still on', async () => {
  const directory = keeper()
  const run = (...args: readonly string[]) => runCommand([...args, '--directory', directory])
  const paused = await run('pause', '--reason', 'the oracle is late')
  expect(paused).toMatchObject({ code: 0, err: '' })
  expect(paused.out).toMatch(
    /^Paused: nothing new begins\. Take it back with: rolekeeper resume --directory /,
  )
  expect(readControl(directory).pulled).toEqual([
    { switch: 'pause', by: ME, atMs: expect.any(Number), reason: 'the oracle is late' },
  ])
  // Who pulls it again without a word leaves the first one's.
  await run('pause')
  expect(readControl(directory).pulled).toMatchObject([{ reason: 'the oracle is late' }])
  const killed = (await run('kill')).out.split('\n')
  expect(killed[1]).toMatch(/^Still paused by \S+@\S+ since \S+Z \(the oracle is late\)\.$/)
  expect((await run('kill')).out).toMatch(
    /^Killed: .*\nIt was already killed by \S+ since \S+\.\nStill paused/,
  )
  const resumed = JSON.parse((await run('resume', '--json', '--reason', 'it is back')).out)
  expect(resumed).toMatchObject({
    verb: 'resume',
    by: ME,
    reason: 'it is back',
    changed: true,
    isKeeperRunning: true,
    was: { by: ME, reason: 'the oracle is late' },
    stillOn: [{ switch: 'kill', by: ME }],
  })
  expect((await run('resume')).out).toMatch(/^It was not paused\.\nStill killed by /)
})

it('pauses one role, and names the nearest for one that the keeper does not have', async () => {
  const directory = keeper()
  const run = (...args: readonly string[]) => runCommand([...args, '--directory', directory])
  expect((await run('pause', 'allocator')).out).toMatch(/^Paused: the allocator begins nothing new\./)
  expect(readControl(directory)).toMatchObject({ paused: false, pulled: [{ role: 'allocator' }] })
  expect((await run('resume', 'allocator')).out).toMatch(
    /^Resumed: the allocator\.\nIt was paused for the allocator by /,
  )
  expect(await run('pause', 'liqidator')).toEqual({
    code: 2,
    out: '',
    err: 'error usage: "liqidator" is no role of this keeper. Fix: perhaps `liquidator`; give one of liquidator, allocator\n',
  })
  expect(await run('pause', 'nav-reporter')).toMatchObject({ code: 2 })
  expect(await run('kill', 'allocator')).toMatchObject({ code: 2 })
  expect(readdirSync(directory).filter((name) => /KILL|PAUSE/.test(name))).toEqual([])
})

it('takes back what was made by hand', async () => {
  const directory = keeper()
  writeFileSync(join(directory, 'PAUSE-allocator'), '')
  const { code, out } = await runCommand(['resume', 'allocator', '--directory', directory])
  expect(code).toBe(0)
  expect(out).toMatch(/It was paused for the allocator by somebody, by hand, since /)
  expect(readControl(directory).pulled).toEqual([])
})

it.each([
  ['an empty reason', ['pause', '--reason', '']],
  ['one that is too long', ['pause', '--reason', 'x'.repeat(501)]],
])('refuses %s, and changes nothing', async (_, args) => {
  const directory = keeper()
  expect(await runCommand([...args, '--directory', directory])).toMatchObject({ code: 2, out: '' })
  expect(readControl(directory).pulled).toEqual([])
})
