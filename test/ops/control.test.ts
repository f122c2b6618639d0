import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { refuse } from '../../src/errors.ts'
import {
  closedForNow,
  gateBySwitches,
  gateOfRole,
  readControl,
  setControl,
  stopped,
  takenBack,
} from '../../src/ops/control.ts'
import { controlEvents } from '../../src/ops/control-event.ts'
import { directoryText } from '../../src/ops/directory.ts'
import { newDirectory } from '../support/directory.ts'

const ANNA = { by: 'anna@ops-1', atMs: 1_000, reason: 'a bad oracle' }
const BEN = { by: 'ben@ops-2', atMs: 2_000, reason: null }
const UNKNOWN = { by: null, atMs: expect.any(Number), reason: null }

let directory = ''
beforeEach(() => {
  directory = newDirectory()
})

it('reads nothing ordered in a directory without the files', () => {
  expect(readControl(directory)).toEqual({ killed: false, paused: false, pulled: [], directory })
})

it('sees an order at the next read with who, when and why, and its withdrawal', () => {
  setControl(directory, 'pause', true, ANNA)
  const pause = { switch: 'pause', ...ANNA }
  expect(readControl(directory)).toEqual({ killed: false, paused: true, pulled: [pause], directory })
  // Who pulls it again only adds the reason that nobody gave.
  setControl(directory, 'kill', true, BEN)
  setControl(directory, 'kill', true, ANNA)
  setControl(directory, 'kill', true, { ...ANNA, reason: 'another' })
  expect(readControl(directory)).toEqual({
    killed: true,
    paused: true,
    directory,
    pulled: [{ switch: 'kill', ...BEN, reason: ANNA.reason }, pause],
  })
  setControl(directory, 'pause', false, ANNA)
  setControl(directory, 'kill', false)
  setControl(directory, 'kill', false)
  expect(readControl(directory)).toEqual({ killed: false, paused: false, pulled: [], directory })
  expect(readdirSync(directory)).toEqual(['control.jsonl'])
})

it('obeys a file made by hand that is empty or says nothing of use, and a folder of that name', () => {
  writeFileSync(join(directory, 'PAUSE'), '')
  mkdirSync(join(directory, 'KILL'))
  writeFileSync(join(directory, 'PAUSE-allocator'), '{"by":7}'.repeat(1_000))
  expect(readControl(directory)).toEqual({
    killed: true,
    paused: true,
    directory,
    pulled: [
      { switch: 'kill', ...UNKNOWN },
      { switch: 'pause', ...UNKNOWN },
      { switch: 'pause', role: 'allocator', ...UNKNOWN },
    ],
  })
})

it('pauses one role at the gate, and no other', () => {
  setControl(directory, 'pause', true, { role: 'allocator', ...ANNA })
  const gate = () => gateBySwitches(readControl(directory))
  expect(gate()).toMatchObject({ closed: false, paused: false, pausedRoles: ['allocator'] })
  expect(stopped(gateOfRole('allocator', gate)())).toMatchObject({ check: 'paused' })
  expect(stopped(gateOfRole('liquidator', gate)())).toBeNull()
  setControl(directory, 'pause', false, { role: 'allocator', ...BEN })
  expect(gate()).toEqual({ closed: false, paused: false })
})

it('says of each switch that came, went or changed who did it and why, and of a file nobody', () => {
  const takes = (each: Parameters<typeof takenBack>[1]) => takenBack(directory, each)
  const look = (before: ReturnType<typeof readControl>) => {
    const now = readControl(directory)
    return { now, events: controlEvents(now, before.pulled, takes, 5_000) }
  }
  setControl(directory, 'pause', true, { role: 'allocator', ...BEN })
  const one = look(readControl(newDirectory()))
  const times = { at: '1970-01-01T00:00:05.000Z', givenAt: '1970-01-01T00:00:02.000Z' }
  const { atMs: _, ...who } = BEN
  expect(one.events).toEqual([{ type: 'control', ...times, verb: 'pause', role: 'allocator', ...who }])
  expect(look(one.now).events).toEqual([])
  setControl(directory, 'pause', true, { role: 'allocator', ...ANNA })
  const two = look(one.now)
  const { reason } = ANNA
  expect(two.events).toMatchObject([{ verb: 'pause', role: 'allocator', by: 'ben@ops-2', reason }])
  setControl(directory, 'pause', false, { role: 'allocator', ...ANNA, atMs: 3_000 })
  writeFileSync(join(directory, 'KILL'), '')
  const three = look(two.now)
  expect(three.events).toMatchObject([
    { verb: 'resume', role: 'allocator', by: 'anna@ops-1', reason: 'a bad oracle' },
    { verb: 'kill', by: null, reason: null },
  ])
  rmSync(join(directory, 'KILL'))
  expect(look(three.now).events).toMatchObject([{ verb: 'unkill', by: null, reason: null }])
  expect(readFileSync(join(directory, 'control.jsonl'), 'utf8').trim().split('\n')).toHaveLength(3)
})

