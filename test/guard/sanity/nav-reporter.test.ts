import {
  type Address,
  encodeAbiParameters,
  encodeFunctionResult,
  type Hex,
  pad,
  parseAbi,
  toFunctionSelector,
} from 'viem'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Subject } from '../../../src/guard/policy/references.ts'
import { createReads, type Reads } from '../../../src/guard/reads/views.ts'
import { navReporterSanity } from '../../../src/guard/sanity/nav-reporter.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { policyOf } from '../../support/policies.ts'
import { deployment, judgementsOf, SELF, STRANGER } from '../fixtures.ts'

const TYPE = 'role.nav_reporter.navReportSignAndSubmit'
const hex = (digit: string): Address => `0x${digit.repeat(40)}`
const [FUND, ORACLE, LENS, VAULT_ORACLE] = [hex('2'), hex('3'), hex('4'), hex('6')]
const WAD = 10n ** 18n
const NOW_S = 1_800_000_000

const { sanity } = z
  .object({ guard: z.object({ sanity: z.record(z.string(), z.unknown()) }) })
  .parse(policyOf('nav-reporter')).guard
const check = judgementsOf('nav-reporter', sanity).get(TYPE)

const LATEST = parseAbi([
  'function latest(bytes32 reportType) view returns ((uint256 value, uint64 valuationTime, uint32 revision, uint64 submittedAt, address reporter))',
])
const latest = (
  changes: Partial<{
    value: bigint
    valuationTime: bigint
    revision: number
    submittedAt: bigint
    reporter: Address
  }>,
) =>
  encodeFunctionResult({
    abi: LATEST,
    functionName: 'latest',
    result: {
      value: WAD,
      valuationTime: BigInt(NOW_S - 60),
      revision: 0,
      submittedAt: 1n,
      reporter: SELF,
      ...changes,
    },
  })
const word = (value: bigint | boolean | Address): Hex =>
  typeof value === 'boolean'
    ? encodeAbiParameters([{ type: 'bool' }], [value])
    : typeof value === 'bigint'
      ? encodeAbiParameters([{ type: 'uint256' }], [value])
      : encodeAbiParameters([{ type: 'address' }], [value])

/** What the chain answers, by function; null fails. */
type Answers = Readonly<Record<string, Hex | null>>
const honest: Answers = {
  'asset()': word(FUND),
  'decimals()': word(18n),
  'hasRole(bytes32,address)': word(true),
  'latest(bytes32)': latest({}),
  'shareValueWad(address)': word(WAD),
}
const shown = latest({ value: WAD, valuationTime: BigInt(NOW_S) })

const input = {
  oracleAddress: ORACLE,
  assetAddress: FUND,
  reportType: 'nav',
  value: String(WAD),
  decimals: 18,
  valuationTimestamp: String(NOW_S),
  revision: 0,
  revisionLabel: 'scheduled',
}
type Given = {
  readonly input?: Partial<typeof input>
  readonly before?: Answers
  readonly after?: Hex | null
  readonly timestampS?: number
  readonly oracles?: readonly { readonly name: string; readonly address: Address }[]
}

function fill(reads: Reads, answers: Answers) {
  const bySelector = new Map(Object.entries(answers).map(([name, data]) => [toFunctionSelector(name), data]))
  reads.fill(reads.calls.map(({ data }) => bySelector.get(data.slice(0, 10) as Hex) ?? null))
}

/** What the last judgement asked the chain before the run, and what it said of the position. */
let calls: readonly string[] = []
let said: string | undefined
const asked = (given: Given) => {
  judged(given)
  return calls
}

