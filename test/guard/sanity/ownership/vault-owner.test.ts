import type { Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import { agents } from '../../../../agents/index.ts'
import { loadWithIncludes } from '../../../../src/config/include.ts'
import { checkPolicy } from '../../../../src/config/policy.ts'
import { invariant } from '../../../../src/errors.ts'
import { compileRuleset } from '../../../../src/guard/ruleset.ts'
import { sectionsOf } from '../../../../src/keeper/policy/role-policy.ts'
import { policyFileOf } from '../../../support/policies.ts'
import { TOKENS } from '../../../support/tokens.ts'
import { BORROWER, MARKET, OTHER_MARKET, SELF, STRANGER } from '../../fixtures.ts'
import { deployment } from '../../kinds.ts'
import { OTHER_SIGNER } from '../../kinds-by-hand.ts'
import {
  asked,
  fees,
  type Given,
  judged,
  listed,
  listing,
  NOW_S,
  newFees,
  one,
  refusalOf,
  role,
  ZERO,
} from '../vault-chain.ts'

const newSettings = {
  liquidityBufferBps: 1_000,
  exitTerms: { kind: 2, noticeSeconds: 86_400n, intervalSeconds: 604_800n, maturityTimestamp: 0n },
  minDepositAssets: 100_000_000n,
  maxDepositAssets: 500_000_000_000n,
}
const offered = (to: string, from = NOW_S - 1) => ({ pendingDefaultAdmin: [to, from] })

describe.each(['vault-owner', 'asset-manager'] as const)('what a vault’s owner does, as the %s', (as) => {
  it.each<readonly [string, Given, string | null]>([
    ['fees', { after: newFees }, null],
    ['fees', { before: { owner: STRANGER } }, 'not_owner'],
    ['fees', { before: { owner: null } }, 'read_failed'],
    ['fees', { before: { feeConfig: { ...fees, managementFeeBps: 0 } }, after: newFees }, null],
    ['fees', { input: { managementFeeBps: 71 } }, 'fee_raised_too_far'],
    ['fees', { input: { performanceFeeBps: 1_301 } }, 'fee_raised_too_far'],
    ['fees', {}, 'vault_not_as_asked'],
    ['fees', { after: { ...newFees, owner: STRANGER } }, 'vault_not_as_asked'],
    ['fees', { after: { ...newFees, ...offered(STRANGER) } }, 'vault_not_as_asked'],
    ['fees', { after: { ...newFees, routing: null } }, 'read_failed'],
    [
      'curator-fee',
      { after: { feeConfig: { ...fees, borrowerManagerFeeBps: 500, curatorRecipient: OTHER_SIGNER } } },
      null,
    ],
    ['curator-fee', { input: { borrowerManagerFeeBps: 701 } }, 'fee_raised_too_far'],
    ['curator-fee', { after: newFees }, 'vault_not_as_asked'],
    ['settings', { after: newSettings }, null],
    ['settings', { after: { ...newSettings, minDepositAssets: 0n } }, 'vault_not_as_asked'],
    ['settings', { input: { minDepositAssets: '500000000001' } }, 'deposit_limits_crossed'],
    ['routing', { before: listed, after: { routing: [MARKET, OTHER_MARKET] } }, null],
    ['routing', { after: { routing: [MARKET, OTHER_MARKET] } }, 'allocation_disabled'],
    ['routing', { before: listed, after: { routing: [OTHER_MARKET, MARKET] } }, 'vault_not_as_asked'],
    ['attach', { after: one(MARKET, { ...listing, approved: true }, listing) }, null],
    ['attach', { before: listed }, 'already_attached'],
    ['attach', { after: listed }, 'listing_not_as_asked'],
    ['attach', {}, 'listing_not_as_asked'],
    ['caps', { before: listed }, null],
    ['caps', {}, 'not_attached'],
    [
      'caps',
      { before: listed, after: one(MARKET, listing, { ...listing, approved: true }) },
      'listing_not_as_asked',
    ],
    ['allocator-grant', { after: role(OTHER_SIGNER, true) }, null],
    ['allocator-grant', { before: { hasRole: true } }, 'already_granted'],
    ['allocator-grant', {}, 'role_not_as_asked'],
    ['allocator-grant', { after: { hasRole: true } }, 'role_not_as_asked'],
    ['allocator-revoke', {}, 'not_granted'],
    ['allocator-revoke', { before: role(BORROWER, true), after: role(BORROWER, false) }, null],
    ['allocator-revoke', { before: { hasRole: true }, after: { hasRole: false } }, 'role_not_as_asked'],
    ['curator-revoke', { before: role(BORROWER, true, 'curator'), after: role(BORROWER, false) }, null],
    ['offer', { after: offered(OTHER_SIGNER) }, null],
    ['offer', { before: offered(STRANGER) }, 'ownership_offered_already'],
    ['offer', { input: { newOwnerAddress: SELF } }, 'new_owner_refused'],
    ['offer', { after: offered(STRANGER) }, 'vault_not_as_asked'],
    ['offer', { after: { ...offered(OTHER_SIGNER), owner: OTHER_SIGNER } }, 'vault_not_as_asked'],
    [
      'accept',
      { before: { owner: STRANGER, ...offered(SELF) }, after: { owner: SELF, ...offered(ZERO) } },
      null,
    ],
    ['accept', { before: { owner: STRANGER, ...offered(STRANGER) } }, 'ownership_not_offered'],
    ['accept', { before: { owner: STRANGER, ...offered(SELF, NOW_S) } }, 'ownership_not_due'],
    ['accept', { before: { owner: STRANGER, ...offered(SELF) } }, 'vault_not_as_asked'],
    ['cancel', { before: offered(STRANGER), after: offered(ZERO) }, null],
    // Another signer of ours loses what it had.
    [
      'allocator-revoke',
      {
        before: {
          hasRole: (data: Hex) => [BORROWER, OTHER_SIGNER].some((who) => asked(data).includes(who.slice(2))),
        },
        after: {
          hasRole: (data: Hex) =>
            asked(data).includes(BORROWER.slice(2)) && !asked(data).includes('68bf109b'),
        },
      },
      'role_not_as_asked',
    ],
    ['offer', { after: { ...offered(OTHER_SIGNER), hasRole: true } }, 'role_not_as_asked'],
    ['offer', { input: { newOwnerAddress: ZERO }, after: offered(ZERO) }, 'new_owner_refused'],
    [
      'accept',
      {
        before: { owner: STRANGER, ...offered(SELF) },
        after: { owner: SELF, ...offered(ZERO), hasRole: true },
      },
      'role_not_as_asked',
    ],
    [
      'cancel',
      { before: offered(STRANGER), after: { ...offered(ZERO), hasRole: true } },
      'role_not_as_asked',
    ],
    [
      'routing',
      {
        before: listed,
        after: { routing: [MARKET, OTHER_MARKET], listing: { ...listed.listing, relativeCapBps: 1 } },
      },
      'listing_not_as_asked',
    ],
    [
      'routing',
      {
        before: { listing: { ...listed.listing, allocationEnabled: false } },
        after: { routing: [MARKET, OTHER_MARKET] },
      },
      'allocation_disabled',
    ],
    ['caps', { input: { allocationEnabled: false }, before: listed }, 'listing_not_as_asked'],
    [
      'caps',
      {
        input: { allocationEnabled: false },
        before: listed,
        after: one(MARKET, { ...listed.listing, allocationEnabled: false }, listed.listing),
      },
      null,
    ],
    ['cancel', {}, 'ownership_not_offered'],
  ])('%s %#', (name, given, check) => {
    expect(judged(as, name, given)).toBe(check)
  })
})

it('names the fee that would rise too far at once', () => {
  const said = (name: string, input: Given['input'] = {}) =>
    refusalOf('vault-owner', name, { input })?.message
  expect(said('curator-fee', { borrowerManagerFeeBps: 701 })).toBe(
    'The borrower-manager fee would rise from 2 % to 7.01 %; the policy allows 5 % at once.',
  )
  expect(said('fees', { managementFeeBps: 71 })).toMatch(/^The management fee would rise from 0\.2 %/)
  expect(said('fees', { performanceFeeBps: 1_301 })).toMatch(/^The performance fee would rise from 8 %/)
})

type Rules = { id: string; params: Record<string, { in?: unknown }> }[]
describe('whom a vault pays or passes to', () => {
  const agent = agents.find(({ role }) => role === 'vault-owner')
  invariant(agent !== undefined, 'there is a vault owner')
  it.each([
    ['set-fees', 'recipient'],
    ['set-curator-fee', 'recipient'],
    ['offer-vault', 'newAdmin'],
  ])('is listed by the rule %s', (id, parameter) => {
    const file = loadWithIncludes(policyFileOf('vault-owner'))
    const compile = (value: unknown) =>
      compileRuleset(checkPolicy({ ...file, value }, agent.role, sectionsOf(agent, TOKENS)), deployment)
    expect(() => compile(file.value)).not.toThrow()
    // Which of them it is stays bound to the request; who that may be is said by nobody.
    const { value } = structuredClone({ value: file.value }) as { value: { guard: { allow: Rules } } }
    delete value.guard.allow.find((rule) => rule.id === id)?.params[parameter]?.in
    expect(() => compile(value)).toThrow(
      parameter === 'newAdmin' ? 'is never allowed' : 'it may pay somebody',
    )
  })
})
