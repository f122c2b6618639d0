import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { isObject, type Json } from './shape-check.ts'
import type { Operation } from './transcription/operations.ts'

/** The OpenAPI document that a service publishes, and a generic validator of its schemas. */
export type Contract = {
  readonly document: Json
  /** The operation's object of the document, or null where there is none. */
  readonly operation: (operation: Operation) => Json | null
  /** The validator of an answer with this status; null where the document has no schema for it. */
  readonly answer: (operation: Operation, status: number) => ValidateFunction | null
  /** The validator of the request's body; null where the document has no schema for it. */
  readonly request: (operation: Operation) => ValidateFunction | null
}

const ID = 'service'
const MEDIA = ['content', 'application/json', 'schema']

/** Read an OpenAPI 3.1 document, whose schemas are JSON Schema 2020-12. Throws what ajv says of an unusable one. */
export function createContract(document: Json): Contract {
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema(document, ID)
  const compiled = new Map<string, ValidateFunction>()
  const validatorAt = (steps: readonly string[]): ValidateFunction | null => {
    const place = locate(document, steps)
    if (place === null) return null
    const pointer = place
      .map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/')
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `${ID}#/${pointer}` })
    compiled.set(pointer, validate)
    return validate
  }
  const place = ({ path, method }: Operation) => ['paths', path, method.toLowerCase()]
  return {
    document,
    operation: (operation) => {
      const found = locate(document, place(operation))
      const node = found === null ? null : walk(document, found)
      return isObject(node) ? node : null
    },
    answer: (operation, status) => validatorAt([...place(operation), 'responses', String(status), ...MEDIA]),
    request: (operation) => validatorAt([...place(operation), 'requestBody', ...MEDIA]),
  }
}

/** Follow steps through a document and the references on the way; null when they lead nowhere. */
export function locate(document: Json, steps: readonly string[]): readonly string[] | null {
  let place: readonly string[] = []
  for (const step of steps) {
    const reference = walk(document, place)
    if (isObject(reference) && typeof reference.$ref === 'string') place = stepsOf(reference.$ref)
    place = [...place, step]
    if (walk(document, place) === undefined) return null
  }
  return place
}

/** Give what lies at the end of steps, without following references. */
export function walk(document: Json, steps: readonly string[]): unknown {
  return steps.reduce<unknown>(
    (node, step) => (isObject(node) && Object.hasOwn(node, step) ? node[step] : undefined),
    document,
  )
}

function stepsOf(reference: string): readonly string[] {
  return reference
    .replace(/^#\//, '')
    .split('/')
    .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
}
