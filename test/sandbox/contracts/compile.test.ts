import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { compileContracts, renderAbis, renderArtifacts } from '../../../sandbox/contracts/compile.ts'

test('the committed artifacts and ABIs are what the sources compile to', () => {
  const folder = `${import.meta.dirname}/../../../sandbox/contracts`
  const artifacts = compileContracts()
  // Not `toEqual`: a difference would print megabytes.
  expect(renderArtifacts(artifacts) === readFileSync(`${folder}/artifacts.json`, 'utf8')).toBe(true)
  expect(renderAbis(artifacts) === readFileSync(`${folder}/abis.ts`, 'utf8')).toBe(true)
})
