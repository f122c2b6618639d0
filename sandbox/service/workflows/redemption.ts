import { encodeFunctionData } from 'viem'
import { invariant } from '../../../src/errors.ts'
import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lendingVaultAbi } from '../../contracts/abis.ts'
import { exitTermKind, requestDueAtS } from '../../indexer/exit-terms.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { intents } from './intents.ts'
import { heldShares, judgeHolder } from './lender.ts'
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
import { assetsOf, sharesOf, vaultIn } from './vault-shares.ts'

/** Requests that the contract pays in one claim at most. */
const CLAIM_REQUESTS_MAX = 32
/** What a request that is not due waits for, by the vault's exit terms. */
const NOT_DUE: Readonly<Record<string, string>> = {
  notice: 'notice_not_elapsed',
  interval: 'interval_not_ended',
  maturity: 'maturity_not_reached',
}

/** The redemption queue of a vault. */
export const redemption: Family = {
  preparers: [preparer('requestWithdrawal', requestWithdrawal), preparer('claimWithdrawal', claimWithdrawal)],
  fields: {
    redemption_request: (snapshot, entityId, field) => {
      const [vaultAddress = '', requestId = ''] = entityId.split(':')
      const request = vaultIn(snapshot, vaultAddress)?.entry.requests.get(requestId)
      if (request === undefined || field !== 'status') return undefined
      return request.paid === null ? 'waiting' : 'paid'
    },
  },
}

/** Put shares into the queue of a vault. Pure. */
export function requestWithdrawal(
  input: WorkflowInput<'requestWithdrawal'>,
  moment: Moment,
  { chainId }: Reads,
): Judgement {
  const { snapshot, principal } = moment
  const vault = vaultIn(snapshot, input.vaultAddress)
  const shares = BigInt(input.shares)
  if (vault === undefined) {
    return blocked(null, [...judgeHolder(moment, shares, input.receiverAddress), 'vault_not_found'])
  }
  const { state } = vault
  // Shares that are worth nothing are no amount.
  const reasons = judgeHolder(moment, assetsOf(state, shares), input.receiverAddress)
  if (same(input.receiverAddress, vault.address)) reasons.push('receiver_is_vault')
  if (state.mobility.redeemFreezeReason !== '') reasons.push('redemption_frozen')
  if (principal !== null && shares > sharesOf(vault, principal)) reasons.push('principal_shares_too_few')
  if (reasons.length > 0) return blocked(state, reasons)
  invariant(principal !== null, 'a request that may pass has its holder')
  const calldata = encodeFunctionData({
    abi: lendingVaultAbi,
    functionName: 'requestWithdrawal',
    args: [shares, input.receiverAddress],
  })
  return passed(
    state,
    intents(chainId, [{ target: vault.address, calldata, label: `Queue ${shares} shares for redemption` }]),
    [heldShares(vault.address, principal, 'lte', sharesOf(vault, principal) - shares)],
  )
}

/** Have a request paid; anyone may, so it is not asked whose it is. Pure. */
export function claimWithdrawal(
  input: WorkflowInput<'claimWithdrawal'>,
  { snapshot, freshness, principal }: Moment,
  { chainId }: Reads,
): Judgement {
  const vault = vaultIn(snapshot, input.vaultAddress)
  const requestId = BigInt(input.requestId)
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (vault === undefined) return blocked(null, [...reasons, 'vault_not_found'])
  reasons.push(...judgeClaim(vault, requestId))
  const judged = { state: vault.state, request: vault.entry.requests.get(String(requestId)) }
  if (reasons.length > 0) return blocked(judged, reasons)
  const calldata = encodeFunctionData({
    abi: lendingVaultAbi,
    functionName: 'claimWithdrawal',
    args: [requestId],
  })
  return passed(
    judged,
    intents(chainId, [{ target: vault.address, calldata, label: `Pay withdrawal request ${requestId}` }]),
    [
      {
        entityType: 'redemption_request',
        entityId: entityIdOf(vault.address, String(requestId)),
        field: 'status',
        expected: 'paid',
      },
    ],
  )
}

function judgeClaim({ state, entry }: VaultRead, requestId: bigint): readonly string[] {
  if (requestId === 0n || requestId >= state.queueEnd) return ['request_not_found']
  if (requestId < state.queueHead) return ['request_already_paid']
  const reasons: string[] = []
  if (state.mobility.redeemFreezeReason !== '') reasons.push('redemption_frozen')
  const upTo = [...entry.requests.values()].filter(
    (request) => request.paid === null && BigInt(request.requestId) <= requestId,
  )
  // Those before it are paid with it, whether they are due or not.
  const own = upTo.at(-1)
  if (own !== undefined && requestDueAtS(state.exitTerms, own) > Number(state.blockTimestamp)) {
    reasons.push(NOT_DUE[exitTermKind(state.exitTerms) ?? ''] ?? 'notice_not_elapsed')
  }
  if (upTo.length > CLAIM_REQUESTS_MAX) reasons.push('queue_ahead_too_long')
  const needed = upTo.reduce((sum, { shares }) => sum + assetsOf(state, shares), 0n)
  if (needed > state.idleAssets) reasons.push('insufficient_idle')
  return reasons
}
