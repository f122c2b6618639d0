import { describe, expect, it } from 'vitest'
import { NAV_RULE, rulesetOf } from '../../rules.ts'

const effects = [{ workflowType: NAV_RULE.workflowType }]

describe('a rule for typed data', () => {
  const { typedData } = NAV_RULE
  const path = (changes: Readonly<Record<string, unknown>>, rule = {}) => {
    try {
      rulesetOf([{ ...NAV_RULE, ...rule, typedData: { ...typedData, ...changes } }], effects)
    } catch (error) {
      return (error as { facts?: { path?: string } }).facts?.path
    }
    return 'compiled'
  }

  it.each([
    ['a type as EIP-712 encodes it', { type: 'NavReport' }, 'type'],
    [
      'members of known types',
      { type: typedData.type.replace('uint64 deadline', 'mapping deadline') },
      'type',
    ],
    ['a type that is no permit', { type: typedData.type.replace('NavReport', 'Permit') }, 'type'],
    ['a type that is no kind of permit', { type: typedData.type.replace('NavReport', 'DaiPermit') }, 'type'],
    [
      'the members of its argument',
      { type: typedData.type.replace('uint8 decimals', 'uint16 decimals') },
      'message',
    ],
    ['an argument to sign', { message: 'signature' }, 'message'],
    ['a place for the signature', { signature: 'report' }, 'signature'],
  ])('demands %s', (_name, changes, member) => {
    expect(path(changes)).toBe(`guard.allow[0].typedData.${member}`)
  })

  it('signs one struct, and no list of them', () => {
    const listed = NAV_RULE.function.replace(') report,', ')[] report,')
    expect(path({}, { function: listed })).toBe('guard.allow[0].typedData.message')
  })

  it('may take the signature first', () => {
    const [, report = ''] = /\((\(.*\) report), bytes signature\)$/.exec(NAV_RULE.function) ?? []
    const first = `function submitReport(bytes signature, ${report})`
    expect(path({}, { function: first })).toBe('compiled')
  })

  // As their standards and contracts name them.
  it.each([
    'Permit',
    'PermitForAll',
    'PermitSingle',
    'PermitBatch',
    'PermitTransferFrom',
    'PermitBatchTransferFrom',
    'PermitWitnessTransferFrom',
    'PermitBatchWitnessTransferFrom',
    'SafeTx',
    'SafeMessage',
    'UserOperation',
    'PackedUserOperation',
    'OrderComponents',
    'BulkOrder',
    'Order',
    'LimitOrder',
    'TransferWithAuthorization',
    'ReceiveWithAuthorization',
    'CancelAuthorization',
    'Authorization',
    'Delegation',
    'MetaTransaction',
    'ForwardRequest',
  ])('is never for %s, in whatever case', (name) => {
    for (const each of [name, name.toLowerCase(), `My${name}`]) {
      expect(path({ type: typedData.type.replace('NavReport', each) })).toBe('guard.allow[0].typedData.type')
    }
  })

  it('leaves the signature to us', () => {
    const params = { ...NAV_RULE.params, signature: { eq: '0x' } }
    expect(path({}, { params })).toBe('guard.allow[0].params.signature')
    const { typedData: _typedData, ...untyped } = NAV_RULE
    expect(() => rulesetOf([untyped], effects)).toThrow(
      expect.objectContaining({ facts: { path: 'guard.allow[0].params.signature.eq' } }),
    )
  })

  it('is the only one of its workflow type', () => {
    expect(() => rulesetOf([NAV_RULE, NAV_RULE], effects)).toThrow(/more than one signature/)
  })
})
