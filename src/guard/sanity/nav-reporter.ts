import { type AbiFunction, type Address, type Hex, keccak256, parseAbi, stringToHex } from 'viem'
import { z } from 'zod'
import { invariant, type Refusal, refuse } from '../../errors.ts'
import { span } from '../../readable.js'
import { amount, bps, contractName, count, seconds, settings } from '../../service/contract/yaml-scalars.ts'
import { exactTokens, percent, time } from '../../units.ts'
import type { Subject } from '../policy/references.ts'
import { asAddress, asUint } from '../policy/values.ts'
import { address, createView, uint, type View } from '../reads/views.ts'
import { type JudgedCase, type Judgement, type RoleSanity, unread } from './judgement.ts'
import { BPS } from './units.ts'

const VIEWS = parseAbi([
  'function asset() view returns (address)',
  'function decimals() view returns (uint8)',
  'function hasRole(bytes32 role, address account) view returns (bool)',
  'function latest(bytes32 reportType) view returns ((uint256 value, uint64 valuationTime, uint32 revision, uint64 submittedAt, address reporter))',
])
const view = createView(VIEWS)

const accepted = z.object({
  value: uint,
  valuationTime: uint,
  revision: uint,
  submittedAt: uint,
  reporter: address,
})

const REPORTER_ROLE = keccak256(stringToHex('REPORTER_ROLE'))

/** Of addresses and unsigned integers, with one unsigned integer for an answer. */
const signature = z.string().transform((text, context): AbiFunction => {
  const item = parsed(text)
  if (item !== null) return item
  context.addIssue({
    code: 'custom',
    message: 'expected one view as Solidity writes it, for example "function price() view returns (uint256)"',
  })
  return z.NEVER
})

function parsed(text: string): AbiFunction | null {
  try {
    const [item] = parseAbi([text] as readonly string[])
    return item?.type === 'function' && item.stateMutability === 'view' ? item : null
  } catch {
    return null
  }
}

const chainValue = settings({
  /** A name of deployment.contracts, or `$asset` for what is reported on. */
  contract: z.union([z.literal('$asset'), contractName]),
  function: signature,
  args: z.array(z.union([z.literal('$asset'), amount('a whole number')])).max(5),
  decimals: count('decimals', 0, 36),
  /** How far a report may be from it: fees are not in it. */
  apartBpsMax: bps().transform(BigInt),
}).refine(
  (chain) =>
    chain.args.length === chain.function.inputs.length &&
    chain.function.inputs.every(({ type }, index) =>
      chain.args[index] === '$asset' ? type === 'address' : /^uint[0-9]*$/.test(type),
    ),
  {
    path: ['args'],
    error: "expected one for each of the function's parameters, $asset for an address, a number for a uint",
  },
)

const limits = settings({
  /** How long ago the time may be that a first report is for, at the block simulated. */
  valuationAgeSMax: seconds(1, 31_536_000).transform(BigInt),
  /** By their names in deployment.contracts. */
  oracles: z.record(
    contractName,
    settings({
      valueMin: amount("units of 10^-decimals of the report's value"),
      valueMax: amount("units of 10^-decimals of the report's value"),
      /** How far a value may be from the last one of its type. */
      moveBpsMax: bps(1).transform(BigInt),
      chain: chainValue,
    }).refine((oracle) => oracle.valueMin <= oracle.valueMax, {
      path: ['valueMin'],
      error: 'expected no more than valueMax',
    }),
  ),
})
type Limits = z.output<typeof limits>
type OracleLimits = Limits['oracles'][string]
type ChainValue = OracleLimits['chain']

/** What a request asks to report, and to which oracle. */
type Report = {
  readonly oracle: Address
  readonly reportType: Hex
  readonly asset: Address
  readonly value: bigint
  readonly decimals: bigint
  readonly valuationTimeS: bigint
  readonly revision: bigint
  /** The signer, who must be a reporter of the oracle. */
  readonly self: Address
}

