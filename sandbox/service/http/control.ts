import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { sha256 } from '../store.ts'
import { ApiError } from './api-error.ts'
import { isLoopbackHost } from './http.ts'

/** Let in who runs the sandbox: `Authorization: Bearer <token>`, not from a browser. Throws ApiError 401 and 403. */
export const admitController =
  (token: string) =>
  async ({ headers }: FastifyRequest): Promise<void> => {
    if (!isLoopbackHost(headers.host) || headers.origin !== undefined) {
      throw new ApiError(403, 'host_not_allowed', 'The control endpoint is for programs on this machine.')
    }
    const [given, expected] = [headers.authorization ?? '', `Bearer ${token}`].map((text) =>
      Buffer.from(sha256(text)),
    )
    if (given === undefined || expected === undefined || !timingSafeEqual(given, expected)) {
      throw new ApiError(401, 'invalid_control_token', 'This needs the control token of sandbox.json.')
    }
  }
