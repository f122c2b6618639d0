import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { runCommand } from '../../support/commands.ts'
import { sandboxDirectory, startTestSandbox, type TestSandbox } from '../../support/sandbox.ts'

let sandbox: TestSandbox
beforeAll(async () => {
  sandbox = await startTestSandbox(sandboxDirectory())
})
afterAll(async () => {
  await sandbox.stop()
  rmSync(sandbox.directory, { recursive: true, force: true })
})

const plan = (...args: readonly string[]) => runCommand(['plan', ...args])

it('an example of an owner names the vault that the chain says is its own, also of one that has none', async () => {
  const written = async (type: string, ...more: string[]) => {
    const { out, err } = await runCommand([
      ...['submit', type, '--example', '--directory', sandbox.directory, ...more],
    ])
    return { vault: JSON.parse(out).vaultAddress, err }
  }
  const { contracts } = sandbox.deployment
  const fees = 'role.vault_owner.vaultFeeConfigUpdate'
  const owned = await written(fees)
  expect(owned.vault).toBe(contracts.ownedVault.address.toLowerCase())
  expect(owned.err).toContain('vaultAddress is ownedVault; recipientAddress is vault-owner.')
  expect(await written('role.lender.investorRequestRedeem')).toMatchObject({ vault: owned.vault })
  const none = await written(fees, '--role', 'partner')
  expect(none.vault).toBe(contracts.primeVault.address.toLowerCase())
  expect(none.err).toContain('By the chain none of the pinned vaults is one that this signer may act on so.')
})

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
      ['settings:svNotice', 'none', 'vault_not_deployed', false],
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
    expect(out).toMatch(/\n7 declared: 1 as declared, 2 to apply, 3 to ask about, 1 left\.\n$/)
    expect((await plan('--directory', sandbox.directory)).out).toBe(out)
  })

  it('is refused where a setting names a market that the deployment does not', async () => {
    const policy = join(sandbox.directory, 'asset-manager.yaml')
    const named = readFileSync('policies/asset-manager.yaml', 'utf8').replace(
      'market: btcMarket,',
      'market: btcMarkt,',
    )
    const here = named.replace('include: ./', `include: ${join(process.cwd(), 'policies')}/`)
    writeFileSync(policy, here.replace('routing: [btcMarket]', 'routing: [btcMarkt]'))
    const { console: _console, ...run } = parse(readFileSync(join(sandbox.directory, 'run.yaml'), 'utf8'))
    const agents = run.agents.filter(({ role }: { role: string }) => role === 'asset-manager')
    const config = join(sandbox.directory, 'misnamed.yaml')
    writeFileSync(config, JSON.stringify({ ...run, agents: [{ ...agents[0], policy }] }))
    const env = parseEnv(readFileSync(join(sandbox.directory, 'sandbox.env'), 'utf8'))
    expect(await runCommand(['plan', '--config', config], env)).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /declared\.vaultSettings\.0\.markets\.0\.market is btcMarkt, which deployment\.markets does not pin.*write btcMarket/,
      ),
    })
  })

  it('is refused for another role, and without a configuration', async () => {
    expect(await plan('--role', 'liquidator')).toMatchObject({
      code: 2,
      err: expect.stringContaining('The role liquidator declares nothing.'),
    })
    expect(await plan('--config', 'a.yaml', '--directory', 'b')).toMatchObject({ code: 2 })
  })
})
