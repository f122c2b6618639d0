import { encodeFunctionData, zeroAddress } from 'viem'
import type { Revalidation } from '../../../src/service/contract/assumptions.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lendingVaultAbi } from '../../contracts/abis.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { intents } from './intents.ts'
import { heldShares, judgeHolder, judgeRecipient } from './lender.ts'
import {
  blocked,
  type Expectation,
  type Family,
  type Judgement,
  type Moment,
  passed,
  preparer,
  type Reads,
  staleness,
} from './preparer.ts'
import { claimWithdrawal, requestWithdrawal } from './redemption.ts'
import { sharesOf, vaultIn } from './vault-shares.ts'

const MOBILITY = 'role.lender.vaultShareMobilityInvestorAction'
type Mobility = WorkflowInput<typeof MOBILITY>
type Transfer = Extract<Mobility, { action: 'transfer' }>

/** What an investor does with the shares of a vault that it holds: queue them, have its own request paid, pass them on. */
export const investor: Family = {
  preparers: [
    preparer('role.lender.investorRequestRedeem', requestRedeem),
    preparer('role.lender.investorFulfillRedeem', fulfillRedeem),
    preparer(MOBILITY, moveShares),
  ],
  fields: {},
}

/** The vault's queue, as anybody uses it; a freeze after the judgement closes it. */
function requestRedeem(
  input: WorkflowInput<'role.lender.investorRequestRedeem'>,
  moment: Moment,
  reads: Reads,
): Judgement {
  return {
    ...requestWithdrawal(input, moment, reads),
    revalidateAtExecution: ['redemption_open', 'intent_not_expired'],
  }
}

/** The contract lets anybody have a request paid; an investor asks for its own alone. */
function fulfillRedeem(
  input: WorkflowInput<'role.lender.investorFulfillRedeem'>,
  moment: Moment,
  reads: Reads,
): Judgement {
  const revalidate: readonly Revalidation[] = ['redemption_due', 'intent_not_expired']
  const judgement = claimWithdrawal(input, moment, reads)
  const { principal, snapshot } = moment
  const request = vaultIn(snapshot, input.vaultAddress)?.entry.requests.get(String(BigInt(input.requestId)))
  const ofAnother = request !== undefined && principal !== null && !same(request.owner, principal)
  return ofAnother
    ? blocked(judgement.judged, [...judgement.blockedReasons, 'request_of_another'], revalidate)
    : { ...judgement, revalidateAtExecution: revalidate }
}

function moveShares(input: Mobility, moment: Moment, reads: Reads): Judgement {
  const vault = vaultIn(moment.snapshot, input.vaultAddress)
  if (vault === undefined) {
    const reasons = staleness(moment.freshness)
    if (moment.principal === null) reasons.push('principal_required')
    return blocked(null, [...reasons, 'vault_not_found'])
  }
  return input.action === 'transfer' ? transfer(input, vault, moment, reads) : restore(vault, moment, reads)
}

function transfer(input: Transfer, vault: VaultRead, moment: Moment, { chainId }: Reads): Judgement {
  const revalidate: readonly Revalidation[] = ['shares_transferable', 'intent_not_expired']
  const { state, address } = vault
  const { recipientAddress } = input
  const shares = BigInt(input.shares)
  const { principal } = moment
  const reasons = judgeHolder(moment, shares, recipientAddress)
  if (principal === null) return blocked(state, reasons, revalidate)
  const held = sharesOf(vault, principal)
  if (same(recipientAddress, address)) reasons.push('receiver_is_vault')
  // It would change nothing, so that nobody could tell whether it happened.
  if (same(recipientAddress, principal)) reasons.push('recipient_is_principal')
  if (!same(recipientAddress, zeroAddress))
    reasons.push(...judgeRecipient(state, principal, recipientAddress))
  if (shares > held) reasons.push('principal_shares_too_few')
  if (reasons.length > 0) return blocked(state, reasons, revalidate)
  const calldata = encodeFunctionData({
    abi: lendingVaultAbi,
    functionName: 'transfer',
    args: [recipientAddress, shares],
  })
  return passed(
    state,
    intents(chainId, [{ target: address, calldata, label: `Transfer ${shares} shares` }]),
    [
      heldShares(address, principal, 'lte', held - shares),
      heldShares(address, recipientAddress, 'gte', sharesOf(vault, recipientAddress) + shares),
    ],
    revalidate,
  )
}

/** Once a pause has lasted its time, anyone may end it. */
function restore(vault: VaultRead, { freshness, principal }: Moment, { chainId }: Reads): Judgement {
  const revalidate: readonly Revalidation[] = ['restore_due', 'intent_not_expired']
  const { mobility, blockTimestamp } = vault.state
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (!mobility.paused) reasons.push('share_mobility_not_paused')
  else if (blockTimestamp < mobility.restoreAfter) reasons.push('restore_not_due')
  if (reasons.length > 0) return blocked(vault.state, reasons, revalidate)
  const calldata = encodeFunctionData({ abi: lendingVaultAbi, functionName: 'restoreShareMobility' })
  const about = { entityType: 'vault_share_mobility', entityId: vault.address }
  const expected: readonly Expectation[] = [
    { ...about, field: 'shareMobilityPaused', expected: false },
    { ...about, field: 'mobilityEpoch', expected: { op: 'gte', value: String(mobility.epoch + 1n) } },
  ]
  return passed(
    vault.state,
    intents(chainId, [{ target: vault.address, calldata, label: 'Restore transfers and deposits' }]),
    expected,
    revalidate,
  )
}
