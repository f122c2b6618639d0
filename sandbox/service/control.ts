import type { FastifyInstance } from 'fastify'
import type { EventLog } from './events/events.ts'
import { serveFaultControl } from './faults/fault-control.ts'
import type { FaultSwitch } from './faults/faults.ts'
import type { ServiceRecords } from './records.ts'
import { type StoryControl, serveStoryControl } from './story-control.ts'
import { serveAccessReview } from './tenants/access-review.ts'
import type { Applications } from './tenants/applications.ts'
import { serveRecordReview } from './tenants/record-review.ts'

/**
 * Let who has the token set faults, decide about production access, review what was asked for, and hold the story;
 * without a token nobody can.
 */
export function serveControl(
  app: FastifyInstance,
  { controlToken: token, story }: { readonly controlToken?: string; readonly story?: Promise<StoryControl> },
  parts: {
    readonly faults: FaultSwitch
    readonly applications: Applications
    readonly serviceRecords: ServiceRecords
    readonly log: EventLog
  },
): void {
  if (token === undefined) return
  serveFaultControl(app, { token, ...parts.faults })
  serveAccessReview(app, token, parts.applications)
  serveRecordReview(app, token, parts.serviceRecords, parts.log)
  if (story !== undefined) serveStoryControl(app, token, story)
}
