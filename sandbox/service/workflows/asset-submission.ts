import {
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  erc20Abi,
  type PublicClient,
} from 'viem'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { same } from '../same.ts'
import {
  blocked,
  type Family,
  type Judgement,
  type Moment,
  preparer,
  type Reads,
  savedFor,
  staleness,
} from './preparer.ts'

const TYPE = 'role.asset_issuer.assetSubmissionRequestCreate'

/** Assets that their issuers want to be listed; a review, not a workflow, approves them. */
export const assetSubmission: Family = {
  preparers: [preparer(TYPE, submit)],
  fields: {},
}

async function submit(
  input: WorkflowInput<typeof TYPE>,
  { snapshot, freshness, principal }: Moment,
  { records, node }: Reads,
): Promise<Judgement> {
  const decimals = await decimalsOf(node, input.assetAddress)
  const before = records.find('asset_submission', input.assetAddress)
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (snapshot.assets.some(({ address }) => same(address, input.assetAddress))) {
    reasons.push('asset_already_listed')
  }
  if (before?.status === 'approved') reasons.push('submission_approved')
  // Whoever submits an asset first speaks for it until a review says otherwise, and who reviews it reads one text.
  if (before?.status === 'submitted' && principal !== null) {
    reasons.push(same(before.wallet, principal) ? 'submission_under_review' : 'submission_of_another')
  }
  if (decimals === null) reasons.push('asset_not_found')
  else if (decimals !== input.decimals) reasons.push('asset_decimals_mismatch')
  if (reasons.length > 0) return blocked(before, reasons)
  return savedFor(
    before,
    { kind: 'asset_submission', key: input.assetAddress, body: { ...input }, status: 'submitted' },
    [
      {
        entityType: 'asset_submission',
        entityId: input.assetAddress,
        field: 'status',
        expected: 'submitted',
      },
    ],
  )
}

/** What a token says itself; null where there is none. */
async function decimalsOf(node: PublicClient, asset: Address): Promise<number | null> {
  try {
    return await node.readContract({ address: asset, abi: erc20Abi, functionName: 'decimals' })
  } catch (cause) {
    const isNone =
      cause instanceof BaseError &&
      cause.walk(
        (e) => e instanceof ContractFunctionRevertedError || e instanceof ContractFunctionZeroDataError,
      ) !== null
    if (isNone) return null
    throw cause
  }
}
