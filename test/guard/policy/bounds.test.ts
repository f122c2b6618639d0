import { describe, expect, it } from 'vitest'
import { assetManager } from '../../../agents/asset-manager/agent.ts'
import { checkBounds } from '../../../src/guard/policy/bounds.ts'
import type { Condition } from '../../../src/guard/policy/conditions.ts'
import type { GuardPolicy } from '../../../src/guard/policy/policy.ts'
import type { ValueKind } from '../../../src/guard/policy/values.ts'
import { compileRuleset } from '../../../src/guard/ruleset.ts'
import type { Deployment } from '../../../src/service/contract/deployment.ts'
import { deployment, MARKET, SELF, STRANGER, sections } from '../fixtures.ts'
import { deployment as everything } from '../kinds.ts'
import { shippedSections } from '../shipped.ts'

type SourceRule = GuardPolicy['allow'][number]
type Tests = SourceRule['params'][string]
const LIQUIDATE = 1

// Of one vault alone a request could name no other.
const two: Deployment = {
  ...deployment,
  vaults: [...deployment.vaults, { address: STRANGER, codeHash: `0x${'99'.repeat(32)}` }],
}

/** The liquidator's own policy with other conditions of its liquidation, and other effects. */
const compiled = (params: Readonly<Record<string, Tests>>, effects = sections.guard.effects) => {
  const allow = sections.guard.allow.map((rule, at) =>
    at === LIQUIDATE ? { ...rule, params: { ...rule.params, ...params } } : rule,
  )
  return () => compileRuleset({ ...sections, guard: { ...sections.guard, allow, effects } }, two)
}
const refusal = (path: string) =>
  expect.objectContaining({ code: 'policy.guard_invalid', facts: { path: `guard.allow${path}` } })

describe('a policy that lost one condition', () => {
  // With the first three of these a liquidation was cleared that paid the market itself, for 1 base unit, without an end.
  it.each<[string, Readonly<Record<string, Tests>>, string]>([
    ['the minimum', { minCollateralOut: { min: '1' } }, '[1].params.minCollateralOut'],
    ['the recipient, any market', { recipient: { in: '$deployment.markets' } }, '[1].params.recipient'],
    ['the deadline', { deadline: { min: '1' } }, '[1].params.deadline'],
    [
      'the recipient, of the request',
      { recipient: { eq: '$input.recipientAddress' } },
      '[1].params.recipient',
    ],
    ['the recipient, the market', { recipient: { eq: '$market' } }, '[1].params.recipient'],
    // Each of them a member that the judgement reads, and nobody's of ours.
    ...['marketAddress', 'vaultAddress', 'borrowerAddress'].map(
      (member): [string, Readonly<Record<string, Tests>>, string] => [
        `the recipient, the request's ${member}`,
        { recipient: { eq: `$input.${member}` } },
        '[1].params.recipient',
      ],
    ),
    [
      'the minimum, to a ceiling',
      { minCollateralOut: { max: '$input.minCollateralAssets' } },
      '[1].params.minCollateralOut',
    ],
    ['the deadline, to a far one', { deadline: { max: '99999999999' } }, '[1].params.deadline'],
    ['the amount', { repayAssets: { min: '1' } }, '[1].params.repayAssets'],
    ['the borrower', { borrower: { eq: MARKET } }, ''],
    ['the vault', { vault: { in: '$deployment.vaults' } }, ''],
    ['the minimum, to one above', { minCollateralOut: { min: '$input.minCollateralAssets' } }, ''],
  ])('is refused: %s', (_name, params, path) => {
    expect(compiled(params)).toThrow(refusal(path))
  })

  it('is not refused where the effects bound the same member', () => {
    expect(compiled({ repayAssets: { max: '$input.repayAssets' } })).not.toThrow()
    const effects = sections.guard.effects.map((effect) => ({ ...effect, out: [] }))
    expect(compiled({ repayAssets: { max: '$input.repayAssets' } }, effects)).toThrow(refusal(''))
  })

  it('is not refused where it names who is paid', () => {
    expect(compiled({ recipient: { eq: '$self' } })).not.toThrow()
    expect(compiled({ recipient: { eq: SELF } })).not.toThrow()
  })
})

