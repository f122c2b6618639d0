import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Address } from 'viem'
import { printable, type Refusal, RolekeeperError } from '../../errors.ts'
import { checkRequest, exposureOf } from '../../guard/checks/check-request.ts'
import { fitsRules } from '../../guard/checks/fits-rules.ts'
import type { Ruleset } from '../../guard/ruleset.ts'
import { openPolicyOf } from '../../keeper/policy-tools/file.ts'
import { WORKFLOW_CATALOGUE, type WorkflowType } from '../../service/contract/workflow-types.ts'
import type { ProposalInput } from '../../workflow/proposal.ts'
import type { Io } from '../parse/command.ts'
import type { GivenPlace } from '../target/place.ts'
import { readEnvironment } from '../target/sandbox-config.ts'
import { type Example, exampleOf } from './example-input.ts'
import { type OwnAddresses, type OwnConfig, ownConfigAt } from './own-addresses.ts'
import { ownVaults } from './own-vaults.ts'

/**
 * Write an example on standard output, and on standard error what is to be known of it: it can go into a file as it is. It has
 * what the role's policy takes, as far as the run configuration names such, and of vaults one that is the signer's.
 * @returns the exit code.
 * @throws RolekeeperError what reading the run configuration throws.
 */
export async function writeExample(
  workflowType: WorkflowType,
  role: string | null,
  place: GivenPlace,
  io: Pick<Io, 'out' | 'err' | 'env'>,
): Promise<number> {
  const schema = WORKFLOW_CATALOGUE[workflowType].input
  const config = ownConfigAt(place, role, workflowType)
  const ruleset = config === null || role === null ? null : rulesOf(role, config)
  const [own, whose] = config === null ? [undefined, null] : await withOwnVaults(workflowType, config, io.env)
  const first = exampleOf(schema, own)
  const signer = config?.signer ?? null
  const isRuled = ruleset !== null && signer !== null
  const { input, others, addresses } = isRuled
    ? exampleOf(schema, own, fitsRules(workflowType, first.input, signer, ruleset))
    : first
  const refusal = isRuled ? refusalOf(workflowType, input, signer, ruleset) : null
  const by =
    role === null
      ? 'belongs to no role: name one whose policy allows it with --role'
      : `takes the signer and the policy of the ${role}`
  const sentences = [
    `${workflowType} ${by}.`,
    ...addressText(addresses),
    ...(whose === null ? [] : [whose]),
    ...(others.length === 0 ? [] : [`Instead of its first choice: ${others.join(', or ')}.`]),
    ...(refusal === null
      ? []
      : [printable(`The policy refuses it as it stands: ${refusal.check}: ${refusal.message}`, 1_000)]),
  ]
  io.err(`${sentences.join(' ')}\n`)
  io.out(`${JSON.stringify(input, null, 2)}\n`)
  return 0
}

/** The rules of a role; null where its policy does not load: `policy check` says why. */
function rulesOf(role: string, { file, signer }: OwnConfig): Ruleset | null {
  if (signer === null) return null
  try {
    return openPolicyOf({ role, signer }, file)?.ruleset ?? null
  } catch (error) {
    if (error instanceof RolekeeperError) return null
    throw error
  }
}

function refusalOf(
  workflowType: WorkflowType,
  input: ProposalInput,
  signer: Address,
  ruleset: Ruleset,
): Refusal | null {
  const counted = exposureOf({ workflowType, input }, signer, ruleset)
  if (!counted.ok) return counted
  const about = { subject: '', occurrence: '', summary: '', reason: {} }
  const proposal = { ...about, workflowType, kind: 'order', input, exposure: counted.exposure }
  const checked = checkRequest({ proposal, role: ruleset.role, signer, ruleset })
  return checked.ok ? null : checked
}

/** The addresses of a run configuration, of vaults those alone that are the signer's; and where it has none, that. */
async function withOwnVaults(
  type: WorkflowType,
  { file, own, signer, vaults }: OwnConfig,
  env: Io['env'],
): Promise<readonly [OwnAddresses, string | null]> {
  const { input } = exampleOf(WORKFLOW_CATALOGUE[type].input)
  if (signer === null || vaults.length < 2 || !('vaultAddress' in input)) return [own, null]
  const beside = join(dirname(file), 'sandbox.env')
  const known = existsSync(beside) ? { ...readEnvironment(beside), ...env } : env
  const asked = { type, signer, vaults: vaults.map(({ address }) => address) }
  const found = await ownVaults(asked, file, known)
  if (found === null) return [own, null]
  const mine = vaults.filter(({ address }) => found.has(address))
  if (mine.length === 0)
    return [own, 'By the chain none of the pinned vaults is one that this signer may act on so.']
  return [{ ...own, of: (member) => (member === 'vaultAddress' ? mine : own.of(member)) }, null]
}

/** Say of each address whose it is and whose it could be, and which are made up. */
function addressText(addresses: Example['addresses']): readonly string[] {
  const known = addresses.flatMap(({ member, named: [first, ...rest] }) =>
    first === undefined
      ? []
      : [
          `${member} is ${first.name}${rest.length === 0 ? '' : ` (or ${rest.map(({ name }) => name).join(', ')})`}`,
        ],
  )
  const madeUp = addresses.filter(({ named }) => named.length === 0).map(({ member }) => member)
  const yours = known.length === 0 ? 'Every address' : [...new Set(madeUp)].join(', ')
  return [
    ...(known.length === 0 ? [] : [`${known.join('; ')}.`]),
    ...(madeUp.length === 0 ? [] : [`${yours} is made up: put yours there.`]),
  ].map((text) => printable(text, 1_000))
}
