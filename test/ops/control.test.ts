import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { refuse } from '../../src/errors.ts'
import { closedForNow, readControl, setControl, stopped } from '../../src/ops/control.ts'

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'rolekeeper-control-'))
})

it('reads nothing ordered in a directory without the files', () => {
  expect(readControl(directory)).toEqual({ killed: false, paused: false })
})

it('sees an order at the next read, and its withdrawal', () => {
  setControl(directory, 'pause', true)
  expect(readControl(directory)).toEqual({ killed: false, paused: true })
  setControl(directory, 'kill', true)
  setControl(directory, 'kill', true)
  expect(readControl(directory)).toEqual({ killed: true, paused: true })
  setControl(directory, 'pause', false)
  setControl(directory, 'kill', false)
  setControl(directory, 'kill', false)
  expect(readControl(directory)).toEqual({ killed: false, paused: false })
})

it('obeys a file made by hand, and a folder of that name', () => {
  writeFileSync(join(directory, 'PAUSE'), 'by hand')
  mkdirSync(join(directory, 'KILL'))
  expect(readControl(directory)).toEqual({ killed: true, paused: true })
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

it('says which file could not be written', () => {
  rmSync(directory, { recursive: true })
  expect(() => setControl(directory, 'kill', true)).toThrow(/KILL could not be written\. Fix: check that/)
})
