import { describe, expect, it } from 'vitest'
import { checkRequest, exposureOf } from '../../../src/guard/checks/check-request.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { COLLATERAL, LOAN, MARKET, OTHER_MARKET, SELF, STRANGER } from '../fixtures.ts'
import { deployment } from '../kinds.ts'
import { OTHER_SIGNER } from '../kinds-by-hand.ts'
import { CASES } from '../shipped.ts'

const caseOf = (name: string) => {
  const found = CASES.find(([, kind]) => kind.name === name)
  if (found === undefined) throw new TypeError(`a shipped policy allows ${name}`)
  const [, { proposal }, ruleset] = found
  return { proposal, ruleset }
}
const said = (checked: ReturnType<typeof exposureOf>) => (checked.ok ? checked.exposure : checked.check)

describe('what a workflow that a person asks for exposes', () => {
  it.each(CASES)(
    'is counted as its agent counts it, or as less: %s',
    (_case, { name, proposal }, ruleset) => {
      const { token, assets, usdMicros } = proposal.exposure
      const counted = exposureOf(proposal, SELF, ruleset)
      expect(said(counted)).toMatchObject({ token, assets })
      // A dollar token counts as 98 cents or as a dollar; of a reallocation, what was withdrawn is counted once.
      const moved = name === 'reallocate' ? usdMicros / 2n : usdMicros
      expect([(moved * 98n) / 100n, moved]).toContain(counted.ok ? counted.exposure.usdMicros : null)
      expect(checkRequest({ proposal, role: ruleset.role, signer: SELF, ruleset }).ok).toBe(true)
    },
  )

  it('is not counted where no rule allows it, or where it is about what is not pinned', () => {
    const { proposal, ruleset } = caseOf('acquire')
    const other = { ...proposal, workflowType: 'role.liquidator.liquidate' } as const
    expect(said(exposureOf(other, SELF, ruleset))).toBe('workflow_not_allowed')
    const at = (input: Proposal['input']) => said(exposureOf({ ...proposal, input }, SELF, ruleset))
    expect(at({ ...proposal.input, fundAddress: STRANGER })).toBe('fund_not_pinned')
    expect(at({ ...proposal.input, vaultAddress: STRANGER })).toBe('vault_not_pinned')
    expect(at({ ...proposal.input, marketAddress: STRANGER })).toBe('market_not_pinned')
  })

  it('is not counted at an amount that does not follow from the input, nor at no price', () => {
    const { proposal, ruleset } = caseOf('liquidate')
    const { repayAssets: _none, ...input } = proposal.input
    expect(said(exposureOf({ ...proposal, input }, SELF, ruleset))).toBe('exposure_unknown')
    const { marketAddress: _market, ...nowhere } = proposal.input
    expect(said(exposureOf({ ...proposal, input: nowhere }, SELF, ruleset))).toBe('exposure_unknown')
    const unpriced = { ...ruleset, limits: { ...ruleset.limits, pricesUsdMicros: {} } }
    expect(said(exposureOf(proposal, SELF, unpriced))).toBe('exposure_unpriced')
    const nothing = { ...proposal, input: { ...proposal.input, repayAssets: '0' } }
    expect(said(exposureOf(nothing, SELF, unpriced))).toMatchObject({ assets: 0n, usdMicros: 0n })
  })

  it('names the member of the input that is not valid', () => {
    const { proposal, ruleset } = caseOf('reallocate')
    const input = { ...proposal.input, withdrawals: [{ marketAddress: MARKET, assets: 'all' }] }
    const request = { proposal: { ...proposal, input }, role: ruleset.role, signer: SELF, ruleset }
    expect(checkRequest(request)).toMatchObject({
      check: 'input_invalid',
      message: expect.stringContaining('"withdrawals.0.assets"'),
    })
  })

  it('is told what there is where it names what is not pinned, and what to do', () => {
    const { proposal, ruleset } = caseOf('acquire')
    const at = (input: Proposal['input']) => {
      const checked = exposureOf({ ...proposal, input: { ...proposal.input, ...input } }, SELF, ruleset)
      return checked.ok ? '' : checked.message
    }
    expect(at({ marketAddress: STRANGER })).toBe(
      `The market ${STRANGER} is not in deployment.markets, which has btcMarket ${MARKET}, ethMarket ${OTHER_MARKET}. Fix: name one of these, or pin it there with the hash of its code and start the keeper anew.`,
    )
    const none = { ...ruleset, deployment: { ...deployment, funds: [] } }
    expect(exposureOf(proposal, SELF, none)).toMatchObject({
      message: expect.stringContaining('which has none. Fix: pin it there'),
    })
  })

  it('is told which signers a right may go to, and that an order may be a smaller one', () => {
    const of = (name: string, changes: object) => {
      const { proposal, ruleset } = caseOf(name)
      const checked = checkRequest({
        proposal: { ...proposal, ...changes },
        role: ruleset.role,
        signer: SELF,
        ruleset,
      })
      return checked.ok ? '' : checked.message
    }
    const input = { ...caseOf('offer').proposal.input, newOwnerAddress: STRANGER }
    expect(of('offer', { input })).toBe(
      `Rule offer-vault: newAdmin is ${STRANGER}; allowed is one of $signers (${SELF}, ${OTHER_SIGNER}). Fix: give one of these, or list it by address in that rule of the policy.`,
    )
    const { proposal } = caseOf('owner-allocate')
    const exposure = { ...proposal.exposure, usdMicros: 10n ** 15n }
    expect(of('owner-allocate', { exposure })).toContain('Fix: submit less at once, the rest as an order of')
    expect(of('owner-allocate', { exposure, kind: 'act' })).toContain("Fix: lower the strategy's size")
  })

  it('is of what the deployment pins', () => {
    const { proposal, ruleset } = caseOf('liquidate')
    const [market] = deployment.markets
    const found = checkRequest({ proposal, role: 'liquidator', signer: SELF, ruleset })
    expect(found).toMatchObject({ subject: { self: SELF, market, vault: deployment.vaults[0], fund: null } })
  })
})

