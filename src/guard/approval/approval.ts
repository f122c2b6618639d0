import type { Address } from 'viem'
import { z } from 'zod'
import { invariant, RolekeeperError } from '../../errors.ts'
import { usd } from '../../readable.js'
import type { Deployment } from '../../service/contract/deployment.ts'
import { WORKFLOW_TYPES, type WorkflowType } from '../../service/contract/workflow-types.ts'
import {
  assetAmount,
  bps,
  byToken,
  seconds,
  settings,
  usdMicros,
} from '../../service/contract/yaml-scalars.ts'
import { type Denomination, exactTokens, percent } from '../../units.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import type { Hold, Note, Workflow } from '../../workflow/workflow.ts'
import { contentHash } from '../content-hash.ts'
import { type Approvers, approvers, quorum } from './approvers.ts'

/**
 * Who owns a vault, what it charges and who may act for it: a person is asked about each, whatever a policy says. A signature
 * of one of these gives away what no limit of a policy is about.
 */
const HELD: ReadonlySet<WorkflowType> = new Set([
  'role.vault_owner.vaultOwnerTransferUpdate',
  'role.vault_owner.vaultFeeConfigUpdate',
  'role.vault_owner.vaultCuratorFeeSettingsSave',
  'role.vault_owner.vaultAllocatorUpdate',
  'role.vault_owner.vaultRoleSettingsSave',
])

/** `approval` of a policy: what a person is asked about before anything of it is prepared. */
export const approvalPolicy = (pinned: readonly Denomination[]) =>
  settings(
    {
      /** Workflow types that are always asked about, beside those of {@link HELD}. */
      always: z.array(z.enum(WORKFLOW_TYPES)).max(WORKFLOW_TYPES.length),
      /** Above this much of what leaves us, by the token's symbol. */
      aboveAssets: byToken(pinned, z.record(z.string().min(1).max(32), assetAmount(pinned))),
      /** Above this worth of what leaves us. */
      aboveUsdMicros: usdMicros().optional(),
      /** The same of all that leaves us in 24 hours and that nobody approved; absent, as above. */
      aboveAssetsPerDay: byToken(pinned, z.record(z.string().min(1).max(32), assetAmount(pinned))).default(
        {},
      ),
      aboveUsdMicrosPerDay: usdMicros().optional(),
      /** Further than this from what was done last, where the agent compares. */
      beyondBps: bps(0, 1_000_000).optional(),
      /** How long a proposal waits for its answer; then it has expired. */
      expiresAfterS: seconds(1, 604_800),
      approvers,
      quorum,
    },
    {
      aboveAssets: 'aboveAssets',
      aboveAssetsPerDay: 'aboveAssetsPerDay',
      aboveUsdMicros: 'aboveUsd',
      aboveUsdMicrosPerDay: 'aboveUsdPerDay',
    },
  )

type AssetLimit = {
  readonly asset: Denomination
  readonly alone: bigint | undefined
  readonly perDay: bigint | undefined
}

/** When a person is asked, compiled against the deployment. */
export type Approval = Approvers & {
  readonly always: ReadonlySet<WorkflowType>
  /** Base units by lower-case address: of one workflow, and of all in 24 hours that nobody approved. */
  readonly aboveAssets: ReadonlyMap<Address, AssetLimit>
  readonly aboveUsdMicros: bigint | undefined
  readonly aboveUsdMicrosPerDay?: bigint | undefined
  readonly beyondBps: number | undefined
  readonly expiresAfterMs: number
  /** Names the section: under another, what waits is asked about anew. */
  readonly hash: string
}

/**
 * Compile a policy's approval section, whose tokens are those of the deployment.
 * @throws RolekeeperError `policy.approval_invalid` for more approvals than there are approvers. Pure.
 */