/** The checks of position and outcome, in this order; null where one passes. */
function judged({
  input: changes = {},
  before = {},
  after = shown,
  timestampS = NOW_S + 12,
  oracles,
}: Given = {}) {
  if (check === undefined) throw new TypeError('the policy judges no reports')
  const contracts = oracles ?? [
    { name: 'fundNavOracle', address: ORACLE },
    { name: 'fundLens', address: LENS },
  ]
  const subject = {
    input: { ...input, ...changes },
    self: SELF,
    deadlineS: BigInt(NOW_S + 60),
    market: null,
    vault: null,
    fund: null,
    deployment: {
      ...deployment,
      contracts: contracts.map((pin) => ({ ...pin, codeHash: `0x${'1'.repeat(64)}` as const })),
    },
  } satisfies Subject
  const proposal: Proposal = {
    workflowType: TYPE,
    kind: 'scheduled',
    subject: `${FUND}:${ORACLE}:nav`,
    occurrence: `${NOW_S}:0`,
    input: subject.input,
    exposure: { token: null, assets: 0n, usdMicros: 0n },
    summary: 'report',
    reason: {},
  }
  const [reads, afterwards] = [createReads(), createReads()]
  const judgement = check.judge({ subject, proposal, calls: [], before: reads, after: afterwards })
  calls = reads.calls.map(({ to, data }) => `${to} ${data}`)
  fill(reads, { ...honest, ...before })
  fill(afterwards, { 'latest(bytes32)': after })
  const refusal = judgement.checkState(timestampS)
  said = refusal?.message
  return [
    refusal?.check ?? null,
    judgement.checkOutcome({ timestampS, gasWei: 0n, changeOf: () => 0n })?.check ?? null,
  ]
}
const position = (given: Given) => judged(given)[0]

/** The limits with one oracle's changed. */
function limitsWith(change: (oracle: Readonly<Record<string, unknown>>) => object) {
  const { oracles } = z
    .object({ oracles: z.record(z.string(), z.record(z.string(), z.unknown())) })
    .parse(sanity)
  const fundNavOracle = { ...oracles.fundNavOracle, ...change(oracles.fundNavOracle ?? {}) }
  return navReporterSanity.limits([]).safeParse({ ...sanity, oracles: { ...oracles, fundNavOracle } })
}

