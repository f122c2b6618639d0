import { isDeepStrictEqual } from 'node:util'
import { type Refusal, refuse } from '../../errors.ts'
import {
  claimEntityId,
  entityIdOf,
  expectedValue,
  facilityEntityId,
} from '../../service/contract/assumptions.ts'
import {
  channelPolicyEntityId,
  fundLauncherEntityId,
  navReportEntityId,
} from '../../service/contract/fund-assumptions.ts'
import type { CanonicalPostcondition } from '../../service/contract/prepared-workflow.ts'
import { addr } from '../../service/contract/scalars.ts'
import { tradeEntityId } from '../../service/contract/trade-resources.ts'
import type { WorkflowInput, WorkflowType } from '../../service/contract/workflow-types.ts'
import { isMetadata } from '../../workflow/metadata.ts'
import type { ClearedCall } from '../calls/call.ts'
import type { Subject } from '../policy/references.ts'
import { CHANGES_BY_HAND } from './expected-by-hand.ts'
import { atLeast, by, changed, type ExpectedChange, is, movesOf, type Parties } from './expected-changes.ts'

function mobilityOf(
  input: WorkflowInput<'role.asset_manager.vaultShareMobilityManagerAction'>,
): readonly ExpectedChange[] {
  const { vaultAddress } = input
  const ofVault = (fields: ExpectedChange['fields'] = {}) =>
    changed('vault_share_mobility', vaultAddress, { mobilityEpoch: { counts: 'gte' }, ...fields })
  switch (input.action) {
    case 'pause':
      return ofVault({ shareMobilityPaused: is(true) })
    case 'restore':
      return ofVault({ shareMobilityPaused: is(false) })
    case 'set_transfer_profile':
      return ofVault({ transferProfile: is(input.transferProfile) })
    case 'set_trusted_recipient': {
      const recipient = entityIdOf(vaultAddress, input.recipientAddress)
      return [...ofVault(), ...changed('trusted_recipient', recipient, { trusted: is(input.trusted) })]
    }
  }
}

