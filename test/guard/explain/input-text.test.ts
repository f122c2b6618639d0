import { zeroAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import type { ClearedCall } from '../../../src/guard/calls/call.ts'
import { describeCall } from '../../../src/guard/explain/describe-call.ts'
import { inputLines, sayOrder } from '../../../src/guard/explain/input-text.ts'
import { COLLATERAL, deployment, LOAN, MARKET, OTHER_MARKET, SELF, STRANGER, VAULT } from '../fixtures.ts'
import { OTHER_SIGNER } from '../kinds-by-hand.ts'
import { CASES } from '../shipped.ts'

function shipped(name: string) {
  const [, kind, ruleset] = CASES.find(([, each]) => each.name === name) ?? []
  if (kind === undefined || ruleset === undefined) throw new TypeError(`no shipped kind is called ${name}`)
  return { request: kind.proposal, ruleset }
}
function said(name: string, changed: object = {}): string {
  const { request, ruleset } = shipped(name)
  const input = { ...request.input, ...changed }
  return sayOrder({ workflowType: request.workflowType, input }, SELF, ruleset)
}

describe('what an order asks for, in a line', () => {
  it('is its type, what it is about, and its figures', () => {
    expect(said('fees')).toBe(
      'vault fees of a vault: managementFee 0.5 %, performanceFee 10 %, recipient our signer',
    )
    expect(said('caps')).toBe(
      'caps of a vault, btcMarket: absoluteCapAssets 1,000,000 sUSD, relativeCap 50 %, allocationEnabled true',
    )
    expect(said('partner-deposit')).toBe(
      'channel deposit of partnerChannel: assets 5,000 sUSD, receiver our signer, minShares 2,000,000,000,000,000 base units',
    )
    expect(said('owner-reallocate')).toContain(
      'withdrawals[0].market btcMarket, withdrawals[0].assets 0.3 sUSD',
    )
  })

  it('is in the asset of the vault, where the configuration says what that lends', () => {
    const { request, ruleset } = shipped('settings')
    const vaults = ruleset.deployment.vaults.map((vault) => ({ ...vault, asset: LOAN }))
    const lending = { ...ruleset, deployment: { ...ruleset.deployment, vaults } }
    const input = { ...request.input, maxDepositAssets: '0' }
    expect(sayOrder({ ...request, input }, SELF, lending)).toContain(
      'minDepositAssets 100 sUSD, maxDepositAssets no limit',
    )
    const [rule] = ruleset.rules.get('role.vault_owner.vaultSettingsUpdate') ?? []
    const about = { market: null, fund: null, vault: vaults[0] ?? null, deadlineS: 0n }
    const call = {
      rule,
      to: VAULT,
      args: { minDepositAssets: 5_000_000n, maxDepositAssets: 0n },
      approval: null,
    }
    const subject = { ...about, input, self: SELF, deployment: lending.deployment }
    expect(describeCall(call as unknown as ClearedCall, subject)).toMatch(
      /minDepositAssets: 5 sUSD, maxDepositAssets: no limit\)$/,
    )
  })

  it('names nobody where an address is the zero address', () => {
    expect(said('fees', { recipientAddress: zeroAddress })).toMatch(/recipient nobody$/)
  })

  it('tells two of one type apart, also where an address has no name of ours', () => {
    expect(said('fees', { managementFeeBps: 51 })).toContain('managementFee 0.51 %')
    expect(said('fees', { recipientAddress: STRANGER })).toMatch(/recipient 0x\w{4}…\w{4}$/)
    expect(said('fees', { vaultAddress: STRANGER })).toMatch(/^vault fees of 0x\w{4}…\w{4}: /)
  })

  it('is its type alone where nothing more is asked for, and no empty list of figures', () => {
    const { request, ruleset } = shipped('fees')
    expect(sayOrder({ ...request, input: {} }, SELF, ruleset)).toBe('vault fees')
    expect(sayOrder({ ...request, input: { vaultAddress: VAULT } }, SELF, ruleset)).toBe(
      'vault fees of a vault',
    )
    expect(sayOrder({ ...request, input: { managementFeeBps: 51 } }, SELF, ruleset)).toBe(
      'vault fees: managementFee 0.51 %',
    )
  })

  it('is in the token that the policy says of the elements of a list', () => {
    const { request, ruleset } = shipped('reallocate')
    const markets = ruleset.deployment.markets.map((market) => ({ ...market, loanAsset: COLLATERAL }))
    const other = { ...ruleset, deployment: { ...ruleset.deployment, markets } }
    // The effects of the allocator's policy name what is supplied alone.
    const line = sayOrder(request, SELF, other)
    expect(line).toContain('supplies[0].assets 0.2 sUSD')
    expect(line).toContain('withdrawals[0].assets 0.003 sBTC')
  })

  it('is one printable line, however long its texts are', () => {
    const line = said('partner-channel', { name: `a\u001b[2Jb${'y'.repeat(500)}` })
    expect(line).toMatch(/name a \[2Jby+…/)
    expect([...line].length).toBeLessThanOrEqual(200)
  })
})

it('writes an input whole, with units and names of ours where a configuration is known', () => {
  const { request, ruleset } = shipped('fees')
  expect(inputLines({ ...request.input, recipientAddress: OTHER_SIGNER }, SELF, ruleset.deployment)).toEqual([
    ['vaultAddress', `a vault ${VAULT}`],
    ['managementFeeBps', '0.5 %'],
    ['performanceFeeBps', '10 %'],
    ['recipientAddress', `${OTHER_SIGNER} (no name of ours)`],
  ])
})

it('writes each amount of a list in the token of the market beside it', () => {
  const markets = deployment.markets.map((market) =>
    market.address === OTHER_MARKET ? { ...market, loanAsset: COLLATERAL } : market,
  )
  const supplies = [MARKET, OTHER_MARKET].map((marketAddress) => ({ marketAddress, assets: '2000000' }))
  expect(inputLines({ supplies }, SELF, { ...deployment, markets })).toEqual([
    ['supplies[0].marketAddress', `btcMarket ${MARKET}`],
    ['supplies[0].assets', '2 sUSD'],
    ['supplies[1].marketAddress', `ethMarket ${OTHER_MARKET}`],
    ['supplies[1].assets', '0.02 sBTC'],
  ])
})
