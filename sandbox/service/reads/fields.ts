import { z } from 'zod'
import { ApiError } from '../http/api-error.ts'

/** Returned whatever is selected. Source: service API, "Common rules for collections and detail reads", rule 3. */
const ALWAYS = ['id', 'chainId', 'address', 'freshness']

/** More paths than a resource has members is not a selection. */
const PATHS_MAX = 100

type Row = Readonly<Record<string, unknown>>

/**
 * Keep of a resource what `fields` names: top-level names or dotted paths, which reach through arrays. Identity,
 * chain, address and freshness are always kept. Throws ApiError 400 `invalid_fields` for a path that the resource's
 * schema does not have, or that this resource has no value for. Pure.
 * @param fields empty means the whole resource; each entry may itself be a comma-separated list.
 */
export function selectFields(resource: Row, schema: z.ZodObject, fields: readonly string[]): Row {
  const paths = fields.flatMap((entry) => entry.split(','))
  if (paths.length === 0) return resource
  if (paths.length > PATHS_MAX) throw invalidFields(`more than ${PATHS_MAX} paths`)
  for (const path of paths) {
    if (!isPath(schema, path.split('.'))) throw invalidFields(path)
  }
  const always = ALWAYS.filter((name) => resource[name] !== undefined)
  const picked = pick(
    resource,
    [...always, ...paths].map((path) => path.split('.')),
  )
  for (const path of paths) {
    if (!present(picked, path.split('.'))) throw invalidFields(path)
  }
  return picked as Row
}

const invalidFields = (what: string) =>
  new ApiError(400, 'invalid_fields', `The field selection is invalid or unavailable: ${what.slice(0, 100)}.`)

function isPath(schema: unknown, path: readonly string[]): boolean {
  const [name, ...rest] = path
  if (name === undefined) return true
  const inner = bare(schema)
  if (!(inner instanceof z.ZodObject) || !Object.hasOwn(inner.shape, name)) return false
  return isPath(inner.shape[name], rest)
}

/** The schema of a value or an array's item, without its optional and nullable wrappers. */
function bare(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return bare(schema.unwrap())
  if (schema instanceof z.ZodArray) return bare(schema.element)
  return schema
}

function pick(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (paths.some((path) => path.length === 0)) return value
  if (Array.isArray(value)) return value.map((item) => pick(item, paths))
  if (!isRow(value)) return value
  const names = new Set(paths.map(([name]) => name ?? ''))
  const kept = [...names].filter((name) => value[name] !== undefined)
  return Object.fromEntries(
    kept.map((name) => [
      name,
      pick(
        value[name],
        paths.filter((path) => path[0] === name).map((path) => path.slice(1)),
      ),
    ]),
  )
}

function present(value: unknown, path: readonly string[]): boolean {
  const [name, ...rest] = path
  if (name === undefined) return value !== undefined
  if (Array.isArray(value)) return value.every((item) => present(item, path))
  return isRow(value) && present(value[name], rest)
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
