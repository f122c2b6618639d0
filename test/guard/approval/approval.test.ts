import { describe, expect, it } from 'vitest'
import {
  approvalHash,
  approvalPolicy,
  compileApproval,
  rulesOf,
  whyAsk,
} from '../../../src/guard/approval/approval.ts'
import { proposalOf, SIGNER, TOKEN, workflowOf } from '../../support/workflows.ts'

const assets = [{ address: TOKEN, codeHash: `0x${'c0'.repeat(32)}` as const, symbol: 'sUSD', decimals: 6 }]
const approvalOf = (section: Readonly<Record<string, unknown>>) =>
  compileApproval(
    approvalPolicy(assets).parse({ always: [], aboveAssets: {}, expiresAfter: '15 min', ...section }),
    {
      assets,
    },
  )
const check = (section: Readonly<Record<string, unknown>>, changes = {}) =>
  whyAsk(proposalOf(changes), approvalOf(section))?.check ?? null
const exposure = (assets: bigint, usdMicros: bigint) => ({ exposure: { token: TOKEN, assets, usdMicros } })

describe('an approval policy', () => {
  it('asks about the types that it names, and no other', () => {
    expect(check({})).toBeNull()
    expect(check({ always: ['role.liquidator.liquidate'] })).toBe('approval_always')
    expect(check({ always: ['role.asset_manager.vaultDeploy'] })).toBeNull()
  })

  it('asks one past each limit, and not at it', () => {
    expect(check({ aboveAssets: { sUSD: '0.001 sUSD' } }, exposure(1_000n, 5n))).toBeNull()
    expect(check({ aboveAssets: { sUSD: '0.001 sUSD' } }, exposure(1_001n, 5n))).toBe('approval_above_assets')
    expect(check({ aboveUsd: '0.000005 USD' }, exposure(1_001n, 5n))).toBeNull()
    expect(check({ aboveUsd: '0.000005 USD' }, exposure(1n, 6n))).toBe('approval_above_usd')
    expect(check({ beyond: '2 %' }, { deviationBps: 200 })).toBeNull()
    expect(check({ beyond: '2 %' }, { deviationBps: 201 })).toBe('approval_beyond_bps')
    expect(check({ beyond: '0 %' })).toBeNull()
  })

  it('asks about every order where it asks beyond a distance, whatever the order says of its own', () => {
    expect(check({ beyond: '2 %' }, { kind: 'order' })).toBe('approval_beyond_bps')
    expect(check({ beyond: '2 %' }, { kind: 'order', deviationBps: 0 })).toBe('approval_beyond_bps')
    expect(check({}, { kind: 'order' })).toBeNull()
  })

  it('asks another person about an order that moves nothing, where approvers are named', () => {
    const people = { approvers: { anna: { user: 'anna@ops1' } } }
    const setting = { kind: 'order', exposure: { token: null, assets: 0n, usdMicros: 0n } }
    expect(check({}, setting)).toBeNull()
    expect(check(people, setting)).toBe('approval_order')
    expect(check(people, { ...setting, kind: 'tighten' })).toBeNull()
    expect(check(people, { kind: 'order' })).toBeNull()
  })

  it('asks about what takes a protection away, whatever the policy says', () => {
    expect(check({}, { loosens: true })).toBe('approval_loosens')
  })

  it.each([
    'role.vault_owner.vaultOwnerTransferUpdate',
    'role.vault_owner.vaultFeeConfigUpdate',
    'role.vault_owner.vaultCuratorFeeSettingsSave',
    'role.vault_owner.vaultAllocatorUpdate',
    'role.vault_owner.vaultRoleSettingsSave',
  ] as const)('asks about %s though the policy asks about nothing', (workflowType) => {
    expect(check({ always: [] }, { workflowType })).toBe('approval_held')
    expect(check({ always: [workflowType] }, { workflowType, kind: 'order' })).toBe('approval_held')
  })

  it('finds a token however its address is written', () => {
    const token = TOKEN.toUpperCase().replace('0X', '0x') as typeof TOKEN
    expect(
      check({ aboveAssets: { sUSD: '0 sUSD' } }, { exposure: { token, assets: 1n, usdMicros: 1n } }),
    ).toBe('approval_above_assets')
  })

  it('says of an amount what leaves and what it allows', () => {
    const limit = approvalOf({ aboveAssets: { sUSD: '0.001 sUSD' } })
    expect(whyAsk(proposalOf(exposure(2_000n, 5n)), limit)?.message).toBe(
      '0.002 sUSD leave us; the policy asks above 0.001 sUSD.',
    )
  })

  it('asks of a day what it asks of one, unless it says otherwise', () => {
    const day = (section: Readonly<Record<string, unknown>>) => {
      const { aboveAssets, aboveUsdMicrosPerDay, expiresAfterMs } = approvalOf(section)
      return [
        aboveAssets.get(TOKEN)?.alone,
        aboveAssets.get(TOKEN)?.perDay,
        aboveUsdMicrosPerDay,
        expiresAfterMs,
      ]
    }
    const one = { aboveAssets: { sUSD: '1 sUSD' }, aboveUsd: '2 USD', expiresAfter: '3 s' }
    expect(day(one)).toEqual([1_000_000n, 1_000_000n, 2_000_000n, 3_000])
    const other = { ...one, aboveAssetsPerDay: { sUSD: '4 sUSD' }, aboveUsdPerDay: '5 USD' }
    expect(day(other)).toEqual([1_000_000n, 4_000_000n, 5_000_000n, 3_000])
    expect(day({ aboveAssetsPerDay: { sUSD: '4 sUSD' } })).toEqual([
      undefined,
      4_000_000n,
      undefined,
      900_000,
    ])
  })

  it('asks no more people than there are', () => {
    const approvers = { anna: { user: 'anna@ops1' }, ben: { user: 'ben@ops1' } }
    expect(approvalOf({ approvers, quorum: '2' }).quorum).toBe(2)
    expect(() => approvalOf({ approvers, quorum: '3' })).toThrow('names 2')
    expect(approvalOf({ quorum: '1' }).quorum).toBe(1)
    expect(() => approvalOf({ quorum: '2' })).toThrow('names 0')
  })

  it.each([
    ['a token that the deployment does not have', { aboveAssets: { sUDS: '1 sUDS' } }],
    ['an amount of another token', { aboveAssets: { sUDS: '1 sUSD' } }],
    ['a type that is none', { always: ['role.liquidator.liquidat'] }],
    ['a figure without quotes', { beyond: 200 }],
    ['no time to answer', { expiresAfter: '0 s' }],
    ['a member that is none', { aboveAsset: {} }],
  ])('is not %s', (_, section) => {
    expect(() => approvalOf(section)).toThrow()
  })
})

