import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { lockDirectory } from '../../src/journal/directory/lock.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { runCommand } from '../support/commands.ts'
import { newDirectory } from '../support/directory.ts'

const directory = newDirectory()
beforeAll(async () => {
  lockDirectory(directory).release()
  await openSqliteJournal(directory).close()
})

it.each([
  [['workflows', 'show', 'dead'], 'rolekeeper workflows list'],
  [['nav', 'verify', 'dead'], 'rolekeeper workflows list'],
  [['approve', 'dead'], 'rolekeeper workflows list'],
  [['reject', 'dead', '--take-back'], 'rolekeeper workflows list'],
  [['reject'], 'rolekeeper approve'],
  [['status'], 'rolekeeper workflows list'],
  [['signer', 'release'], 'rolekeeper signer show'],
  [['signer', 'release', '0xdead'], 'rolekeeper signer show'],
  [['safe', 'leave'], 'rolekeeper safe'],
  [['submit', 'deposit', '--role', 'A'], 'rolekeeper status'],
  [['submit', 'deposit', '--role', 'allocator'], 'rolekeeper submit deposit --example'],
  [['submit', 'deposit', '--role', 'allocator', '--input', '/nope'], 'rolekeeper submit deposit --example'],
])('the hint of %j leads to the same place', async (args, hint) => {
  const { err } = await runCommand([...args, '--directory', directory])
  expect(err).toContain(`${hint} --directory ${directory}`)
})

it.each([
  ['status'],
  ['workflows', 'list'],
  ['explain', '3f2a'],
  ['pnl'],
  ['experience', 'show'],
  ['approve'],
  ['reject', '3f2a'],
  ['kill'],
  ['resume'],
  ['signer', 'show'],
  ['safe'],
  ['audit', 'verify'],
  ['shadow'],
  ['nav', 'verify', '3f2a'],
  ['doctor'],
  ['plan'],
])('a directory that no keeper worked in is a mistake of the command line: %j %j', async (...args) => {
  const nowhere = newDirectory()
  const { code, err } = await runCommand([...args, '--directory', nowhere])
  expect([code, err]).toEqual([2, expect.stringMatching(/^error [\w.]+: [^\n]* Fix: [^\n]+\n$/)])
})

it('whose records were lost is none: what is asked about is not there', async () => {
  const robbed = newDirectory()
  writeFileSync(join(robbed, 'watermark.log'), '')
  const { code, err } = await runCommand(['workflows', 'list', '--directory', robbed])
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/^error journal\.lost: .* a keeper worked there\. Fix:/),
  ])
})

it('an order to a stray directory leaves nothing there', async () => {
  const stray = newDirectory()
  const input = join(directory, 'input.json')
  writeFileSync(input, '{}')
  const args = ['submit', 'deposit', '--role', 'allocator', '--input', input, '--directory', stray]
  expect((await runCommand(args)).code).toBe(2)
  expect(readdirSync(stray)).toEqual([])
})
