import { z } from 'zod'
import { invariant } from '../../errors.ts'
import { WORKFLOW_CATALOGUE, type WorkflowType } from '../../service/contract/workflow-types.ts'

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
      Object.entries(when).every(([name, value]) =>
        choicesNamed(value).some((each) => shape[name]?.safeParse(each).success),
      ),
    )
    .map((choice) => new Map(membersOf(choice, '')))

/** What of an input every rule of a type can name. Pure. */
export function needInputs(type: WorkflowType): InputShape {
  const inputs = inputShape(type, {})
  invariant(inputs !== null, `what an input of ${type} holds is known`)
  return inputs
}

/** What a rule writes may be meant as text, or as a boolean. */
const choicesNamed = (value: string): readonly unknown[] =>
  value === 'true' || value === 'false' ? [value, value === 'true'] : [value]

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

/** Longer than any least length of a text. */
const SAMPLE_TEXT = 'a'.repeat(40)
const SAMPLE_ADDRESS = `0x${'1'.repeat(40)}`

function kindOf(schema: z.ZodType): InputKind | null {
  const takes = (sample: unknown) => schema.safeParse(sample).success
  if (schema instanceof z.ZodEnum || schema instanceof z.ZodLiteral || takes('a') || takes(SAMPLE_TEXT))
    return 'text'
  if (takes(true)) return 'bool'
  if (takes('1') || takes(1)) return 'uint'
  if (takes(SAMPLE_ADDRESS)) return 'address'
  // A text of a form of its own, as a website's address is.
  return schema instanceof z.ZodString ? 'text' : null
}
