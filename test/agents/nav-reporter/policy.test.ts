import { describe, expect, test } from 'vitest'
import { navReporterPolicy } from '../../../agents/nav-reporter/policy.ts'
import { checkYaml } from '../../../src/config/check.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { strategyText } from './fixtures.ts'

type Tree = { [name: string]: Tree }

/** What the start says of the committed strategy with one member set, or removed. */
function refusal(path: string, value: unknown): string {
  const root = strategyText() as Tree
  const steps = path.split('.')
  const last = steps.pop() ?? ''
  const parent = steps.reduce((node, step) => node[step] ?? {}, root)
  if (value === undefined) delete parent[last]
  else Object.assign(parent, { [last]: value })
  try {
    checkYaml(
      { file: 'nav-reporter.yaml', value: root, at: () => 'nav-reporter.yaml:1:1' },
      navReporterPolicy,
    )
    return 'accepted'
  } catch (error) {
    expect(error).toBeInstanceOf(RolekeeperError)
    return (error as RolekeeperError).message
  }
}
const fund = (member: string) => `reports.recoveryFund.${member}`
const calendar = (cron: string, holidays: readonly string[] = [], timeZone = 'Europe/Zurich') => ({
  calendar: { cron, timeZone, holidays, onHoliday: 'skip' },
})
const christmases = Array.from({ length: 9 }, (_, index) => `${2026 + index}-12-25`)

const marked = {
  performanceFee: '10 %',
  carryRate: '20 %',
  preferredReturn: '8 %',
  mark: {
    contract: 'fundLens',
    args: ['$asset'],
    decimals: '18',
    highWaterValue: 'function highWaterMark(address fund) view returns (uint256)',
    accruesSince: 'function feesPaidAt(address fund) view returns (uint64)',
  },
}

describe('the strategy', () => {
  test('of the committed policy is accepted', () => {
    expect(refusal('clockApartMax', '1 min')).toBe('accepted')
    expect(refusal(fund('schedule'), calendar('0 16 * * 1-5', ['2026-12-25']))).toBe('accepted')
    expect(refusal(fund('interim'), undefined)).toBe('accepted')
    expect(refusal(fund('fees'), undefined)).toBe('accepted')
    expect(refusal(fund('quorum'), '4')).toBe('accepted')
    expect(refusal(fund('sources.administrator.upstream'), 'vendor')).toBe('accepted')
    expect(refusal(fund('sources.chain.upstream'), 'node')).toBe('accepted')
    expect(refusal(fund('fees'), marked)).toBe('accepted')
    expect(refusal(fund('waitForNewer'), '0 s')).toBe('accepted')
  })

  test.each([
    ['a quorum above the number of sources', fund('quorum'), '5'],
    ['a quorum that two groups could each be', fund('quorum'), '2'],
    ['a least value above the largest', fund('sources.chain.valueMin'), '10000000000000000001'],
    ['a least value of nothing', fund('sources.chain.valueMin'), '0'],
    ['a schedule that never fires', fund('schedule'), calendar('0 16 30 2 *')],
    ['a schedule of holidays alone', fund('schedule'), calendar('0 16 25 12 *', christmases)],
    ['no cron', fund('schedule'), calendar('at noon')],
    ['a time zone of nowhere', fund('schedule'), calendar('0 16 * * *', [], 'Europe/Atlantis')],
    ['a holiday that does not exist', fund('schedule'), calendar('0 16 * * *', ['2026-02-30'])],
    ['two schedules', fund('schedule'), { ...calendar('0 16 * * *'), every: '30 s' }],
    ['no schedule', fund('schedule'), {}],
    ['a pace of nothing', fund('schedule'), { every: '0 s' }],
    ['values that grow too old between two looks', fund('sources.chain.ageMax'), '5 s'],
    ['an interim report of the same type', fund('interim.reportType'), 'nav'],
    ['two reports of one type to one oracle', 'reports.primeVault.oracle', 'fundNavOracle'],
    [
      'a view that returns no number',
      fund('sources.chain.function'),
      'function name() view returns (string)',
    ],
    ['a function that changes something', fund('sources.chain.function'), 'function a() returns (uint256)'],
    ['arguments that do not fit', fund('sources.chain.args'), []],
    ['a number for an address', fund('sources.chain.args'), ['1']],
    ['a value in a float', fund('sources.chain.valueMin'), '0.1'],
    ['one answer that counts twice', fund('sources.custodian.source'), 'fundAdministrator'],
    ['a source of no kind', fund('sources.chain.kind'), 'guess'],
    ['a path that is no pointer', fund('sources.administrator.valuePointer'), 'perShare.value'],
    ['fees from no day', fund('fees.accruesSince'), 'last year'],
    ['an unknown member', fund('quorums'), '3'],
    ['fees from two places', fund('fees'), { ...marked, highWaterValue: '1' }],
    ['a stated mark of a fund that may pay fees out', fund('fees.paidOut'), undefined],
    ['a stated mark of a fund that pays fees out', fund('fees.paidOut'), 'yearly'],
    [
      'a mark that takes an asset it is not given',
      fund('fees'),
      { ...marked, mark: { ...marked.mark, args: [] } },
    ],
    ['no reports', 'reports', {}],
    ['no sources', fund('sources'), {}],
  ])('refuses %s', (_, path, value) => {
    expect(refusal(path, value)).toMatchSnapshot()
  })
})