function reportOf({ input, self }: Subject, oracle: Address): Report {
  const asset = asAddress(input.assetAddress)
  const [value, decimals] = [asUint(input.value), asUint(input.decimals)]
  const [valuationTimeS, revision] = [asUint(input.valuationTimestamp), asUint(input.revision)]
  invariant(
    asset !== undefined &&
      value !== undefined &&
      decimals !== undefined &&
      valuationTimeS !== undefined &&
      revision !== undefined,
    'the request has passed its schema',
  )
  const reportType = stringToHex(String(input.reportType), { size: 32 })
  return { oracle, reportType, asset, value, decimals, valuationTimeS, revision, self }
}

type ReportReads = ReturnType<typeof askReport>

function askReport(
  { oracle, reportType, asset, self }: Report,
  { chain }: OracleLimits,
  { subject, before, after }: JudgedCase,
) {
  const latest = view('latest', oracle, [reportType], accepted)
  const chainValue = chainView(chain, asset, subject.deployment.contracts)
  return {
    asset: before.ask(view('asset', oracle, [], address)),
    decimals: before.ask(view('decimals', oracle, [], uint)),
    isReporter: before.ask(view('hasRole', oracle, [REPORTER_ROLE, self], z.boolean())),
    latest: before.ask(latest),
    latestAfter: after.ask(latest),
    chainValue: chainValue === null ? () => null : before.ask(chainValue),
  }
}

/**
 * Judge a NAV report by chain reads: the policy lists its oracle, we may report to it, on this asset, next in its
 * sequence, within the policy's bounds, and not far from the value that the chain itself gives. After the simulated run
 * the oracle must show the report as ours. It shares no arithmetic with the agent, so that one mistake cannot pass twice.
 */
function judgeReport({ oracles, valuationAgeSMax }: Limits, about: JudgedCase): Judgement {
  const { input, deployment } = about.subject
  const oracle = deployment.contracts.find((pin) => pin.address === asAddress(input.oracleAddress))
  const limits = oracle === undefined ? undefined : oracles[oracle.name]
  if (oracle === undefined || limits === undefined) {
    const message = 'guard.sanity.oracles does not list the oracle, or the deployment does not pin it.'
    const refused = () => refuse('oracle_not_listed', message)
    return { checkState: refused, checkOutcome: refused }
  }
  const report = reportOf(about.subject, oracle.address)
  const reads = askReport(report, limits, about)
  return {
    checkState: (timestampS) =>
      checkOracle(report, reads) ??
      checkSequence(report, reads, valuationAgeSMax, timestampS) ??
      checkValue(report, reads, limits),
    checkOutcome: () => checkShown(report, reads),
  }
}

function checkOracle(report: Report, { isReporter, asset, decimals }: ReportReads): Refusal | null {
  if (isReporter() !== true) {
    return refuse('not_reporter', 'The oracle does not say that our signer may report.')
  }
  if (asset() !== report.asset) {
    return refuse('asset_mismatch', `The oracle is for ${asset()}; the report is about ${report.asset}.`)
  }
  if (decimals() === report.decimals) return null
  return refuse(
    'decimals_mismatch',
    `The oracle counts ${decimals()} decimals; the report ${report.decimals}.`,
  )
}

/** Demand a time that has been and is not long ago, and the revision that comes next for it. */
function checkSequence(
  { valuationTimeS, revision }: Report,
  { latest }: ReportReads,
  valuationAgeSMax: bigint,
  timestampS: number,
): Refusal | null {
  const last = latest()
  if (last === null) return unread('the last report')
  const ageS = BigInt(timestampS) - valuationTimeS
  if (ageS < 0n) {
    return refuse('valuation_in_future', `The report is for ${span(-ageS * 1_000n)} after the next block.`)
  }
  if (revision === 0n && ageS > valuationAgeSMax) {
    const [age, most] = [ageS, valuationAgeSMax].map((seconds) => span(seconds * 1_000n))
    const message = `The report is for ${age} before the next block; the policy allows ${most}.`
    return refuse('valuation_too_old', message)
  }
  const corrects = last.submittedAt !== 0n && valuationTimeS === last.valuationTime
  const expected = corrects ? last.revision + 1n : 0n
  if (valuationTimeS >= last.valuationTime && revision === expected) return null
  return refuse(
    'report_out_of_sequence',
    `The report is revision ${revision} for ${time(valuationTimeS)}; the last one is revision ${last.revision} for ${time(last.valuationTime)}.`,
  )
}

