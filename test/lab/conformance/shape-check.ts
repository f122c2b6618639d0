import { type Fields, type Shape, shapeOf } from './transcription/notation.ts'
import { fieldsOf } from './transcription/resources.ts'
import { WORKFLOW_TYPES } from './transcription/workflow-types.ts'

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A `date-time` of RFC 3339, section 5.6. */
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/**
 * Hold a value against a resource of the transcription, field by field. Returns what is wrong, each with the path of
 * the member; empty when nothing is. Members that the transcription does not name are let pass.
 */
export function resourceProblems(resource: string, value: unknown, at: string = resource): readonly string[] {
  return memberProblems(fieldsOf(resource), value, at)
}

/** The same for fields that have no name. */
export function memberProblems(fields: Fields, value: unknown, at: string): readonly string[] {
  if (!isObject(value)) return [`${at} is ${shown(value)}, not an object`]
  return Object.entries(fields).flatMap(([name, text]) => {
    const shape = shapeOf(text)
    const member = value[name]
    if (member !== undefined) return fieldProblems(shape, member, `${at}.${name}`)
    return shape.presence === 'optional' ? [] : [`${at}.${name} is absent`]
  })
}

function fieldProblems(shape: Shape, value: unknown, at: string): readonly string[] {
  if (value === null && shape.nullable) return []
  if (!shape.list) return valueProblems(shape, value, at)
  if (!Array.isArray(value)) return [`${at} is ${shown(value)}, not a list`]
  return value.flatMap((item, index) => valueProblems(shape, item, `${at}[${index}]`))
}

function valueProblems(shape: Shape, value: unknown, at: string): readonly string[] {
  const fails = failing(shape, value)
  if (fails !== null) return [`${at} is ${shown(value)}, not ${fails}`]
  return isResource(shape) ? resourceProblems(shape.base, value, at) : []
}

/** Whether the notation names a resource of the transcription. */
export const isResource = ({ base }: Shape): boolean => /^[A-Z]/.test(base) && base !== 'WorkflowType'

/** Say what a value should be and is not, or null. Members of a resource are not looked at. */
function failing(shape: Shape, value: unknown): string | null {
  const { base, lowest, highest, pattern, values } = shape
  switch (base) {
    case 'any':
      return null
    case 'boolean':
      return typeof value === 'boolean' ? null : 'a boolean'
    case 'number':
      return typeof value === 'number' ? null : 'a number'
    case 'integer': {
      const within = Number.isInteger(value) && Number(value) >= (lowest ?? -Infinity)
      return within ? null : `an integer${lowest === null ? '' : ` from ${lowest}`}`
    }
    case 'object':
      return isObject(value) ? null : 'an object'
    case 'enum':
      return typeof value === 'string' && values.includes(value) ? null : `one of ${values.join(', ')}`
    case 'WorkflowType':
      return typeof value === 'string' && WORKFLOW_TYPES.includes(value) ? null : 'a workflow type'
  }
  if (isResource(shape)) return isObject(value) ? null : 'an object'
  if (typeof value !== 'string') return `a string (${base})`
  if (base === 'ts') return DATE_TIME.test(value) && !Number.isNaN(Date.parse(value)) ? null : 'a date-time'
  if (base === 'uri') return URL.canParse(value) ? null : 'a URI'
  if (pattern !== null) return new RegExp(pattern).test(value) ? null : `a match of ${pattern}`
  const within = value.length >= (lowest ?? 0) && value.length <= (highest ?? Infinity)
  return within ? null : `a string of ${lowest ?? 0} to ${highest ?? 'any'} characters`
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
