import type { Address } from 'viem'
import { type Checked, type Refusal, refuse } from '../../errors.ts'
import { usd } from '../../readable.js'
import type { Deployment, PinnedContract } from '../../service/contract/deployment.ts'
import type { Role } from '../../service/contract/roles.ts'
import { agentRoleOf, WORKFLOW_CATALOGUE, type WorkflowType } from '../../service/contract/workflow-types.ts'
import { amountText } from '../../units.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import { checkArguments } from '../calls/arguments.ts'
import { checkAskedCall } from '../calls/call.ts'
import { type Effects, listed, type Subject, sumOf } from '../policy/references.ts'
import { rulesFor } from '../policy/rule.ts'
import { asAddress } from '../policy/values.ts'
import type { Ruleset } from '../ruleset.ts'

/**
 * Judge a proposal by policy before the service hears of it: role, type, input, the contracts that it is about, what
 * it fixes of the calls that the rules allow, its exposure, the limit of one workflow. Pure.
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
  const ofInput = ruleset.metadata.get(workflowType)
  if (effects === undefined || (rules.length === 0 && ofInput === undefined))
    return notAllowed(workflowType, role)
  const input = WORKFLOW_CATALOGUE[workflowType].input.safeParse(proposal.input)
  if (!input.success) {
    const path = input.error.issues[0]?.path.join('.') ?? ''
    return refuse('input_invalid', `The input of ${workflowType} is not valid at "${path}".`)
  }
  const found = subjectOf(proposal, signer, ruleset)
  if (!found.ok) return found
  // No call exists yet that could be valid too long.
  const subject: Subject = { ...found.subject, deadlineS: 0n }
  const unfit = ofInput === undefined ? null : checkArguments(proposal.input, ofInput, subject)
  if (unfit !== null) return unfit
  // One that may be missing is judged when it is there.
  const required = rules.filter(({ optional }) => !optional)
  const beyond = required.map((rule) => checkAskedCall(rule, subject)).find((refusal) => refusal !== null)
  if (beyond) return beyond
  const limit = ruleset.limits.perWorkflow.usdMicrosMax
  if (exposure.usdMicros > limit) {
    return refuse(
      'limit_workflow_usd',
      `The proposal moves ${usd(exposure.usdMicros)}; the policy allows ${usd(limit)} a workflow. Fix: ${lessOf(proposal)}, or raise limits.perWorkflow.movedMax.`,
    )
  }
  return checkExposure(proposal, effects, subject, ruleset) ?? found
}

/** What a person asks for, no strategy sizes. */
const lessOf = ({ kind }: Pick<Proposal, 'kind'>): string =>
  kind === 'order' ? 'submit less at once, the rest as an order of its own' : "lower the strategy's size"

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
  if (effects === undefined) return notAllowed(request.workflowType, ruleset.role)
  const found = subjectOf(request, signer, ruleset)
  return found.ok
    ? countExposure(request.workflowType, effects, { ...found.subject, deadlineS: 0n }, ruleset)
    : found
}

function notAllowed(type: WorkflowType, role: Role): Refusal {
  const own = agentRoleOf(type)
  const otherwise = 'add its calls to guard.allow, or its input to guard.metadata, or stop proposing it'
  const fix =
    own === null || own === role
      ? otherwise
      : `it belongs to the ${own}: propose it as that role; or ${otherwise}`
  return refuse('workflow_not_allowed', `No rule of the ${role} allows this ${type}. Fix: ${fix}.`)
}

/** Find what a request is about among the pinned contracts; refuse one that is not. Pure. */
export function subjectOf(
  { workflowType, input }: Pick<Proposal, 'workflowType' | 'input'>,
  signer: Address,
  { deployment, effects, ours = [], sharing = [] }: Ruleset,
): Checked<{ readonly subject: Omit<Subject, 'deadlineS'> }> {
  const market = pinned(deployment.markets, input.marketAddress)
  if (market === undefined) return notPinned('market', input.marketAddress, deployment)
  const vault = pinned(deployment.vaults, input.vaultAddress)
  if (vault === undefined) return notPinned('vault', input.vaultAddress, deployment)
  const fund = pinned(deployment.funds, input.fundAddress)
  if (fund === undefined) return notPinned('fund', input.fundAddress, deployment)
  const self: Address = `0x${signer.slice(2).toLowerCase()}`
  const about = { market, vault, fund, deployment, effects: effects.get(workflowType) }
  return { ok: true, subject: { input, self, ours, sharing, ...about } }
}

/** Null when the input names none, undefined when it names one that is not pinned. */
const pinned = <P extends PinnedContract>(pins: readonly P[], named: unknown): P | null | undefined =>
  named === undefined ? null : pins.find(({ address }) => address === asAddress(named))

/** Refuse what the run configuration does not name, and say what it does name. */
function notPinned(what: 'market' | 'vault' | 'fund', address: unknown, deployment: Deployment): Refusal {
  const pins = deployment[`${what}s`].map(({ name, address: at }) =>
    name === undefined ? at : `${name} ${at}`,
  )
  const these = pins.length === 0 ? 'which has none' : `which has ${listed(pins)}`
  return refuse(
    `${what}_not_pinned`,
    `The ${what} ${address} is not in deployment.${what}s, ${these}. Fix: ${pins.length === 0 ? '' : 'name one of these, or '}pin it there with the hash of its code and start the keeper anew.`,
  )
}

/** What may leave us by `effects`, and what it and what it moves count as at least; of what is paid for, what may be lost, and of shares, what they are. */
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
  const judged = ruleset.sanity.get(type)
  const lost = judged?.loses?.(subject) ?? judged?.counts?.(subject) ?? { token, assets }
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
