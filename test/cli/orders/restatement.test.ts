import { describe, expect, test } from 'vitest'
import { restatementOf } from '../../../src/cli/orders/restatement.ts'
import { navReportInput } from '../../../src/service/contract/workflow-inputs.ts'

const WAD = 10n ** 18n
const reported = {
  oracle: `0x${'3'.repeat(40)}`,
  asset: `0x${'2'.repeat(40)}`,
  decimals: 18,
  reportType: 'nav',
  value: WAD,
  valuationTimeS: 1_800_000_000n,
  revision: 1,
} as const

describe('a restatement', () => {
  test('is the next revision for the same valuation time, with its label and how far it goes', () => {
    const submission = restatementOf(reported, '1.0213', 'late invoice')
    expect(navReportInput.parse(submission.input)).toEqual({
      oracleAddress: reported.oracle,
      assetAddress: reported.asset,
      reportType: 'nav',
      value: '1021300000000000000',
      decimals: 18,
      valuationTimestamp: '1800000000',
      revision: 2,
      revisionLabel: 'late invoice',
    })
    expect(submission).toMatchObject({
      role: 'nav-reporter',
      workflowType: 'role.nav_reporter.navReportSignAndSubmit',
      shadow: false,
      summary:
        'restate nav of 2027-01-15T08:00:00.000Z as revision 2: from 1.000000 to 1.021300, late invoice',
    })
  })

  test.each([
    '',
    '0',
    '0.0',
    '1',
    '1.0',
    '-1',
    '1e3',
    'NaN',
    '1,02',
    '1.',
    '.5',
    '1.0000000000000000001',
    '0x1',
  ])('to %j is refused', (value) => {
    expect(() => restatementOf(reported, value, 'x')).toThrow('is no other value above 0')
  })

  test('that is none is told what is reported, as a person would write it', () => {
    expect(() => restatementOf({ ...reported, value: 1_000_002_000_000_000_000n }, 'abc', 'x')).toThrow(
      '"abc" is no other value above 0 with at most 18 decimals; 1.000002 is reported. Fix: write',
    )
  })
})
