import { z } from 'zod'

/** What is returned whatever is selected. Source: service API, "Common rules for collections and detail reads", 3. */
const IDENTITY = ['id', 'chainId', 'address'] as const
type Identity = (typeof IDENTITY)[number]

/** A value of which any member may be missing, at any depth. */
type Partly<T> = T extends readonly (infer Item)[]
  ? readonly Partly<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: Partly<T[K]> | undefined }
    : T

/** A resource of which fields were selected: its identity, and whatever of the rest. */
export type Selected<T> = Pick<T, keyof T & Identity> & Omit<Partly<T>, Identity>

/** Make the schema that parses a resource into {@link Selected} of it. Freshness is never a part of itself. Pure. */
export function selected({ shape }: z.ZodObject): z.ZodObject {
  const whole: readonly string[] = [...IDENTITY, 'freshness']
  return z.object(membersOf(shape, (name, member) => (whole.includes(name) ? member : missing(member))))
}

const membersOf = (shape: z.ZodObject['shape'], change: (name: string, member: z.ZodType) => z.ZodType) =>
  Object.fromEntries(Object.entries(shape).map(([name, member]) => [name, change(name, member as z.ZodType)]))

const missing = (member: z.ZodType) => partly(member).optional()

function partly(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return partly(schema.unwrap() as z.ZodType).optional()
  if (schema instanceof z.ZodNullable) return partly(schema.unwrap() as z.ZodType).nullable()
  if (schema instanceof z.ZodArray)
    return schema.clone({ ...schema.def, element: partly(schema.element as z.ZodType) })
  if (!(schema instanceof z.ZodObject)) return schema
  return z.object(membersOf(schema.shape, (_name, member) => missing(member)))
}
