import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { EventLog } from '../events/events.ts'
import { notFound } from '../http/api-error.ts'
import { admitController } from '../http/control.ts'
import { CONTROL_PREFIX } from '../http/http.ts'
import { parseBody } from '../http/parse-body.ts'
import { REVIEW_STATUSES, REVIEWED_KINDS, recordEvents, type ServiceRecords } from '../records.ts'

const review = z.strictObject({
  kind: z.enum(REVIEWED_KINDS),
  key: z.string().max(200),
  status: z.enum(REVIEW_STATUSES),
})

/**
 * Serve PUT /sandbox-control/reviews with `{"kind", "key", "status"}`: partners' applications and issuers' submissions are
 * reviewed by who runs the sandbox. What shows them is announced.
 */
export function serveRecordReview(
  app: FastifyInstance,
  token: string,
  records: Pick<ServiceRecords, 'find' | 'review'>,
  log: Pick<EventLog, 'append'>,
): void {
  app.route<{ Body: { value: unknown } | undefined }>({
    method: 'PUT',
    url: `${CONTROL_PREFIX}reviews`,
    onRequest: admitController(token),
    handler: async ({ body }) => {
      const { kind, key, status } = parseBody(review, body?.value)
      if (records.find(kind, key) === null) throw notFound('record of this kind and key')
      log.append(recordEvents({ kind, key }), () => records.review(kind, key, status))
      return { kind, key: key.toLowerCase(), status }
    },
  })
}