/** A time of the chain as the service writes it; empty past what dates can say. */
function timeOf(seconds: string): string {
  const date = new Date(Number(seconds) * 1_000)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

const bidBecomes = (desk: string, bidId: string, fields: ExpectedChange['fields']) =>
  changed('rfq_bid', tradeEntityId(desk, bidId), fields)

/**
 * Assumed: what the workflows of our roles change, named by their input as `entityIdOf` says. A total or a count is the
 * service's own, from when it began to count: of those only the direction is ours.
 */
const CHANGES = new Map<WorkflowType, (input: unknown, parties: Parties) => readonly ExpectedChange[]>([
  by('role.liquidator.liquidate', ({ marketAddress, vaultAddress, borrowerAddress }) =>
    changed('credit_facility', facilityEntityId(marketAddress, vaultAddress, borrowerAddress), {
      debtShares: { counts: 'lte' },
    }),
  ),
  by('role.liquidator.settleLiquidationClaim', ({ marketAddress, claimId }) =>
    changed('liquidation_claim', claimEntityId(marketAddress, String(BigInt(claimId))), {
      settled: is(true),
    }),
  ),
  ...movesOf('allocator'),
  by('role.nav_reporter.navReportSignAndSubmit', (input) => {
    const valuationTimeS = BigInt(input.valuationTimestamp)
    const value = is(String(BigInt(input.value)))
    return changed('nav_report', navReportEntityId({ ...input, valuationTimeS }), { value })
  }),
  by('role.asset_manager.distressedRecoveryAcquisitionV3Bid', (input) => {
    const lot = tradeEntityId(input.acquisitionAddress, input.lotId)
    return changed('acquisition_bid', entityIdOf(lot, input.fundAddress), {
      assets: atLeast(input.bidAssets),
    })
  }),
  by('role.asset_manager.distressedRecoveryFundV3ChannelPolicySet', (input) =>
    changed('fund_channel_policy', channelPolicyEntityId(input.fundAddress, input.channel), {
      enabled: is(input.enabled),
      maxAssetsPerEpoch: is(String(BigInt(input.maxAssetsPerEpoch))),
      maxPriceBps: is(String(input.maxPriceBps)),
      maxPositionBps: is(String(input.maxPositionBps)),
    }),
  ),
  by('role.asset_manager.distressedRecoveryFundV3SelfLaunch', (_input, { self, target }) =>
    changed('fund_launcher', fundLauncherEntityId(target ?? '', self), { count: { counts: 'gte' } }),
  ),
  by('role.asset_manager.vaultDeploy', ({ ownerAddress, symbol }) =>
    changed('vault_deployment', entityIdOf(ownerAddress, symbol), { count: { counts: 'gte' } }),
  ),
  by('role.asset_manager.vaultShareMobilityManagerAction', mobilityOf),
  by('role.lender.distressedRecoveryFundV3AuctionBid', ({ auctionAddress, lotId, bidAssets }, { self }) =>
    changed('auction_bid', entityIdOf(tradeEntityId(auctionAddress, lotId), self), {
      assets: atLeast(bidAssets),
    }),
  ),
  by('role.lender.distressedRecoveryFundV3RfqPlaceBid', ({ rfqAddress, rfqId }, { self }) =>
    changed('rfq_bidder', entityIdOf(tradeEntityId(rfqAddress, rfqId), self), {
      bidCount: { counts: 'gte' },
    }),
  ),
  by(
    'role.lender.distressedRecoveryFundV3RfqReplaceBid',
    ({ rfqAddress, bidId, bidAssets, expiresTimestamp }) =>
      bidBecomes(rfqAddress, bidId, {
        assets: is(String(BigInt(bidAssets))),
        expiresAt: is(timeOf(expiresTimestamp)),
      }),
  ),
  by('role.lender.distressedRecoveryFundV3RfqCancelBid', ({ rfqAddress, bidId }) =>
    bidBecomes(rfqAddress, bidId, { status: is('cancelled') }),
  ),
  by('role.lender.distressedRecoveryFundV3RfqClaimRefund', ({ rfqAddress, bidId }) =>
    bidBecomes(rfqAddress, bidId, { status: is('refunded') }),
  ),
  by('role.lender.distressedRecoveryFundV3RfqFinalize', ({ rfqAddress, rfqId }) =>
    changed('rfq', tradeEntityId(rfqAddress, rfqId), { finalized: is(true) }),
  ),
  ...CHANGES_BY_HAND,
])

/** The parts of an entity's id, or of any value of an input, as they are compared. */
const lower = (value: unknown): string => String(value).toLowerCase()

/**
 * Refuse postconditions that are about anything but what this workflow changes, or expect of it what its calls do not do:
 * they would be awaited, and its end would hang on somebody else's. Of a type that no role of ours has, each address in an
 * entity's id is the input's, ours, or the contract's that is called. Pure.
 */
export function checkPostconditions(
  postconditions: readonly CanonicalPostcondition[],
  workflowType: WorkflowType,
  { input, self }: Pick<Subject, 'input' | 'self'>,
  calls: readonly Pick<ClearedCall, 'to'>[],
): Refusal | null {
  const target = calls.at(-1)?.to ?? null
  const changes = CHANGES.get(workflowType)?.(input, { self, target })
  const ours = new Set([self, target, ...Object.values(input)].map(lower))
  for (const [index, one] of postconditions.entries()) {
    const of = changes?.filter(
      ({ entityType, entityId }) => entityType === one.entityType && entityId === lower(one.entityId),
    )
    const isOurs = of === undefined ? isAbout(one, ours) : of.length > 0
    if (!isOurs) {
      return refuse(
        'postcondition_entity',
        `Postcondition ${index} is not about what this ${workflowType} changes.`,
      )
    }
    if (of !== undefined && !of.some(({ fields }) => isShown(one, fields))) {
      return refuse(
        'postcondition_value',
        `Postcondition ${index} expects of what this ${workflowType} changes what its calls do not do.`,
      )
    }
  }
  return isMetadata(workflowType) ? checkAllShown(postconditions, workflowType, changes ?? []) : null
}

/** What lives at the service is seen by its word alone: it has to speak of all that was asked for. */
function checkAllShown(
  postconditions: readonly CanonicalPostcondition[],
  workflowType: WorkflowType,
  changes: readonly ExpectedChange[],
): Refusal | null {
  const undeclared = changes
    .flatMap(({ fields }) => Object.keys(fields))
    .find((field) => !postconditions.some((one) => one.field === field))
  if (undeclared === undefined) return null
  return refuse(
    'postcondition_absent',
    `No postcondition says ${undeclared} of what this ${workflowType} saves.`,
  )
}

function isAbout({ entityId }: CanonicalPostcondition, ours: ReadonlySet<string>): boolean {
  const addresses = entityId.split(':').map(lower).filter(isAddressText)
  return addresses.length > 0 && addresses.every((address) => ours.has(address))
}

const isAddressText = (part: string): boolean => addr.safeParse(part).success

function isShown({ field, expected }: CanonicalPostcondition, fields: ExpectedChange['fields']): boolean {
  const wanted = Object.hasOwn(fields, field) ? fields[field] : undefined
  if (wanted === undefined) return false
  if ('is' in wanted) return isDeepStrictEqual(expected, wanted.is)
  const read = expectedValue.safeParse(expected)
  return read.success && read.data !== null && typeof read.data === 'object' && read.data.op === wanted.counts
}