describe('what a judgement reads of one choice of the input', () => {
  const { guard, ...limits } = shippedSections(assetManager)
  const restore = guard.allow.filter(({ id }) => id === 'restore-mobility')
  const effects = guard.effects.filter(({ workflowType }) => workflowType === restore[0]?.workflowType)
  const manager = (when: SourceRule['when']) => () =>
    compileRuleset(
      { ...limits, guard: { ...guard, effects, allow: restore.map((rule) => ({ ...rule, when })) } },
      everything,
    )

  it('is carried by the calls of that choice', () => {
    expect(manager({ action: 'restore' })).not.toThrow()
    expect(manager({ action: 'pause' })).toThrow(refusal(''))
    // For every action, whatever it says.
    expect(manager(undefined)).toThrow(refusal(''))
  })
})

describe('conditions of one parameter', () => {
  const reference = (text: string) => ({ text, each: null, resolve: () => undefined })
  const eq = (text: string): Condition => ({ op: 'eq', reference: reference(text) })
  const min = (text: string): Condition => ({ op: 'min', reference: reference(text), part: null })
  const max = (text: string): Condition => ({ op: 'max', reference: reference(text), part: null })
  const among = (...texts: readonly string[]): Condition => ({
    op: 'in',
    text: texts.join(', '),
    among: texts.map(reference),
  })
  const any = (...of: readonly (readonly Condition[])[]): Condition => ({ op: 'any', of })
  const check = (path: string, kind: ValueKind, ...tests: readonly Condition[]) => {
    try {
      checkBounds([{ path, kind, tests, quoted: [] }], [], 'params')
      return 'bound'
    } catch (error) {
      return (error as Error).message.replace(/^.*?: |\. Fix.*$/g, '')
    }
  }
  const PAYS = 'it may pay somebody whom the policy does not name'
  const DELEGATES = 'it may delegate a call, which is never allowed'
  const LASTS = 'the call may stay valid after its clearance'
  const stranger = eq('$input.toAddress')

  it.each<[string, ValueKind, Condition, string]>([
    ['to', 'address', stranger, PAYS],
    ['_to', 'address', stranger, PAYS],
    ['to_', 'address', stranger, PAYS],
    ['recipients[]', 'address', stranger, PAYS],
    ['payments[].receivers[2]', 'address', stranger, PAYS],
    ['toAddress', 'address', stranger, PAYS],
    ['to', 'bool', stranger, 'bound'],
    ['from', 'address', stranger, 'bound'],
    ['to', 'address', eq('$contract.rfqDesk'), 'bound'],
    ['to', 'address', any([eq('$self')], [eq('0x99')]), 'bound'],
    ['to', 'address', any([eq('$self')], [stranger]), PAYS],
    ['operation', 'uint', eq('1'), DELEGATES],
    ['callType', 'uint', eq('1'), DELEGATES],
    ['isDelegateCall', 'bool', eq('true'), DELEGATES],
    ['delegate_call', 'bool', eq('$input.trusted'), DELEGATES],
    ['isDelegateCall', 'bool', eq('false'), 'bound'],
    ['operation', 'uint', eq('0'), 'bound'],
    ['operations', 'uint', eq('1'), 'bound'],
    ['deadline', 'uint', eq('$deadline'), 'bound'],
    ['deadline', 'uint', eq('$input.until'), LASTS],
    ['fee', 'uint', any([eq('0')], [max('5')]), 'bound'],
    ['fee', 'uint', any([eq('0')], [min('5')]), 'it may be any amount above its minimum'],
  ])('%s, a %s', (path, kind, test, outcome) => {
    expect(check(path, kind, test)).toBe(outcome)
  })

  it('hold together: one that binds is enough', () => {
    expect(check('to', 'address', among('$self', '0x99'), stranger)).toBe('bound')
    expect(check('to', 'address', among('$self', '$input.toAddress'), stranger)).toBe(PAYS)
    expect(check('deadline', 'uint', min('5'), max('$deadline'))).toBe('bound')
    expect(check('deadline', 'uint', min('5'), max('9'))).toBe(LASTS)
  })
})
