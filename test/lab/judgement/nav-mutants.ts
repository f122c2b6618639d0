import { decide } from '../../../agents/nav-reporter/decide.ts'
import type { ReportPolicy } from '../../../agents/nav-reporter/policy.ts'
import type { ReportSeen } from '../../../agents/nav-reporter/see.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { WAD } from '../../agents/nav-reporter/fixtures.ts'
import type { Mutant } from './judgement.ts'
import { DAY_S } from './nav-books.ts'
import { type Decide, navCorrectionsOf, navFastOf, navFeesOf, navWorldsOf } from './nav-worlds.ts'

const dueS = (nowS: number) => Math.floor(nowS / DAY_S) * DAY_S

type Change = {
  readonly policy?: (report: ReportPolicy) => Partial<ReportPolicy>
  readonly seen?: (report: ReportSeen, nowS: number) => Partial<ReportSeen>
}

/** The role's own decide, which takes something else for what it sees or was told. */
const mistaking = ({ policy = () => ({}), seen = () => ({}) }: Change): Decide => {
  return (given, by) =>
    decide(
      {
        ...given,
        reports: given.reports.map((one) => ({ ...one, ...seen(one, given.chain.timestampS) })),
      },
      {
        ...by,
        reports: Object.fromEntries(
          Object.entries(by.reports).map(([name, one]) => [name, { ...one, ...policy(one) }]),
        ),
      },
    )
}

/** Reports something else than it decided. */
const reporting =
  (change: (input: Input, nowS: number) => Input): Decide =>
  (given, by) => {
    const { proposals, ...rest } = decide(given, by)
    const { timestampS } = given.chain
    return { ...rest, proposals: proposals.map((one) => ({ ...one, input: change(one.input, timestampS) })) }
  }
type Input = Proposal['input']

type Source = ReportPolicy['sources'][string]
const everySource = (change: (one: Source) => Source) => (report: ReportPolicy) => ({
  sources: Object.fromEntries(Object.entries(report.sources).map(([name, one]) => [name, change(one)])),
})

const apart = (one: Source, upstream: string) =>
  one.upstream === upstream ? { ...one, upstream: undefined } : one

/** Deadly mistakes of the NAV reporter. */
export const navMutants: readonly Mutant[] = [
  {
    name: 'what is said now taken for the value then',
    scenario: 'lagging-sources',
    figure: 'meanErrorBps',
    seed: 2,
    judge: navWorldsOf(
      mistaking({
        seen: ({ readings }, nowS) => ({
          readings: readings.map((one) => ({
            ...one,
            known: one.known.slice(-1).map((said) => ({ ...said, asOfS: dueS(nowS) })),
          })),
        }),
      }),
    ),
  },
  {
    name: 'values of a day ago believed',
    scenario: 'mixed-days',
    figure: 'worstErrorBps',
    judge: navWorldsOf(mistaking({ policy: everySource((one) => ({ ...one, ageSMax: DAY_S })) })),
  },
  {
    name: 'a vote for each source of one upstream',
    scenario: 'shared-upstream',
    figure: 'wrongReports',
    seed: 9,
    judge: navWorldsOf(mistaking({ policy: everySource((one) => apart(one, 'vendor')) })),
  },
  {
    name: 'a vote each for what our own nodes read',
    scenario: 'wrong-reading',
    figure: 'wrongReports',
    judge: navWorldsOf(mistaking({ policy: everySource((one) => apart(one, 'chain+holdings')) })),
  },
  {
    name: 'a quorum of one',
    scenario: 'shared-upstream',
    figure: 'wrongReports',
    judge: navWorldsOf(mistaking({ policy: () => ({ quorum: 1 }) })),
  },
  {
    name: 'the value of before taken at the first look',
    scenario: 'fast-values',
    figure: 'meanErrorBps',
    judge: navFastOf(mistaking({ policy: () => ({ waitForNewerS: 0 }) })),
  },
  {
    name: 'fees counted from the first mark for ever',
    scenario: 'crystallised-fee',
    figure: 'worstErrorBps',
    judge: navFeesOf(
      mistaking({
        seen: () => ({
          marks: [{ highWaterValue: WAD, accruesSinceS: 0, seenAtS: Number.MAX_SAFE_INTEGER }],
        }),
      }),
    ),
  },
  {
    name: 'what investors owe in fees reported as theirs',
    scenario: 'crystallised-fee',
    figure: 'worstErrorBps',
    judge: navFeesOf(mistaking({ policy: () => ({ fees: undefined }) })),
  },
  {
    name: 'a report never looked at again',
    scenario: 'corrected-values',
    figure: 'wrongToldPercent',
    seed: 1,
    judge: navCorrectionsOf(mistaking({ policy: () => ({ materialityBps: 10_000n }) })),
  },
  {
    name: 'a decimal lost',
    scenario: 'lagging-sources',
    figure: 'worstErrorBps',
    seed: 2,
    judge: navWorldsOf(
      reporting((input) => ({ ...input, value: String(BigInt(String(input.value)) / 10n) })),
    ),
  },
  {
    name: 'the time of now given to the value of then',
    scenario: 'lagging-sources',
    figure: 'reportedOfKnownPercent',
    seed: 2,
    judge: navWorldsOf(reporting((input, nowS) => ({ ...input, valuationTimestamp: String(nowS) }))),
  },
]