it('knows who took a switch back, also behind a line of its history that a crash cut off', () => {
  setControl(directory, 'pause', true, ANNA)
  const [pulled] = readControl(directory).pulled
  appendFileSync(join(directory, 'control.jsonl'), '\n{"switch":"pause","on":tr')
  setControl(directory, 'pause', false, BEN)
  expect(pulled === undefined ? null : takenBack(directory, pulled)).toMatchObject(BEN)
})

it('counts a directory that is gone or is none as killed', () => {
  writeFileSync(join(directory, 'file'), '')
  expect(readControl(join(directory, 'file')).killed).toBe(true)
  rmSync(directory, { recursive: true })
  expect(readControl(directory).killed).toBe(true)
})
it('lets nothing begin that a switch or a doubt about the signer stops, the kill switch first', () => {
  const safe = refuse('signer_safe', 'in doubt')
  expect(stopped({ closed: false, paused: false })).toBeNull()
  expect(stopped({ closed: false, paused: true, safe })).toBe(safe)
  expect(stopped({ closed: true, paused: true, safe })).toMatchObject({ check: 'killed' })
  expect(stopped({ closed: false, paused: true })).toMatchObject({ check: 'paused' })
  // A keeper that ends, or does not know whether its seat is its own, refuses nothing for that.
  expect(stopped(closedForNow({ closed: false, paused: true, safe }, true))).toBe('for_now')
  expect(stopped(closedForNow({ closed: true, paused: false }, true))).toMatchObject({ check: 'killed' })
  expect(stopped(closedForNow({ closed: false, paused: false }, false))).toBeNull()
})

it('says who turned a switch on, when and why, and the command that takes it back', () => {
  const gate = () => gateBySwitches(readControl(directory))
  const said = (role: string) => {
    const halt = stopped(gateOfRole(role, gate)())
    return halt === null || halt === 'for_now' ? halt : halt.message
  }
  setControl(directory, 'pause', true, { role: 'allocator', ...ANNA })
  expect(said('allocator')).toBe(
    `The allocator is paused: anna@ops-1 did it, 1970-01-01T00:00:01.000Z: a bad oracle. Fix: \`rolekeeper resume allocator --directory ${directory}\` once it may begin anew.`,
  )
  expect(said('liquidator')).toBeNull()
  // What pauses all stands for both: the other alone would not let it begin.
  setControl(directory, 'pause', true, { ...BEN, reason: 'a\u001b[2Jb' })
  expect(said('allocator')).toMatch(
    /^The keeper is paused: ben@ops-2 did it, \S+: a \[2Jb\. Fix: `rolekeeper resume --directory /,
  )
  setControl(directory, 'kill', true, ANNA)
  expect(said('liquidator')).toMatch(
    /^The kill switch is on: anna@ops-1 did it, .*Fix: `rolekeeper unkill --directory /,
  )
  writeFileSync(join(directory, 'KILL'), '')
  expect(said('liquidator')).toMatch(/^The kill switch is on: somebody did it by hand, 2\S+Z\. Fix/)
  rmSync(directory, { recursive: true })
  expect(directoryText('.rolekeeper')).toBe('')
  expect(directoryText("it's here")).toMatch(/^ --directory '\/.*\/it'\\''s here'$/)
  expect(said('liquidator')).toMatch(/^The kill switch is on, or what says so cannot be read\. Fix/)
})

it('says which file could not be written', () => {
  rmSync(directory, { recursive: true })
  expect(() => setControl(directory, 'kill', true)).toThrow(/KILL could not be written\. Fix: check that/)
})
