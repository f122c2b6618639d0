import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newDirectory } from '../support/directory.ts'

it('has a name that npm lets nobody publish: `npx` finds no package of ours in any registry', () => {
  const { name, private: isPrivate } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(isPrivate).toBe(true)
  // A new package may have no capitals, whoever asks.
  expect(name).toMatch(/[A-Z]/)
})

it('works from anywhere after `npm link`, which asks nobody, with the Node.js of its packages', () => {
  const prefix = newDirectory()
  const linked = spawnSync('npm', ['link', '--offline', '--no-audit', '--no-fund', '--ignore-scripts'], {
    env: { ...process.env, npm_config_prefix: prefix },
    encoding: 'utf8',
  })
  expect(linked).toMatchObject({ status: 0 })
  const { status, stdout } = spawnSync(join(prefix, 'bin', 'rolekeeper'), ['--version'], {
    cwd: prefix,
    // No other Node.js is found.
    env: { PATH: '/usr/bin:/bin' },
    encoding: 'utf8',
  })
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^rolekeeper \d+\.\d+\.\d+\n$/),
  })
})
