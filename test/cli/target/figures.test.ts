import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { changeLines, deploymentAt } from '../../../src/cli/target/figures.ts'
import { newDirectory } from '../../support/directory.ts'

const USDC = `0x${'11'.repeat(20)}` as const
const OTHER = `0x${'99'.repeat(20)}` as const
const place = { directory: 'config', file: '' }
const known = deploymentAt({ config: 'config/example.yaml' }, place)

it('knows the names of a sandbox that has ended by what it left', () => {
  const directory = newDirectory()
  expect(deploymentAt({ directory }, { directory, file: '' }).assets).toEqual([])
  mkdirSync(join(directory, 'sandbox'))
  copyFileSync('config/example.yaml', join(directory, 'sandbox', 'pins.json'))
  expect(deploymentAt({ directory }, { directory, file: '' })).toEqual(known)
  // As another release may have written it.
  writeFileSync(join(directory, 'sandbox', 'pins.json'), '{"deployment": {"newer": 1')
  expect(deploymentAt({ directory }, { directory, file: '' }).assets).toEqual([])
})

it('writes what moved in the token’s own unit, and in base units of one that nobody pins', () => {
  const changes = [
    { token: USDC, assets: -1_500_000n },
    { token: OTHER, assets: 1n },
  ]
  expect(changeLines(changes, known)).toEqual([`  ${USDC}  -1.5 USDC`, `  ${OTHER}  1 base unit of ${OTHER}`])
})

it('knows of no token where only a directory without a run configuration is named', () => {
  expect(deploymentAt({}, { directory: 'docs', file: '' }).assets).toEqual([])
})
