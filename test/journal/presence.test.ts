import { existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { lockDirectory } from '../../src/journal/lock.ts'
import { forgetPresence, keeperAt, leavePresence } from '../../src/journal/presence.ts'

const HERE = {
  ...{ pid: 1, startedAtMs: 2, opsUrl: 'http://127.0.0.1:9', version: '1.0.0', roles: ['liquidator'] },
}
const folder = () => mkdtempSync(join(tmpdir(), 'presence-'))

it('finds no keeper in a stray directory or none, and makes nothing there', () => {
  const directory = folder()
  writeFileSync(join(directory, 'notes.txt'), '')
  expect(keeperAt(directory)).toEqual({ state: 'none' })
  expect(readdirSync(directory)).toEqual(['notes.txt'])
  expect(keeperAt(join(directory, 'nope'))).toEqual({ state: 'none' })
  expect(existsSync(join(directory, 'nope'))).toBe(false)
})

it('tells a keeper that runs from one that ended, by the lock, whatever the file says', () => {
  const directory = folder()
  const lock = lockDirectory(directory)
  expect(keeperAt(directory)).toEqual({ state: 'running', now: null })
  leavePresence(directory, HERE)
  expect(keeperAt(directory)).toEqual({ state: 'running', now: HERE })
  lock.release()
  expect(keeperAt(directory)).toEqual({ state: 'ended', last: HERE })
  forgetPresence(directory)
  writeFileSync(join(directory, 'keeper.json'), '{')
  expect(keeperAt(directory)).toEqual({ state: 'ended', last: null })
})

it('lets a keeper start that somebody looks for at the same time', () => {
  const directory = folder()
  lockDirectory(directory).release()
  for (let tries = 0; tries < 50; tries += 1) {
    expect(keeperAt(directory).state).toBe('ended')
    lockDirectory(directory).release()
  }
})