/** Hold the value to the policy's bounds, to the last one, and to what the chain says. */
function checkValue(
  { value, decimals }: Report,
  { latest, chainValue }: ReportReads,
  { valueMin, valueMax, moveBpsMax, chain }: OracleLimits,
): Refusal | null {
  const say = shareText(decimals)
  if (value < valueMin || value > valueMax) {
    const message = `The value is ${say(value)}; the policy allows ${say(valueMin)} to ${say(valueMax)}.`
    return refuse('value_out_of_bounds', message)
  }
  const last = latest()
  if (last === null) return unread('the last report')
  if (last.submittedAt !== 0n && isApart(value, last.value, moveBpsMax)) {
    const message = `The value is ${say(value)}, the last one ${say(last.value)}; the policy allows ${percent(moveBpsMax)} between them.`
    return refuse('value_moved_too_far', message)
  }
  const onChain = chainValue()
  if (onChain === null) return unread('the value')
  const own = (onChain * 10n ** decimals) / 10n ** BigInt(chain.decimals)
  if (!isApart(value, own, chain.apartBpsMax)) return null
  return refuse(
    'value_apart_from_chain',
    `The value is ${say(value)}; the chain says ${say(own)}, and the policy allows ${percent(chain.apartBpsMax)} between them.`,
  )
}

function checkShown(
  { value, decimals, valuationTimeS, revision, self }: Report,
  { latestAfter }: ReportReads,
): Refusal | null {
  const now = latestAfter()
  if (now === null) return unread('the report after the run')
  if (
    now.value === value &&
    now.valuationTime === valuationTimeS &&
    now.revision === revision &&
    now.reporter === self
  ) {
    return null
  }
  return refuse(
    'report_not_shown',
    `After the run the oracle shows ${shareText(decimals)(now.value)} for ${time(now.valuationTime)}, revision ${now.revision}, by ${now.reporter}.`,
  )
}

/** Write what one share is worth, as reports count it. */
const shareText = (decimals: bigint) => (value: bigint) =>
  exactTokens(value, { symbol: 'a share', decimals: Number(decimals) })

/** More than `bps` basis points apart, of the second. */
const isApart = (one: bigint, other: bigint, bps: bigint) =>
  (one > other ? one - other : other - one) * BPS > other * bps

function chainView(
  chain: ChainValue,
  asset: Address,
  contracts: readonly { readonly name: string; readonly address: Address }[],
): View<bigint> | null {
  const to =
    chain.contract === '$asset' ? asset : contracts.find(({ name }) => name === chain.contract)?.address
  if (to === undefined) return null
  const args = chain.args.map((arg) => (arg === '$asset' ? asset : arg))
  return createView([chain.function])(chain.function.name, to, args, uint)
}

/** The guard's judgement of NAV reports, with the limits that `guard.sanity` of the policy states. */
export const navReporterSanity: RoleSanity<Limits> = {
  limits: () => limits,
  checks: (given) => [
    [
      'role.nav_reporter.navReportSignAndSubmit',
      {
        views: VIEWS,
        relies: [
          'oracleAddress',
          'assetAddress',
          'reportType',
          'value',
          'decimals',
          'valuationTimestamp',
          'revision',
        ],
        revalidations: ['intent_not_expired'],
        judge: (about) => judgeReport(given, about),
      },
    ],
  ],
}
