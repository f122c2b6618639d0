import type { Address } from 'viem'
import { type Checked, type Refusal, refuse } from '../errors.ts'
import type { PinnedContract } from '../service/contract/deployment.ts'
import type { Role } from '../service/contract/roles.ts'
import { WORKFLOW_CATALOGUE, type WorkflowType } from '../service/contract/workflow-types.ts'
import { amountText, usd } from '../units.ts'
import type { Proposal } from '../workflow/proposal.ts'
import { type Effects, type Subject, sumOf } from './policy/conditions.ts'
import { rulesFor } from './policy/rule.ts'
import { asAddress } from './policy/values.ts'
import type { Ruleset } from './ruleset.ts'

/**
 * Judge a proposal by policy before the service hears of it: role, type, input, the contracts that it is about, its
 * exposure, the limit of one workflow. Pure.
 */
export function checkRequest(request: {
  readonly proposal: Proposal
  readonly role: Role
  readonly signer: Address
  readonly ruleset: Ruleset
}): Checked<{ readonly subject: Omit<Subject, 'deadlineS'> }> {
  const { proposal, role, signer, ruleset } = request
  const { workflowType, exposure } = proposal
  if (role !== ruleset.role) {
    return refuse(
      'role_not_allowed',
      `The role ${role} may not propose ${workflowType}; these rules are for ${ruleset.role}.`,
    )
  }
  const effects = ruleset.effects.get(workflowType)
  const rules = rulesFor(ruleset.rules.get(workflowType) ?? [], proposal.input)
  if (effects === undefined || rules.length === 0) {
    return notAllowed(workflowType)
  }
  const input = WORKFLOW_CATALOGUE[workflowType].input.safeParse(proposal.input)
  if (!input.success) {
    const path = input.error.issues[0]?.path.join('.') ?? ''
    return refuse('input_invalid', `The input of ${workflowType} is not valid at "${path}".`)
  }
  const found = subjectOf(proposal, signer, ruleset)
  if (!found.ok) return found
  const limit = ruleset.limits.perWorkflow.usdMicrosMax
  if (exposure.usdMicros > limit) {
    return refuse(
      'limit_workflow_usd',
      `The proposal moves ${usd(exposure.usdMicros)}; the policy allows ${usd(limit)} a workflow. Fix: lower the strategy's size, or raise limits.perWorkflow.movedMax.`,
    )
  }
  // No call exists yet that could be valid too long.
  return checkExposure(proposal, effects, { ...found.subject, deadlineS: 0n }, ruleset) ?? found
}

/**
 * Count what a workflow that a person asks for exposes: what guard.effects lets out of the input, at the policy's prices.
 * Refuses where no rule allows it, or its worth is not known. Pure.
 */
export function exposureOf(
  request: Pick<Proposal, 'workflowType' | 'input'>,
  signer: Address,
  ruleset: Ruleset,
): Checked<{ readonly exposure: Proposal['exposure'] }> {
  const effects = ruleset.effects.get(request.workflowType)
  if (effects === undefined) return notAllowed(request.workflowType)
  const found = subjectOf(request, signer, ruleset)
  return found.ok
    ? countExposure(request.workflowType, effects, { ...found.subject, deadlineS: 0n }, ruleset)
    : found
}

const notAllowed = (type: string): Refusal =>
  refuse(
    'workflow_not_allowed',
    `No rule allows this ${type}. Fix: add its calls to guard.allow, or stop proposing it.`,
  )

/** Find what a request is about among the pinned contracts; refuse one that is not. Pure. */
export function subjectOf(
  { workflowType, input }: Pick<Proposal, 'workflowType' | 'input'>,
  signer: Address,
  { deployment, effects, ours = [], sharing = [] }: Ruleset,
): Checked<{ readonly subject: Omit<Subject, 'deadlineS'> }> {
  const market = pinned(deployment.markets, input.marketAddress)
  if (market === undefined) return notPinned('market', input.marketAddress)
  const vault = pinned(deployment.vaults, input.vaultAddress)
  if (vault === undefined) return notPinned('vault', input.vaultAddress)
  const fund = pinned(deployment.funds, input.fundAddress)
  if (fund === undefined) return notPinned('fund', input.fundAddress)
  const self: Address = `0x${signer.slice(2).toLowerCase()}`
  const about = { market, vault, fund, deployment, effects: effects.get(workflowType) }
  return { ok: true, subject: { input, self, ours, sharing, ...about } }
}

