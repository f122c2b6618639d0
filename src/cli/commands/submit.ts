import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { printable, RolekeeperError } from '../../errors.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import type { ProposalInput, Reason } from '../../workflow/proposal.ts'
import { command, usageError } from '../command.ts'
import { perhaps } from '../nearest.ts'
import { KEY } from '../person-key.ts'
import { PLACE } from '../place.ts'
import { runOrder } from '../run-order.ts'

/** Far above any workflow's input. */
const BYTES_MAX = 65_536

/** `rolekeeper submit`: a workflow that a person asks for, through the same pipeline and guard as any other. */
export const submit = command({
  name: 'submit',
  usage:
    'TYPE --input FILE [--role ROLE] [--reason JSON] [--shadow] [--key FILE [--yes]] [--config FILE | --directory DIR] [--json]',
  help: `Submit one workflow by hand. It takes the signer, the policy and the limits of its role, which guard.allow must let
carry it, and is judged, approved, signed and followed like one that an agent proposed. A keeper that runs takes it;
without one, one is run for as long. FILE holds the input as the service takes it, as JSON.

  rolekeeper submit role.allocator.vaultDeallocate --input deallocate.json --shadow
  rolekeeper submit deposit --role allocator --input deposit.json`,
  options: {
    input: { help: 'the input, as JSON', value: 'FILE' },
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
    const role = given.role ?? agentRoleOf(workflowType)
    if (role === null)
      throw usageError(
        `${workflowType} belongs to no role of a keeper.`,
        'name one whose policy allows it with --role',
      )
    const reason = reasonOf(given.reason)
    if (given.input === undefined) throw usageError('--input is missing.', 'name a JSON file with the input')
    const input = await inputOf(workflowType, given.input)
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
  const { knowsInput, WORKFLOW_TYPES } = await import('../../service/contract/workflow-types.ts')
  const type = WORKFLOW_TYPES.find((each) => each === named)
  if (type === undefined) {
    const alike = WORKFLOW_TYPES.filter((each) => each.endsWith(`.${named}`))
    const near = perhaps(named, WORKFLOW_TYPES)
    const fix =
      alike.length > 0 ? `write ${alike.join(' or ')}` : `${near}docs/api-on-a-laptop.md lists the types`
    throw usageError(`"${printable(named)}" is no workflow type.`, fix)
  }
  if (knowsInput(type)) return type
  throw usageError(`What ${type} takes is not documented, so it cannot be judged.`, 'use the service itself')
}

/** Read and check an input. It goes out as it is in the file. */
async function inputOf(type: WorkflowType, file: string): Promise<ProposalInput> {
  const { WORKFLOW_CATALOGUE } = await import('../../service/contract/workflow-types.ts')
  const value = readJson(file)
  const schema: z.ZodType = WORKFLOW_CATALOGUE[type].input
  const checked = schema.safeParse(value)
  if (checked.success) return value
  const [issue] = checked.error.issues
  const path = issue?.path.join('.') ?? ''
  throw new RolekeeperError(
    'config.input_invalid',
    `${printable(file)}: ${path === '' ? 'the input' : printable(path)} is not as ${type} takes it: ${printable(issue?.message ?? '')}.`,
    { fix: `its members are ${membersOf(schema)}.` },
  )
}

function readJson(file: string): ProposalInput {
  try {
    const bytes = readFileSync(file)
    if (bytes.length <= BYTES_MAX)
      return z.record(z.string(), z.json()).parse(JSON.parse(bytes.toString('utf8'))) as ProposalInput
  } catch {
    // Absent, or no JSON object: the same error.
  }
  throw new RolekeeperError(
    'config.input_unreadable',
    `${printable(file)} holds no JSON object of at most ${BYTES_MAX} bytes.`,
    {
      fix: 'write the input as the service takes it: {"vaultAddress":"0x…","assets":"1000000"}',
    },
  )
}

const membersOf = (schema: z.ZodType): string =>
  schema instanceof z.ZodObject ? Object.keys(schema.shape).join(', ') : 'those of one of its actions'
