import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { notFound } from '../http/api-error.ts'
import { admitController } from '../http/control.ts'
import { CONTROL_PREFIX } from '../http/http.ts'
import { parseBody } from '../http/parse-body.ts'
import type { Applications } from './applications.ts'

const decision = z.strictObject({ status: z.enum(['approved', 'rejected']) })

/**
 * Serve PUT /sandbox-control/production-access-requests/{id} with `{"status": "approved" | "rejected"}`: the review
 * that the document leaves to the operator is made by who runs the sandbox.
 */
export function serveAccessReview(
  app: FastifyInstance,
  token: string,
  { reviewAccess }: Pick<Applications, 'reviewAccess'>,
): void {
  app.route<{ Params: { id: string }; Body: { value: unknown } | undefined }>({
    method: 'PUT',
    url: `${CONTROL_PREFIX}production-access-requests/:id`,
    onRequest: admitController(token),
    handler: async ({ params: { id }, body }) => {
      const { status } = parseBody(decision, body?.value)
      if (!reviewAccess(id, status)) throw notFound('production access request of this id')
      return { id, status }
    },
  })
}
