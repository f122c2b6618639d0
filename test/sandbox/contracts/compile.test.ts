import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderCompiled } from '../../../sandbox/contracts/compile.ts'

test('nothing changed since the committed artifacts and ABIs were compiled', () => {
  const committed = readFileSync(`${import.meta.dirname}/../../../sandbox/contracts/compiled.json`, 'utf8')
  expect(renderCompiled(), 'run `npm run contracts`').toBe(committed)
})
