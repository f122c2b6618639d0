import { type Address, encodeFunctionData, type Hex, keccak256, stringToHex } from 'viem'
import { invariant } from '../../../src/errors.ts'
import {
  NAV_REPORT_DOMAIN,
  NAV_REPORT_TYPES,
  navReportEntityId,
  TYPED_DATA_SIGNING,
} from '../../../src/service/contract/fund-assumptions.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { navOracleAbi } from '../../contracts/abis.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import { same } from '../same.ts'
import { intents } from './intents.ts'
import {
  blocked,
  type Family,
  type Judgement,
  type Moment,
  passed,
  preparer,
  type Reads,
  staleness,
} from './preparer.ts'

const TYPE = 'role.nav_reporter.navReportSignAndSubmit'
type Input = WorkflowInput<typeof TYPE>

/** NAV reports, signed as typed data and submitted by their reporter. */
export const nav: Family = {
  preparers: [preparer(TYPE, report)],
  fields: {
    nav_report: ({ navValues }, entityId, field) => (field === 'value' ? navValues.get(entityId) : undefined),
  },
}

const BPS = 10_000n
/** The contract's longest revision label, in bytes. */
const LABEL_BYTES_MAX = 64
const REPORTER_ROLE = keccak256(stringToHex('REPORTER_ROLE'))
/** Holds the place of the signature that the reporter makes. */
const UNSIGNED: Hex = `0x${'00'.repeat(TYPED_DATA_SIGNING.signatureBytes)}`

async function report(input: Input, moment: Moment, reads: Reads): Promise<Judgement> {
  const { snapshot, freshness, principal, deadlineS } = moment
  const oracle = await oracleOf(input, moment, reads)
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (oracle === null) reasons.push('oracle_not_found')
  else reasons.push(...judgeReport(input, oracle, snapshot.block.timestampS))
  if (principal !== null && oracle?.isReporter === false) reasons.push('principal_not_reporter')
  if (reasons.length > 0) return blocked(oracle, reasons)
  invariant(oracle !== null, 'a report that may pass has its oracle')
  const message = {
    asset: oracle.asset,
    reportType: word(input.reportType),
    value: BigInt(input.value),
    decimals: oracle.decimals,
    valuationTime: BigInt(input.valuationTimestamp),
    revision: input.revision,
    revisionLabel: input.revisionLabel,
    deadline: deadlineS,
  }
  const calldata = encodeFunctionData({
    abi: navOracleAbi,
    functionName: 'submitReport',
    args: [message, UNSIGNED],
  })
  const signing = {
    kind: TYPED_DATA_SIGNING.kind,
    typedData: typedData(message, reads.chainId, input.oracleAddress),
    signaturePlacement: TYPED_DATA_SIGNING.secondArgument,
  }
  const label = `Submit ${input.reportType} report, revision ${input.revision}`
  return passed(oracle, intents(reads.chainId, [{ target: input.oracleAddress, calldata, label, signing }]), [
    {
      entityType: 'nav_report',
      entityId: navReportEntityId({ ...input, valuationTimeS: message.valuationTime }),
      field: 'value',
      expected: String(message.value),
    },
  ])
}

const word = (name: string): Hex => stringToHex(name, { size: 32 })

/** JSON has no integers of this size: the message writes them as decimal strings. */
function typedData(
  message: Readonly<Record<string, string | number | bigint>>,
  chainId: number,
  verifyingContract: Address,
) {
  const members = Object.entries(message).map(([name, value]) => [
    name,
    typeof value === 'bigint' ? String(value) : value,
  ])
  return {
    domain: { ...NAV_REPORT_DOMAIN, chainId, verifyingContract },
    types: NAV_REPORT_TYPES,
    primaryType: 'NavReport',
    message: Object.fromEntries(members),
  }
}

type Oracle = NonNullable<Awaited<ReturnType<typeof oracleOf>>>

/** What a listed oracle says on chain; null for one that no factory of ours created. */
async function oracleOf(
  { oracleAddress, reportType }: Input,
  { snapshot, principal }: Moment,
  { node }: Reads,
) {
  const asset = assetOf(snapshot, oracleAddress)
  if (asset === undefined) return null
  const contract = { address: oracleAddress, abi: navOracleAbi } as const
  const type = word(reportType)
  const [decimals, [minValue, maxValue, maxMoveBps], last, isReporter] = await Promise.all([
    node.readContract({ ...contract, functionName: 'decimals' }),
    node.readContract({ ...contract, functionName: 'bounds', args: [type] }),
    node.readContract({ ...contract, functionName: 'latest', args: [type] }),
    principal === null
      ? null
      : node.readContract({ ...contract, functionName: 'hasRole', args: [REPORTER_ROLE, principal] }),
  ])
  return { asset, decimals, minValue, maxValue, maxMoveBps, last, isReporter }
}

const assetOf = ({ navOracles }: Snapshot, oracle: Address): Address | undefined =>
  [...navOracles].find(([address]) => same(address, oracle))?.[1]

/** Say what the oracle would refuse. Pure. */
function judgeReport(input: Input, oracle: Oracle, nowS: number): readonly string[] {
  const { asset, decimals, minValue, maxValue, maxMoveBps, last } = oracle
  const [value, valuationS] = [BigInt(input.value), BigInt(input.valuationTimestamp)]
  const move = value > last.value ? value - last.value : last.value - value
  const corrects = last.submittedAt !== 0n && valuationS === last.valuationTime
  const inBounds = value >= minValue && value <= maxValue
  const labelBytes = Buffer.byteLength(input.revisionLabel)
  const reasons: readonly (readonly [boolean, string])[] = [
    [!same(input.assetAddress, asset), 'asset_mismatch'],
    [input.decimals !== decimals, 'decimals_mismatch'],
    [labelBytes > LABEL_BYTES_MAX, 'revision_label_too_long'],
    [maxValue === 0n, 'unknown_report_type'],
    [maxValue !== 0n && !inBounds, 'value_out_of_bounds'],
    [last.value !== 0n && move > (last.value * BigInt(maxMoveBps)) / BPS, 'value_moved_too_far'],
    [valuationS > BigInt(nowS), 'valuation_in_future'],
    [valuationS < last.valuationTime, 'valuation_went_backwards'],
    [input.revision !== (corrects ? last.revision + 1 : 0), 'revision_not_next'],
  ]
  return reasons.flatMap(([holds, reason]) => (holds ? [reason] : []))
}
