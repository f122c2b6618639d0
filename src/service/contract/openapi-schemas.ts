import { z } from 'zod'
import * as assumed from './assumptions.ts'
import * as directory from './directory-resources.ts'
import * as funds from './fund-resources.ts'
import { OPERATIONS, type Operation, type OperationId } from './operations.ts'
import * as preparing from './prepared-workflow.ts'
import * as resources from './resources.ts'
import { selected } from './selection.ts'
import * as tenants from './tenant-resources.ts'
import * as vaults from './vault-resources.ts'

/** A JSON Schema, or any part of an OpenAPI document. */
export type JsonObject = { readonly [name: string]: unknown }

/** The schemas of the catalogue as JSON Schema 2020-12, by component name, and where each operation refers to them. */
export type ApiSchemas = {
  readonly components: Readonly<Record<string, JsonObject>>
  /** The reference to a schema of the catalogue. */
  readonly refOf: (schema: z.ZodType) => JsonObject
  /** What an operation answers with success; with selected fields, any but identity may be missing. */
  readonly answerOf: (id: OperationId) => z.ZodType
}

const MODULES = [resources, vaults, funds, directory, tenants, preparing, assumed]
const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)
const uri = (id: string) => `#/components/schemas/${id}`

/** Turn every schema of the catalogue into a component, as it is on the wire. Pure. */
export function apiSchemas(): ApiSchemas {
  const registry = z.registry<{ id: string }>()
  const add = (schema: z.ZodType, id: string) => {
    if (!registry.has(schema)) registry.add(schema, { id })
  }
  for (const module of MODULES) {
    for (const [name, schema] of Object.entries(module))
      if (schema instanceof z.ZodObject) add(schema, capital(name))
  }
  add(resources.collectionEnvelope.shape.pageInfo, 'PageInfo')
  const answers = new Map<OperationId, z.ZodType>()
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const id = name as OperationId
    const { body, answer }: Operation = operation
    if (body !== null) add(body, `${capital(id)}Request`)
    add(answer.schema, `${capital(id)}Answer`)
    const schema = operation.fields ? selected(operation.answer.schema) : answer.schema
    if (operation.fields) add(schema, `${registry.get(answer.schema)?.id}Selection`)
    answers.set(id, schema)
  }
  const { schemas } = z.toJSONSchema(registry, { io: 'input', uri, override: tidy })
  const components = Object.entries(schemas).map(([id, { $schema, $id, ...schema }]) => [id, schema])
  const refOf = (schema: z.ZodType) => ({ $ref: uri(registry.get(schema)?.id ?? '') })
  return {
    components: Object.fromEntries(components),
    refOf,
    answerOf: (id) => answers.get(id) ?? z.never(),
  }
}

/** Turn one schema into JSON Schema, whole, as it is on the wire. Pure. */
export function inlineSchema(schema: z.ZodType): JsonObject {
  const { $schema, ...inline } = z.toJSONSchema(schema, { io: 'input', override: tidy })
  return inline
}

/** Leave out what zod adds to say what the type or the format says already. */
function tidy({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}
