import type { z } from 'zod'
import { ApiError } from './api-error.ts'

/** Parse what a client sent. Throws ApiError 400 `invalid_request` that names the first path which does not fit. */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const path = parsed.error.issues[0]?.path.join('.') ?? ''
  throw new ApiError(400, 'invalid_request', `The body does not fit at \`${path === '' ? '(root)' : path}\`.`)
}