describe('what a proposal counts itself', () => {
  const { proposal, ruleset } = caseOf('liquidate')
  const settle = caseOf('settle').proposal
  const judge = (of: Proposal, exposure: Partial<Proposal['exposure']>, rules = ruleset) => {
    const request = { proposal: { ...of, exposure: { ...of.exposure, ...exposure } }, ruleset: rules }
    const checked = checkRequest({ ...request, role: 'liquidator', signer: SELF })
    return checked.ok ? 'so' : `${checked.check}: ${checked.message}`
  }

  it('is exactly what may leave us, of the token that does', () => {
    expect(judge(proposal, {})).toBe('so')
    const other = judge(proposal, { token: COLLATERAL })
    expect(other).toContain('exposure_mismatch: The proposal counts 10 sBTC; by guard.effects 1,000 sUSD')
    expect(judge(proposal, { token: null })).toContain('counts nothing; by guard.effects 1,000 sUSD')
    expect(judge(proposal, { assets: 999_999_999n })).toContain('counts 999.999999 sUSD;')
    // Of nothing, it need not be said of what.
    expect(judge(settle, { token: LOAN })).toBe('so')
    expect(judge(settle, { token: LOAN, assets: 1n })).toContain('by guard.effects nothing may leave us')
  })

  it('is not taken where the policy cannot count it, or where it is about what is not pinned', () => {
    const unpriced = { ...ruleset, limits: { ...ruleset.limits, pricesUsdMicros: {} } }
    expect(judge(proposal, {}, unpriced)).toContain('exposure_unpriced')
    const elsewhere = { ...proposal, input: { ...proposal.input, marketAddress: STRANGER } }
    expect(judge(elsewhere, {})).toContain('market_not_pinned')
  })
})