export function compileApproval(
  policy: z.output<ReturnType<typeof approvalPolicy>>,
  { assets }: Pick<Deployment, 'assets'>,
): Approval {
  const limits = { ...policy.aboveAssetsPerDay, ...policy.aboveAssets }
  const aboveAssets = Object.keys(limits).map((symbol) => {
    const asset = assets.find((each) => each.symbol === symbol)
    invariant(asset !== undefined, 'an amount that was read is of a token of the deployment')
    const alone = policy.aboveAssets[symbol]
    const perDay = policy.aboveAssetsPerDay[symbol] ?? alone
    return [asset.address, { asset, alone, perDay }] as const
  })
  checkQuorum(policy)
  return {
    approvers: policy.approvers,
    quorum: policy.quorum,
    always: new Set(policy.always),
    aboveAssets: new Map(aboveAssets),
    aboveUsdMicros: policy.aboveUsdMicros,
    aboveUsdMicrosPerDay: policy.aboveUsdMicrosPerDay ?? policy.aboveUsdMicros,
    beyondBps: policy.beyondBps,
    expiresAfterMs: policy.expiresAfterS * 1_000,
    hash: contentHash(policy),
  }
}

function checkQuorum({ approvers, quorum }: Approvers): void {
  const names = Object.keys(approvers)
  if (quorum <= Math.max(1, names.length)) return
  throw new RolekeeperError(
    'policy.approval_invalid',
    `approval.quorum is ${quorum}; approval.approvers names ${names.length}.`,
    {
      fix: 'name more approvers, each with a key of their own, or ask fewer.',
      facts: { quorum, path: 'approval.quorum' },
    },
  )
}

/** Say why a person is asked about a proposal first; null when none is. Pure. */
export function whyAsk(proposal: Proposal, approval: Approval): Note | null {
  const { workflowType, kind, exposure, deviationBps, loosens } = proposal
  if (loosens === true) {
    const message = 'It takes a protection away: a person is always asked about that.'
    return { check: 'approval_loosens', message }
  }
  if (HELD.has(workflowType)) {
    const message =
      'It is about who owns a vault, who acts for it, or what it charges: a person is asked, whatever the policy says.'
    return { check: 'approval_held', message }
  }
  if (approval.always.has(workflowType)) {
    return { check: 'approval_always', message: `The policy asks about every ${workflowType}.` }
  }
  // A setting moves nothing that a limit could be about; with approvers, none is changed by one person alone.
  if (kind === 'order' && exposure.usdMicros === 0n && Object.keys(approval.approvers).length > 0) {
    const message =
      'A person submitted it, and it moves no amount that a limit is about: another one is asked.'
    return { check: 'approval_order', message }
  }
  const token = exposure.token?.toLowerCase() as Address | undefined
  const limit = token === undefined ? undefined : approval.aboveAssets.get(token)
  if (limit?.alone !== undefined && exposure.assets > limit.alone) {
    const [assets, allowed] = [exposure.assets, limit.alone].map((each) => exactTokens(each, limit.asset))
    const message = `${assets} leave us; the policy asks above ${allowed}.`
    return { check: 'approval_above_assets', message }
  }
  if (approval.aboveUsdMicros !== undefined && exposure.usdMicros > approval.aboveUsdMicros) {
    const message = `${usd(exposure.usdMicros)} leave us; the policy asks above ${usd(approval.aboveUsdMicros)}.`
    return { check: 'approval_above_usd', message }
  }
  if (approval.beyondBps === undefined) return null
  // What a person says of their own order binds nobody.
  if (kind === 'order') {
    const message = `A person submitted it, so how far it is from what was done last is not known; the policy asks beyond ${percent(approval.beyondBps)}.`
    return { check: 'approval_beyond_bps', message }
  }
  // An agent states none where nothing was done before.
  if (deviationBps !== undefined && deviationBps > approval.beyondBps) {
    const message = `It is ${percent(deviationBps)} from what was done last; the policy asks beyond ${percent(approval.beyondBps)}.`
    return { check: 'approval_beyond_bps', message }
  }
  return null
}

/** Name exactly what a person approves: who does what with which key under which rules, as shown; 64 hex digits. Pure. */
export const approvalHash = (
  { role, chainId, signer, proposal }: Pick<Workflow, 'role' | 'chainId' | 'signer' | 'proposal'>,
  { rules, shown }: Pick<Hold, 'rules' | 'shown'>,
): string => contentHash({ role, chainId, signer: signer.toLowerCase(), proposal, rules, shown })

/** Name the rules that a workflow is judged by together with those by which a person is asked. Pure. */
export const rulesOf = (ruleset: { readonly hash: string }, approval: Pick<Approval, 'hash'>): string =>
  contentHash([ruleset.hash, approval.hash])
