import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { lockDirectory } from '../../../src/journal/directory/lock.ts'
import {
  forgetPresence,
  keeperAt,
  leavePresence,
  withoutRecords,
} from '../../../src/journal/directory/presence.ts'
import { newDirectory } from '../../support/directory.ts'

const HERE = {
  pid: 1,
  startedAtMs: 2,
  opsUrl: 'http://127.0.0.1:9',
  version: '1.0.0',
  roles: ['liquidator'],
}
const folder = () => newDirectory()

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

it('is not misled by a sandbox that held the lock for a moment', () => {
  const directory = folder()
  lockDirectory(directory).release()
  expect(keeperAt(directory)).toEqual({ state: 'none' })
  expect(withoutRecords('journal', directory).code).toBe('journal.absent')
  writeFileSync(join(directory, 'watermark.log'), '')
  expect(keeperAt(directory)).toEqual({ state: 'ended', last: null })
  expect(withoutRecords('accounts', directory).message).toMatch(
    /^There are no accounts in .*, and a keeper worked there\. Fix:/,
  )
})

it('lets a keeper start that somebody looks for at the same time', () => {
  const directory = folder()
  leavePresence(directory, HERE)
  for (let tries = 0; tries < 50; tries += 1) {
    expect(keeperAt(directory).state).toBe('ended')
    lockDirectory(directory).release()
  }
})
