import { encodeFunctionData, type Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import { navOracleAbi } from '../../../sandbox/contracts/abis.ts'
import type { TransactionIntent } from '../../../src/service/contract/prepared-workflow.ts'
import { STRANGER } from '../fixtures.ts'
import { answerOf, kindOf, NAV_DIGEST, NAV_ORACLE, navReport, navTypedData, UNSIGNED } from '../kinds.ts'
import { judge, NAV_RULE, reasonOf, rulesetOf } from '../rules.ts'

const effects = [{ workflowType: NAV_RULE.workflowType }]
const ruleset = rulesetOf([NAV_RULE], effects)
const kind = kindOf('report')
const honest = answerOf(kind, kind.drafts)
const digest = NAV_DIGEST
const signature: Hex = `0x${'ab'.repeat(64)}1b`

const withIntent = (change: (intent: TransactionIntent) => Partial<TransactionIntent>) => ({
  ...honest,
  transactions: honest.transactions.map((intent) => ({ ...intent, ...change(intent) })),
})
const withTypedData = (changes: Readonly<Record<string, unknown>>) =>
  withIntent(() => ({
    signing: {
      kind: 'eip712',
      typedData: { ...navTypedData, ...changes },
      signaturePlacement: 'argument:1',
    },
  }))
const withMessage = (changes: Readonly<Record<string, unknown>>) =>
  withTypedData({ message: { ...navTypedData.message, ...changes } })
const withDomain = (changes: Readonly<Record<string, unknown>>) =>
  withTypedData({ domain: { ...navTypedData.domain, ...changes } })
const withSigning = (changes: Partial<NonNullable<TransactionIntent['signing']>>) =>
  withIntent(({ signing }) => (signing === undefined ? {} : { signing: { ...signing, ...changes } }))
const submit = (report: typeof navReport, signed: Hex): Hex =>
  encodeFunctionData({ abi: navOracleAbi, functionName: 'submitReport', args: [report, signed] })
const withCall = (report: Partial<typeof navReport>, signed: Hex = UNSIGNED) =>
  withIntent(() => ({ calldata: submit({ ...navReport, ...report }, signed) }))

describe('typed data', () => {
  it('gives the digest of our own type over what the call says', () => {
    const checked = judge(kind, ruleset)
    expect(checked.ok && checked.calls[0]?.digest).toBe(digest)
    expect(checked.ok && checked.calls[0]?.data).toBe(kind.drafts[0]?.calldata)
  })

  it('takes our signature into its place, and leaves every other byte', () => {
    const checked = judge(kind, ruleset, honest, { digest, signature })
    expect(checked.ok && checked.calls[0]?.data).toBe(submit(navReport, signature))
  })

  it('takes no signature over another digest', () => {
    const other = { digest: `0x${'cd'.repeat(32)}`, signature } as const
    expect(reasonOf(judge(kind, ruleset, honest, other))).toBe('digest_changed')
  })

  it('may write integers as numbers, and addresses in any case', () => {
    const domain = { ...navTypedData.domain, verifyingContract: NAV_ORACLE.toUpperCase().replace('0X', '0x') }
    expect(reasonOf(judge(kind, ruleset, withTypedData({ domain })))).toBe('accepted')
    const valuationTime = Number(navReport.valuationTime)
    expect(reasonOf(judge(kind, ruleset, withMessage({ valuationTime, revision: '0' })))).toBe('accepted')
  })

  const [first, ...others] = navTypedData.types.NavReport
  it.each([
    ['asks for nothing', withIntent(() => ({ signing: undefined as never })), 'signing_missing'],
    ['asks for another kind of signature', withSigning({ kind: 'personal_sign' }), 'signing_kind'],
    ['puts the signature first', withSigning({ signaturePlacement: 'argument:0' }), 'signature_placement'],
    ['appends the signature', withSigning({ signaturePlacement: 'append' }), 'signature_placement'],
    ['has a signature already', withCall({}, signature), 'signature_placeholder'],
    ['keeps too little room', withCall({}, '0x'), 'signature_placeholder'],
    ['has another name', withDomain({ name: 'PriceOracle' }), 'typed_data_mismatch'],
    ['has another version', withDomain({ version: '2' }), 'typed_data_mismatch'],
    ['is for another chain', withDomain({ chainId: 1 }), 'typed_data_mismatch'],
    ['is for another contract', withDomain({ verifyingContract: STRANGER }), 'typed_data_mismatch'],
    ['has a salt', withDomain({ salt: `0x${'00'.repeat(32)}` }), 'typed_data_mismatch'],
    ['has another primary type', withTypedData({ primaryType: 'Permit' }), 'typed_data_mismatch'],
    [
      'has another type beside',
      withTypedData({ types: { ...navTypedData.types, Permit: [] } }),
      'typed_data_mismatch',
    ],
    ['lacks a field', withTypedData({ types: { NavReport: others } }), 'typed_data_mismatch'],
    [
      'orders fields otherwise',
      withTypedData({ types: { NavReport: [...others, first] } }),
      'typed_data_mismatch',
    ],
    ['has a member beside', withTypedData({ note: 'sign me' }), 'typed_data_mismatch'],
    ['reports another value', withMessage({ value: '1020000000000000001' }), 'typed_data_mismatch'],
    ['reports another asset', withMessage({ asset: STRANGER }), 'typed_data_mismatch'],
    ['has another label', withMessage({ revisionLabel: 'Daily' }), 'typed_data_mismatch'],
    [
      'lives longer than its call',
      withMessage({ deadline: String(navReport.deadline + 1n) }),
      'typed_data_mismatch',
    ],
    ['says more than the type', withMessage({ spender: STRANGER }), 'typed_data_mismatch'],
    ['says less than the type', withMessage({ revision: undefined }), 'typed_data_mismatch'],
    ['submits another value', withCall({ value: navReport.value + 1n }), 'parameter_report_value'],
    ['submits for another asset', withCall({ asset: STRANGER }), 'parameter_report_asset'],
    [
      'submits another type',
      withCall({ reportType: `0x${'00'.repeat(32)}` }),
      'parameter_report_report_type',
    ],
    ['submits other decimals', withCall({ decimals: 6 }), 'parameter_report_decimals'],
    ['submits for another time', withCall({ valuationTime: 1n }), 'parameter_report_valuation_time'],
    ['submits another revision', withCall({ revision: 1 }), 'parameter_report_revision'],
    ['never ends', withCall({ deadline: 2n ** 64n - 1n }), 'parameter_report_deadline'],
    ['goes to another oracle', withIntent(() => ({ target: STRANGER })), 'target_not_allowed'],
  ])('that %s is refused', (_name, answer, expected) => {
    expect(reasonOf(judge(kind, ruleset, answer))).toBe(expected)
  })
})

describe('a mismatch', () => {
  it.each([
    ['its outermost member', withTypedData({ note: 'sign me' })],
    ['primaryType', withTypedData({ primaryType: 'Permit' })],
    ['types', withTypedData({ types: { NavReport: [] } })],
    ['the domain', withDomain({ salt: '0x00' })],
    ['domain.name', withDomain({ name: 'PriceOracle' })],
    ['domain.version', withDomain({ version: '2' })],
    ['domain.chainId', withDomain({ chainId: 1 })],
    ['domain.verifyingContract', withDomain({ verifyingContract: STRANGER })],
    ['the message', withMessage({ spender: STRANGER })],
    ['message.value', withMessage({ value: '5' })],
  ])('says what differs: %s', (part, answer) => {
    const checked = judge(kind, ruleset, answer)
    expect(checked.ok ? '' : checked.message).toContain(`our own type NavReport: ${part} differs.`)
  })
})