describe("the guard's own judgement of a NAV report", () => {
  it('passes an honest one, and one that is the first of its oracle', () => {
    expect(judged()).toEqual([null, null])
    expect(
      position({ before: { 'latest(bytes32)': latest({ value: 0n, valuationTime: 0n, submittedAt: 0n }) } }),
    ).toBeNull()
  })

  it('refuses a signer that may not report, another asset, and other decimals', () => {
    expect(position({ before: { 'hasRole(bytes32,address)': word(false) } })).toBe('not_reporter')
    expect(position({ before: { 'hasRole(bytes32,address)': null } })).toBe('not_reporter')
    expect(position({ before: { 'asset()': word(STRANGER) } })).toBe('asset_mismatch')
    expect(position({ before: { 'asset()': null } })).toBe('asset_mismatch')
    expect(position({ before: { 'decimals()': word(6n) } })).toBe('decimals_mismatch')
    expect(position({ input: { decimals: 6 } })).toBe('decimals_mismatch')
  })

  it('refuses an oracle that the policy does not list, wherever it is pinned', () => {
    const elsewhere = [{ name: 'otherOracle', address: ORACLE }]
    expect(judged({ oracles: elsewhere })).toEqual(['oracle_not_listed', 'oracle_not_listed'])
    expect(judged({ oracles: [] })).toEqual(['oracle_not_listed', 'oracle_not_listed'])
  })

  it('refuses a time that has not come, is long over, or is not the next in sequence', () => {
    expect(position({ timestampS: NOW_S })).toBeNull()
    expect(position({ timestampS: NOW_S - 1 })).toBe('valuation_in_future')
    expect(position({ timestampS: NOW_S + 360 })).toBeNull()
    expect(position({ timestampS: NOW_S + 361 })).toBe('valuation_too_old')
    expect(said).toBe('The report is for 6 min 1 s before the next block; the policy allows 6 min.')
    const last = (valuationTime: number, revision = 0) => ({
      'latest(bytes32)': latest({ valuationTime: BigInt(valuationTime), revision }),
    })
    expect(position({ before: last(NOW_S + 1) })).toBe('report_out_of_sequence')
    expect(position({ before: last(NOW_S) })).toBe('report_out_of_sequence')
    expect(position({ input: { revision: 1 } })).toBe('report_out_of_sequence')
    expect(position({ before: { 'latest(bytes32)': null } })).toBe('read_failed')
  })

  it('lets a correction be for the time of what it corrects, however old, and only by the next revision', () => {
    const corrected = { 'latest(bytes32)': latest({ valuationTime: BigInt(NOW_S), revision: 1 }) }
    const late = { before: corrected, timestampS: NOW_S + 86_400 }
    expect(position({ ...late, input: { revision: 2 } })).toBeNull()
    expect(position({ ...late, input: { revision: 3 } })).toBe('report_out_of_sequence')
    expect(position({ ...late, input: { revision: 1 } })).toBe('report_out_of_sequence')
  })

  it('refuses a value beyond bounds, move and chain: passes at each limit, refuses one past it', () => {
    const value = (units: bigint, before: Answers) => position({ input: { value: String(units) }, before })
    const near = (units: bigint) => ({
      'latest(bytes32)': latest({ value: units }),
      'shareValueWad(address)': word(units),
    })
    expect(value(10n * WAD, near(10n * WAD))).toBeNull()
    expect(value(10n * WAD + 1n, near(10n * WAD))).toBe('value_out_of_bounds')
    expect(value(WAD / 10n, near(WAD / 10n))).toBeNull()
    expect(value(WAD / 10n - 1n, near(WAD / 10n))).toBe('value_out_of_bounds')
    const moved = (12n * WAD) / 10n
    const chain = { 'shareValueWad(address)': word(moved) }
    expect(value(moved, chain)).toBeNull()
    expect(value(moved + 1n, chain)).toBe('value_moved_too_far')
    const apart = (105n * WAD) / 100n
    expect(value(apart, {})).toBeNull()
    expect(value(apart + 1n, {})).toBe('value_apart_from_chain')
    expect(value((95n * WAD) / 100n - 1n, {})).toBe('value_apart_from_chain')
    expect(value(WAD, { 'shareValueWad(address)': null })).toBe('read_failed')
    expect(value(WAD, { 'shareValueWad(address)': word(WAD * 1_000n) })).toBe('value_apart_from_chain')
  })

  it('asks of the chain what the policy names: a contract, or what is reported on', () => {
    const sheet = { oracleAddress: VAULT_ORACLE }
    const oracles = [
      { name: 'fundNavOracle', address: ORACLE },
      { name: 'primeNavOracle', address: VAULT_ORACLE },
      { name: 'fundLens', address: LENS },
    ]
    expect(asked({ oracles })).toContain(
      `${LENS} ${toFunctionSelector('shareValueWad(address)')}${pad(FUND).slice(2)}`,
    )
    const probe = encodeAbiParameters([{ type: 'uint256' }], [10n ** 12n]).slice(2)
    expect(asked({ oracles, input: sheet })).toContain(
      `${FUND} ${toFunctionSelector('convertToAssets(uint256)')}${probe}`,
    )
    expect(asked({ oracles }).filter((call) => call.startsWith(ORACLE))).toHaveLength(4)
    // A contract that the deployment does not pin is asked nothing, and says nothing.
    expect(position({ oracles: oracles.filter(({ name }) => name !== 'fundLens') })).toBe('read_failed')
  })

  it('refuses what the oracle does not show as ours after the run', () => {
    const outcome = (after: Hex | null) => judged({ after })[1]
    const valuationTime = BigInt(NOW_S)
    expect(outcome(null)).toBe('read_failed')
    expect(outcome(latest({}))).toBe('report_not_shown')
    expect(outcome(latest({ valuationTime, value: WAD + 1n }))).toBe('report_not_shown')
    expect(outcome(latest({ valuationTime, revision: 1 }))).toBe('report_not_shown')
    expect(outcome(latest({ valuationTime, reporter: STRANGER }))).toBe('report_not_shown')
  })

  it.each([
    ['a view that changes something', { function: 'function a() returns (uint256)' }, 'function'],
    ['what is no function', { function: 'event A(address a)' }, 'function'],
    ['what nobody can read', { function: 'price' }, 'function'],
    ['arguments that do not fit', { args: [] }, 'args'],
    ['a number for an address', { args: ['1'] }, 'args'],
    [
      'one of two arguments that does not fit',
      { function: 'function a(address a, uint256 b) view returns (uint256)', args: ['$asset', '$asset'] },
      'args',
    ],
  ])('its limits refuse %s', (_, changes, path) => {
    const { error } = limitsWith(({ chain }) => ({ chain: { ...(chain as object), ...changes } }))
    expect(error?.issues.map((issue) => issue.path.at(-1))).toEqual([path])
  })

  it('its limits refuse a least value above the most, and take one alone', () => {
    const bounds = (valueMin: string, valueMax: string) => limitsWith(() => ({ valueMin, valueMax }))
    expect(bounds('5', '5').success).toBe(true)
    expect(bounds('6', '5').error?.issues.map(({ path }) => path.at(-1))).toEqual(['valueMin'])
  })
})
