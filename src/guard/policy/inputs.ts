import { z } from 'zod'
import { WORKFLOW_CATALOGUE, type WorkflowType } from '../../service/contract/workflow-types.ts'
import { policyError } from './policy-error.ts'

/** What a member of a workflow's input holds. */
type InputKind = 'address' | 'uint' | 'bool' | 'text'

/** Members of an input by path, `[]` standing for each element of a list: `withdrawals[].marketAddress`. */
export type InputShape = ReadonlyMap<string, InputKind>

/** Members of an input that must have these values: one type of workflow may be several shapes of calls. */
export type When = Readonly<Record<string, string>>

/** Describe the inputs of a type for which `when` holds, by asking its schema; null when there are none. Pure. */
export function inputShape(type: WorkflowType, when: When): InputShape | null {
  const [first, ...others] = inputShapes(type, when)
  if (first === undefined) return null
  // What only some of the choices have is nothing that a rule for all of them can name.
  return new Map([...first].filter(([path, kind]) => others.every((shape) => shape.get(path) === kind)))
}

/** Describe each choice of the inputs of a type for which `when` holds. Pure. */
export const inputShapes = (type: WorkflowType, when: When): readonly InputShape[] =>
  choicesOf(WORKFLOW_CATALOGUE[type].input)
    .filter(({ shape }) =>
      Object.entries(when).every(([name, value]) => shape[name]?.safeParse(value).success === true),
    )
    .map((choice) => new Map(membersOf(choice, '')))

/** What of an input every rule of a type can name. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function needInputs(type: WorkflowType, path: string): InputShape {
  const inputs = inputShape(type, {})
  if (inputs !== null) return inputs
  throw policyError(path, `What an input of ${type} holds is not known.`, 'remove it.')
}

const choicesOf = (schema: unknown): readonly z.ZodObject[] => {
  if (schema instanceof z.ZodObject) return [schema]
  return schema instanceof z.ZodDiscriminatedUnion ? schema.options.flatMap(choicesOf) : []
}

function membersOf(schema: unknown, path: string): readonly (readonly [string, InputKind])[] {
  if (schema instanceof z.ZodArray) return membersOf(schema.element, `${path}[]`)
  if (schema instanceof z.ZodObject) {
    const dot = path === '' ? '' : `${path}.`
    return Object.entries(schema.shape).flatMap(([name, member]) => membersOf(member, `${dot}${name}`))
  }
  const kind = schema instanceof z.ZodType ? kindOf(schema) : null
  return kind === null ? [] : [[path, kind]]
}

const SAMPLE_ADDRESS = `0x${'1'.repeat(40)}`

function kindOf(schema: z.ZodType): InputKind | null {
  const takes = (sample: unknown) => schema.safeParse(sample).success
  if (schema instanceof z.ZodEnum || schema instanceof z.ZodLiteral || takes('a')) return 'text'
  if (takes(true)) return 'bool'
  if (takes('1') || takes(1)) return 'uint'
  return takes(SAMPLE_ADDRESS) ? 'address' : null
}
