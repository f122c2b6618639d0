import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { freshnessPolicy, guardPolicy, limitsPolicy } from '../../src/guard/policy/policy.ts'
import { compileRuleset } from '../../src/guard/ruleset.ts'
import { sanityOf } from '../../src/guard/sanity/by-role.ts'
import { show } from '../../src/guard/show.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Shown } from '../../src/workflow/shown.ts'
import { policyOf } from '../support/policies.ts'
import { TOKENS } from '../support/tokens.ts'
import { BORROWER, deployment, LOAN, MARKET, SELF, STRANGER, VAULT } from './fixtures.ts'

const FUND = `0x${'fd'.repeat(20)}` as const
const pin = (byte: string, name: string) =>
  ({ name, address: `0x${byte.repeat(20)}`, codeHash: `0x${byte.repeat(32)}` }) as const
const named = {
  ...deployment,
  markets: deployment.markets.map((market, index) => ({ ...market, name: ['btc', 'btcSmall'][index] })),
  vaults: deployment.vaults.map((vault) => ({ ...vault, name: 'prime' })),
  funds: [{ ...pin('fd', 'recovery'), quoteAsset: LOAN }],
  contracts: [pin('e1', 'fundFactory'), pin('e2', 'registry'), pin('e3', 'fundNavOracle')],
}

/** The rules of a role's own policy file. */
function rulesetOf(role: 'liquidator' | 'allocator' | 'asset-manager' | 'nav-reporter') {
  const guard = guardPolicy(sanityOf(role).limits(TOKENS))
  const sections = z.object({
    ...{ role: z.literal(role), limits: limitsPolicy, freshness: freshnessPolicy, guard },
  })
  return compileRuleset(sections.parse(policyOf(role)), named)
}

const proposalOf = (changes: Pick<Proposal, 'workflowType' | 'input'> & Partial<Proposal>): Proposal => ({
  ...{ kind: 'order', subject: '', occurrence: '', summary: '', reason: {} },
  exposure: { token: null, assets: 0n, usdMicros: 0n },
  ...changes,
})

const KNOWN = { approvers: { anna: { user: 'anna@ops1' } }, quorum: 1 }
const shown = (proposal: Proposal, role: Parameters<typeof rulesetOf>[0]) =>
  show({ role, proposal, signer: SELF }, rulesetOf(role), KNOWN)

/** As text, a call a paragraph. */
const textOf = ({ calls, effects, changes }: Omit<Shown, 'day'>) =>
  [
    ...calls.flatMap((call) => [
      [call.to, call.function, ...call.notes].join(' | '),
      ...call.arguments.map(({ name, value }) => `  ${name} = ${value}`),
    ]),
    ...effects,
    ...changes.map(({ field, from, to }) => `${field}: ${from} → ${to}`),
  ].join('\n')

describe('what a person sees of a proposal', () => {
  it('is each call by our name of its contract, each amount with its unit, and who receives', () => {
    const input = {
      ...{ marketAddress: MARKET, vaultAddress: VAULT, borrowerAddress: BORROWER },
      ...{ repayAssets: '41650500000', minCollateralAssets: '63000000', recipientAddress: SELF },
    }
    const exposure = { token: LOAN, assets: 41_650_500_000n, usdMicros: 41_650_500_000n }
    const proposal = proposalOf({ workflowType: 'role.liquidator.liquidate', input, exposure })
    expect(textOf(shown(proposal, 'liquidator'))).toBe(
      `sUSD ${LOAN} | approve
  spender = btc ${MARKET}
  amount = 41,650.5 sUSD
btc ${MARKET} | liquidate
  vault = prime ${VAULT}
  borrower = ${BORROWER} (no name of ours)
  repayAssets = 41,650.5 sUSD
  minCollateralOut = 0.63 sBTC
  recipient = our signer ${SELF}
  deadline = at most 1 min after the answer
leaves us: at most 41,650.5 sUSD
counts as 41,650.5 USD
gas: at most 0.3 ETH`,
    )
  })

  it('is who asks, and who may approve it: everybody but them', () => {
    const input = { vaultAddress: VAULT, action: 'restore' }
    const proposal = proposalOf({ workflowType: 'role.asset_manager.vaultShareMobilityManagerAction', input })
    const [agents, annas] = [proposal, { ...proposal, askedBy: 'anna' }].map((each) =>
      shown(each, 'asset-manager'),
    )
    expect(agents).toMatchObject({
      askedBy: 'the agent of the asset-manager',
      quorum: 1,
      approvers: [{ name: 'anna', user: 'anna@ops1' }],
    })
    expect(annas).toMatchObject({ askedBy: 'anna', quorum: 1, approvers: [] })
  })

  it('is each element of a list', () => {
    const input = {
      vaultAddress: VAULT,
      withdrawals: [],
      supplies: named.markets.map(({ address }, index) => ({
        marketAddress: address,
        assets: String(1_000_000 * (index + 1)),
      })),
    }
    const proposal = proposalOf({ workflowType: 'role.allocator.vaultReallocationBatch', input })
    const { calls } = shown(proposal, 'allocator')
    expect(calls[0]?.arguments).toEqual([
      { name: 'supplies[0].market', value: `btc ${MARKET}` },
      { name: 'supplies[1].market', value: `btcSmall ${named.markets[1]?.address}` },
      { name: 'supplies[0].assets', value: '1 sUSD' },
      { name: 'supplies[1].assets', value: '2 sUSD' },
    ])
  })

  it('is what a setting was and what it becomes, and a choice by its word beside its value', () => {
    const input = {
      ...{ fundAddress: FUND, channel: 'acquisition', enabled: true },
      ...{ maxAssetsPerEpoch: '250000000000', maxPriceBps: 9_400, maxPositionBps: 2_000 },
    }
    const workflowType = 'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet'
    const reason = { maxPriceBpsFrom: '9300', maxPriceBpsTo: '9400' }
    const proposal = proposalOf({ workflowType, input, reason, loosens: true })
    const seen = shown(proposal, 'asset-manager')
    expect(textOf(seen)).toContain(`recovery ${FUND} | setChannelPolicy
  channel = "acquisition" (0x6163717569736974696f6e`)
    expect(textOf(seen)).toContain('  maxAssetsPerEpoch = 250,000 sUSD\n  maxPriceBps = 94 %')
    expect(seen.changes).toEqual([{ field: 'maxPriceBps', from: '93 %', to: '94 %' }])
    // Who submits it may write there what they like.
    expect(shown({ ...proposal, askedBy: 'anna' }, 'asset-manager').changes).toEqual([])
    expect(seen.effects).toContain('moves no token, ours or of others')
  })

  it('says of whom it has no name', () => {
    const input = {
      ...{ vaultAddress: VAULT, action: 'set_trusted_recipient', recipientAddress: STRANGER, trusted: true },
    }
    const workflowType = 'role.asset_manager.vaultShareMobilityManagerAction'
    const seen = shown(proposalOf({ workflowType, input }), 'asset-manager')
    expect(textOf(seen)).toContain(`  recipient = ${STRANGER} (no name of ours)\n  trusted = true`)
  })
})
