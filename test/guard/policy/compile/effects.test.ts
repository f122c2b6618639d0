import { expect, it } from 'vitest'
import type { Proposal } from '../../../../src/workflow/proposal.ts'
import { SELF, VAULT } from '../../fixtures.ts'
import { deployment, kindOf } from '../../kinds.ts'
import { rulesetOf } from '../../rules.ts'

/** The most that leaves by an effect as a policy writes it. */
function mostOf(name: string, assetsMax: string, changes: Proposal['input'] = {}) {
  const { workflowType, input } = kindOf(name).proposal
  const rule = { workflowType, target: '$vault', function: 'function touch()', params: {} }
  const effect = { workflowType, out: [{ token: '$vault', assetsMax }] }
  const [out] = rulesetOf([rule], [effect], deployment).effects.get(workflowType)?.out ?? []
  if (out === undefined) throw new TypeError('the policy says what leaves')
  const vault = deployment.vaults.find(({ address }) => address === VAULT) ?? null
  const subject = { self: SELF, deadlineS: 0n, market: null, fund: null, vault, deployment }
  return out.assetsMax.resolve({ ...subject, input: { ...input, ...changes } })
}

it('what may leave is a value of the policy, or what the input says of it', () => {
  expect(mostOf('transfer-shares', '5000000000')).toBe(5_000_000_000n)
  expect(mostOf('transfer-shares', '$input.shares', { shares: '7' })).toBe(7n)
  expect(mostOf('request-redeem', '$input.shares', { shares: '7' })).toBe(7n)
})

it('nothing leaves where the input has no such member, and nobody knows how much where it is no amount', () => {
  expect(mostOf('restore-shares', '$input.shares')).toBe(0n)
  expect(mostOf('transfer-shares', '$input.shares', { shares: 'all' })).toBeUndefined()
})