/** Null when the input names none, undefined when it names one that is not pinned. */
const pinned = <P extends PinnedContract>(pins: readonly P[], named: unknown): P | null | undefined =>
  named === undefined ? null : pins.find(({ address }) => address === asAddress(named))

const notPinned = (what: 'market' | 'vault' | 'fund', address: unknown): Refusal =>
  refuse(`${what}_not_pinned`, `The ${what} ${address} is not in deployment.${what}s.`)

/** What may leave us by `effects`, and what it and what it moves count as at least; of what is paid for, what may be lost. */
function countExposure(
  type: WorkflowType,
  effects: Effects,
  subject: Subject,
  ruleset: Ruleset,
): Checked<{ readonly exposure: Proposal['exposure'] }> {
  const [out] = effects.out
  const token = out === undefined ? null : (asAddress(out.token.resolve(subject)) ?? null)
  const assets = out === undefined ? 0n : sumOf(out.assetsMax, subject)
  if (assets === null || (out !== undefined && token === null)) {
    return refuse('exposure_unknown', 'What may leave us by guard.effects does not follow from the input.')
  }
  const lost = ruleset.sanity.get(type)?.loses?.(subject) ?? { token, assets }
  const worths = [
    worthOf(lost.token, lost.assets, ruleset),
    ...effects.moves.map((item) =>
      worthOf(asAddress(item.token.resolve(subject)), sumOf(item.assets, subject), ruleset),
    ),
  ]
  const usdMicros = worths.reduce<bigint | null>(
    (sum, worth) => (sum === null || worth === null ? null : sum + worth),
    0n,
  )
  return usdMicros === null
    ? refuse(
        'exposure_unpriced',
        'The proposal moves a token whose worth in dollars is not known. Fix: add it to limits.prices.',
      )
    : { ok: true, exposure: { token, assets, usdMicros } }
}

/** Demand that a proposal counts what may leave us exactly, and at no less than the policy's prices. */
function checkExposure(
  { workflowType, exposure }: Proposal,
  effects: Effects,
  subject: Subject,
  ruleset: Ruleset,
): Refusal | null {
  const counted = countExposure(workflowType, effects, subject, ruleset)
  if (!counted.ok) return counted
  const { token, assets, usdMicros } = counted.exposure
  const stated = asAddress(exposure.token) ?? null
  if (exposure.assets !== assets || (assets > 0n && stated !== token)) {
    const say = (amount: bigint, of: Address | null) =>
      of === null ? 'nothing' : amountText(amount, of, subject.deployment)
    return refuse(
      'exposure_mismatch',
      `The proposal counts ${say(exposure.assets, stated)}; by guard.effects ${say(assets, token)} may leave us.`,
    )
  }
  if (exposure.usdMicros >= usdMicros) return null
  return refuse(
    'exposure_underpriced',
    `The proposal counts ${usd(exposure.usdMicros)}; by limits.prices it moves at least ${usd(usdMicros)}.`,
  )
}

/** What so many base units count as at least, millionths of a dollar rounded down; null when it is not known. */
function worthOf(
  token: Address | null | undefined,
  assets: bigint | null,
  { limits, deployment }: Ruleset,
): bigint | null {
  const asset = deployment.assets.find(({ address }) => address === token)
  const price = asset === undefined ? undefined : limits.pricesUsdMicros[asset.symbol]
  if (assets === 0n) return 0n
  if (asset === undefined || price === undefined || assets === null) return null
  return (assets * price) / 10n ** BigInt(asset.decimals)
}