describe('what is approved', () => {
  const workflow = workflowOf('discovered')
  const effects = ['moves no token, ours or of others']
  const shown = { calls: [], effects, changes: [], day: '', askedBy: 'an agent', quorum: 1, approvers: null }
  const asked = { rules: 'rules', shown }
  const hash = approvalHash(workflow, asked)

  it('is the same for the same content, in any order and case', () => {
    const reversed = Object.fromEntries(Object.entries(workflow.proposal).toReversed())
    const signer = SIGNER.toUpperCase().replace('0X', '0x') as typeof SIGNER
    expect(approvalHash({ ...workflow, signer, proposal: proposalOf(reversed) }, asked)).toBe(hash)
    expect(hash).toMatch(/^[0-9a-f]{64}$/)
  })

  it('is another for any other role, chain, signer, proposal, rules or screen', () => {
    const others = [
      approvalHash(workflow, { ...asked, rules: 'other rules' }),
      approvalHash({ ...workflow, role: 'allocator' }, asked),
      approvalHash({ ...workflow, chainId: 1 }, asked),
      approvalHash({ ...workflow, signer: TOKEN }, asked),
      approvalHash({ ...workflow, proposal: proposalOf({ input: { repayAssets: '1001' } }) }, asked),
      approvalHash({ ...workflow, proposal: proposalOf(exposure(1_000n, 1_001n)) }, asked),
      approvalHash(workflow, { ...asked, shown: { ...shown, effects: [] } }),
    ]
    expect(new Set([hash, ...others]).size).toBe(8)
    const rules = [
      rulesOf({ hash: 'a' }, { hash: 'b' }),
      rulesOf({ hash: 'a' }, { hash: 'c' }),
      rulesOf({ hash: 'c' }, { hash: 'b' }),
    ]
    expect(new Set(rules).size).toBe(3)
  })
})
