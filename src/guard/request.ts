import type { Address } from 'viem'
import { inputText, type Proposal, type Role } from '../agent.ts'
import { addr } from '../service/scalars.ts'
import { agentRoleOf, WORKFLOW_CATALOGUE } from '../service/workflow-types.ts'
import { type Checked, refuse } from '../workflow/verdict.ts'
import type { PinnedMarket, Ruleset } from './ruleset.ts'

/**
 * Judge a proposal by policy before the service hears of it: role, type, input, its market and vault, the limit of
 * one workflow. Pure.
 */
export function checkRequest(request: {
  readonly proposal: Proposal
  readonly role: Role
  readonly ruleset: Ruleset
}): Checked<{ readonly market: PinnedMarket }> {
  const { proposal, role, ruleset } = request
  const { workflowType, exposure } = proposal
  if (role !== ruleset.role || agentRoleOf(workflowType) !== role) {
    return refuse(
      'role_not_allowed',
      `The role ${role} may not propose ${workflowType}; these rules are for ${ruleset.role}.`,
    )
  }
  if (!ruleset.rules.has(workflowType)) {
    return refuse(
      'workflow_not_allowed',
      `No rule allows ${workflowType}. Fix: add its calls to guard.allow, or stop proposing it.`,
    )
  }
  const input = WORKFLOW_CATALOGUE[workflowType].input.safeParse(proposal.input)
  if (!input.success) {
    const path = input.error.issues[0]?.path.join('.') ?? ''
    return refuse('input_invalid', `The input of ${workflowType} is not valid at "${path}".`)
  }
  const address = addr.safeParse(proposal.input.marketAddress).data
  const market = address === undefined ? undefined : findMarket(address, ruleset)
  if (market === undefined) {
    return refuse('market_not_pinned', `The market ${address} is not in deployment.markets.`)
  }
  const limit = ruleset.limits.perWorkflow.usdMicrosMax
  if (exposure.usdMicros > limit) {
    return refuse(
      'limit_workflow_usd',
      `The proposal moves ${exposure.usdMicros} millionths of a dollar; the policy allows ${limit} a workflow. Fix: lower the strategy's size, or raise limits.perWorkflow.usdMicrosMax.`,
    )
  }
  if (exposure.assets > 0n && exposure.usdMicros <= 0n) {
    return refuse(
      'exposure_unpriced',
      `The proposal moves ${exposure.assets} base units whose worth in dollars is not known.`,
    )
  }
  const vaultAddress = inputText(proposal.input, 'vaultAddress')
  const repayAssets = inputText(proposal.input, 'repayAssets')
  if (repayAssets === undefined) return { ok: true, market }
  if (!ruleset.deployment.vaults.some(({ address }) => address === vaultAddress?.toLowerCase())) {
    return refuse('vault_not_pinned', `The vault ${vaultAddress} is not in deployment.vaults.`)
  }
  if (exposure.token?.toLowerCase() !== market.loanAsset || exposure.assets !== BigInt(repayAssets)) {
    return refuse(
      'exposure_mismatch',
      `The proposal counts ${exposure.assets} base units of ${exposure.token ?? 'nothing'}, but would repay ${repayAssets} of ${market.loanAsset}.`,
    )
  }
  return { ok: true, market }
}

/** Find a market of the deployment; undefined when it is not pinned. Pure. */
const findMarket = (
  address: Address,
  { deployment }: Pick<Ruleset, 'deployment'>,
): PinnedMarket | undefined => deployment.markets.find((market) => market.address === address)
