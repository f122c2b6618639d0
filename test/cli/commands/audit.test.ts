import { expect, it } from 'vitest'
import { openAudit } from '../../../src/ops/audit/log.ts'
import { runCommand } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'

/** A directory whose audit names a liquidator, and a role of somebody's own. */
async function audited(): Promise<string> {
  const directory = newDirectory()
  const log = await openAudit(directory, {
    nowMs: Date.now,
    monotonicMs: () => 0,
    onFailed: (failure) => {
      throw failure
    },
  })
  log.record('start', { roles: [{ role: 'liquidator' }, 'rebalancer'] })
  log.record('note', { role: 'liquidator' })
  await log.close()
  return directory
}

it('exports what names a role, also one of your own or one of which there is nothing', async () => {
  const directory = await audited()
  const exported = async (...args: readonly string[]) => {
    const { code, out } = await runCommand(['audit', 'export', '--directory', directory, ...args])
    return { code, kinds: out.split('\n').flatMap((line) => line.split('  ')[2] ?? []) }
  }
  expect(await exported('--role', 'liquidator')).toEqual({ code: 0, kinds: ['start', 'note'] })
  expect(await exported('--role', 'rebalancer')).toEqual({ code: 0, kinds: ['start'] })
  expect(await exported('--role', 'allocator')).toEqual({ code: 0, kinds: [] })
})

it.each([
  [['--role', 'liqidator'], '--role is "liqidator". Fix: perhaps `liquidator`; give one of liquidator, '],
  [['--role', 'rebalanser'], '--role is "rebalanser". Fix: perhaps `rebalancer`; give one of liquidator, '],
  [
    ['--since', '1h', '--until', '2h'],
    '--since 1h is not before --until 2h: nothing is between them. Fix: give the earlier time with --since',
  ],
  [
    ['--since', 'yesterday'],
    '--since is "yesterday". Fix: give a number and a unit: 60s, 10m, 24h or 30d, or a time as 2026-01-31T00:00:00Z',
  ],
])('refuses to export by %j', async (args, problem) => {
  expect(await runCommand(['audit', 'export', '--directory', await audited(), ...args])).toEqual({
    code: 2,
    out: '',
    err: expect.stringContaining(`error usage: ${problem}`),
  })
})
