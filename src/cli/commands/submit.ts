import { z } from 'zod'
import { printable } from '../../errors.ts'
import { ROLE_NAME } from '../../service/contract/roles.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import type { Reason } from '../../workflow/proposal.ts'
import { KEY } from '../orders/person-key.ts'
import { runOrder } from '../orders/run-order.ts'
import { command, usageError } from '../parse/command.ts'
import { perhaps } from '../parse/nearest.ts'
import { PLACE, placeText } from '../target/place.ts'

/** `rolekeeper submit`: a workflow that a person asks for, through the same pipeline and guard as any other. */
export const submit = command({
  name: 'submit',
  usage:
    'TYPE (--input FILE | --example) [--role ROLE] [--reason JSON] [--shadow] [--key FILE [--yes]] [--config FILE | --directory DIR] [--json]',
  help: `Submit one workflow by hand. It takes the signer, the policy and the limits of its role, which guard.allow must let
carry it, and is judged, approved, signed and followed like one that an agent proposed. A keeper that runs takes it;
without one, one is run for as long. FILE holds the input as the service takes it, as JSON; --example writes one to begin with,
with the addresses that the run configuration pins.

  rolekeeper submit role.vault_owner.vaultSettingsUpdate --example > settings.json
  rolekeeper submit role.allocator.vaultDeallocate --input deallocate.json --shadow
  rolekeeper submit deposit --role allocator --input deposit.json`,
  options: {
    input: { help: 'the input, as JSON', value: 'FILE' },
    example: { help: 'write an input as an example, and submit nothing' },
    role: {
      help: 'whose signer and policy it takes (default: the role that the type belongs to)',
      value: 'ROLE',
    },
    reason: {
      help: 'what it was decided on, where the guard compares: {"priceWad":"2850000000000000000000"}',
      value: 'JSON',
    },
    shadow: { help: 'say what would happen, and sign nothing' },
    ...PLACE,
    ...KEY,
    json: { help: 'print events as JSON, one object a line' },
  },
  argumentsMax: 1,
  run: async (given, [named], io) => {
    const { agentRoleOf } = await import('../../service/contract/workflow-types.ts')
    const workflowType = await typeOf(named)
    const own = agentRoleOf(workflowType)
    if (given.role !== undefined && !ROLE_NAME.test(given.role))
      throw usageError(
        `--role is ${printable(given.role)}; the name of a role has lower-case letters, digits and "-" alone, a letter first.`,
        own === null
          ? `see: rolekeeper status${placeText(given)}, for those that are staffed`
          : `leave it out: the type belongs to the ${own}`,
      )
    const role = given.role ?? own
    if (given.example === true) {
      const { writeExample } = await import('../input/write-example.ts')
      return writeExample(workflowType, role, given, io)
    }
    if (role === null)
      throw usageError(
        `${workflowType} belongs to no role of a keeper.`,
        'name one whose policy allows it with --role',
      )
    const reason = reasonOf(given.reason)
    if (given.input === undefined)
      throw usageError(
        '--input is missing.',
        `name a JSON file with the input; rolekeeper submit ${workflowType} --example${placeText(given)} writes one`,
      )
    const { readInput } = await import('../input/input-file.ts')
    const input = readInput(workflowType, given.input, placeText(given))
    const submission = { role, workflowType, input, shadow: given.shadow === true, ...reason }
    return runOrder(submission, { ...given, json: given.json === true }, io)
  },
})

const reasonSchema = z.record(z.string().max(60), z.union([z.string().max(200), z.number(), z.boolean()]))

function reasonOf(text: string | undefined): { readonly reason?: Reason } {
  if (text === undefined) return {}
  try {
    return { reason: reasonSchema.parse(JSON.parse(text)) }
  } catch {
    throw usageError(
      '--reason is no JSON object of words and numbers.',
      'write {"priceWad":"2850000000000000000000"}',
    )
  }
}

async function typeOf(named: string | undefined): Promise<WorkflowType> {
  if (named === undefined)
    throw usageError('Say what to submit.', 'name a workflow type, for example deposit')
  const { WORKFLOW_TYPES } = await import('../../service/contract/workflow-types.ts')
  const type = WORKFLOW_TYPES.find((each) => each === named)
  if (type !== undefined) return type
  const alike = WORKFLOW_TYPES.filter((each) => each.endsWith(`.${named}`))
  const near = perhaps(named, WORKFLOW_TYPES)
  const fix =
    alike.length > 0 ? `write ${alike.join(' or ')}` : `${near}docs/api-on-a-laptop.md lists the types`
  throw usageError(`"${printable(named)}" is no workflow type.`, fix)
}
