import { z } from 'zod'

/** What is returned whatever is selected. Source: service API, "Common rules for collections and detail reads", 3. */
const IDENTITY = ['id', 'chainId', 'address'] as const
type Identity = (typeof IDENTITY)[number]

/** A value of which any member may be missing, at any depth. */
type Partly<T> = T extends readonly (infer Item)[]
  ? readonly Partly<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: Partly<T[K]> | null }
    : T

/** A resource of which fields were selected: its identity, and whatever of the rest. */
export type Selected<T> = Pick<T, keyof T & Identity> & Omit<Partly<T>, Identity>

/** Make the schema that parses a resource into {@link Selected} of it. Pure. */
export function selected(resource: z.ZodObject): z.ZodObject {
  const shape = Object.entries(resource.shape).map(([name, schema]) => [
    name,
    IDENTITY.some((each) => each === name) ? schema : partly(schema).nullish(),
  ])
  return z.object(Object.fromEntries(shape))
}

function partly(schema: z.core.$ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return partly(schema.unwrap())
  if (schema instanceof z.ZodArray) return schema.clone({ ...schema.def, element: partly(schema.element) })
  if (!(schema instanceof z.ZodObject)) return z.lazy(() => schema)
  const shape = Object.entries(schema.shape).map(([name, member]) => [name, partly(member).nullish()])
  return z.object(Object.fromEntries(shape))
}
