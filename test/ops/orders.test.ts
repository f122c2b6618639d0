import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  forgetAnswers,
  forgetOrder,
  readAnswers,
  readSignerOrders,
  readSubmissions,
  roleAbsent,
  type Submission,
  takeOrder,
  writeAnswer,
  writeSignerOrder,
  writeSubmission,
} from '../../src/ops/orders.ts'
import { newDirectory } from '../support/directory.ts'

let directory: string
beforeEach(() => {
  directory = newDirectory()
})
const ID = '0123456789abcdef0123456789abcdef'
const UUID = '11111111-2222-4333-8444-555555555555'
const hash = 'a1'.repeat(32)
const BY = { user: 'anna@ops1' }
const submission: Submission = {
  by: BY,
  role: 'allocator',
  workflowType: 'role.allocator.vaultReallocationBatch',
  input: { vaultAddress: '0x1', withdrawals: [{ marketAddress: '0x2', assets: '3' }], supplies: [] },
  shadow: false,
}

describe('an answer', () => {
  it('is read as it was given, the later one of two, until it is forgotten', () => {
    expect(readAnswers(directory, ID)).toEqual([])
    writeAnswer(directory, ID, { verdict: 'approve', hash, by: BY })
    writeAnswer(directory, ID, { verdict: 'reject', hash, by: BY })
    expect(readAnswers(directory, ID)).toEqual([{ verdict: 'reject', hash, by: BY }])
    forgetAnswers(directory, ID)
    forgetAnswers(directory, ID)
    expect(readAnswers(directory, ID)).toEqual([])
  })

  it('is for its owner alone, and nothing of its writing stays', () => {
    writeAnswer(directory, ID, { verdict: 'approve', hash, by: BY })
    const folder = join(directory, 'orders')
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    const files = readdirSync(folder)
    expect(files).toEqual([
      expect.stringMatching(/^answer-0123456789abcdef0123456789abcdef-[0-9a-f]{16}\.json$/),
    ])
    for (const file of files) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
  })

  it.each([
    ['half of one', '{"verdict":"approve"'],
    ['one that nobody gave', `{"verdict":"approve","hash":"${hash}"}`],
    ['one without a hash', '{"verdict":"approve"}'],
    ['one with a word of its own', `{"verdict":"yes","hash":"${hash}"}`],
    ['nothing', ''],
  ])('that is %s approves nothing', (_, text) => {
    mkdirSync(join(directory, 'orders'))
    writeFileSync(join(directory, 'orders', `answer-${ID}-0.json`), text)
    expect(readAnswers(directory, ID)).toEqual([])
  })

  it('is not taken where no keeper has worked', () => {
    const nowhere = join(directory, 'none')
    expect(() => writeAnswer(nowhere, ID, { verdict: 'approve', hash, by: BY })).toThrow(
      /order|could not be written/,
    )
  })
})

describe('a submission', () => {
  it('waits until it is forgotten, with its nested input', () => {
    expect(readSubmissions(directory)).toEqual([])
    writeSubmission(directory, UUID, submission)
    expect(readSubmissions(directory)).toEqual([{ id: UUID, order: submission }])
    forgetOrder(directory, UUID)
    expect(readSubmissions(directory)).toEqual([])
  })

  it('that cannot be read, or is larger than any input, is told apart from none', () => {
    mkdirSync(join(directory, 'orders'))
    const file = join(directory, 'orders', `submit-${UUID}.json`)
    writeFileSync(file, JSON.stringify({ ...submission, role: 'No Body' }))
    expect(readSubmissions(directory)).toEqual([{ id: UUID, order: null }])
    writeFileSync(file, JSON.stringify({ ...submission, input: { text: 'x'.repeat(65_536) } }))
    expect(readSubmissions(directory)).toEqual([{ id: UUID, order: null }])
  })

  it('is no file of another name', () => {
    mkdirSync(join(directory, 'orders'))
    writeFileSync(join(directory, 'orders', `submit-${UUID}.json.new`), JSON.stringify(submission))
    expect(readSubmissions(directory)).toEqual([])
  })
})

describe('an order that its author did not live to withdraw', () => {
  const signer = `0x${'ad'.repeat(20)}`
  const release = { verb: 'release', signer, yes: true } as const

  it('is taken by no keeper that starts later', () => {
    writeSignerOrder(directory, UUID, release)
    writeSubmission(directory, UUID, submission)
    expect(readSignerOrders(directory)).toEqual([{ id: UUID, order: release }])
    const folder = join(directory, 'orders')
    const old = (Date.now() - 61_000) / 1_000
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), old, old)
    expect(readSignerOrders(directory)).toEqual([])
    expect(readSubmissions(directory)).toEqual([])
    expect(readdirSync(folder)).toEqual([])
  })

  it('is taken by none either where one that took it ended before it replied', () => {
    writeSubmission(directory, UUID, submission)
    expect(takeOrder(directory, UUID)).toBe(true)
    const [name = ''] = readdirSync(join(directory, 'orders'))
    const old = (Date.now() - 61_000) / 1_000
    utimesSync(join(directory, 'orders', name), old, old)
    expect(readSubmissions(directory)).toEqual([])
    expect(takeOrder(directory, UUID)).toBe(false)
  })

  it('is not waited for where it is no file', () => {
    mkdirSync(join(directory, 'orders'))
    execFileSync('mkfifo', [join(directory, 'orders', `signer-${UUID}.json`)])
    expect(readSignerOrders(directory)).toEqual([{ id: UUID, order: null }])
  })

  it('waits beside what could be none, whatever that is', () => {
    writeSubmission(directory, UUID, submission)
    const beside = (digit: string) => join(directory, 'orders', `submit-${digit.repeat(36)}.json`)
    symlinkSync(join(directory, 'none'), beside('1'))
    mkdirSync(beside('2'))
    mkdirSync(beside('3'))
    utimesSync(beside('3'), 1, 1)
    expect(readSubmissions(directory)).toEqual([{ id: UUID, order: submission }])
  })
})

it('says of a role that is not there which ones are, the nearest first', () => {
  expect(roleAbsent('investr', ['partner', 'investor', 'partner']).message).toBe(
    'The role investr is not configured. Fix: perhaps `investor`; submit to one of partner, investor, or add it to `agents` of the run configuration and start the keeper anew.',
  )
  expect(roleAbsent('curator', []).message).toContain('Fix: add it to `agents`')
})
