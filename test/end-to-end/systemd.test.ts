import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { EXIT } from '../../src/cli/parse/exit-codes.ts'
import { newDirectory } from '../support/directory.ts'
import { versionOf } from '../support/installed.ts'

const unit = readFileSync('config/systemd/rolekeeper.service', 'utf8')
const of = (name: string) => [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value)

it('starts again after whatever a new start can help, for ever, and with the doctor before it', () => {
  expect(of('Restart')).toEqual(['on-failure'])
  expect(of('StartLimitIntervalSec')).toEqual(['0'])
  expect(of('RestartPreventExitStatus')).toEqual([String(EXIT.misunderstood)])
  const config = '--config /etc/rolekeeper/production.yaml'
  expect(of('ExecStartPre')).toEqual([`-/opt/rolekeeper/src/cli/bin/rolekeeper doctor ${config}`])
  expect(of('ExecStart')).toEqual([`/opt/rolekeeper/src/cli/bin/rolekeeper run ${config}`])
})

const folder = newDirectory()
afterAll(() => rmSync(folder, { recursive: true }))

it('is understood by systemd, which finds little that it may do', async () => {
  const version = await versionOf({ program: 'systemd-analyze', debian: 'systemd' }, /systemd (\d+)/)
  expect(version, 'install systemd 250 or newer (Debian: `apt-get install systemd`)').toBeGreaterThanOrEqual(
    250,
  )
  const file = join(folder, 'rolekeeper.service')
  // Verified is what is there.
  writeFileSync(file, unit.replaceAll('/opt/rolekeeper', process.cwd()))
  const ask = (...args: string[]) =>
    execFileSync('systemd-analyze', args, { encoding: 'utf8', stdio: 'pipe' })
  ask('verify', '--man=no', '--recursive-errors=no', file)
  expect(ask('security', '--offline=true', '--threshold=15', '--no-pager', file)).toContain('OK')
})
