import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { sandboxDirectory, startTestSandbox, type TestSandbox } from '../../support/sandbox.ts'

let sandbox: TestSandbox
beforeAll(async () => {
  sandbox = await startTestSandbox(sandboxDirectory())
}, 60_000)
afterAll(async () => {
  await sandbox.stop()
  rmSync(sandbox.directory, { recursive: true, force: true })
})

const plan = (...args: readonly string[]) => runCommand(['plan', ...args])

describe('a plan', () => {
  it('says in order what differs from what is declared, and what would be done', async () => {
    const { code, out, err } = await plan('--directory', sandbox.directory, '--json')
    expect(err).toBe('')
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line))
    const shown = rows.map(({ subject, direction, workflowType, check, asked }) => [
      String(subject).replace(/:0x[0-9a-f]{40}$/, ''),
      direction,
      String(workflowType ?? check).replace(/^role.asset_manager./, ''),
      asked !== null && asked !== undefined,
    ])
    expect(shown).toEqual([
      ['vault:Sandbox Notice Vault:svNotice:sUSD', 'new', 'vaultDeploy', true],
      ['fund:Sandbox Recovery Fund II', 'new', 'distressedRecoveryFundV3SelfLaunch', true],
      ['channel:recoveryFund:acquisition', 'stricter', 'distressedRecoveryFundV3ChannelPolicySet', false],
      ['channel:recoveryFund:rfq', 'none', 'as_declared', false],
      ['mobility:primeVault', 'stricter', 'vaultShareMobilityManagerAction', false],
      ['mobility:growthVault', 'looser', 'vaultShareMobilityManagerAction', true],
    ])
    expect(rows[2]?.changes).toEqual([
      { field: 'maxPriceBps', from: '9500', to: '9400' },
      { field: 'maxPositionBps', from: '2500', to: '2000' },
    ])
    expect(code).toBe(1)
  })

  it('is written for people too, and changes nothing', async () => {
    const { out } = await plan('--directory', sandbox.directory)
    expect(out).toContain('↓ channel:recoveryFund:acquisition\n    maxPriceBps: 95 % → 94 %\n')
    expect(out).toContain('= channel:recoveryFund:rfq\n')
    expect(out).toContain('    noticeSeconds: 1 d\n')
    expect(out).toContain('    minSubscriptionAssets: 1,000 sUSD\n')
    expect(out).toMatch(/\n6 declared: 1 as declared, 2 to apply, 3 to ask about, 0 left\.\n$/)
    expect((await plan('--directory', sandbox.directory)).out).toBe(out)
  })

  it('is refused for another role, and without a configuration', async () => {
    expect(await plan('--role', 'liquidator')).toMatchObject({
      code: 2,
      err: expect.stringContaining('The role liquidator declares nothing.'),
    })
    expect(await plan('--config', 'a.yaml', '--directory', 'b')).toMatchObject({ code: 2 })
  })
})
