import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { placeOf } from '../../src/fleet/place.ts'
import { newDirectory } from '../support/directory.ts'

it('knows a directory again, and no other', () => {
  const [one = '', other = ''] = [1, 2].map(() => newDirectory())
  expect(placeOf(one)).toMatch(/^[0-9a-f]{16}$/)
  expect(placeOf(one)).toBe(placeOf(one))
  expect(placeOf(other)).not.toBe(placeOf(one))
  // A crash may leave it empty.
  writeFileSync(join(one, 'place'), '')
  expect(placeOf(one)).toMatch(/^[0-9a-f]{16}$/)
  rmSync(other, { recursive: true })
  expect(() => placeOf(other)).toThrow(expect.objectContaining({ code: 'fleet.place' }))
})
